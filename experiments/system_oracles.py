"""How long exact oracles for transition systems other than arc-standard take, and how large the
tables of LR-spine's tabular oracle are.

    python experiments/system_oracles.py paths.treebanks=ud-v2.2

Random computations over the training parts take an optimal transition with probability
``optimal_probability``, otherwise any transition. The experiment measures the CPU time, in
microseconds, of scoring all transitions of a configuration, in two ways. Within batches (all
sentences, a step at a time), it takes the mean. With a call for each configuration, which includes
the overhead of the call, it takes the mean, the 99.9th percentile, and the median by k + m
(elements of the stack without the root, and tokens in the buffer). Trees are projectivized if an
oracle takes only projective gold trees.

It also makes Figure 3 of Goldberg et al. (2014): how many spines |T[i,j]| the tabular oracle of
LR-spine holds for a fragment of i elements of the stack and j of the right stack, against i +
j - 1. The computations are of the same kind, over the first ``table_sentences`` trees of each
treebank, projectivized. Little else should run on the machine.

Writes results.csv (the two means and the percentile); sizes.csv, whose ``value`` for each ``size``
is the median time for k + m or, in the rows of |T[i,j]|, the mean for i + j - 1, with the maximum
in ``greatest``; table.md; and two pictures, times and table_sizes.
"""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import oracles
from experiments import treebanks
from experiments.command import Pictures
from experiments.figures import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PINK,
    RED,
    FigureExperiment,
    Measured,
    Tables,
    panels,
    save,
)
from experiments.tables import Row, chosen, numbers, plain_table
from oracles import Trees
from oracles.lr_spine.tabular import elements_of, fragments
from parser import transitions
from parser.data.sentences import NO_NODE
from parser.transitions.configurations import Configurations
from parser.transitions.decisions import query
from scripts.benchmarks.oracles import OF_SYSTEMS
from scripts.benchmarks.random_computations import computations_of

COLUMNS = ("oracle", "configurations", "mean", "in_calls", "percentile_999")
SIZE_COLUMNS = ("oracle", "size", "configurations", "value", "greatest")
TABLE = "|T[i,j]|"

# Colours of the oracles whose times are drawn.
_COLOURS = {
    "attardi_search, degree 2": BLUE,
    "attardi_search, degree 3": GREEN,
    "lr_spine_chart": ORANGE,
    "arc_hybrid_local": BLACK,
    "arc_hybrid_rows": RED,
    "arc_eager_rows": PINK,
}


@dataclass
class SystemOracles(Pictures):
    """Which computations to measure; configs/experiments/system_oracles.yaml explains the keys."""

    treebanks: list[str]
    optimal_probability: float
    seed: int
    table_sentences: int
    min_configurations: int


@dataclass(frozen=True)
class Cost:
    """The time of an oracle, in CPU microseconds per configuration.

    Attributes:
        mean: with all sentences in a batch, a step at a time.
        calls: float64[configurations], with a call for each configuration.
        sizes: int64[configurations], their k + m.
    """

    mean: float
    calls: np.ndarray
    sizes: np.ndarray

    def summary(self) -> tuple[float, float]:
        """Return the mean and the 99.9th percentile of the calls."""
        return float(self.calls.mean()), float(np.percentile(self.calls, 99.9))


def cost(trees: Trees, name: str, optimal_probability: float, seed: int) -> Cost:
    """Measure an oracle of OF_SYSTEMS."""
    system_name, options, oracle_name = OF_SYSTEMS[name]
    system = transitions.create(system_name, 1, None, **options)
    oracle = oracles.create(oracle_name, "any", **options)
    if oracle.needs_projective_gold:
        trees = oracles.projectivize_trees(trees)
    steps = list(computations_of(trees, system, oracle.bind(trees), optimal_probability, seed))
    in_batches, in_calls, first = (oracle.bind(trees) for _ in range(3))  # each has its own caches
    first.score_batch(query(*steps[0]))  # loads compiled code before anything is timed
    start = time.process_time_ns()
    for rows, now in steps:
        in_batches.score_batch(query(rows, now))
    total = time.process_time_ns() - start
    calls, sizes = [], []
    for rows, now in steps:
        for row in range(len(rows)):
            configuration = Configurations(*(array[row : row + 1] for array in now))
            start = time.thread_time_ns()
            in_calls.score_batch(query(rows[row : row + 1], configuration))
            calls.append(time.thread_time_ns() - start)
        sizes += (now.stack_sizes - 1 + now.lengths + 1 - now.buffer_fronts).tolist()
    return Cost(total / 1000 / len(calls), np.array(calls) / 1000, np.array(sizes))


def table_sizes(trees: Trees, optimal_probability: float, seed: int) -> dict[int, list[int]]:
    """Return the sizes |T[i,j]| of all fragments of all configurations in random computations of
    LR-spine, by i + j - 1.
    """
    system = transitions.create("lr_spine", 1)
    oracle = oracles.create("lr_spine_chart", "any").bind(trees)
    sizes: defaultdict[int, list[int]] = defaultdict(list)
    for sentences, now in computations_of(trees, system, oracle, optimal_probability, seed):
        for row, s in enumerate(sentences.tolist()):
            stack = [
                elements_of(now.children[row], int(root))
                for root in now.stacks[row, : now.stack_sizes[row]]
            ]
            for (i, j), cell in fragments(
                [NO_NODE, *trees[s]], stack, int(now.buffer_fronts[row])
            ).items():
                # the paper counts the top, and the right stack, from 1
                sizes[i + j + 1].append(len(cell))
    return sizes


