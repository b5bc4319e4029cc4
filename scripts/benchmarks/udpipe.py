"""UDPipe 1 (Straka and Strakova 2017) for comparison: training, tagging, parsing; needs the package ufal.udpipe.

Training is reproducible, as UDPipe fixes its seeds. ``python -m scripts.benchmarks.udpipe MODEL`` parses standard input, as a
whole process to compare with.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from oracles.errors import OptimalStepError
from parser.storage import replacing
from parser.text import udpipe
from parser.text.udpipe import Options

# The examples for UD of its manual: https://ufal.mff.cuni.cz/udpipe/1/users-manual#model_training_parser
PARSER = {
    "iterations": 10,
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
    "use_gold_tags": 1,
}

# One model for tags and lemmas, the default. With two models, as in the manual's examples, lemmas are 1.1 better on hu, but
# FEATS 1.0 worse, which costs the parser 1.4 LAS.
TAGGER = {"models": 1, "iterations_1": 10}


class Udpipe:
    """A model of UDPipe.

    Raises:
        OptimalStepError: the package is not installed, or cannot load the model.
    """

    def __init__(self, path: str | Path) -> None:
        self._udpipe = udpipe.package()
        self._model = udpipe.load(Path(path))

    def parse(self, text: str, beam: int = 1) -> str:
        """Return CoNLL-U parsed with the tags of the input; greedily with beam 1."""
        return self._process(text, self._udpipe.Pipeline.NONE, f"beam_search={beam}")

    def tag(self, text: str) -> str:
        """Return CoNLL-U with the tags and features of the tagger; trees stay."""
        return self._process(text, self._udpipe.Pipeline.DEFAULT, self._udpipe.Pipeline.NONE)

    def _process(self, text: str, tagger: str, parser: str) -> str:
        error = self._udpipe.ProcessingError()
        processed = self._udpipe.Pipeline(self._model, "conllu", tagger, parser, "conllu").process(text, error)
        if error.occurred():
            raise OptimalStepError(f"UDPipe: {error.message}")
        return processed


def train(text: str, name: str, target: Path, *, tagger: Options | None = None, parser: Options | None = None) -> float:
    """Trains a model.

    Args:
        text: CoNLL-U to train on.
        name: of the text, in errors.
        target: the file of the model.
        tagger: options of the tagger; None: train no tagger.
        parser: options of the parser; None: train no parser.

    Returns:
        The CPU seconds that the training took.

    Raises:
        OptimalStepError: the package is not installed, or cannot train on the text.
    """
    package = udpipe.package()
    print(f"training UDPipe on {name}", file=sys.stderr)
    sentences = udpipe.read_conllu(text, name)
    begun = time.process_time()
    model = udpipe.trained_model(sentences, package.Sentences(), name, tagger=tagger, parser=parser)
    seconds = time.process_time() - begun
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as temporary:
        temporary.write_bytes(model)
    return seconds


if __name__ == "__main__":
    sys.stdout.buffer.write(Udpipe(sys.argv[1]).parse(sys.stdin.buffer.read().decode()).encode())
