"""Figure 10 of Nederhof (2019): how many nodes remain when non-critical nodes are removed from the
buffer.

    python experiments/figure10.py paths.treebanks=ud-v2.2

It plots mean k + m' against k + m, where m is the number of buffer nodes and m' the number of
critical ones. A node of the buffer B is critical if a gold descendant or its gold parent is not in
B (Section 5 of the paper). A second curve counts the nodes that critical_nodes.py keeps. That set
is ours and smaller: nodes with a gold arc to a stack element, and the ancestors in B of such nodes.
The paper's other critical nodes are connected only with nodes already removed, whose arcs are lost
anyway. Trees are projectivized, because otherwise no node may be removed. Configurations are from
random computations that take an optimal step with probability ``optimal_probability``, otherwise
any step. Writes results.csv and figure10.svg.

In results.csv, ``kept`` is the mean k + m' by the paper's definition, with percentiles;
``kept_here`` is the mean with the set that critical_nodes.py keeps.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numba import njit

import oracles
from experiments import treebanks
from experiments.command import Pictures
from experiments.figures import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    FigureExperiment,
    Measured,
    Tables,
    panels,
    save,
)
from experiments.tables import numbers
from oracles import Query, Trees
from oracles.arc_standard.critical_nodes import critical_nodes
from oracles.trees import GoldChildren
from scripts.benchmarks.random_computations import random_computations

COLUMNS = (
    "k_plus_m",
    "configurations",
    "sentences",
    "kept",
    "kept_here",
    "k",
    "tenth_percentile",
    "ninetieth_percentile",
)


@dataclass
class Figure10(Pictures):
    """Which computations to count; configs/experiments/figure10.yaml explains the keys."""

    treebanks: list[str]
    strategy: str
    optimal_probability: float
    seed: int
    computations: int
    min_sentences: int


def critical_counts(trees: Trees, batches: list[Query]) -> np.ndarray:
    """Return int[configurations, 5] for projective trees: sentence, k, m, and the critical nodes of
    the paper and of ours.
    """
    facts = GoldChildren.of(trees)
    counted = [_count(trees.heads, trees.offsets, facts, *batch.arrays) for batch in batches]
    return np.concatenate(counted) if counted else np.zeros((0, 5), np.int32)


@njit(cache=True)
def _count(all_heads, offsets, facts, sentences, stacks, stack_sizes, fronts):
    counted = np.empty((len(sentences), 5), np.int32)
    for r in range(len(sentences)):
        start = offsets[sentences[r]]
        heads = all_heads[start : offsets[sentences[r] + 1]]
        k = stack_sizes[r] - 1
        position = np.full(len(heads), -1, np.int32)
        for p in range(k + 1):
            position[stacks[r, p]] = p
        counted[r, 0] = sentences[r]
        counted[r, 1] = k
        counted[r, 2] = len(heads) - fronts[r]
        counted[r, 3] = _critical_by_the_paper(heads, fronts[r])
        counted[r, 4] = len(critical_nodes(heads, start, stacks[r], k, fronts[r], facts, position))
    return counted


@njit(cache=True)
def _critical_by_the_paper(heads, front):
    """Return the number of nodes of the buffer front..n with a gold descendant or the gold parent
    outside of it.
    """
    critical = np.zeros(len(heads), np.bool_)
    for outside in range(1, front):
        node = heads[outside]
        while node > 0 and not critical[node]:  # the ancestors of a marked node are marked
            critical[node] = True
            node = heads[node]
    count = 0
    for node in range(front, len(heads)):
        count += critical[node] or heads[node] < front
    return count


def by_size(counted: np.ndarray) -> list[tuple[int | float, ...]]:
    """Return the means over the configurations of each size k + m > 0, rows of COLUMNS."""
    sentences, k, m, kept, kept_here = counted.T
    rows: list[tuple[int | float, ...]] = []
    for size in np.unique((k + m)[k + m > 0]):
        at = k + m == size
        left = (k + kept)[at]
        means = [float(values.mean()) for values in (left, (k + kept_here)[at], k[at])]
        percentiles = map(float, np.percentile(left, [10, 90]))
        rows.append((int(size), int(at.sum()), len(np.unique(sentences[at])), *means, *percentiles))
    return rows


def draw(tables: Tables, settings: Figure10, folder: Path) -> None:
    """Plot both means, the spread, and the line of configurations from which nothing is removed."""
    shown = [row for row in tables["results"] if int(row["sentences"]) >= settings.min_sentences]
    size, _, _, kept, kept_here, k, tenth, ninetieth = (
        numbers(shown, column) for column in COLUMNS
    )
    figure, (axes,) = panels()
    spread = "the paper's, 10th to 90th percentile"
    axes.fill_between(size, tenth, ninetieth, color=BLUE, alpha=0.15, linewidth=0, label=spread)
    axes.plot(size, kept, color=BLUE, label="$k+m'$, the paper's critical nodes, mean")
    axes.plot(size, kept_here, "--", color=GREEN, label="$k+m'$, nodes kept here, mean")
    axes.plot(size, k, color=GREY, linewidth=0.9, label="$k$, mean")
    axes.plot(
        [0, max(size)],
        [0, max(size)],
        ":",
        color=BLACK,
        linewidth=1,
        label="$k+m$: nothing removed",
    )
    # in a square plot, the curves would be flat
    axes.set(xlim=(0, max(size)), ylim=(0, 2.5 * max(kept)))
    axes.set(
        xlabel="$k+m$ (stack elements and buffer nodes)",
        ylabel="$k+m'$ (non-critical nodes removed)",
    )
    axes.legend(loc="upper right")
    save(figure, folder / f"figure10.{settings.format}")


def measure(settings: Figure10) -> Measured:
    """Count the remaining nodes."""
    chosen = [
        treebanks.read_train_or_rest(name, settings.paths.treebanks) for name in settings.treebanks
    ]
    trees = oracles.projectivize_trees(treebanks.trees(chosen))
    guide = oracles.create("nederhof_linear", settings.strategy).bind(trees)
    seeds = range(settings.seed, settings.seed + settings.computations)
    computations = (
        random_computations(trees, guide, settings.optimal_probability, seed) for seed in seeds
    )
    rows = by_size(np.concatenate([critical_counts(trees, batches) for batches in computations]))
    how = f"{settings.strategy}, an optimal step with probability {settings.optimal_probability}"
    more = [
        f"computations: {settings.computations} over each sentence, seeds {seeds[0]}..{seeds[-1]}, "
        f"{how}"
    ]
    return Measured({"results": rows}, map(str, chosen), more)


EXPERIMENT = FigureExperiment("figure10", Figure10, {"results": COLUMNS}, measure, draw=draw)

if __name__ == "__main__":
    EXPERIMENT.run(__doc__)
