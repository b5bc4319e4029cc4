"""Table 6 of Nederhof (2019): how many arcs projectivization keeps, optimal against lifting.

    python experiments/table6.py paths.treebanks=ud-v2.2

Optimal: oracles.projectivization.optimal (Section 3 of the paper). Lifting: the smallest
non-projective arc first, as in pseudo-projective parsing (Nivre and Nilsson 2005; lifting.py), for
which the paper used MaltParser 1.9.0. Percentages are of the arcs of all trees, including
projective ones, in the training part if it is available, otherwise in dev and test. The paper does
not name the part; its context suggests the training part. Writes table.md and results.csv.

Times are medians of ``repeats`` for all trees of a treebank in one call, the test for projectivity
included.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import oracles
from experiments import treebanks
from experiments.command import Pictures
from experiments.figures import FigureExperiment, Measured, Tables
from experiments.tables import markdown
from oracles import Trees

# Table 6: pseudo-projective (MaltParser 1.9.0) and optimal; Table 7: percentage of non-projective
# trees in the training part.
PAPER_KEPT = {"grc": (91.41, 92.50), "de": (98.89, 98.97), "ja": (99.99, 99.99)}
PAPER_NONPROJECTIVE = {"de": 13, "da": 13, "eu": 34, "el": 12, "cu": 20, "got": 22, "hu": 26}
PAPER_MILLISECONDS = 0.342

NOTES = f"""
* Paper, non-projective %: its Table 7, training parts. In brackets: our trees are another part, \
as no training part is here.
* Paper, lifting / optimal: its Table 6, whose lifting is that of MaltParser 1.9.0. It does not \
name the part; by its context
  it is the training part. Ours is the part named. ja ({PAPER_KEPT["ja"][0]} / \
{PAPER_KEPT["ja"][1]}) is not here. UD 2.2 has
  two treebanks of Ancient Greek; grc is PROIEL here.
* Lost edges saved: of the edges that lifting gives up, the percentage by which optimal \
projectivization gives up fewer.
* Time: nearest_ancestor among the optimal trees, one thread. The paper, for all of UD 2.2: \
{PAPER_MILLISECONDS} ms per tree.
"""


# Percentages of trees and of edges; milliseconds per tree.
COLUMNS = (
    *(
        "treebank",
        "parts",
        "sentences",
        "words",
        "nonprojective",
        "nonprojective_percent",
        "lifting_kept",
        "lifting_percent",
    ),
    *(
        "optimal_kept",
        "optimal_percent",
        "lifting_ms_per_tree",
        "optimal_ms_per_tree",
        "optimal_ms_per_nonprojective_tree",
    ),
)


@dataclass
class Table6(Pictures):
    """Which treebanks to measure; configs/experiments/table6.yaml explains the keys."""

    treebanks: list[str]
    repeats: int


def kept(gold: Trees, trees: Trees) -> int:
    """Count the arcs of the gold trees that the other trees have."""
    tokens = gold.heads >= 0  # the artificial roots have no head
    return int((gold.heads == trees.heads)[tokens].sum())


def milliseconds(work: Callable[[Trees], Trees], trees: Trees, repeats: int) -> float:
    """Return the median time for all trees together."""
    work(trees)  # compiles kernels, or loads them
    times = []
    for _ in range(repeats):
        fresh = Trees(trees.heads, trees.offsets)  # has no cache of which trees are projective
        start = time.perf_counter()
        work(fresh)
        times.append(time.perf_counter() - start)
    return float(np.median(times)) * 1e3


def line(name: str, parts: str, trees: Trees, repeats: int) -> tuple[Any, ...]:
    """Projectivize trees in both ways, and return a row of COLUMNS."""
    nonprojective, words = int((~trees.projective).sum()), int(trees.lengths.sum())
    row: list[Any] = [
        name,
        parts,
        len(trees),
        words,
        nonprojective,
        100 * nonprojective / len(trees),
    ]
    for projectivized in (oracles.lift_trees(trees), oracles.projectivize_trees(trees)):
        edges = kept(trees, projectivized)
        row += [edges, 100 * edges / words]
    took = milliseconds(oracles.projectivize_trees, trees, repeats)
    lifting = milliseconds(oracles.lift_trees, trees, repeats)
    return (*row, lifting / len(trees), took / len(trees), took / max(nonprojective, 1))


def measure(settings: Table6) -> Measured:
    """Measure a line for each treebank, and one for all together."""
    chosen = [
        treebanks.read_train_or_rest(name, settings.paths.treebanks) for name in settings.treebanks
    ]
    lines = [
        line(treebank.name, "+".join(treebank.parts), treebanks.trees([treebank]), settings.repeats)
        for treebank in chosen
    ]
    lines.append(line("all of these", "", treebanks.trees(chosen), settings.repeats))
    return Measured({"results": lines}, map(str, chosen), [f"times: median of {settings.repeats}"])


def page(tables: Tables, settings: Table6) -> str:
    """Return the page: the paper's numbers beside ours."""
    columns = [
        "treebank",
        "part",
        "trees",
        "non-projective %",
        "paper",
        "lifting %",
        "optimal %",
        "lost edges saved %",
    ]
    columns += ["paper: lifting / optimal", "optimal, ms per tree", "per non-projective tree"]
    lines = []
    for row in tables["results"]:
        words, lifted, kept = (
            int(row[column]) for column in ("words", "lifting_kept", "optimal_kept")
        )
        paper, pair = PAPER_NONPROJECTIVE.get(row["treebank"], ""), PAPER_KEPT.get(row["treebank"])
        cells = [
            row["treebank"],
            row["parts"],
            f"{int(row['sentences']):,}",
            f"{float(row['nonprojective_percent']):.1f}",
        ]
        cells += [f"({paper})" if paper and row["parts"] != "train" else f"{paper}"]
        cells += [f"{float(row[column]):.2f}" for column in ("lifting_percent", "optimal_percent")]
        cells += [f"{100 * (kept - lifted) / (words - lifted):.1f}" if words > lifted else ""]
        cells += [
            "{:.2f} / {:.2f}".format(*pair) if pair else "",
            *(f"{float(row[column]):.4f}" for column in COLUMNS[-2:]),
        ]
        lines.append(cells)
    title = (
        "Percentage of edges that projectivization keeps, over all trees; "
        "see experiments/table6.py.\n\n"
    )
    return title + markdown(columns, lines) + NOTES


EXPERIMENT = FigureExperiment("table6", Table6, {"results": COLUMNS}, measure, page, timed=True)

if __name__ == "__main__":
    EXPERIMENT.run(__doc__)
