"""What makes experiments quick: a small sample treebank where they find it,
and settings that are composed once.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from itertools import islice
from pathlib import Path

import pytest

from experiments import command, trainings
from parser.conllu.stream import read_raw_sentences
from tests.toy import ROOT, settings

_SENTENCES = {"train": 100, "dev": 30, "test": 30}


@pytest.fixture(scope="session")
def small_sample(tmp_path_factory) -> Path:
    """Return a folder in which data/sample is a part of the sample treebank:
    to start experiments in, which train on it.
    """
    folder: Path = tmp_path_factory.mktemp("small")
    (folder / "data" / "sample").mkdir(parents=True)
    for part, sentences in _SENTENCES.items():
        name = f"data/sample/sample-ud-{part}.conllu"
        with (ROOT / name).open("rb") as stream:
            some = "".join(
                "".join(sentence.lines)
                for sentence in islice(read_raw_sentences(stream), sentences)
            )
        (folder / name).write_text(some, encoding="utf-8")
    return folder


@pytest.fixture(autouse=True, scope="package")
def composed_once() -> Iterator[None]:
    found = cache(command.composed)

    def compose(config: str, words: Iterable[str], folder: Path) -> object:
        return found(config, tuple(words), folder)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "composed", compose)  # what it returns is only read
        patch.setattr(trainings, "training_settings", lambda overrides: settings(*overrides))
        yield
