"""Figure 9 of Nederhof (2019): mean time per step against k + m, for every oracle,
on a logarithmic axis.

    python experiments/figure9.py paths.treebanks=ud-v2.2
    python experiments/figure9.py "+models={el: RUN_FOLDER/model}" paths.treebanks=ud-v2.2

It measures how long scoring all three steps of a configuration takes, inside batch calls, on
projectivized and on original trees. The paper measured along the steps of its own classifier. So
does the second command: a model explores the training part of its treebank, following its own
predictions as in the second pass of training. The first command needs no model: its computations
take an optimal step with probability ``optimal_probability``, otherwise any step. Both measure as
``scripts/benchmark.py oracles`` does, at more sizes. Times are CPU time; still, little else should
run on the machine.

Like nederhof_cubic here, the paper's cubic algorithm removes non-critical nodes on projectivized
trees; the line "each configuration from scratch" has no counterpart in the paper. Writes
results.csv, whole.csv (for whole computations: microseconds, in how many configurations scores were
compared with the cubic oracle, and in how many they differ), figure9.svg and table.md; with models,
explorations.csv and so on.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from experiments import treebanks
from experiments.command import MODELS, Pictures
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
from experiments.tables import Row, chosen, markdown, numbers
from oracles.errors import OptimalStepError
from scripts.benchmarks import oracles as benchmark
from scripts.benchmarks.oracles import FROM_NOTHING, SENTENCES, SENTENCES_FROM_NOTHING

COLUMNS = ("trees", "oracle", "k_plus_m", "microseconds")
WHOLE_COLUMNS = ("trees", "oracle", "sentences", "microseconds", "configurations", "differing")
KINDS = ("projectivized", "original")

# Label, colour and marker of each line, in the order of the legend.
LINES = {
    FROM_NOTHING: ("cubic, each configuration from scratch", BLACK, "o"),
    "nederhof_cubic": ("cubic (critical nodes; shared chart)", RED, "s"),
    "nederhof_quadratic": ("quadratic", ORANGE, "^"),
    "goldberg_tabular": ("Goldberg et al. (2014)", PINK, "D"),
    "context_rows": ("context rows", GREEN, "v"),
    "nederhof_linear": ("linear", BLUE, "P"),
}

# The ratio in the paper (Section 8.2): its cubic algorithm against its linear one,
# on projectivized trees.
PAPER_SIZE, PAPER_RATIO = 80, 65


@dataclass
class Figure9(Pictures):
    """What to measure; configs/experiments/figure9.yaml explains the keys."""

    treebanks: list[str]
    models: dict[str, str] = field(metadata=MODELS)
    sizes: list[int]
    strategy: str
    optimal_probability: float
    seed: int
    repeats: int

    @property
    def stem(self) -> str:
        """The stem of the file names. Explorations need one, because their files are in the same
        folder as the others.
        """
        return "explorations" if self.models else ""


def measure(settings: Figure9) -> Measured:
    """Measure along explorations if models are given, otherwise along random computations."""
    folder = settings.paths.treebanks
    chosen = [
        treebanks.read_train_or_rest(name, folder)
        for name in list(settings.models) or settings.treebanks
    ]
    result = benchmark.run(
        [
            treebanks.files(treebank.name, folder)[part]
            for treebank in chosen
            for part in treebank.parts
        ],
        strategy=settings.strategy,
        optimal_probability=settings.optimal_probability,
        sizes=settings.sizes,
        repeats=settings.repeats,
        seed=settings.seed,
        models=(
            [Path(settings.models[treebank.name]) for treebank in chosen for _ in treebank.parts]
            if settings.models
            else []
        ),
    )
    if unknown := {name for kind in KINDS for name in result[kind]} - set(LINES):
        raise OptimalStepError(
            f"this figure has no line for the oracles {', '.join(sorted(unknown))}; "
            "add them to LINES"
        )
    entries = [
        (kind, name, result[kind][name]) for kind in KINDS for name in LINES if name in result[kind]
    ]
    lines = [
        (kind, name, *timed) for kind, name, entry in entries for timed in entry["by_size"].items()
    ]
    whole = [
        (
            kind,
            name,
            result["sentences"],
            entry["mean"],
            *(entry["against_cubic"][of] for of in WHOLE_COLUMNS[-2:]),
        )
        for kind, name, entry in entries
    ]
    follows = f"an optimal step with probability {settings.optimal_probability}"
    how = "the predictions of a trained model" if settings.models else follows
    more = [
        f"computations: strategy {settings.strategy}, {how}, seed {settings.seed}",
        f"times: CPU time within batch calls, median of {settings.repeats}",
    ]
    return Measured({"results": lines, "whole": whole}, map(str, chosen), more)


def draw(tables: Tables, settings: Figure9, folder: Path) -> None:
    """Plot both kinds of trees side by side."""
    figure, axes_of = panels(len(KINDS), width=3.9)
    for kind, axes in zip(KINDS, axes_of, strict=True):
        for name, (label, colour, marker) in LINES.items():
            if rows := chosen(tables["results"], trees=kind, oracle=name):
                look = {"marker": marker, "color": colour, "label": label}
                axes.plot(numbers(rows, "k_plus_m"), numbers(rows, "microseconds"), **look)
        axes.set_title(f"{kind} trees", fontsize=9)
        axes.set(yscale="log", xlim=(0, None), xlabel="$k+m$ (stack elements and buffer nodes)")
    axes_of[0].yaxis.set_major_formatter("{x:g}")
    axes_of[0].set_ylabel("time per step (microseconds, mean)")
    handles, labels = axes_of[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    save(figure, folder / f"{settings.stem or 'figure9'}.{settings.format}")


def page(tables: Tables, settings: Figure9) -> str:
    """Return the page: microseconds by size, the ratio in the paper,
    and whether the oracles agree.
    """
    rows, whole = tables["results"], tables["whole"]
    text = [
        f"Microseconds per step; see experiments/figure9.py. {int(whole[0]['sentences']):,} "
        "sentences.\n"
    ]
    for kind in KINDS:
        sizes = sorted({row["k_plus_m"] for row in chosen(rows, trees=kind)}, key=int)
        entries = (
            (label, chosen([*rows, *whole], trees=kind, oracle=name))
            for name, (label, *_) in LINES.items()
        )
        lines = [
            [label, *(f"{time:.2f}" for time in numbers(rows, "microseconds"))]
            for label, rows in entries
            if rows
        ]
        text.append(markdown([f"{kind} trees, k+m =", *sizes, "whole computations"], lines))
    text.append(
        f"Whole computations are measured on up to {SENTENCES} sentences, or on "
        f"{SENTENCES_FROM_NOTHING} where each configuration is computed from scratch.\n"
    )
    at_size = {
        row["oracle"]: float(row["microseconds"])
        for row in chosen(rows, trees=KINDS[0], k_plus_m=PAPER_SIZE)
    }
    if at_size:
        from_scratch, critical = (
            at_size[name] / at_size["nederhof_linear"] for name in (FROM_NOTHING, "nederhof_cubic")
        )
        text.append(
            f"Cubic against linear, projectivized trees, k+m = {PAPER_SIZE}: {critical:.1f} times "
            f"as long with non-critical nodes removed, as the paper does (it reports {PAPER_RATIO} "
            f"times); {from_scratch:.0f} times as long with each configuration from scratch, which "
            "the paper does not measure.\n"
        )
    return "\n".join([*text, *_agreement(whole)])


def _agreement(whole: list[Row]) -> list[str]:
    """Return a sentence that says whether the oracles give the same scores, if that was counted."""
    if not (compared := numbers(whole, "configurations")):
        return []
    most, differing = f"{max(compared):,.0f}", sum(numbers(whole, "differing"))
    if differing:
        return [
            f"The oracles differ in {differing:.0f} of up to {most} configurations of the whole "
            "computations.\n"
        ]
    return [
        "All oracles give equal scores in the configurations of the whole computations, up to "
        f"{most} of each kind of trees.\n"
    ]


FILES = {"results": COLUMNS, "whole": WHOLE_COLUMNS}
EXPERIMENT = FigureExperiment("figure9", Figure9, FILES, measure, page, draw, timed=True)

if __name__ == "__main__":
    EXPERIMENT.run(__doc__)
