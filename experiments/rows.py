"""Results as CSV: a dataclass of strings is a line, and there is one line for each value of its ``key``."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from parser.storage.atomic import replacing


class Keyed(Protocol):
    """A dataclass of strings with a key."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def key(self) -> tuple[str, ...]:
        """What there is one row for."""
        ...


RowT = TypeVar("RowT", bound=Keyed)


def read_rows(path: Path, kind: type[RowT]) -> dict[tuple[str, ...], RowT]:
    """The rows of the file by key; none if there is no such file.

    Raises:
        ValueError: it has other columns.
    """
    if not path.exists():
        return {}
    columns = [column.name for column in fields(kind)]
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if reader.fieldnames is not None and list(reader.fieldnames) != columns:
            raise ValueError(f"{path} has the columns {','.join(reader.fieldnames)}; not {','.join(columns)}; move it away")
        rows = [kind(**line) for line in reader]
    return {row.key: row for row in rows}


def write_rows(path: Path, kind: type[RowT], rows: Mapping[tuple[str, ...], RowT]) -> None:
    """Writes the rows, sorted by key, atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([column.name for column in fields(kind)])
        writer.writerows(astuple(rows[key]) for key in sorted(rows))
