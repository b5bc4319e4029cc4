"""Rows as they are in CSV files, what is chosen of them, and tables in Markdown."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from parser.storage.atomic import replacing

Row = dict[str, str]
Key = tuple[str, ...]

NOT_RUN = "not run"

csv.field_size_limit(sys.maxsize)  # counts: a line has as many numbers as there are sentences


def read_rows(path: Path, columns: Sequence[str], key: int) -> dict[Key, Row]:
    """The rows of a file by their first ``key`` columns; none if there is no such file.

    Raises:
        ValueError: it has other columns.
    """
    if not path.exists():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        found = list(reader.fieldnames or columns)
        if found != list(columns):
            raise ValueError(f"{path} has the columns {','.join(found)}; not {','.join(columns)}; move it away")
        return {tuple(row[name] for name in columns[:key]): row for row in reader}


def write_rows(path: Path, columns: Sequence[str], rows: Mapping[Key, Row]) -> None:
    """Writes the rows, sorted by key, atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[key] for key in sorted(rows))


def chosen(rows: Iterable[Row], **values: object) -> list[Row]:
    """The rows that have these values in the columns of these names."""
    wanted = {name: str(value) for name, value in values.items()}
    return [row for row in rows if wanted.items() <= row.items()]


def numbers(rows: Iterable[Row], column: str) -> list[float]:
    """A column of the rows, where it is not empty."""
    return [float(row[column]) for row in rows if row[column]]


def names_of(rows: Iterable[Row], column: str, first: Iterable[str] = ()) -> list[str]:
    """The different values of a column, sorted, after those that come ``first``."""
    return list(dict.fromkeys([*first, *sorted(row[column] for row in rows)]))


def mean_and_deviation(scores: Sequence[float] | np.ndarray) -> str:
    """Two decimals, and the standard deviation if there is more than one score; one has no deviation to show."""
    return f"{np.mean(scores):.2f} ± {np.std(scores, ddof=1):.2f}" if len(scores) > 1 else f"{scores[0]:.2f}"


def score(rows: Iterable[Row], *columns: str) -> str:
    """Mean and deviation of the columns, with slashes between."""
    rows = list(rows)
    return " / ".join(mean_and_deviation(numbers(rows, column)) for column in columns)


def markdown(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose first column is text, and the others numbers."""
    lines = [list(columns), ["---", *["---:"] * (len(columns) - 1)], *map(list, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def plain_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose columns are all aligned as text is."""
    head, *lines = [f"| {' | '.join(line)} |" for line in (columns, *rows)]
    return "\n".join([head.replace("|  |", "| |", 1), "|---" * len(columns) + "|", *lines]) + "\n"


def write_page(path: Path, text: str) -> None:
    """Writes a page of tables."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")
