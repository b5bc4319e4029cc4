"""Shared by experiments that measure and draw: numbers as CSV with their provenance,
and the look of plots.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any, Generic, NoReturn, TypeVar

import numpy as np

try:
    import matplotlib
except ModuleNotFoundError as error:
    raise SystemExit(
        f"error: this needs {error.name}; "
        "run pip install '.[experiments]' in a checkout of the source"
    ) from error

matplotlib.use("Agg")  # writes files, needs no screen

from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments import command
from experiments.command import Pictures
from experiments.tables import Row, write_page
from parser.storage import versions
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


P = TypeVar("P", bound=Pictures)


class Tables(dict[str, list[Row]]):
    """Rows by the name of their CSV file; ``head`` has the comment lines at the head of the
    files.
    """

    head: list[str]


@dataclass(frozen=True)
class Measured:
    """Measured numbers.

    Attributes:
        lines: the lines of each CSV file, by its name.
        trees: a line about each treebank.
        more: further lines about what the numbers depend on, such as seeds.
    """

    lines: dict[str, list[tuple[Any, ...]]]
    trees: Iterable[str]
    more: Iterable[str] = ()


@dataclass(frozen=True)
class FigureExperiment(Generic[P]):
    """An experiment that measures without training, and writes CSV files, a page and pictures.

    Attributes:
        name: the name of its file in configs/experiments and of its module.
        kind: the dataclass of the settings.
        columns: the columns of each CSV file, by its name.
        measure: runs the measurements, and returns the numbers.
        page: returns Markdown of the rows, for table.md.
        draw: draws the pictures of the rows into a folder.
        timed: whether there are times among the numbers, which depend on the machine.
    """

    name: str
    kind: type[P]
    columns: Mapping[str, Sequence[str]]
    measure: Callable[[P], Measured]
    page: Callable[[Tables, P], str] | None = None
    draw: Callable[[Tables, P, Path], None] | None = None
    timed: bool = False

    def run(self, doc: str | None) -> NoReturn:
        """Run the command line; see command.run()."""
        command.run(self.main, self.kind, self.name, doc)

    def main(self, settings: P) -> None:
        """Measure, and write the results."""
        measured = self.measure(settings)
        head = provenance(
            f"python experiments/{self.name}.py", measured.trees, measured.more, self.timed
        )
        for name, columns in self.columns.items():
            write_csv(
                self.file(settings, settings.folder, name), head, columns, measured.lines[name]
            )
        self.write(self.read(settings, settings.folder), settings, settings.folder)

    def file(self, settings: P, folder: Path, name: str) -> Path:
        """Return the path of a CSV file in a folder."""
        stem = settings.stem
        return (
            folder / f"{name if not stem else stem if name == 'results' else f'{stem}_{name}'}.csv"
        )

    def read(self, settings: P, folder: Path) -> Tables:
        """Return the rows of the CSV files in a folder."""
        files = {name: self.file(settings, folder, name) for name in self.columns}
        tables = Tables({name: read_csv(file) for name, file in files.items()})
        with next(iter(files.values())).open(encoding="utf-8") as file:
            tables.head = [
                line[1:].strip() for line in takewhile(lambda line: line.startswith("#"), file)
            ]
        return tables

    def write(self, tables: Tables, settings: P, folder: Path) -> None:
        """Write the page, which is also printed, and the pictures."""
        if self.draw is not None:
            self.draw(tables, settings, folder)
        if self.page is not None:
            text = self.page(tables, settings)
            write_page(folder / f"{settings.stem or 'table'}.md", text)
            print(text, end="")


def provenance(
    command: str, trees: Iterable[str], more: Iterable[str] = (), timed: bool = False
) -> list[str]:
    """Return the lines at the head of a CSV file: the command, the trees, the machine if times are
    measured, the versions.
    """
    used = versions()
    lines = [command, "trees: " + "; ".join(trees), *more]
    if timed:
        lines.append("machine: {processor}, {cores} cores, one thread".format(**machine()))
    return [
        *lines,
        "versions: "
        + ", ".join(
            f"{name} {used[name]}" for name in ("python", "optimal-step", "numpy", "numba")
        ),
    ]


def write_csv(
    path: Path, head: Iterable[str], columns: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """Write comma-separated values below comment lines that begin with #;
    floats have six significant digits.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(f"# {line}\n" for line in head)
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(
            [f"{value:.6g}" if isinstance(value, float) else value for value in row] for row in rows
        )


def read_csv(path: Path) -> list[Row]:
    """Return the rows of a file that write_csv() wrote."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def panels(
    count: int = 1, width: float = 5.2, height: float = 3.4, share_y: bool = True
) -> tuple[Figure, list[Any]]:
    """Return a figure of plots side by side, which may share their y axis; ``width`` and ``height``
    are the sizes of one plot, in inches.
    """
    plt.rcParams.update(_STYLE)
    size = (width * count, height)
    figure, axes = plt.subplots(
        1, count, figsize=size, sharey=share_y, squeeze=False, layout="constrained"
    )
    return figure, list(axes[0])


def plot_las(plot: Axes, rows: Iterable[Row], style: str, **look: Any) -> None:
    """Draw the means of LAS against the sizes of the beam, if there are rows."""
    by_size: dict[int, list[float]] = {}
    for row in sorted(rows, key=lambda row: int(row["size"])):
        by_size.setdefault(int(row["size"]), []).append(float(row["las"]))
    if by_size:
        plot.plot(
            [*by_size], [np.mean(scores) for scores in by_size.values()], style, marker="o", **look
        )


def label_beam_axis(plot: Axes, sizes: Sequence[float]) -> None:
    """Make the x axis a logarithmic axis of beam sizes, with a tick at each of ``sizes``."""
    plot.set_xscale("log", base=2)
    plot.set_xticks(sizes, [f"{size:g}" for size in sizes])
    plot.set_xlabel("items of the beam")


def label_beam_sizes(plot: Axes) -> None:
    """Label the axes and the legend of LAS against the size of the beam."""
    label_beam_axis(
        plot, np.unique(np.concatenate([line.get_xdata() for line in plot.lines])).tolist()
    )
    plot.set_ylabel("LAS on test (percent)")
    plot.legend(loc="upper left", bbox_to_anchor=(1.02, 1))  # beside the lines, which fill the plot


def save(figure: Figure, path: Path) -> None:
    """Write the figure in the format that the file's suffix names, without a date in it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {"Date": None} if path.suffix == ".svg" else {}
    figure.savefig(path, metadata=metadata, dpi=150)
    plt.close(figure)
