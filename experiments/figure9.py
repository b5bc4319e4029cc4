"""Figure 9 of Nederhof (2019): mean time per step against k + m, for every oracle, on a logarithmic axis.

    python experiments/figure9.py paths.treebanks=../shared/ud-v2.2
    python experiments/figure9.py "+models={el: RUN_FOLDER/model}" paths.treebanks=../shared/ud-v2.2

The time for the scores of all three steps of a configuration, inside batch calls, on projectivized and on original trees. The
paper measured on the steps that its own classifier took. So does the second command: each treebank's training part is
explored by the model named for it, which follows its own predictions as in the second pass of training. The first command
needs no model: its computations take an optimal step with ``optimal_probability``, else any step. Both measure with
``scripts/benchmark.py oracles`` (see there what is timed), at more sizes. Times are CPU time; still, little else should run
on the machine meanwhile.

The paper's cubic algorithm has the non-critical nodes removed on projectivized trees, as nederhof_cubic here; the one from
nothing is not in the paper. Writes results.csv, figure9.svg and table.md, with models explorations.csv,
explorations.svg and explorations.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments import treebanks
from experiments.command import Pictures, run
from experiments.figures import BLACK, BLUE, GREEN, ORANGE, PINK, RED, describe, panels, provenance, save, write_csv
from experiments.tables import markdown, write_page
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

# The ratio that the paper names (Section 8.2): its cubic algorithm against its linear one, on projectivized trees.
PAPER_SIZE, PAPER_RATIO = 80, 65


@dataclass
class Figure9(Pictures):
    """What to measure; configs/experiments/figure9.yaml says what each key is for."""

    treebanks: list[str]
    models: dict[str, str]
    sizes: list[int]
    strategy: str
    optimal_probability: float
    seed: int
    repeats: int
    format: str


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
    """For people: microseconds at the sizes, the ratio that the paper names, and whether the oracles agree."""
    text = [f"Microseconds per step; see experiments/figure9.py. {result['sentences']:,} sentences.\n"]
    for kind in KINDS:
        sizes = sorted({size for entry in result[kind].values() for size in entry["by_size"]})
        entries = {LINES[name][0]: result[kind][name] for name in LINES if name in result[kind]}
        rows = [
            [label, *(f"{entry['by_size'][size]:.2f}" for size in sizes), f"{entry['mean']:.2f}"]
            for label, entry in entries.items()
        ]
        text.append(markdown([f"{kind} trees, k+m =", *map(str, sizes), "whole computations"], rows))
    text.append(f"Whole computations: of up to {SENTENCES} sentences; from nothing, of {SENTENCES_FROM_NOTHING}.\n")
    at_size = {name: entry["by_size"].get(PAPER_SIZE) for name, entry in result["projectivized"].items()}
    if all(at_size.values()):
        nothing, critical = (at_size[name] / at_size["nederhof_linear"] for name in (FROM_NOTHING, "nederhof_cubic"))
        text.append(
            f"Cubic against linear, projectivized trees, k+m = {PAPER_SIZE}: {critical:.1f} times as long with non-critical "
            f"nodes removed, as in the paper, which has {PAPER_RATIO} times; {nothing:.0f} times from nothing, which is not in "
            "the paper.\n"
        )
    text.append(f"{_agreement(result)}\n")
    return "\n".join(text)


def _agreement(result: dict[str, Any]) -> str:
    """One sentence on whether the oracles give the same scores."""
    compared = [entry["against_cubic"] for kind in KINDS for entry in result[kind].values()]
    most = max(count["configurations"] for count in compared)
    differing = sum(count["differing"] for count in compared)
    if differing:
        return f"The oracles differ in {differing} of up to {most:,} configurations of the whole computations."
    return (
        f"All oracles give equal scores in the configurations of the whole computations, up to {most:,} of each kind of trees."
    )


def main(settings: Figure9) -> None:
    """Measures, and writes."""
    names = list(settings.models) or settings.treebanks
    chosen = [treebanks.read_train_or_rest(name, settings.paths.treebanks) for name in names]
    paths = [treebanks.files(treebank.name, settings.paths.treebanks)[part] for treebank in chosen for part in treebank.parts]
    models = [Path(settings.models[treebank.name]) for treebank in chosen for _ in treebank.parts] if settings.models else []
    result = benchmark.run(
        paths,
        strategy=settings.strategy,
        optimal_probability=settings.optimal_probability,
        sizes=settings.sizes,
        repeats=settings.repeats,
        seed=settings.seed,
        models=models,
    )
    unknown = {name for kind in KINDS for name in result[kind]} - set(LINES)
    if unknown:
        raise ValueError(f"there are oracles that this figure has no line for: {', '.join(sorted(unknown))}; add them to LINES")
    data = [describe(treebank.label, len(treebank.heads), sum(map(len, treebank.heads))) for treebank in chosen]
    if settings.models:
        stem, how = "explorations", f"the predictions of a trained model, seed {settings.seed}"
    else:
        stem, how = "figure9", f"an optimal step with probability {settings.optimal_probability}, seed {settings.seed}"
    more = [
        f"computations: strategy {settings.strategy}, {how}",
        f"times: CPU time within batch calls, median of {settings.repeats}",
    ]
    rows = [
        (kind, name, size, microseconds)
        for kind in KINDS
        for name in LINES
        for size, microseconds in result[kind].get(name, {}).get("by_size", {}).items()
    ]
    output = settings.folder
    csv_name, table_name = (f"{stem}.csv", f"{stem}.md") if settings.models else ("results.csv", "table.md")
    write_csv(output / csv_name, provenance(COMMAND, data, more, timed=True), COLUMNS, rows)
    draw(result, output / f"{stem}.{settings.format}")
    table = as_table(result)
    write_page(output / table_name, table)
    print(table, end="")


if __name__ == "__main__":
    run(main, Figure9, "figure9", __doc__)
