"""Trainings of the columns of Table 7: rows, counts by sentence, and differences between columns with their intervals.

The difference of the LAS of two columns is estimated per treebank and over several, with intervals from a paired bootstrap:
sentences of the test part and seeds are drawn with replacement, the same ones for both columns (which share the first pass of
a seed where Table 7 lets them), 2,000 times; the interval holds the middle 95% of the differences. What it is computed from is
in RECIPE_counts.csv beside the rows: how many words of each sentence a parser gets right. It has one line per training and
measure, with a number for each sentence of the test part, in its order, separated by spaces:

    treebank,column,seed,measure,counts
    hu,,,words,21 18 9 ...
    hu,1,1,las,12 11 6 ...
    hu,1,1,uas,14 15 6 ...

``words`` is how many words the sentences have, ``uas`` how many of them have the right head, ``las`` the right relation, too.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from experiments.engine import Found
from experiments.tables import Key, Row
from experiments.trainings import Training, run_training
from parser.data.treebank import read_treebank
from parser.decoding.parsers import parser_of
from parser.evaluation.gold_part import GoldPart
from parser.model import loading as models
from parser.storage.atomic import replacing

KEY = ("treebank", "recipe", "column", "seed")
MEASURED = ("las", "uas", "las_first_pass", "uas_first_pass", "seconds", "versions")  # percentages on the test part, all words

_COLUMNS = ("treebank", "column", "seed", "measure", "counts")
_MEASURES = ("las", "uas")
_VERSIONS = ("torch", "numpy", "gensim")  # of what the numbers depend on
_DRAWS = 2000


def run_folder(runs: str | Path, key: Sequence[str]) -> Path:
    """The run folder of a row."""
    treebank, recipe, column, seed = key
    return Path(runs) / recipe / f"{treebank}-column{column}-seed{seed}"


def measure_family(family: Mapping[Key, Training], runs: str, fresh: bool) -> Iterator[tuple[Key, dict[str, str]]]:
    """Trains columns that share a first pass, the first of which trains it; rows by key, and counts beside their columns."""
    first = next(iter(family))
    for key, training in family.items():
        folder = run_folder(runs, key)
        metrics = run_training(training, folder, None if key == first else run_folder(runs, first) / "model", fresh)
        scores = {
            name + after: f"{of_part[name]:.4f}"
            for after, of_part in {"": metrics["test"], "_first_pass": metrics["after_first_pass"]["test"]}.items()
            for name in _MEASURES
        }
        versions = " ".join(f"{name}={metrics['versions'][name]}" for name in _VERSIONS)
        more = {"seconds": f"{sum(metrics['seconds'].values()):.1f}", "versions": versions}
        counts = {f"{name} of each": _text(numbers) for name, numbers in vars(_count(training, folder)).items()}
        yield key, scores | more | counts


@dataclass(frozen=True, eq=False)
class Counts:
    """Of one training.

    Attributes:
        words: int64[sentences].
        uas: int64[sentences], words with the right head.
        las: int64[sentences], words with the right head and relation.
    """

    words: np.ndarray
    uas: np.ndarray
    las: np.ndarray

    def is_of(self, row: Row) -> bool:
        """Whether a row has the same scores."""
        return all(abs(100 * getattr(self, name).sum() / self.words.sum() - float(row[name])) < 1e-4 for name in _MEASURES)


# By treebank, column and seed.
AllCounts = dict[tuple[str, int, int], Counts]


def _count(training: Training, folder: Path) -> Counts:
    """Words that the model of a run folder has right, by sentence of the test part."""
    model = models.load(folder / "model")
    gold = GoldPart.of(read_treebank(training.part("test")).sentences, model.vocabularies, model.relations)
    single_root = training.settings().single_root
    attached, labelled = gold.correct(parser_of(model).parse(gold.sentences, single_root=single_root))
    lengths = np.asarray(gold.sentences.lengths, np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    return Counts(lengths, *(np.add.reduceat(correct, starts) for correct in (attached, labelled)))


def _text(numbers: Iterable[int]) -> str:
    return " ".join(map(str, numbers))


def keep_counts(folder: Path, recipe: str, found: Found) -> None:
    """Writes the counts of measure_family() beside those that are there."""
    path = folder / counts_file(recipe)
    new = {
        (treebank, int(column), int(seed)): Counts(
            *(np.array(values[f"{name} of each"].split(), np.int64) for name in ("words", "uas", "las"))
        )
        for (treebank, _, column, seed), values in found
    }
    write_counts(path, read_counts(path) | new)


def counts_file(recipe: str) -> str:
    """The name of the file of the counts of a recipe's trainings."""
    return f"{recipe}_counts.csv"


