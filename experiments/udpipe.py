"""UDPipe 1 (Straka and Strakova 2017, package ufal.udpipe, extra ``compare``): training on a treebank, tagging, parsing.

The parser's options are those of its manual for gold tags. Its seeds are fixed, so a training gives the same model again.
"""

from __future__ import annotations

import time
from pathlib import Path

from ufal.udpipe import InputFormat, Model, OutputFormat, ProcessingError, Sentence, Sentences, Trainer

from parser.atomic import replacing

PARSER = {
    "iterations": "10",
    "transition_system": "projective",
    "transition_oracle": "dynamic",
    "structured_interval": "0",
    "batch_size": "10",
    "learning_rate": "0.02",
    "learning_rate_final": "0.001",
    "l2": "0.3",
    "hidden_layer": "200",
    "embedding_form": "50",
    "embedding_upostag": "20",
    "embedding_feats": "20",
    "embedding_xpostag": "0",
    "embedding_deprel": "20",
    "use_gold_tags": "1",
}


class UdpipeError(RuntimeError):
    """UDPipe refused something; the message is its own."""


def read(text: str) -> Sentences:
    """CoNLL-U as UDPipe's sentences."""
    sentences, error = Sentences(), ProcessingError()
    reader = InputFormat.newInputFormat("conllu")
    reader.setText(text)
    sentence = Sentence()
    while reader.nextSentence(sentence, error):
        sentences.push_back(sentence)
        sentence = Sentence()
    _check(error)
    return sentences


def train(path: Path, train_text: str, *, tagger: str = "none", parser: str = "none") -> float:
    """Trains a model into the file; the options are "none", or UDPipe's. Returns CPU seconds.

    Args:
        path: where the model goes.
        train_text: CoNLL-U.
        tagger: options of the tagger.
        parser: options of the parser, such as options_of(PARSER).
    """
    error = ProcessingError()
    begun = time.process_time()
    model = Trainer.train("morphodita_parsito", read(train_text), Sentences(), "none", tagger, parser, error)
    seconds = time.process_time() - begun
    _check(error)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.write_bytes(bytes(model) if not isinstance(model, str) else model.encode("utf-8", "surrogateescape"))
    return seconds


def options_of(options: dict[str, str]) -> str:
    """As UDPipe reads them."""
    return ";".join(f"{key}={value}" for key, value in options.items())


def load(path: Path) -> Model:
    """A model from its file."""
    model = Model.load(str(path))
    if model is None:
        raise UdpipeError(f"{path}: not a model of UDPipe 1")
    return model


def parse(model: Model, text: str, *, beam: int) -> str:
    """CoNLL-U with the trees that the model predicts from the tags that are there."""
    return _each(text, lambda sentence, error: model.parse(sentence, f"beam_search={beam}", error))


def tag(model: Model, text: str) -> str:
    """CoNLL-U with the tags, features and lemmas that the model predicts."""
    return _each(text, lambda sentence, error: model.tag(sentence, Model.DEFAULT, error))


def _each(text: str, change) -> str:
    writer, error = OutputFormat.newOutputFormat("conllu"), ProcessingError()
    parts = []
    for sentence in read(text):
        change(sentence, error)
        _check(error)
        parts.append(writer.writeSentence(sentence))
    return "".join(parts)


def _check(error: ProcessingError) -> None:
    if error.occurred():
        raise UdpipeError(error.message)
