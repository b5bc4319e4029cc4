"""UDPipe 1 to compare with: its parser alone, trained on gold tags, greedy (beam 1). It needs the package ufal.udpipe."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

# As in its manual's examples for UD: https://ufal.mff.cuni.cz/udpipe/1/users-manual#model_training_parser
OPTIONS = {
    "transition_system": "projective",
    "transition_oracle": "dynamic",
    "structured_interval": 0,
    "embedding_form": 50,
    "embedding_upostag": 20,
    "embedding_feats": 20,
    "embedding_deprel": 20,
    "hidden_layer": 200,
    "batch_size": 10,
    "learning_rate": 0.02,
    "learning_rate_final": 0.001,
    "l2": 0.3,
}


def load(path: str) -> Callable[[str], str]:
    """A function from CoNLL-U to CoNLL-U with new trees.

    Raises:
        ValueError: the package is not installed, or cannot load the model.
    """
    udpipe = _package()
    model = udpipe.Model.load(path)
    if model is None:
        raise ValueError(f"{path}: UDPipe cannot load this as a model; name one of UDPipe 1, or train one (--udpipe-train)")
    pipeline = udpipe.Pipeline(model, "conllu", udpipe.Pipeline.NONE, "beam_search=1", "conllu")

    def parse(text: str, _model: Any = model) -> str:  # the pipeline does not keep the model alive
        return pipeline.process(text)

    return parse


def train(path: str, iterations: int) -> Callable[[str], str]:
    """The same with a model trained on a file; the time to parse does not depend on the number of iterations.

    Raises:
        ValueError: the package is not installed, or cannot train on the file.
    """
    udpipe = _package()
    error = udpipe.ProcessingError()
    options = ";".join(f"{key}={value}" for key, value in (OPTIONS | {"iterations": iterations}).items())
    print(f"training UDPipe on {path}, iterations={iterations}", file=sys.stderr)
    sentences = _read(udpipe, path)
    model = udpipe.Trainer.train("morphodita_parsito", sentences, udpipe.Sentences(), "none", "none", options, error)
    if error.occurred():
        raise ValueError(f"{path}: UDPipe cannot train on this ({error.message})")
    with TemporaryDirectory() as folder:
        file = Path(folder) / "model.udpipe"
        file.write_bytes(model)
        return load(str(file))


def _read(udpipe: Any, path: str) -> Any:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ValueError(f"{path}: there is no such file to train UDPipe on; check the path") from error
    reader = udpipe.InputFormat.newConlluInputFormat()
    reader.setText(text)
    sentences, sentence, error = udpipe.Sentences(), udpipe.Sentence(), udpipe.ProcessingError()
    while reader.nextSentence(sentence, error):
        sentences.append(sentence)
        sentence = udpipe.Sentence()
    if error.occurred():
        raise ValueError(f"{path}: UDPipe cannot read this ({error.message})")
    return sentences


def _package() -> Any:
    try:
        from ufal import udpipe
    except ImportError as error:
        raise ValueError("UDPipe is not installed; pip install 'optimal-step[compare]', or compare with nothing") from error
    return udpipe