def read_counts(path: Path) -> AllCounts:
    """The counts of a file; none if there is no such file."""
    if not path.exists():
        return {}
    words: dict[str, np.ndarray] = {}
    measured: dict[tuple[str, int, int], dict[str, np.ndarray]] = {}
    with path.open(newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            numbers = np.array(line["counts"].split(), np.int64)
            if line["measure"] == "words":
                words[line["treebank"]] = numbers
            else:
                key = line["treebank"], int(line["column"]), int(line["seed"])
                measured.setdefault(key, {})[line["measure"]] = numbers
    return {key: Counts(words[key[0]], **found) for key, found in measured.items()}


def write_counts(path: Path, counts: AllCounts) -> None:
    """Writes them, sorted, atomically.

    Raises:
        ValueError: the sentences of a treebank are not the same ones throughout.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_COLUMNS)
        written: dict[str, np.ndarray] = {}
        for (treebank, column, seed), of_one in sorted(counts.items()):
            if treebank not in written:
                written[treebank] = of_one.words
                writer.writerow((treebank, "", "", "words", _text(of_one.words)))
            if not np.array_equal(written[treebank], of_one.words):
                raise ValueError(
                    f"{path}: the test part of {treebank} has other sentences in column {column}, seed {seed}; give another "
                    "results=FOLDER to what was trained on other files"
                )
            for measure in _MEASURES:
                writer.writerow((treebank, column, seed, measure, _text(getattr(of_one, measure))))


def counted(counts: AllCounts, rows: Iterable[Row], recipe: str) -> AllCounts:
    """The counts of rows of a recipe that are there, with the same scores."""
    found = {(row["treebank"], int(row["column"]), int(row["seed"])): row for row in rows if row["recipe"] == recipe}
    return {key: of_one for key, of_one in counts.items() if key in found and of_one.is_of(found[key])}


@dataclass(frozen=True)
class Difference:
    """LAS of one column minus that of another, in points: the mean, and the middle 95% of the bootstrap."""

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:+.2f} [{self.low:+.2f}, {self.high:+.2f}]"

    @property
    def verdict(self) -> str:
        """What the interval says of the claim that the difference is positive."""
        return "holds" if self.low > 0 else "the opposite holds" if self.high < 0 else "open"


def difference(counts: AllCounts, languages: Sequence[str], better: int, worse: int) -> Difference | None:
    """LAS of a column minus LAS of another, the mean over treebanks; None if a treebank has no seed with both."""
    gains, words = [], []
    for language in languages:
        seeds = sorted(s for t, c, s in counts if t == language and c == better and (language, worse, s) in counts)
        if not seeds:
            return None
        words.append(counts[language, better, seeds[0]].words)
        gains.append(np.stack([counts[language, better, s].las - counts[language, worse, s].las for s in seeds]))
    means = [100 * gain.sum(axis=1).mean() / of_one.sum() for gain, of_one in zip(gains, words, strict=True)]
    samples = _samples(tuple(gain.shape for gain in gains), _DRAWS)
    draws = [_draws(gain, of_one, *drawn) for gain, of_one, drawn in zip(gains, words, samples, strict=True)]
    low, high = np.percentile(np.mean(draws, axis=0), [2.5, 97.5])
    return Difference(float(np.mean(means)), float(low), float(high))


@cache
def _samples(shapes: tuple[tuple[int, int], ...], draws: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """What is drawn with replacement from this many seeds and sentences, of each treebank; the same for all pairs of columns.

    Returns:
        int64[draws, seeds], the seeds, and int16[draws, sentences], how often each sentence was drawn.
    """
    rng = np.random.default_rng(0)
    found = []
    for seeds, sentences in shapes:
        chosen, times = np.empty((draws, seeds), np.int64), np.empty((draws, sentences), np.int16)
        for i in range(draws):
            times[i] = rng.multinomial(sentences, np.full(sentences, 1 / sentences))
            chosen[i] = rng.integers(0, seeds, seeds)
        found.append((chosen, times))
    return found


def _draws(gain: np.ndarray, words: np.ndarray, seeds: np.ndarray, times: np.ndarray) -> np.ndarray:
    """float64[draws], the differences in points of what was drawn; ``gain`` is int64[seeds, sentences]."""
    shares = np.stack([np.bincount(drawn, minlength=len(gain)) for drawn in seeds]) / seeds.shape[1]
    return 100 * ((times @ gain.T) * shares).sum(axis=1) / (times @ words)
