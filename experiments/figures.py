"""What table6.py and figure8.py to figure10.py share: settings from the command line, numbers as CSV, the look of a plot."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

import matplotlib

matplotlib.use("Agg")  # writes files, needs no screen

from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from measuring import machine
from parser.versions import versions

HERE = Path(__file__).resolve().parent

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

S = TypeVar("S")


@dataclass
class Paths:
    """Where things lie on this machine."""

    treebanks: str = "data"


def run(main: Callable[[S], None], settings: type[S], doc: str | None) -> None:
    """Calls ``main`` with the settings, as changed by KEY=VALUE on the command line; an error is one line.

    Args:
        main: what to do.
        settings: a dataclass whose defaults are those of the committed results.
        doc: printed by --help.
    """
    assert is_dataclass(settings)
    defaults = OmegaConf.structured(settings)
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(f"{doc}\nKEY=VALUE, and what is taken if it is not given:\n{OmegaConf.to_yaml(defaults)}", end="")
        return
    name = Path(sys.argv[0]).name
    try:
        given = OmegaConf.from_dotlist([check_override(argument) for argument in sys.argv[1:]])
        made = OmegaConf.to_object(OmegaConf.merge(defaults, given))
    except (ValueError, OmegaConfBaseException) as error:
        keys = ", ".join(field.name for field in fields(settings))
        sys.exit(f"{name}: {str(error).splitlines()[0]}; the keys: {keys} (--help shows them)")
    try:
        main(made)  # type: ignore[arg-type]
    except (OSError, ValueError) as error:
        sys.exit(f"{name}: {error}")


def check_override(argument: str) -> str:
    """The argument, if it is of the form KEY=VALUE.

    Raises:
        ValueError: it is not.
    """
    if "=" not in argument:
        raise ValueError(f"{argument!r} is not KEY=VALUE")
    return argument


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


def read_csv(path: Path) -> list[dict[str, str]]:
    """The rows of such a file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose first column is text, and the others numbers."""
    lines = [list(columns), ["---", *["---:"] * (len(columns) - 1)], *map(list, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def panels(count: int = 1, width: float = 5.2, height: float = 3.4, share_y: bool = True) -> tuple[Figure, list[Any]]:
    """A figure of some plots side by side that may share their y axis; sizes in inches, of one plot."""
    plt.rcParams.update(_STYLE)
    size = (width * count, height)
    figure, axes = plt.subplots(1, count, figsize=size, sharey=share_y, squeeze=False, layout="constrained")
    return figure, list(axes[0])


def save(figure: Figure, path: Path) -> None:
    """Writes the figure in the format of the name; no date in it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    metadata = {"Date": None} if path.suffix == ".svg" else {}
    figure.savefig(path, metadata=metadata, dpi=150)
    plt.close(figure)
