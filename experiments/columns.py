"""Training runs for the columns of Table 7 of Nederhof (2019): their rows, their counts for each
sentence, and the differences between columns, with confidence intervals.

The difference in LAS between two columns is estimated for each treebank and averaged over several
treebanks, with intervals from a paired bootstrap. Sentences of the test part and seeds are drawn
with replacement 2,000 times, the same for both columns (which share the first pass of a seed where
Table 7 allows it). The interval holds the middle 95% of the differences. It is computed from
RECIPE_counts.csv, a file beside the rows that says how many words of each sentence a parser gets
right. The file has one line per training run and measure, with a number for each sentence of the
test part, in order, separated by spaces:

    treebank,column,seed,measure,counts
    hu,,,words,21 18 9 ...
    hu,1,1,las,12 11 6 ...
    hu,1,1,uas,14 15 6 ...

``words``: words of the sentences; ``uas``: words with the right head; ``las``:
words with the right head and relation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from experiments.command import ROOT, Trainings
from experiments.engine import Found
from experiments.tables import Interval, Key, Row, chosen, read_rows, write_rows
from experiments.trainings import Training, run_training
from oracles.errors import OptimalStepError
from parser.data.treebank import read_treebank
from parser.decoding.search import search_for
from parser.evaluation.gold_split import GoldSplit
from parser.model import loading as models

KEY = ("treebank", "recipe", "column", "seed")
# percentages on the test part, all words
MEASURED = ("las", "uas", "las_first_pass", "uas_first_pass", "seconds", "versions")

_COLUMNS = ("treebank", "column", "seed", "measure", "counts")
_MEASURES = ("las", "uas")
_VERSIONS = ("torch", "numpy", "gensim")  # the numbers depend on these
_DRAWS = 2000


def run_folder(runs: str | Path, key: Sequence[str]) -> Path:
    """Return the run folder of a row."""
    treebank, recipe, column, seed = key
    return Path(runs) / recipe / f"{treebank}-column{column}-seed{seed}"


def measure_family(
    family: Mapping[Key, Training], runs: str, fresh: bool
) -> Iterator[tuple[Key, dict[str, str]]]:
    """Train columns that share a first pass, which is run for the first of them; yield each key
    with its row, counts included.
    """
    first = next(iter(family))
    for key, training in family.items():
        folder = run_folder(runs, key)
        metrics = run_training(
            training, folder, None if key == first else run_folder(runs, first) / "model", fresh
        )
        parts = {"": metrics["test"], "_first_pass": metrics["after_first_pass"]["test"]}
        values = {
            name + after: f"{part[name]:.4f}" for after, part in parts.items() for name in _MEASURES
        }
        values["seconds"] = f"{sum(metrics['seconds'].values()):.1f}"
        values["versions"] = " ".join(f"{name}={metrics['versions'][name]}" for name in _VERSIONS)
        yield (
            key,
            values
            | {
                f"{name} of each": _text(numbers)
                for name, numbers in vars(_count(training, folder)).items()
            },
        )


@dataclass(frozen=True, eq=False)
class SentenceCounts:
    """Counts of one training run, for each sentence of the test part.

    Attributes:
        words: int64[sentences], all words.
        uas: int64[sentences], words with the right head.
        las: int64[sentences], words with the right head and relation.
    """

    words: np.ndarray
    uas: np.ndarray
    las: np.ndarray

    def fits(self, row: Row) -> bool:
        """Return whether a row has the scores of these counts."""
        return all(
            abs(100 * getattr(self, name).sum() / self.words.sum() - float(row[name])) < 1e-4
            for name in _MEASURES
        )


# By treebank, column and seed.
AllCounts = dict[tuple[str, int, int], SentenceCounts]


def _count(training: Training, folder: Path) -> SentenceCounts:
    """Count the words that the model in a run folder gets right, for each sentence of the test
    part.
    """
    model = models.load(folder / "model")
    gold = GoldSplit.of(
        read_treebank(training.part("test")).sentences, model.vocabularies, model.relations
    )
    single_root = training.settings().single_root
    attached, labelled = gold.correct(
        search_for(model).parse(gold.sentences, single_root=single_root)
    )
    lengths = np.asarray(gold.sentences.lengths, np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    return SentenceCounts(
        lengths, *(np.add.reduceat(correct, starts) for correct in (attached, labelled))
    )


def _text(numbers: Iterable[int]) -> str:
    return " ".join(map(str, numbers))


def _numbers(text: str) -> np.ndarray:
    return np.array(text.split(), np.int64)


def keep(wanted: Trainings, rows: Found) -> None:
    """Write the counts from measure_family() into the folder of your own rows."""
    path = Path(wanted.results) / counts_file(wanted.recipe)
    new = {
        (treebank, int(column), int(seed)): SentenceCounts(
            *(_numbers(values[f"{name} of each"]) for name in ("words", "uas", "las"))
        )
        for (treebank, _, column, seed), values in rows
    }
    write_counts(path, read_counts(path) | new)


def counts_file(recipe: str) -> str:
    """Return the name of the file of a recipe's counts."""
    return f"{recipe}_counts.csv"


