"""Figure 8 of Nederhof (2019): how many optimal projective trees a non-projective tree has.

    python experiments/figure8.py paths.treebanks=ud-v2.2

It plots, by sentence length, the geometric mean of the number of projective trees with the most
gold arcs, counted exactly (oracles.count_projectivizations). The paper shows grc, ja and de, and
does not say whether projective trees count. Here they do not, because the only optimal tree of a
projective tree is itself: the mean is over the non-projective trees of all available parts. Writes
trees.csv (how many ``trees`` of a ``length`` have this number of ``optimal`` trees), and from it
results.csv by bins of lengths, figure8.svg and table.md; low and high are the ends of the 95%
interval of the mean logarithm, 1.96 standard errors away.

The paper finds that the number grows roughly exponentially with the length (Section 8.1). table.md
tests this. It has the growth in ten words, by least squares over the trees (not the bins). It also
compares two explanations of the variance of the number's logarithm: the share that the length
explains (exponential growth), and the share that the logarithm of the length explains (a power of
the length).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

import oracles
from experiments import figures, treebanks
from experiments.command import Pictures
from experiments.figures import (
    FigureExperiment,
    Measured,
    Tables,
    panels,
    read_csv,
    save,
    write_csv,
)
from experiments.tables import Row, chosen, markdown, names_of, numbers
from oracles import Trees

POOLED = "all"
COLUMNS = ("treebank", "length", "optimal", "trees")

# A row is about the trees of one treebank, or of all, with lengths first_length..last_length.
BIN_COLUMNS = (
    "treebank",
    "first_length",
    "last_length",
    "trees",
    "mean_length",
    "geometric_mean",
    "low",
    "high",
    "most",
)

_COLOURS = [
    *(
        figures.ORANGE,
        figures.SKY,
        figures.GREEN,
        figures.BLUE,
        figures.RED,
        figures.PINK,
        figures.YELLOW,
        figures.GREY,
    ),
]

# The length of a tree, and the natural logarithm of the number of its optimal trees, an integer
# that may exceed any float.
Pair = tuple[int, float]


@dataclass
class Figure8(Pictures):
    """Which trees to count; configs/experiments/figure8.yaml explains the keys."""

    treebanks: list[str]
    bin_width: int
    min_trees: int


def counts(trees: Trees) -> Counter[tuple[int, int]]:
    """Count non-projective trees by length and number of optimal projective trees."""
    numbers = np.flatnonzero(~trees.projective).tolist()
    return Counter(
        (int(trees.lengths[s]), oracles.count_projectivizations(trees[s])[1]) for s in numbers
    )


def measure(settings: Figure8) -> Measured:
    """Count the optimal trees."""
    lines, data = [], []
    for name in tqdm(settings.treebanks, unit="treebank", disable=None):
        treebank = treebanks.read(name, settings.paths.treebanks)
        pairs = counts(treebanks.trees([treebank]))
        lines += [(name, *key, number) for key, number in pairs.items()]
        data.append(f"{treebank} {pairs.total()} non-projective")
    return Measured({"trees": lines}, data)


def by_treebank(rows: Iterable[Row]) -> dict[str, list[Pair]]:
    """Return the trees of each treebank, and of all together."""
    pairs: dict[str, list[Pair]] = defaultdict(list)
    for row in rows:
        pairs[row["treebank"]] += [(int(row["length"]), math.log(int(row["optimal"])))] * int(
            row["trees"]
        )
    return {**pairs, POOLED: [pair for pairs in pairs.values() for pair in pairs]}


def bins(treebank: str, trees: Iterable[Pair], width: int) -> list[tuple[Any, ...]]:
    """Return trees by length, lines of BIN_COLUMNS; bins begin at 1, 1 + width, ..."""
    by_bin: dict[int, list[Pair]] = defaultdict(list)
    for pair in trees:
        by_bin[(pair[0] - 1) // width].append(pair)
    lines = []
    for number, pairs in sorted(by_bin.items()):
        lengths, logs = np.array(pairs).T
        mean = logs.mean()
        # One tree says nothing about the spread.
        margin = 1.96 * logs.std(ddof=1) / math.sqrt(len(logs)) if len(logs) > 1 else math.nan
        around = [float(np.exp(x)) for x in (mean, mean - margin, mean + margin, logs.max())]
        lines.append(
            (
                treebank,
                1 + number * width,
                (number + 1) * width,
                len(logs),
                float(lengths.mean()),
                *around,
            )
        )
    return lines


def growth(pairs: Iterable[Pair]) -> tuple[float, float, float, float, float]:
    """Estimate how the number grows with the length, from three trees of different lengths or more.

    Returns:
        The factor in ten words, both ends of its 95% interval, and the shares of variance (R^2)
        that exponential growth and a power of the length explain.
    """
    lengths, logs = np.array(list(pairs)).T
    spread = lengths - lengths.mean()
    slope = float(spread @ logs / (spread @ spread))
    residuals = logs - logs.mean() - slope * spread
    margin = 1.96 * math.sqrt(float(residuals @ residuals / (len(logs) - 2) / (spread @ spread)))
    factor, low, high = (math.exp(10 * x) for x in (slope, slope - margin, slope + margin))
    exponential, power = (
        float(np.corrcoef(x, logs)[0, 1]) ** 2 for x in (lengths, np.log(lengths))
    )
    return factor, low, high, exponential, power


def page(tables: Tables, settings: Figure8) -> str:
    """Return the page: the growth in each treebank, and in all together."""
    lines = []
    for name, pairs in by_treebank(tables["trees"]).items():
        if len({length for length, _ in pairs}) >= 3:
            factor, low, high, *shares = growth(pairs)
            lines.append(
                [
                    name,
                    f"{len(pairs):,}",
                    f"{factor:.2f} [{low:.2f}, {high:.2f}]",
                    *(f"{r:.2f}" for r in shares),
                ]
            )
    title = (
        "Growth of the number of optimal projective trees with the length; "
        "see experiments/figure8.py.\n\n"
    )
    columns = [
        "treebank",
        "non-projective trees",
        "factor in 10 words",
        "R^2, exponential",
        "R^2, power",
    ]
    return title + markdown(columns, lines)


def draw(tables: Tables, settings: Figure8, folder: Path) -> None:
    """Write the bins as CSV, and plot a thin line for each treebank,
    and a thick line with its interval for all.
    """
    from matplotlib.ticker import LogLocator  # figures.py says how to install it

    entries = by_treebank(tables["trees"]).items()
    lines = [line for name, pairs in entries for line in bins(name, pairs, settings.bin_width)]
    write_csv(folder / "results.csv", tables.head, BIN_COLUMNS, lines)
    shown = [
        row for row in read_csv(folder / "results.csv") if int(row["trees"]) >= settings.min_trees
    ]
    figure, (axes,) = panels()
    for number, name in enumerate(names_of(tables["trees"], "treebank", settings.treebanks)):
        some, colour = chosen(shown, treebank=name), _COLOURS[number % len(_COLOURS)]
        axes.plot(
            numbers(some, "mean_length"),
            numbers(some, "geometric_mean"),
            color=colour,
            linewidth=0.9,
            label=name,
        )
    x, mean, low, high = (
        numbers(chosen(shown, treebank=POOLED), name) for name in BIN_COLUMNS[4:8]
    )
    axes.fill_between(x, low, high, color=figures.BLACK, alpha=0.15, linewidth=0)
    axes.plot(x, mean, "o-", color=figures.BLACK, linewidth=1.8, label="all of these")
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(10, subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.minorticks_off()
    axes.set(
        xlim=(0, None),
        xlabel="sentence length (words)",
        ylabel="optimal projective trees (geometric mean)",
    )
    axes.legend(ncols=2, loc="upper left")
    save(figure, folder / f"figure8.{settings.format}")


EXPERIMENT = FigureExperiment("figure8", Figure8, {"trees": COLUMNS}, measure, page, draw)

if __name__ == "__main__":
    EXPERIMENT.run(__doc__)
