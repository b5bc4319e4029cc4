"""What the experiments that measure and draw share: numbers as CSV, where they come from, the look of a plot."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NoReturn, TypeVar

import matplotlib
import numpy as np

matplotlib.use("Agg")  # writes files, needs no screen

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments import command
from experiments.command import Pictures
from experiments.tables import Row, write_page
from parser.storage.versions import versions
from scripts.benchmarks.measurements import machine

# Okabe and Ito's colours, which colour-blind readers tell apart.
BLACK, GREY = "#000000", "#777777"
ORANGE, SKY, GREEN, YELLOW = "#E69F00", "#56B4E9", "#009E73", "#F0E442"
BLUE, RED, PINK = "#0072B2", "#D55E00", "#CC79A7"

_STYLE: dict[Any, Any] = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#DDDDDD",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.4,
    "lines.markersize": 3.5,
    "legend.frameon": False,
    "legend.fontsize": 8,
    # The same numbers give the same bytes.
    "svg.hashsalt": "optimal-step",
}


def provenance(command: str, data: Iterable[str], more: Iterable[str] = (), timed: bool = False) -> list[str]:
    """What the numbers depend on, for the head of a CSV file.

    Args:
        command: that writes the file.
        data: the trees, a treebank each.
        more: seeds and the like.
        timed: whether there are times among the numbers, which depend on the machine.
    """
    used = versions()
    names = ("python", "optimal-step", "numpy", "numba")
    lines = [command, "trees: " + "; ".join(data), *more]
    if timed:
        lines.append("machine: {processor}, {cores} cores, one thread".format(**machine()))
    return [*lines, "versions: " + ", ".join(f"{name} {used[name]}" for name in names)]


P = TypeVar("P", bound=Pictures)


@dataclass(frozen=True)
class FigureExperiment(Generic[P]):
    """What is measured at once, without trainings, and what is written of it: results.csv, a page, pictures.

    Attributes:
        kind: the dataclass of the settings.
        columns: of results.csv.
        measure: the lines of results.csv, and what they depend on: see provenance().
        page: Markdown from the rows of results.csv, for table.md.
        draw: draws the pictures of these rows into a folder.
    """

    kind: type[P]
    columns: Sequence[str]
    measure: Callable[[P], tuple[list[Sequence[Any]], list[str]]]
    page: Callable[[list[Row], P], str] | None = None
    draw: Callable[[list[Row], P, Path], None] | None = None

    def run(self, config: str, doc: str | None) -> NoReturn:
        """The command line; see command.run()."""
        command.run(self.main, self.kind, config, doc)

    def main(self, settings: P) -> None:
        """Measures, and writes."""
        lines, head = self.measure(settings)
        write_csv(settings.folder / "results.csv", head, self.columns, lines)
        self.write(read_csv(settings.folder / "results.csv"), settings, settings.folder)

    def write(self, rows: list[Row], settings: P, folder: Path) -> None:
        """The page, which is printed, too, and the pictures of some rows."""
        if self.draw is not None:
            self.draw(rows, settings, folder)
        if self.page is not None:
            text = self.page(rows, settings)
            write_page(folder / "table.md", text)
            print(text, end="")


def describe(name: str, sentences: int, words: int) -> str:
    """One treebank in a line about the data."""
    return f"{name} ({sentences:,} sentences, {words:,} words)"


def write_csv(path: Path, head: Iterable[str], columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Comma-separated values under comment lines with # at their beginning; floats with six significant digits."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(f"# {line}\n" for line in head)
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for row in rows:
            writer.writerow([f"{value:.6g}" if isinstance(value, float) else value for value in row])


def read_csv(path: Path) -> list[Row]:
    """The rows of such a file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def panels(count: int = 1, width: float = 5.2, height: float = 3.4, share_y: bool = True) -> tuple[Figure, list[Any]]:
    """A figure of some plots side by side that may share their y axis; sizes in inches, of one plot."""
    plt.rcParams.update(_STYLE)
    size = (width * count, height)
    figure, axes = plt.subplots(1, count, figsize=size, sharey=share_y, squeeze=False, layout="constrained")
    return figure, list(axes[0])


def label_beam_axis(plot: Axes, sizes: Sequence[float]) -> None:
    """Makes the x axis one of sizes of the beam, with a tick for each of these."""
    plot.set_xscale("log", base=2)
    plot.set_xticks(sizes, [f"{size:g}" for size in sizes])
    plot.set_xlabel("items of the beam")


def label_beam_sizes(plot: Axes) -> None:
    """Says what is shown where LAS is drawn against the size of the beam."""
    label_beam_axis(plot, np.unique(np.concatenate([line.get_xdata() for line in plot.lines])).tolist())
    plot.set_ylabel("LAS on test (percent)")
    plot.legend(loc="upper left", bbox_to_anchor=(1.02, 1))  # beside the lines, which fill the plot


def save(figure: Figure, path: Path) -> None:
    """Writes the figure in the format of the name; no date in it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {"Date": None} if path.suffix == ".svg" else {}
    figure.savefig(path, metadata=metadata, dpi=150)
    plt.close(figure)
