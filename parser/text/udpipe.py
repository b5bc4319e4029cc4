"""The package ufal.udpipe, which is UDPipe 1 (Straka and Strakova 2017), as far as all that uses it has in common."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

Options = Mapping[str, object]


class UdpipeError(ValueError):
    """UDPipe is not installed, or cannot do what it is asked for; the message says why."""


def package() -> Any:
    """The module, loaded on the first call.

    Raises:
        UdpipeError: it is not installed.
    """
    try:
        from ufal import udpipe
    except ImportError as error:
        raise UdpipeError("UDPipe is not installed; pip install ufal.udpipe, or pip install '.[text]' in a checkout") from error
    return udpipe


def load(path: Path) -> Any:
    """A model of UDPipe 1.

    Raises:
        UdpipeError: the package is not installed, or the file does not exist, or is not a model.
    """
    udpipe = package()
    if not path.is_file():  # UDPipe says no more of it than of any other that it cannot load
        raise UdpipeError(f"{path}: there is no file of this name; name a model of UDPipe 1")
    with path.open("rb") as file:
        length = file.read(1)  # of the name of the model's kind; a negative one, as UDPipe reads it, would end Python
    model = None if length >= b"\x80" else udpipe.Model.load(str(path))
    if model is None:
        raise UdpipeError(f"{path}: UDPipe cannot load this as a model; name a model of UDPipe 1")
    return model


def read_sentences(text: str, name: str) -> Any:
    """The sentences of CoNLL-U as UDPipe has them.

    Raises:
        UdpipeError: the package is not installed, or cannot read the text, which errors call ``name``.
    """
    udpipe = package()
    reader = udpipe.InputFormat.newConlluInputFormat()
    reader.setText(text)
    sentences, sentence, error = udpipe.Sentences(), udpipe.Sentence(), udpipe.ProcessingError()
    while reader.nextSentence(sentence, error):
        sentences.append(sentence)
        sentence = udpipe.Sentence()
    if error.occurred():
        raise UdpipeError(f"{name}: UDPipe cannot read this ({error.message})")
    return sentences


def train(
    train_on: Any,
    held_out: Any,
    name: str,
    *,
    tokenizer: Options | None = None,
    tagger: Options | None = None,
    parser: Options | None = None,
) -> bytes:
    """Trains a model.

    Args:
        train_on: sentences, see read_sentences().
        held_out: sentences, or none, to stop early with.
        name: what errors call them.
        tokenizer, tagger, parser: options of each part; None for none.

    Raises:
        UdpipeError: it cannot be trained on these sentences.
    """
    udpipe = package()
    parts = (tokenizer, tagger, parser)
    options = ["none" if given is None else ";".join(f"{key}={value}" for key, value in given.items()) for given in parts]
    error = udpipe.ProcessingError()
    model: bytes = udpipe.Trainer.train("morphodita_parsito", train_on, held_out, *options, error)
    if error.occurred():
        raise UdpipeError(f"{name}: UDPipe cannot train on this ({error.message})")
    return model
