"""How many words of each sentence a parser gets right, as CSV; the intervals of the claims are computed from these.

One line per training and measure, with a number for each sentence of the test part, in its order, separated by spaces:

    treebank,column,seed,config,measure,counts
    hu,,,,words,21 18 9 ...
    hu,1,1,0482ed32,las,12 11 6 ...
    hu,1,1,0482ed32,uas,14 15 6 ...

``words`` is how many words the sentences have, ``uas`` how many of them have the right head, ``las`` the right relation, too.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from parser.storage.atomic import replacing

COLUMNS = ("treebank", "column", "seed", "config", "measure", "counts")
MEASURES = ("las", "uas")

csv.field_size_limit(sys.maxsize)  # a line has as many numbers as there are sentences


@dataclass(frozen=True, eq=False)
class Counts:
    """Of one training.

    Attributes:
        config: the fingerprint of its settings.
        words: int64[sentences].
        uas: int64[sentences], words with the right head.
        las: int64[sentences], words with the right head and relation.
    """

    config: str
    words: np.ndarray
    uas: np.ndarray
    las: np.ndarray


# By treebank, column and seed.
AllCounts = dict[tuple[str, int, int], Counts]


def counts_file(recipe: str) -> str:
    """The name of the file of the counts of a recipe's trainings."""
    return f"{recipe}_counts.csv"


def read_counts(path: Path) -> AllCounts:
    """The counts of a file; none if there is no such file."""
    if not path.exists():
        return {}
    words: dict[str, np.ndarray] = {}
    measured: dict[tuple[str, int, int], dict[str, np.ndarray]] = {}
    configs = {}
    with path.open(newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            numbers = np.array(line["counts"].split(), np.int64)
            if line["measure"] == "words":
                words[line["treebank"]] = numbers
            else:
                key = line["treebank"], int(line["column"]), int(line["seed"])
                measured.setdefault(key, {})[line["measure"]] = numbers
                configs[key] = line["config"]
    return {key: Counts(configs[key], words[key[0]], **found) for key, found in measured.items()}


def write_counts(path: Path, counts: Mapping[tuple[str, int, int], Counts]) -> None:
    """Writes them, sorted, atomically.

    Raises:
        ValueError: the sentences of a treebank are not the same ones throughout.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        written: dict[str, np.ndarray] = {}
        for (treebank, column, seed), of_one in sorted(counts.items()):
            if treebank not in written:
                written[treebank] = of_one.words
                writer.writerow((treebank, "", "", "", "words", _text(of_one.words)))
            if not np.array_equal(written[treebank], of_one.words):
                raise ValueError(
                    f"{path}: the test part of {treebank} has other sentences in column {column}, seed {seed}; give another "
                    "results=FOLDER to what was trained on other files"
                )
            for measure in MEASURES:
                writer.writerow((treebank, column, seed, of_one.config, measure, _text(getattr(of_one, measure))))


def _text(numbers: Iterable[int]) -> str:
    return " ".join(map(str, numbers))
