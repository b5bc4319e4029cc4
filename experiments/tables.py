"""Rows of CSV files, selections of rows, means and intervals, and tables in Markdown."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from oracles.errors import OptimalStepError
from parser.storage import replacing

Row = dict[str, str]
Key = tuple[str, ...]

NOT_RUN = "not run"

# A field of a file of counts holds one number for each sentence.
csv.field_size_limit(sys.maxsize)


def read_rows(path: Path, columns: Sequence[str], key: int) -> dict[Key, Row]:
    """Return the rows of a file, keyed by the values of their first ``key`` columns; none if there
    is no such file.

    Raises:
        OptimalStepError: the file has other columns.
    """
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        names = list(reader.fieldnames or columns)
        if names != list(columns):
            raise OptimalStepError(
                f"{path} has the columns {','.join(names)}, not {','.join(columns)}; move it away"
            )
        return {tuple(row[name] for name in columns[:key]): row for row in reader}


def write_rows(path: Path, columns: Sequence[str], rows: Mapping[Key, Row]) -> None:
    """Write the rows, sorted by key, atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[key] for key in sorted(rows))


def chosen(rows: Iterable[Row], **values: object) -> list[Row]:
    """Return the rows that have these values in the named columns."""
    wanted = {name: str(value) for name, value in values.items()}
    return [row for row in rows if wanted.items() <= row.items()]


def numbers(rows: Iterable[Row], column: str) -> list[float]:
    """Return the non-empty values of a column, as numbers."""
    return [float(row[column]) for row in rows if row[column]]


def names_of(rows: Iterable[Row], column: str, first: Iterable[str] = ()) -> list[str]:
    """Return the values ``first``, then the other values of a column, sorted."""
    return list(dict.fromkeys([*first, *sorted(row[column] for row in rows)]))


def mean_and_deviation(scores: Sequence[float] | np.ndarray) -> str:
    """Return the mean with two decimals, and the standard deviation if there are several scores."""
    return (
        f"{np.mean(scores):.2f} ± {np.std(scores, ddof=1):.2f}"
        if len(scores) > 1
        else f"{scores[0]:.2f}"
    )


def score(rows: Iterable[Row], *columns: str) -> str:
    """Return mean and deviation of the columns, separated by slashes."""
    rows = list(rows)
    return " / ".join(mean_and_deviation(numbers(rows, column)) for column in columns)


@dataclass(frozen=True)
class Interval:
    """The mean of a difference with its 95% interval; the claim under test is that the difference
    is positive.
    """

    mean: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.mean:+.2f} [{self.low:+.2f}, {self.high:+.2f}]"

    @property
    def verdict(self) -> str:
        """Whether the claim holds, by the interval."""
        return "holds" if self.low > 0 else "the opposite holds" if self.high < 0 else "open"


def lines_of(
    rows: Sequence[Row],
    values: Mapping[str, Iterable[str]],
    cells: Callable[[list[Row]], Iterable[str]],
) -> list[list[str]]:
    """Return the lines of a table, one for each combination of the values of some columns: these
    values, then the cells made from the rows that have them.
    """
    lines = (
        (combination, chosen(rows, **dict(zip(values, combination, strict=True))))
        for combination in product(*values.values())
    )
    return [[*combination, *(cells(there) if there else [NOT_RUN])] for combination, there in lines]


def grid(
    rows: Sequence[Row],
    down: tuple[str, Iterable[str]],
    across: tuple[str, Iterable[str]],
    cell: Callable[[list[Row]], str],
    empty: str = NOT_RUN,
) -> tuple[list[str], list[list[str]]]:
    """Return the header and the lines of a table: the values of one column run down it, those of
    another across it; a value without rows gets no line.
    """
    (line, names), (column, heads) = down, (across[0], list(across[1]))
    by_name = {
        name: [chosen(rows, **{line: name, column: head}) for head in heads] for name in names
    }
    lines = [
        [name, *(cell(cell_rows) if cell_rows else empty for cell_rows in cells)]
        for name, cells in by_name.items()
        if any(cells)
    ]
    return ["", *heads], lines


def markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table with text in the first column and numbers in all others;
    short lines end in empty cells.
    """
    lines = [list(columns), ["---", *["---:"] * (len(columns) - 1)], *map(list, rows)]
    return (
        "\n".join(
            f"| {' | '.join([*line, *[''] * (len(columns) - len(line))])} |" for line in lines
        )
        + "\n"
    )


def plain_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table whose columns are all aligned as text."""
    head, _, *lines = markdown(columns, rows).split("\n")
    return "\n".join([head.replace("|  |", "| |", 1), "|---" * len(columns) + "|", *lines])


def write_page(path: Path, text: str) -> None:
    """Write a page of tables."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
