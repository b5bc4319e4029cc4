"""What is taken for CoNLL-U and is something else: CoNLL-U Plus, which is read and written back, and what is refused by name.

CoNLL-U Plus (https://universaldependencies.org/ext-format.html) says in its first line which columns it has, in which order:
``# global.columns = ID FORM ... PARSEME:MWE``. A file that has all ten of CoNLL-U is read; its other columns pass through.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from parser.conllu.checks import (
    BYTE_ORDER_MARK,
    COLUMN_NAMES,
    ID,
    N_COLUMNS,
    ConlluError,
    LineError,
    counted,
    describe_file,
    is_blank,
)

_Text = TypeVar("_Text", str, bytes)

_GLOBAL_COLUMNS = "global.columns"

# How files begin that are no text in UTF-8, what they are, and what to do.
_BEGINNINGS = {
    b"\x1f\x8b": "compressed by gzip; uncompress it first, or give it a name that ends in .gz",
    b"\xfd7zXZ\0": "compressed by xz; uncompress it first, or give it a name that ends in .xz",
    b"\x28\xb5\x2f\xfd": "compressed by zstd; uncompress it first",
    b"PK\x03\x04": "a zip archive; unpack it first",
    codecs.BOM_UTF32_LE: "UTF-32; convert it to UTF-8: iconv -f UTF-32 -t UTF-8",
    codecs.BOM_UTF16_LE: "UTF-16; convert it to UTF-8: iconv -f UTF-16 -t UTF-8",
    codecs.BOM_UTF16_BE: "UTF-16; convert it to UTF-8: iconv -f UTF-16 -t UTF-8",
    b"version https://git-lfs.": "a pointer of Git LFS in place of the file; fetch the file with git lfs pull",
    b"<!DOCTYPE html": "a web page (HTML), not the file itself; download the raw file",
    b"<?xml": "XML; convert it to CoNLL-U",
    b"%PDF-": "a PDF, not text; save its text, or the file that it was made from",
    b"<html": "a web page (HTML), not the file itself; download the raw file",
}

# "BZh" alone may be the beginning of a text in Breton.
_BZIP2 = re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)")


def foreign_file(beginning: bytes) -> str | None:
    """What a file is that begins with these bytes, if it is certainly no text in UTF-8, and what to do; None otherwise."""
    for known, described in _BEGINNINGS.items():
        begins = beginning[: len(known)]
        if begins == known or (known.startswith(b"<") and begins.lower() == known.lower()):
            return described
    if _BZIP2.match(beginning):
        return "compressed by bzip2; uncompress it first, or give it a name that ends in .bz2"
    zeros = [byte == 0 for byte in beginning[:4]]
    if zeros in ([True, False] * 2, [False, True] * 2):  # without a byte order mark, two characters below 256
        return "UTF-16; convert it to UTF-8: iconv -f UTF-16LE -t UTF-8 (or UTF-16BE)"
    return None


@dataclass(frozen=True)
class ColumnOrder:
    """The columns of CoNLL-U Plus.

    Attributes:
        n_columns: how many there are.
        places: where ID, FORM, ..., MISC are among them.
    """

    n_columns: int
    places: tuple[int, ...]

    @classmethod
    def of(cls, first_line: str, path: str) -> ColumnOrder | None:
        """What the first line of a file says; None if it has the columns of CoNLL-U.

        Raises:
            ConlluError: one of them is missing, or a column is named twice; or this is a whole file with other ends of lines.
        """
        if first_line.count("\r") > 1 and not first_line.endswith("\n"):
            raise ConlluError(f"{describe_file(path)}, line 1: lines end with CR, as on old Macs; convert them: tr '\\r' '\\n'")
        comment, equals, named = first_line.removeprefix(BYTE_ORDER_MARK).partition("=")
        if not equals or comment.lstrip("#").strip() != _GLOBAL_COLUMNS or not comment.startswith("#"):
            return None
        names = named.split()
        missing = [name for name in COLUMN_NAMES if name not in names]
        twice = sorted({name for name in names if names.count(name) > 1})
        if missing or twice:
            fault = f"without {', '.join(missing)}" if missing else f"with {', '.join(twice)} twice"
            raise ConlluError(
                f"{describe_file(path)}, line 1: CoNLL-U Plus {fault}; it is read only with each column of CoNLL-U once"
            )
        if tuple(names) == COLUMN_NAMES:
            return None
        return cls(len(names), tuple(names.index(name) for name in COLUMN_NAMES))

    def columns(self, columns: Sequence[_Text]) -> list[_Text]:
        """The ten columns of CoNLL-U of a line."""
        return [columns[place] for place in self.places]

    def as_conllu(self, lines: Iterable[str]) -> Iterator[str]:
        """Lines of such a file as those of CoNLL-U, for who reads that alone; the line that names the columns is left out."""
        for line in lines:
            text = line.rstrip("\r\n")
            if line[:1] != "#" and not is_blank(line):
                yield "\t".join(self.columns(text.split("\t"))) + line[len(text) :]
            elif _GLOBAL_COLUMNS not in line:
                yield line


def split_columns(row: int, line: str, layout: ColumnOrder | None = None) -> list[str]:
    """The columns ID to MISC of a line without its end.

    Raises:
        LineError: another number of columns; the message says what the line may be.
    """
    columns = line.split("\t")
    if layout is not None:
        if len(columns) != layout.n_columns:
            given = f"{counted(len(columns), 'column')} where {_GLOBAL_COLUMNS} names {layout.n_columns}"
            raise LineError(row, f"{given}; separate them by tabs and write _ in an empty one")
        return layout.columns(columns)
    if len(columns) != N_COLUMNS:
        raise LineError(row, _not_ten(columns))
    return columns


def _not_ten(columns: Sequence[str]) -> str:
    given = f"{counted(len(columns), 'column')} where CoNLL-U has {N_COLUMNS}"
    if len(columns) == 1:
        words = columns[0].split()
        if len(words) == N_COLUMNS and words[ID][:1].isdigit():
            return f"{given}: they are separated by blanks; separate them by tabs"
        if columns[0].startswith(BYTE_ORDER_MARK):
            return "a byte order mark (U+FEFF) within the file, as two files put together have; remove it"
        return f"{given}, separated by tabs; text that is not in columns can only be parsed, with --text"
    if len(columns) == N_COLUMNS + 1 and not columns[-1]:
        return f"{given}: the line ends with a tab; remove it"
    if len(columns) >= 14:  # the least that CoNLL-2009 has
        return f"{given}: this may be CoNLL-2009; convert it to CoNLL-U"
    if len(columns) > N_COLUMNS:
        first_line = f"# {_GLOBAL_COLUMNS} = ID FORM ..."
        return f"{given}; of CoNLL-U Plus (.cupt), the first line must name the columns: {first_line}"
    return f"{given}; separate the columns by tabs and write _ in an empty one"
