"""A whole pipeline of UDPipe 1 for comparison: CoNLL-U with tags and trees,
from words without tags or from text.

    python scripts/benchmarks/udpipe_pipeline.py train OPTIONS TRAIN.conllu MODEL
    python scripts/benchmarks/udpipe_pipeline.py parse OPTIONS MODEL INPUT OUTPUT

It needs ufal.udpipe, and nothing of this project. OPTIONS is a JSON file with the options of
UDPipe's ``tokenizer``, ``tagger`` and ``parser``, and the ``beam`` for parsing. If the name of
INPUT ends with .txt, it is text, and UDPipe finds words and sentences.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def train(options: dict[str, Any], source: Path, target: Path) -> None:
    """Train the three parts on CoNLL-U, as one model."""
    from ufal.udpipe import InputFormat, ProcessingError, Sentence, Sentences, Trainer

    reader, error = InputFormat.newConlluInputFormat(), ProcessingError()
    reader.setText(source.read_text(encoding="utf-8"))
    sentences, sentence = Sentences(), Sentence()
    while reader.nextSentence(sentence, error):
        sentences.append(sentence)
        sentence = Sentence()
    parts = (
        ";".join(f"{name}={value}" for name, value in options[part].items())
        for part in ("tokenizer", "tagger", "parser")
    )
    model = (
        b""
        if error.occurred()
        else Trainer.train("morphodita_parsito", sentences, Sentences(), *parts, error)
    )
    if error.occurred():
        sys.exit(f"{source}: {error.message}")
    target.write_bytes(model)


def parse(options: dict[str, Any], model: Path, source: Path, target: Path) -> None:
    """Parse a file into another."""
    from ufal.udpipe import Model, Pipeline, ProcessingError

    if (loaded := Model.load(str(model))) is None:
        sys.exit(f"{model}: this is not a model of UDPipe 1")
    reads = "tokenize" if source.suffix == ".txt" else "conllu"
    error = ProcessingError()
    # ``loaded`` must stay: the pipeline holds no reference to the model.
    pipeline = Pipeline(loaded, reads, Pipeline.DEFAULT, f"beam_search={options['beam']}", "conllu")
    parsed = pipeline.process(source.read_text(encoding="utf-8"), error)
    if error.occurred():
        sys.exit(f"{source}: {error.message}")
    target.write_text(parsed, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    command, given, *files = sys.argv[1:]
    act = train if command == "train" else parse
    act(json.loads(Path(given).read_text(encoding="utf-8")), *map(Path, files))