def measure(settings: SystemOracles) -> Measured:
    """Measure the oracles of all systems."""
    used = [
        treebanks.read_train_or_rest(name, settings.paths.treebanks) for name in settings.treebanks
    ]
    trees = treebanks.trees(used)
    costs = {
        name: cost(trees, name, settings.optimal_probability, settings.seed) for name in OF_SYSTEMS
    }
    spines: defaultdict[int, list[int]] = defaultdict(list)
    for treebank in used:
        first = oracles.projectivize_trees(
            Trees.from_heads(treebank.heads[: settings.table_sentences])
        )
        for size, sizes in table_sizes(first, settings.optimal_probability, settings.seed).items():
            spines[size] += sizes
    lines: list[tuple[Any, ...]] = [
        (name, len(cost_of_oracle.calls), cost_of_oracle.mean, *cost_of_oracle.summary())
        for name, cost_of_oracle in costs.items()
    ]
    by_size: list[tuple[Any, ...]] = []
    for name, cost_of_oracle in costs.items():
        for size in np.unique(cost_of_oracle.sizes).tolist():
            calls = cost_of_oracle.calls[cost_of_oracle.sizes == size]
            by_size.append((name, size, len(calls), float(np.median(calls)), ""))
    by_size += [
        (TABLE, size, len(sizes), float(np.mean(sizes)), max(sizes))
        for size, sizes in sorted(spines.items())
    ]
    more = [
        (
            f"an optimal transition with probability {settings.optimal_probability}, "
            f"else any, seed {settings.seed}"
        ),
        f"{TABLE}: the first {settings.table_sentences} sentences of each treebank",
    ]
    return Measured({"results": lines, "sizes": by_size}, map(str, used), more)


def draw(tables: Tables, settings: SystemOracles, folder: Path) -> None:
    """Plot times against k + m, and spines against i + j - 1,
    for sizes with enough configurations.
    """
    shown = [
        row for row in tables["sizes"] if int(row["configurations"]) >= settings.min_configurations
    ]
    lines = [
        (chosen(shown, oracle=name), "value", {"color": colour, "label": name})
        for name, colour in _COLOURS.items()
    ]
    _draw(
        lines,
        "$k+m$",
        "CPU microseconds, median (one call per configuration)",
        folder / f"times.{settings.format}",
    )
    spines = chosen(shown, oracle=TABLE)
    lines = [
        (spines, "greatest", {"linestyle": "--", "color": ORANGE, "label": "greatest"}),
        (spines, "value", {"color": BLUE, "label": "mean"}),
    ]
    _draw(
        lines,
        "$i+j-1$ (elements in the fragment)",
        "$|T[i,j]|$",
        folder / f"table_sizes.{settings.format}",
    )


def _draw(
    lines: list[tuple[list[Row], str, dict[str, str]]], x_label: str, y_label: str, path: Path
) -> None:
    """Draw ``lines``; each has rows, the column that is drawn against their sizes, and the look."""
    figure, (axes,) = panels()
    for rows, column, look in lines:
        axes.plot(numbers(rows, "size"), numbers(rows, column), **look)
    axes.set(xlabel=x_label, ylabel=y_label, ylim=(0, None))
    axes.legend()
    save(figure, path)


def page(tables: Tables, settings: SystemOracles) -> str:
    """Return the table in Markdown."""
    forms = {"mean": "{:.1f} us", "in_calls": "{:.1f} us", "percentile_999": "{:.0f} us"}
    cells = [
        [
            f"`{row['oracle']}`",
            f"{int(row['configurations']):,}",
            *(form.format(float(row[name])) for name, form in forms.items()),
        ]
        for row in tables["results"]
    ]
    columns = [
        "oracle",
        "configurations",
        "mean, within batches",
        "mean, one call per configuration",
        "99.9th percentile, one call per configuration",
    ]
    spines = chosen(tables["sizes"], oracle=TABLE)
    slope, start = np.polyfit(numbers(spines, "size"), numbers(spines, "value"), 1)
    lines = [
        "# What the oracles of the other transition systems cost",
        "",
        *(f"{line}  " for line in tables.head),
        "",
    ]
    lines += [plain_table(columns, cells)]
    lines += [
        f"|T[i,j]| of lr_spine_tabular: {start:.2f} + {slope:.3f} (i + j - 1) is the straight line "
        "that fits the"
    ]
    lines += [
        f"means best (least squares); the largest size is {max(numbers(spines, 'greatest')):.0f}."
    ]
    return "\n".join(lines) + "\n"


FILES = {"results": COLUMNS, "sizes": SIZE_COLUMNS}
EXPERIMENT = FigureExperiment(
    "system_oracles", SystemOracles, FILES, measure, page, draw, timed=True
)

if __name__ == "__main__":
    EXPERIMENT.run(__doc__)
