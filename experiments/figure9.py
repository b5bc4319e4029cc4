"""Figure 9 of Nederhof (2019): mean time per step against k + m, for every oracle, on a logarithmic axis.

    python experiments/figure9.py paths.treebanks=../shared/ud-v2.2

The time for the scores of all three steps of a configuration, inside batch calls, on projectivized and on original trees, along
walks that take an optimal step with probability ``follow``, else any step: what ``scripts/benchmark.py oracles`` measures (see
there what is timed), at more sizes. Nothing else should run on the machine meanwhile. Writes results.csv, figure9.svg and
table.md.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hydra.core.config_store import ConfigStore
from omegaconf import MISSING

from experiments import treebanks
from experiments.command import Pictures, run
from experiments.figures import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    PINK,
    RED,
    describe,
    panels,
    provenance,
    save,
    write_csv,
)
from experiments.tables import markdown
from scripts.benchmarks import oracles as benchmark
from scripts.benchmarks.oracles import FROM_NOTHING, SENTENCES, SENTENCES_FROM_NOTHING

COMMAND = "python experiments/figure9.py"
COLUMNS = ("trees", "oracle", "k_plus_m", "microseconds")
KINDS = ("projectivized", "original")

# Label, colour and marker of each line; the order is that of the legend.
LINES = {
    FROM_NOTHING: ("cubic, each configuration from nothing", BLACK, "o"),
    "nederhof_cubic": ("cubic (critical nodes; shared chart)", RED, "s"),
    "nederhof_quadratic": ("quadratic", ORANGE, "^"),
    "goldberg_tabular": ("Goldberg et al. (2014)", PINK, "D"),
    "context_rows": ("context rows", GREEN, "v"),
    "nederhof_linear": ("linear", BLUE, "P"),
}

# The ratio that the paper names: its cubic algorithm against its linear one, on projectivized trees.
PAPER_SIZE, PAPER_RATIO = 80, 65


@dataclass
class Figure9(Pictures):
    """What to measure; configs/experiments/figure9.yaml says what each key is for."""

    treebanks: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    strategy: str = MISSING
    follow: float = MISSING
    seed: int = MISSING
    repeats: int = MISSING
    format: str = MISSING


ConfigStore.instance().store(name="figure9_schema", node=Figure9)


def draw(result: dict[str, Any], path: Path) -> None:
    """Both kinds of trees side by side."""
    figure, axes_of = panels(len(KINDS), width=3.9)
    for kind, axes in zip(KINDS, axes_of, strict=True):
        for name, (label, colour, marker) in LINES.items():
            by_size = result[kind].get(name, {}).get("by_size", {})
            if by_size:
                axes.plot(list(by_size), list(by_size.values()), marker=marker, color=colour, label=label)
        axes.set_title(f"{kind} trees", fontsize=9)
        axes.set_yscale("log")
        axes.set_xlim(left=0)
        axes.set_xlabel("$k+m$ (stack elements and buffer nodes)")
    axes_of[0].yaxis.set_major_formatter("{x:g}")
    axes_of[0].set_ylabel("time per step (microseconds, mean)")
    handles, labels = axes_of[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    save(figure, path)


def as_table(result: dict[str, Any]) -> str:
    """For people: microseconds at the sizes, and the ratio that the paper names."""
    text = [f"Microseconds per step; see experiments/figure9.py. {result['sentences']:,} sentences.\n"]
    for kind in KINDS:
        sizes = sorted({size for entry in result[kind].values() for size in entry["by_size"]})
        entries = {LINES[name][0]: result[kind][name] for name in LINES if name in result[kind]}
        rows = [
            [label, *(f"{entry['by_size'][size]:.2f}" for size in sizes), f"{entry['mean']:.2f}"]
            for label, entry in entries.items()
        ]
        text.append(markdown([f"{kind} trees, k+m =", *map(str, sizes), "whole walks"], rows))
    text.append(f"Whole walks: of up to {SENTENCES} sentences; from nothing, of {SENTENCES_FROM_NOTHING}.\n")
    at_size = {name: entry["by_size"].get(PAPER_SIZE) for name, entry in result["projectivized"].items()}
    if all(at_size.values()):
        nothing, critical = (at_size[name] / at_size["nederhof_linear"] for name in (FROM_NOTHING, "nederhof_cubic"))
        ours = f"{nothing:.0f} times as long from nothing, {critical:.1f} times with critical nodes only"
        text.append(f"Cubic against linear, projectivized trees, k+m = {PAPER_SIZE}: {ours}; the paper: {PAPER_RATIO} times.\n")
    return "\n".join(text)


def main(settings: Figure9) -> None:
    """Measures, and writes."""
    chosen = [treebanks.read_train_or_rest(name, settings.paths.treebanks) for name in settings.treebanks]
    paths = [treebanks.files(treebank.name, settings.paths.treebanks)[part] for treebank in chosen for part in treebank.parts]
    result = benchmark.run(
        paths,
        strategy=settings.strategy,
        follow=settings.follow,
        sizes=settings.sizes,
        repeats=settings.repeats,
        seed=settings.seed,
    )
    unknown = {name for kind in KINDS for name in result[kind]} - set(LINES)
    if unknown:
        raise ValueError(f"there are oracles that this figure has no line for: {', '.join(sorted(unknown))}; add them to LINES")
    data = [describe(treebank.label, len(treebank.heads), sum(map(len, treebank.heads))) for treebank in chosen]
    more = [
        f"walks: strategy {settings.strategy}, an optimal step with probability {settings.follow}, seed {settings.seed}",
        f"times: within batch calls, median of {settings.repeats}",
    ]
    rows = [
        (kind, name, size, microseconds)
        for kind in KINDS
        for name in LINES
        for size, microseconds in result[kind].get(name, {}).get("by_size", {}).items()
    ]
    output = settings.folder
    write_csv(output / "results.csv", provenance(COMMAND, data, more, timed=True), COLUMNS, rows)
    draw(result, output / f"figure9.{settings.format}")
    table = as_table(result)
    (output / "table.md").write_text(table, encoding="utf-8")
    print(table, end="")


if __name__ == "__main__":
    run(main, Figure9, "figure9", __doc__)
