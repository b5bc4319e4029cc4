"""Figure 10 of Nederhof (2019): how many nodes are left when the non-critical ones are removed from the buffer.

    python experiments/figure10.py paths.treebanks=../shared/ud-v2.2

Mean k + m' against k + m, where m is the number of buffer nodes and m' that of the critical ones: those with a gold edge to a
stack element, and those on the gold path between two such nodes inside the buffer (Section 4 of the paper). On projectivized
trees, as nothing may be removed on others. The configurations are those of walks that take an optimal step with probability
``follow``, else any step. Writes experiments/figure10/results.csv and figure10.svg.

In results.csv, ``kept`` is the mean k + m' as the paper defines it; ``kept_here`` is that of critical_nodes.py, which also
keeps the ancestors of critical nodes inside the buffer: as exact, and hardly ever different.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numba import njit

import oracles
import treebanks
from figures import BLUE, GREY, HERE, Paths, describe, panels, provenance, run, save, write_csv
from measuring import Batch, walk
from oracles import Trees
from oracles.arc_standard.critical_nodes import critical_nodes
from oracles.gold_children import gold_children

COMMAND = "python experiments/figure10.py"
COLUMNS = ("k_plus_m", "configurations", "sentences", "kept", "kept_here", "k", "tenth_percentile", "ninetieth_percentile")


@dataclass
class Settings:
    """Of a run; the defaults are those of the committed figure."""

    treebanks: list[str] = field(default_factory=lambda: list(treebanks.WITH_TRAIN_PART))
    strategy: str = "left_before_right"
    follow: float = 0.9
    seed: int = 1
    walks: int = 10  # over each sentence
    min_sentences: int = 30  # sizes that fewer sentences reach are in the CSV file, but not drawn
    paths: Paths = field(default_factory=Paths)
    output: str = str(HERE / "figure10")
    format: str = "svg"


def critical_counts(trees: Trees, batches: list[Batch]) -> np.ndarray:
    """int[configurations, 5]: sentence, k, m, and the number of critical nodes by the paper's definition and as kept here.

    Args:
        trees: projective ones.
        batches: configurations of these trees.
    """
    facts = gold_children(trees.heads, trees.offsets)
    counted = [_count(trees.heads, trees.offsets, facts, *batch.arguments) for batch in batches]
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
        found = critical_nodes(heads, start, stacks[r], k, fronts[r], facts, position)
        counted[r, 0] = sentences[r]
        counted[r, 1] = k
        counted[r, 2] = len(heads) - fronts[r]
        counted[r, 3] = len(found) - _above_all_paths(heads, stacks[r, : k + 1], fronts[r], position, found)
        counted[r, 4] = len(found)
    return counted


@njit(cache=True)
def _above_all_paths(heads, stack, front, position, found):
    """How many of the nodes found are on no path: those above the lowest one that all others of its component hang from."""
    joined = np.zeros(len(heads), np.bool_)  # by a gold edge to a stack element
    children = np.zeros(len(heads), np.int32)  # among the nodes found, to which the gold head in the buffer always belongs
    a_child = np.zeros(len(heads), np.int32)
    for a in stack[1:]:
        if heads[a] >= front:
            joined[heads[a]] = True
    for node in found:
        head = heads[node]
        if head >= front:
            children[head] += 1
            a_child[head] = node
        elif position[head] >= 0:
            joined[node] = True
    above = 0
    for node in found:
        if heads[node] < front:
            top = node
            while not joined[top] and children[top] == 1:
                above += 1
                top = a_child[top]
    return above


def by_size(counted: np.ndarray) -> list[tuple[int | float, ...]]:
    """The means over the configurations of each size k + m > 0; rows of COLUMNS."""
    sentences, k, m, kept, kept_here = counted.T
    rows: list[tuple[int | float, ...]] = []
    for size in np.unique((k + m)[k + m > 0]):
        at = k + m == size
        left = (k + kept)[at]
        means = [float(values.mean()) for values in (left, (k + kept_here)[at], k[at])]
        percentiles = map(float, np.percentile(left, [10, 90]))
        rows.append((int(size), int(at.sum()), len(np.unique(sentences[at])), *means, *percentiles))
    return rows


def draw(rows: list[tuple[int | float, ...]], min_sentences: int, path: Path) -> None:
    """The mean, what the configurations spread over, and what would be without removing anything."""
    size, _, _, kept, _, k, tenth, ninetieth = zip(*(row for row in rows if row[2] >= min_sentences), strict=True)
    figure, (axes,) = panels()
    axes.fill_between(size, tenth, ninetieth, color=BLUE, alpha=0.15, linewidth=0, label="$k+m'$, 10th to 90th percentile")
    axes.plot(size, kept, color=BLUE, label="$k+m'$, mean")
    axes.plot(size, k, color=GREY, linewidth=0.9, label="$k$, mean")
    axes.plot([0, max(size)], [0, max(size)], ":", color="black", linewidth=1, label="$k+m$: nothing removed")
    axes.set_xlim(0, max(size))
    axes.set_ylim(0, 2.5 * max(kept))  # a square plot would squeeze what it is about into a line
    axes.set_xlabel("$k+m$ (stack elements and buffer nodes)")
    axes.set_ylabel("$k+m'$ (non-critical nodes removed)")
    axes.legend(loc="upper right")
    save(figure, path)


def main(settings: Settings) -> None:
    """Walks, counts, and writes."""
    chosen = [treebanks.read_train_or_rest(name, settings.paths.treebanks) for name in settings.treebanks]
    trees = oracles.projectivize_trees(treebanks.trees(chosen))
    guide = oracles.create("nederhof_linear", settings.strategy).bind(trees)
    seeds = range(settings.seed, settings.seed + settings.walks)
    rows = by_size(np.concatenate([critical_counts(trees, walk(trees, guide, settings.follow, seed)) for seed in seeds]))
    data = [describe(treebank.label, len(treebank.heads), sum(map(len, treebank.heads))) for treebank in chosen]
    how = f"{settings.strategy}, an optimal step with probability {settings.follow}"
    more = [f"walks: {settings.walks} over each sentence, seeds {seeds[0]}..{seeds[-1]}, {how}"]
    output = Path(settings.output)
    write_csv(output / "results.csv", provenance(COMMAND, data, more), COLUMNS, rows)
    draw(rows, settings.min_sentences, output / f"figure10.{settings.format}")
    for size, configurations, _, kept, here, *_ in rows:
        if size % 10 == 0:
            print(f"k+m = {size:3} in {configurations:6} configurations: k+m' = {kept:6.2f}, as kept here {here:6.2f}")


if __name__ == "__main__":
    run(main, Settings, __doc__)
