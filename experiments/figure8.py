"""Figure 8 of Nederhof (2019): how many optimal projective trees a non-projective tree has.

    python experiments/figure8.py paths.treebanks=../shared/ud-v2.2

The geometric mean, by sentence length, of the number of projective trees that have the most gold edges, exactly counted
(oracles.count_projectivizations). The paper shows grc, ja and de, and does not say whether projective trees count. Here they
do not, as a projective tree has only itself: the mean is over the non-projective trees of all parts that are there. Lengths
are grouped in bins of ``bin_width``. Writes results.csv and figure8.svg; low and high are the ends
of the 95% interval of the mean logarithm, 1.96 standard errors away.

The paper finds that the number grows roughly exponentially with the length (Section 8.1). table.md tests it: the growth in
ten words, by least squares over the trees (not the bins), and how much of the variance of the logarithm of the number a line
through the length explains (exponential growth), and a line through the logarithm of the length (a power of the length).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import LogLocator
from tqdm import tqdm

import oracles
from experiments import treebanks
from experiments.command import Pictures, run
from experiments.figures import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    RED,
    SKY,
    YELLOW,
    describe,
    panels,
    provenance,
    read_csv,
    save,
    write_csv,
)
from experiments.tables import Row, chosen, markdown, numbers, write_page
from oracles import Trees

COMMAND = "python experiments/figure8.py"
POOLED = "all"

# Of the trees of one treebank, or of all of them, whose lengths lie in first_length..last_length.
COLUMNS = ("treebank", "first_length", "last_length", "trees", "mean_length", "geometric_mean", "low", "high", "most")


@dataclass
class Figure8(Pictures):
    """Which trees to count; configs/experiments/figure8.yaml says what each key is for."""

    treebanks: list[str]
    bin_width: int
    min_trees: int
    format: str


def counts(trees: Trees) -> list[tuple[int, float]]:
    """Of each non-projective tree: its length, and the natural logarithm of the number of its optimal projective trees.

    Logarithms, because the counts are exact integers that may exceed any float.
    """
    found = []
    for s in np.flatnonzero(~trees.projective):
        _, n_optimal = oracles.count_projectivizations(trees[int(s)])
        found.append((int(trees.lengths[s]), math.log(n_optimal)))
    return found


def bins(treebank: str, found: Iterable[tuple[int, float]], width: int) -> list[tuple[Any, ...]]:
    """The pairs of ``counts`` by length, lines of COLUMNS; bins begin at 1, 1 + width, ..."""
    by_bin: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for length, log_count in found:
        by_bin[(length - 1) // width].append((length, log_count))
    lines = []
    for number, pairs in sorted(by_bin.items()):
        lengths, logs = np.array(pairs).T
        mean = logs.mean()
        # One tree says nothing about the spread.
        margin = 1.96 * logs.std(ddof=1) / math.sqrt(len(logs)) if len(logs) > 1 else math.nan
        around = [float(np.exp(x)) for x in (mean, mean - margin, mean + margin, logs.max())]
        lines.append((treebank, 1 + number * width, (number + 1) * width, len(logs), float(lengths.mean()), *around))
    return lines


@dataclass(frozen=True)
class Growth:
    """How the number of optimal trees grows with the length, over the trees of one treebank, or of all of them.

    Attributes:
        factor, low, high: the growth in ten words, and the ends of its 95% interval.
        exponential, power: the share of variance that each kind of growth explains, R^2.
    """

    factor: float
    low: float
    high: float
    exponential: float
    power: float


def growth(found: Iterable[tuple[int, float]]) -> Growth:
    """The growth over the pairs of ``counts``, at least three of them, of different lengths."""
    lengths, logs = np.array(list(found)).T
    spread = lengths - lengths.mean()
    slope = float(spread @ logs / (spread @ spread))
    residuals = logs - logs.mean() - slope * spread
    margin = 1.96 * math.sqrt(float(residuals @ residuals / (len(logs) - 2) / (spread @ spread)))
    factors = [math.exp(10 * x) for x in (slope, slope - margin, slope + margin)]
    shares = [float(np.corrcoef(x, logs)[0, 1]) ** 2 for x in (lengths, np.log(lengths))]
    return Growth(*factors, *shares)


def as_table(by_treebank: dict[str, list[tuple[int, float]]]) -> str:
    """For people: the growth in each treebank, and in all of them."""
    lines = []
    for name, found in by_treebank.items():
        if len({length for length, _ in found}) >= 3:
            g = growth(found)
            factor = f"{g.factor:.2f} [{g.low:.2f}, {g.high:.2f}]"
            lines.append([name, f"{len(found):,}", factor, f"{g.exponential:.2f}", f"{g.power:.2f}"])
    title = "Growth of the number of optimal projective trees with the length; see experiments/figure8.py.\n\n"
    columns = ["treebank", "non-projective trees", "factor in 10 words", "R^2, exponential", "R^2, power"]
    return title + markdown(columns, lines)


def draw(rows: list[Row], settings: Figure8, path: Path) -> None:
    """One thin line for each treebank, a thick one with its interval for all of them."""
    figure, (axes,) = panels()
    colours = [ORANGE, SKY, GREEN, BLUE, RED, PINK, YELLOW, GREY]
    names = list(dict.fromkeys(row["treebank"] for row in rows if row["treebank"] != POOLED))
    shown = [row for row in rows if int(row["trees"]) >= settings.min_trees]
    for name, colour in zip(names, colours * len(names), strict=False):
        some = chosen(shown, treebank=name)
        axes.plot(numbers(some, "mean_length"), numbers(some, "geometric_mean"), color=colour, linewidth=0.9, label=name)
    x, mean, low, high = (numbers(chosen(shown, treebank=POOLED), name) for name in COLUMNS[4:8])
    axes.fill_between(x, low, high, color=BLACK, alpha=0.15, linewidth=0)
    axes.plot(x, mean, "o-", color=BLACK, linewidth=1.8, label="all of these")
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(10, subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.minorticks_off()
    axes.set_xlim(left=0)
    axes.set_xlabel("sentence length (words)")
    axes.set_ylabel("optimal projective trees (geometric mean)")
    axes.legend(ncols=2, loc="upper left")
    save(figure, path)


def main(settings: Figure8) -> None:
    """Counts, and writes."""
    by_treebank: dict[str, list[tuple[int, float]]] = {}
    data = []
    for name in tqdm(settings.treebanks, unit="treebank", disable=None):
        treebank = treebanks.read(name, settings.paths.treebanks)
        trees = treebanks.trees([treebank])
        by_treebank[name] = counts(trees)
        words = int(trees.lengths.sum())
        data.append(describe(treebank.label, len(trees), words) + f" {len(by_treebank[name])} non-projective")
    by_treebank[POOLED] = list(chain.from_iterable(by_treebank.values()))
    lines = [line for name, found in by_treebank.items() for line in bins(name, found, settings.bin_width)]
    output = settings.folder
    write_csv(output / "results.csv", provenance(COMMAND, data), COLUMNS, lines)
    draw(read_csv(output / "results.csv"), settings, output / f"figure8.{settings.format}")
    table = as_table(by_treebank)
    write_page(output / "table.md", table)
    for name, first, last, n_trees, _, geometric_mean, *_ in lines:
        if name == POOLED:
            print(f"{first:3}..{last:<3} words {n_trees:5} trees: {geometric_mean:9.2f}")
    print(table, end="")


if __name__ == "__main__":
    run(main, Figure8, "figure8", __doc__)
