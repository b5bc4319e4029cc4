"""Table 6 of Nederhof (2019): how many edges projectivization keeps, optimal against lifting.

    python experiments/table6.py paths.treebanks=../shared/ud-v2.2

Optimal: oracles.projectivization.optimal (Section 3 of the paper). Lifting: the smallest non-projective arc first, as in
pseudo-projective parsing (Nivre and Nilsson 2005; lifting.py); the paper used MaltParser 1.9.0 for that. Percentage of the
edges of all trees, projective ones included. The training part where it is available, dev and test elsewhere; the paper does
not name the part, but from the context it is the training part. Writes table.md and results.csv.

Times are of all trees of a treebank in one call, the test whether a tree is projective included, the median of ``repeats``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields

import numpy as np
from hydra.core.config_store import ConfigStore
from omegaconf import MISSING

import oracles
from experiments import treebanks
from experiments.command import Pictures, run
from experiments.figures import describe, provenance, write_csv
from experiments.tables import markdown
from oracles import Trees

COMMAND = "python experiments/table6.py"

# Table 6: pseudo-projective (MaltParser 1.9.0) and optimal; Table 7: percentage of non-projective trees in the training part.
PAPER_KEPT = {"grc": (91.41, 92.50), "de": (98.89, 98.97), "ja": (99.99, 99.99)}
PAPER_NONPROJECTIVE = {"de": 13, "da": 13, "eu": 34, "el": 12, "cu": 20, "got": 22, "hu": 26}
PAPER_MILLISECONDS = 0.342

NOTES = f"""
* Paper, non-projective %: its Table 7, training parts. In brackets: our trees are another part, as no training part is here.
* Paper, lifting / optimal: its Table 6, whose lifting is that of MaltParser 1.9.0. It does not name the part; by its context
  it is the training part. Ours is the part named. ja ({PAPER_KEPT["ja"][0]} / {PAPER_KEPT["ja"][1]}) is not here. UD 2.2 has
  two treebanks of Ancient Greek; grc is PROIEL here.
* Lost edges saved: of the edges that lifting gives up, the percentage by which optimal projectivization gives up fewer.
* Time: nearest_ancestor among the optimal trees, one thread. The paper, for all of UD 2.2: {PAPER_MILLISECONDS} ms per tree.
"""


@dataclass
class Table6(Pictures):
    """Which treebanks to measure; configs/experiments/table6.yaml says what each key is for."""

    treebanks: list[str] = field(default_factory=list)
    repeats: int = MISSING


ConfigStore.instance().store(name="table6_schema", node=Table6)


@dataclass(frozen=True)
class Row:
    """What was found in one treebank. Percentages of trees and of edges; milliseconds per tree."""

    treebank: str
    parts: str
    sentences: int
    words: int
    nonprojective: int
    nonprojective_percent: float
    lifting_kept: int
    lifting_percent: float
    optimal_kept: int
    optimal_percent: float
    lifting_ms_per_tree: float
    optimal_ms_per_tree: float
    optimal_ms_per_nonprojective_tree: float


def kept(gold: Trees, trees: Trees) -> int:
    """How many edges of the gold trees the others have."""
    tokens = gold.heads >= 0  # the artificial roots have no head
    return int((gold.heads == trees.heads)[tokens].sum())


def milliseconds(work: Callable[[Trees], Trees], trees: Trees, repeats: int) -> float:
    """Median, of all trees together."""
    work(trees)  # compiles, or loads what was compiled
    times = []
    for _ in range(repeats):
        fresh = Trees(trees.heads, trees.offsets)  # remembers nothing: not which of its trees are projective
        start = time.perf_counter()
        work(fresh)
        times.append(time.perf_counter() - start)
    return float(np.median(times)) * 1e3


def measure(name: str, parts: str, trees: Trees, repeats: int) -> Row:
    """Projectivizes the trees in both ways."""
    nonprojective = int((~trees.projective).sum())
    words = int(trees.lengths.sum())
    lifting = kept(trees, oracles.lift_trees(trees))
    optimal = kept(trees, oracles.projectivize_trees(trees))
    took = milliseconds(oracles.projectivize_trees, trees, repeats)
    return Row(
        name,
        parts,
        len(trees),
        words,
        nonprojective,
        100 * nonprojective / len(trees),
        lifting,
        100 * lifting / words,
        optimal,
        100 * optimal / words,
        milliseconds(oracles.lift_trees, trees, repeats) / len(trees),
        took / len(trees),
        took / max(nonprojective, 1),
    )


def as_table(rows: list[Row]) -> str:
    """For people: the paper's numbers beside ours."""
    columns = ["treebank", "part", "trees", "non-projective %", "paper", "lifting %", "optimal %", "lost edges saved %"]
    columns += ["paper: lifting / optimal", "optimal, ms per tree", "per non-projective tree"]
    lines = []
    for row in rows:
        paper = PAPER_NONPROJECTIVE.get(row.treebank)
        lost = row.words - row.lifting_kept
        pair = PAPER_KEPT.get(row.treebank)
        lines.append(
            [
                row.treebank,
                row.parts,
                f"{row.sentences:,}",
                f"{row.nonprojective_percent:.1f}",
                "" if paper is None else f"{paper}" if row.parts == "train" else f"({paper})",
                f"{row.lifting_percent:.2f}",
                f"{row.optimal_percent:.2f}",
                f"{100 * (row.optimal_kept - row.lifting_kept) / lost:.1f}" if lost else "",
                "" if pair is None else f"{pair[0]:.2f} / {pair[1]:.2f}",
                f"{row.optimal_ms_per_tree:.4f}",
                f"{row.optimal_ms_per_nonprojective_tree:.4f}",
            ]
        )
    title = "Percentage of edges that projectivization keeps, over all trees; see experiments/table6.py.\n\n"
    return title + markdown(columns, lines) + NOTES


def main(settings: Table6) -> None:
    """Measures and writes."""
    rows, everything = [], []
    for name in settings.treebanks:
        treebank = treebanks.read_train_or_rest(name, settings.paths.treebanks)
        everything.append(treebank)
        rows.append(measure(name, "+".join(treebank.parts), treebanks.trees([treebank]), settings.repeats))
    rows.append(measure("all of these", "", treebanks.trees(everything), settings.repeats))
    data = [describe(f"{row.treebank} {row.parts}", row.sentences, row.words) for row in rows[:-1]]
    head = provenance(COMMAND, data, [f"times: median of {settings.repeats}"], timed=True)
    output = settings.folder
    columns = [column.name for column in fields(Row)]
    write_csv(output / "results.csv", head, columns, ([getattr(row, column) for column in columns] for row in rows))
    table = as_table(rows)
    (output / "table.md").write_text(table, encoding="utf-8")
    print(table, end="")


if __name__ == "__main__":
    run(main, Table6, "table6", __doc__)
