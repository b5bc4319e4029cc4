"""What experiments have in common in which a parser with an encoder teaches one without: trainings, parsing, the table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from omegaconf import MISSING

from experiments.command import Trainings
from experiments.jobs import Job
from experiments.results import Key, Results
from experiments.tables import markdown, mean_and_deviation
from experiments.trainings import Training
from parser.decoding.files.file_parsing import parse_file
from parser.model import loading as models
from parser.storage.atomic import replacing


class TaughtRow(Protocol):
    """What the table reads of a row; ``las``, ``uas`` and ``dev_las``, too."""

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


@dataclass
class TaughtTrainings(Trainings):
    """The settings that they have in common."""

    recipe: str = MISSING


def keys_of(training: Training, amounts: Sequence[int], parsers: Taught) -> list[Key]:
    """The keys of the rows of a treebank and seed, one for each parser; ``amounts`` are what the experiment varies."""
    return [(system, training.treebank, training.recipe, *map(str, amounts), str(training.seed)) for system in parsers.systems]


def train_all(
    wanted: TaughtTrainings,
    amounts: Sequence[int],
    parsers: Taught,
    measure: Callable[[Training, Path, bool], list[Any]],
    results: Results[Any],
    before: Callable[[list[Training]], None] | None = None,
) -> dict[Key, str]:
    """Trains what is missing, all parsers of a treebank and seed in one job; the fingerprints of the rows asked for.

    ``before`` is called first, with the trainings that are missing.
    """
    trainings = {
        key: training
        for seed in range(1, wanted.seeds + 1)
        for name in wanted.languages
        for training in [Training(name, wanted.recipe, 5, seed, wanted.paths.treebanks, ())]
        for key in keys_of(training, amounts, parsers)
    }
    asked = {key: training.fingerprint() for key, training in trainings.items()}
    missing = list(dict.fromkeys(trainings[key] for key in results.missing(asked)))
    if before is not None:
        before(missing)
    jobs = [
        Job(f"{training.treebank} seed {training.seed}", partial(measure, training, Path(wanted.runs), wanted.fresh))
        for training in missing
    ]
    results.run(jobs, wanted.workers)
    return asked


def scores_of(metrics: dict[str, Any]) -> tuple[str, str, str, str]:
    """Of a run's metrics, words trained on, LAS and UAS on test, LAS on dev, as rows have them."""
    las, uas, dev_las = (f"{metrics[part][score]:.4f}" for part, score in (("test", "las"), ("test", "uas"), ("dev", "las")))
    return str(metrics["train"]["words"]), las, uas, dev_las


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
