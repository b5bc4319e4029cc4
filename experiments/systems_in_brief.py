"""The table of transition systems in README.md: python experiments/systems_in_brief.py.

What a system can build and how exact its oracles are is written here. LAS comes from the rows of configs/experiments/systems.yaml, the
mean of its seeds. Decoding, how many times as fast as arc_standard (above 1: faster), comes from experiments/speed/systems.csv:
one command for each line but that of arc_standard, with models of that experiment, on a machine where nothing else runs:

    python scripts/benchmark.py parsing runs/systems/lr_spine/hu-train-seed1/model ud-v2.2/*/{hu,got}_*-ud-{dev,test}.conllu \\
        --over arc_standard=runs/systems/arc_standard/hu-train-seed1/model --threads 1 \\
        --rows experiments/speed/systems.csv --label lr_spine

The other labels are "attardi degree=2" (folder attardi_degree_2), "attardi degree=3", arc_hybrid and swap. What has no row is
"not measured". Once there are rows, a test compares README.md with them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

from experiments.comparison import EXPERIMENT
from experiments.tables import Row, chosen, numbers, plain_table, read_rows
from scripts.benchmarks.measurements import Measurement, read_measurements
from scripts.benchmarks.ratios import decoding_over

ROWS = Path(__file__).parent / "systems" / "results.csv"
SPEED = Path(__file__).parent / "speed" / "systems.csv"
_BASELINE = "arc_standard"
NOT_MEASURED = "not measured"


_OF_ATTARDI = "`attardi_search`: exact for any gold tree and degree; `attardi_tabular`: a slow reference; `attardi_static`"

# By label in experiments/speed/systems.csv: the settings that choose the system, its name in configs/experiments/systems.yaml, the trees
# that it builds, and its oracles, the default one first.
LINES = {
    "arc_standard": (
        *("arc_standard", "arc_standard", "projective"),
        "`context_rows`, `nederhof_cubic`: exact for any gold tree; `nederhof_linear`, `nederhof_quadratic`, "
        "`goldberg_tabular`: exact for projective ones; `static`",
    ),
    "attardi degree=2": ("attardi degree=2", "attardi, degree 2", "and arcs over one element of the stack", _OF_ATTARDI),
    "attardi degree=3": (
        *("attardi degree=D", "attardi, degree 3", "and arcs over D - 1 elements, up to D = 9; figures of D = 3", "the same"),
    ),
    "arc_hybrid": (
        *("arc_hybrid", "arc_hybrid", "projective"),
        "`arc_hybrid_local`: exact for projective gold trees; `arc_hybrid_tabular`: for any, slowly",
    ),
    "lr_spine": (
        *("lr_spine", "lr_spine", "projective, arcs to all nodes of a spine"),
        "`lr_spine_chart`: exact for any gold tree; `lr_spine_tabular`: a slow reference; `lr_spine_partial`",
    ),
    "swap": (
        *("swap", "swap", "all"),
        "`swap_dynamic`: exact on gold computations, a lower bound elsewhere; `swap_eager`, `swap_lazy`: static",
    ),
}


def table(rows: Sequence[Row], speeds: Sequence[Measurement]) -> list[list[str]]:
    """The cells of the table, the head first; LAS for each treebank of the rows, those with a training part first."""
    treebanks = list(dict.fromkeys(row["treebank"] for row in sorted(rows, key=lambda row: row["trained_on"] != "train")))
    ratios = {speed.label: float(speed.value) for speed in speeds if speed.quantity == decoding_over(_BASELINE)}
    lines = [["`system=`", "trees", "oracles, the default first", "decoding", *(f"LAS, {name}" for name in treebanks)]]
    for label, (settings, variant, trees, oracles) in LINES.items():
        decoding = "1" if label == _BASELINE else f"{ratios[label]:.2f}" if label in ratios else NOT_MEASURED
        found = (numbers(chosen(rows, variant=variant, treebank=treebank), "las") for treebank in treebanks)
        las = [f"{fmean(of_one):.2f}" if of_one else NOT_MEASURED for of_one in found]
        lines.append([f"`{settings}`", trees, oracles, decoding, *las])
    return lines


def published() -> list[list[str]]:
    """The table of the committed rows."""
    rows = read_rows(ROWS, EXPERIMENT.columns, len(EXPERIMENT.key))
    return table([*rows.values()], read_measurements(SPEED))


if __name__ == "__main__":
    if "--help" in sys.argv:
        print(__doc__)
    else:
        head, *lines = published()
        print(plain_table(head, lines), end="")
