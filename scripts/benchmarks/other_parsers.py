"""The parsers of others that ours is compared with: given, or trained for this.

Training is brief: the time to parse does not depend on the number of iterations.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from scripts.benchmarks import spacy_parser, udpipe
from scripts.benchmarks.spacy_parser import Spacy
from scripts.benchmarks.udpipe import PARSER, Udpipe

_SPACY_ITERATIONS = 5


def udpipe_parser(model: str | None, train: Path | None, iterations: int) -> Udpipe | None:
    """UDPipe's parser; None if neither a model is given nor a file.

    Args:
        model: its model.
        train: CoNLL-U to train one on, instead.
        iterations: of the training.

    Raises:
        ValueError: UDPipe is not installed, there is no such file, or it can make nothing of it.
    """
    if model is not None:
        return Udpipe(model)
    if train is None:
        return None
    text = _read(train, "UDPipe")
    with TemporaryDirectory() as folder:
        made = Path(folder) / "model.udpipe"
        udpipe.train(text, str(train), made, parser=PARSER | {"iterations": iterations})
        return Udpipe(made)


def spacy_parser_of(pipeline: Path | None, train: Path | None) -> Spacy | None:
    """spaCy's parser; None if neither a pipeline is given nor a file.

    Args:
        pipeline: its folder.
        train: CoNLL-U to train one on, instead.

    Raises:
        ValueError: spaCy is not installed, or there is no such pipeline or file.
    """
    if pipeline is not None:
        return Spacy(pipeline)
    if train is None:
        return None
    text = _read(train, "spaCy")
    with TemporaryDirectory() as folder:
        spacy_parser.train(text, Path(folder), _SPACY_ITERATIONS)
        return Spacy(folder)


def _read(path: Path, name: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ValueError(f"{path}: there is no such file to train {name} on; check the path") from error
