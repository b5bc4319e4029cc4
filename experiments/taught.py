"""What experiments have in common in which a parser with an encoder teaches one without: parsing, and the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from experiments.tables import markdown, mean_and_deviation
from parser import models
from parser.atomic import replacing
from parser.decoding.file_parsing import parse_file


class TaughtRow(Protocol):
    """What the table reads of a row: percentages on test and dev, and the words that were trained on."""

    @property
    def system(self) -> str:
        """Which parser it is."""
        ...

    @property
    def treebank(self) -> str:
        """The name of the treebank."""
        ...

    @property
    def words(self) -> str:
        """Those that were trained on."""
        ...


@dataclass(frozen=True)
class Taught:
    """The parsers of an experiment, as rows name them.

    Attributes:
        plain: the one without an encoder that nobody taught.
        encoder: the teacher.
        others: those that learned from a parser.
    """

    plain: str
    encoder: str
    others: tuple[str, ...]

    @property
    def systems(self) -> tuple[str, ...]:
        """All of them, in the order of the table."""
        return self.plain, self.encoder, *self.others


def parse(model: Path, text: Path, target: Path) -> None:
    """Parses a file of CoNLL-U by the model in a folder."""
    with replacing(target) as temporary, text.open("rb") as source, temporary.open("wb") as written:
        parse_file(models.load(model), source, written, str(text))


def table(rows: Sequence[TaughtRow], languages: Sequence[str], parsers: Taught) -> str:
    """Markdown: words, LAS / UAS on test, LAS on dev; and how much of the way from the plain parser to the encoder it is."""
    lines = []
    for language in languages:
        of_language = [row for row in rows if row.treebank == language]
        for system in parsers.systems:
            found = [row for row in of_language if row.system == system]
            if not found:
                lines.append([language, system, "not run", "", "", "", ""])
                continue
            words = " and ".join(dict.fromkeys(f"{int(row.words):,}" for row in found))
            las, uas, dev_las = (mean_and_deviation(_scores(found, name)) for name in ("las", "uas", "dev_las"))
            ways = ["", ""]
            if system in parsers.others:
                ways = [_way(of_language, parsers, system, name) for name in ("las", "dev_las")]
            lines.append([language, system, words, f"{las} / {uas}", ways[0], dev_las, ways[1]])
    head = ["treebank", "parser", "words trained on", "LAS / UAS", "of the way", "LAS on dev", "of the way"]
    return markdown(head, lines)


def _scores(rows: Sequence[TaughtRow], name: str) -> list[float]:
    return [float(getattr(row, name)) for row in rows]


def _way(rows: Sequence[TaughtRow], parsers: Taught, system: str, score: str) -> str:
    """How much of the way from the plain parser to the encoder, in percent of the means."""
    means = {}
    for name in (parsers.plain, parsers.encoder, system):
        found = _scores([row for row in rows if row.system == name], score)
        if not found:
            return ""
        means[name] = sum(found) / len(found)
    return f"{100 * (means[system] - means[parsers.plain]) / (means[parsers.encoder] - means[parsers.plain]):.0f}"