def read_counts(path: Path) -> AllCounts:
    """Return the counts of a file; none if there is no such file."""
    counts = {key: _numbers(row["counts"]) for key, row in read_rows(path, _COLUMNS, 4).items()}
    return {
        (treebank, int(column), int(seed)): SentenceCounts(
            counts[treebank, "", "", "words"], counts[treebank, column, seed, "uas"], las
        )
        for (treebank, column, seed, measure), las in counts.items()
        if measure == "las"
    }


def write_counts(path: Path, counts: AllCounts) -> None:
    """Write counts, sorted, atomically.

    Raises:
        OptimalStepError: the sentences of a treebank differ between training runs.
    """
    rows: dict[Key, Row] = {}
    for (treebank, column, seed), count in sorted(counts.items()):
        lines = {
            ("", "", "words"): count.words,
            **{(f"{column}", f"{seed}", m): getattr(count, m) for m in _MEASURES},
        }
        for key, numbers in lines.items():
            row = dict(zip(_COLUMNS, (treebank, *key, _text(numbers)), strict=True))
            if rows.setdefault((treebank, *key), row) != row:
                raise OptimalStepError(
                    f"{path}: the sentences of {treebank}'s test part in column {column}, seed "
                    f"{seed}, differ from those of the other training runs; give another "
                    "results=FOLDER for training on other files"
                )
    write_rows(path, _COLUMNS, rows)


def counted(counts: AllCounts, rows: Iterable[Row], recipe: str) -> AllCounts:
    """Return the counts that belong to rows of a recipe and have the scores of these rows; others
    are dropped.
    """
    by_key = {
        (row["treebank"], int(row["column"]), int(row["seed"])): row
        for row in chosen(rows, recipe=recipe)
    }
    return {
        key: count for key, count in counts.items() if key in by_key and count.fits(by_key[key])
    }


def counts_of(wanted: Trainings, rows: Sequence[Row]) -> AllCounts:
    """Return the counts of these rows, published or your own."""
    folders = [
        ROOT / folder
        for folder in (wanted.published, Path(wanted.results).absolute())
        if folder is not None
    ]
    files = [folder / counts_file(wanted.recipe) for folder in folders]
    return {
        key: count
        for file in files
        for key, count in counted(read_counts(file), rows, wanted.recipe).items()
    }


def difference(
    counts: AllCounts, languages: Sequence[str], better: int, worse: int
) -> Interval | None:
    """Return the LAS of one column minus that of another, averaged over treebanks; None if some
    treebank has no seed for which both were trained.
    """
    gains, words = [], []
    for language in languages:
        seeds = sorted(
            s
            for t, c, s in counts
            if t == language and c == better and (language, worse, s) in counts
        )
        if not seeds:
            return None
        words.append(counts[language, better, seeds[0]].words)
        gains.append(
            np.stack(
                [counts[language, better, s].las - counts[language, worse, s].las for s in seeds]
            )
        )
    means = [
        100 * gain.sum(axis=1).mean() / n_words.sum()
        for gain, n_words in zip(gains, words, strict=True)
    ]
    samples = _samples(tuple(gain.shape for gain in gains), _DRAWS)
    draws = [
        _draws(gain, n_words, *drawn)
        for gain, n_words, drawn in zip(gains, words, samples, strict=True)
    ]
    low, high = np.percentile(np.mean(draws, axis=0), [2.5, 97.5])
    return Interval(float(np.mean(means)), float(low), float(high))


@cache
def _samples(
    shapes: tuple[tuple[int, int], ...], draws: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Draw seeds and sentences of each treebank with replacement,
    the same for all pairs of columns.

    Returns:
        int64[draws, seeds], the seeds, and int16[draws, sentences],
        how often each sentence was drawn.
    """
    rng = np.random.default_rng(0)
    samples = []
    for seeds, sentences in shapes:
        chosen, times = np.empty((draws, seeds), np.int64), np.empty((draws, sentences), np.int16)
        for i in range(draws):
            times[i] = rng.multinomial(sentences, np.full(sentences, 1 / sentences))
            chosen[i] = rng.integers(0, seeds, seeds)
        samples.append((chosen, times))
    return samples


def _draws(gain: np.ndarray, words: np.ndarray, seeds: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Return float64[draws], the difference of each draw, in points; ``gain`` is int64[seeds,
    sentences].
    """
    shares = np.stack([np.bincount(drawn, minlength=len(gain)) for drawn in seeds]) / seeds.shape[1]
    return 100 * ((times @ gain.T) * shares).sum(axis=1) / (times @ words)
