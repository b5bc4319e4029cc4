"""Files of other formats than CoNLL-U: errors that name the format and say what to do."""

from __future__ import annotations

import codecs
import re
from collections.abc import Sequence

from parser.conllu.checks import (
    BYTE_ORDER_MARK,
    EMPTY,
    FEATS,
    ID,
    N_COLUMNS,
    ConlluError,
    LineError,
    counted,
    describe_file,
)

# The fix for text in another encoding.
TO_UTF8 = "convert it to UTF-8: iconv -f LATIN1 -t UTF-8, with its own encoding"

# For files that are not text in UTF-8, their format and the fix, by their first bytes.
_BEGINNINGS = {
    b"\x1f\x8b": "compressed by gzip; uncompress it first, or give it a name that ends in .gz",
    b"\xfd7zXZ\0": "compressed by xz; uncompress it first, or give it a name that ends in .xz",
    b"\x28\xb5\x2f\xfd": "compressed by zstd; uncompress it first",
    b"PK\x03\x04": "a zip archive; unpack it first",
    codecs.BOM_UTF32_LE: "UTF-32; convert it to UTF-8: iconv -f UTF-32 -t UTF-8",
    codecs.BOM_UTF16_LE: "UTF-16; convert it to UTF-8: iconv -f UTF-16 -t UTF-8",
    codecs.BOM_UTF16_BE: "UTF-16; convert it to UTF-8: iconv -f UTF-16 -t UTF-8",
    b"version https://git-lfs.": (
        "a pointer of Git LFS in place of the file; fetch the file with git lfs pull"
    ),
    b"<!DOCTYPE html": "a web page (HTML), not the file itself; download the raw file",
    b"<?xml": "XML; convert it to CoNLL-U",
    b"%PDF-": "a PDF, not text; save its text, or the file that it was made from",
    b"<html": "a web page (HTML), not the file itself; download the raw file",
}

# How many characters of a text are read to decide whether it is CoNLL-U.
_READ = 2**16
# The ids that a sentence may begin with.
_FIRST_ID = re.compile(r"1(-[0-9]+)?|0\.1")
_BLANKS = re.compile("[ \t]+")

# "BZh" alone may begin a text in Breton.
_BZIP2 = re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)")


def foreign_file(beginning: bytes) -> str | None:
    """Return the format of a file with these first bytes, and the fix, if it is certainly not text
    in UTF-8; otherwise None.
    """
    for first_bytes, described in _BEGINNINGS.items():
        begins = beginning[: len(first_bytes)]
        if begins == first_bytes or (
            first_bytes.startswith(b"<") and begins.lower() == first_bytes.lower()
        ):
            return described
    if _BZIP2.match(beginning):
        return "compressed by bzip2; uncompress it first, or give it a name that ends in .bz2"
    zeros = [byte == 0 for byte in beginning[:4]]
    # UTF-16 without a byte order mark, if the first two characters are below 256
    if zeros in ([True, False] * 2, [False, True] * 2):
        return "UTF-16; convert it to UTF-8: iconv -f UTF-16LE -t UTF-8 (or UTF-16BE)"
    return None


def is_conllu(text: str) -> bool:
    """Return whether a text begins with a word of CoNLL-U, or of an older CoNLL format, after
    comments and empty lines.
    """
    beginning = text[:_READ].removeprefix(BYTE_ORDER_MARK)
    lines = (line for line in beginning.splitlines() if line.strip() and not line.startswith("#"))
    line = next(lines, "")
    columns = line.split("\t") if "\t" in line else line.split()
    begins = len(columns) > FEATS and _FIRST_ID.fullmatch(columns[ID]) is not None
    return begins and (line.count("\t") == N_COLUMNS - 1 or columns.count(EMPTY) > 1)


def check_line_ends(first_line: str, path: str) -> None:
    """Refuse a file whose lines end with CR only.

    Raises:
        ConlluError: the first line contains several lines.
    """
    if first_line.count("\r") > 1 and not first_line.endswith("\n"):
        raise ConlluError(
            f"{describe_file(path)}, line 1: lines end with CR, as on old Macs; convert them: "
            "tr '\\r' '\\n'"
        )


def split_columns(row: int, line: str) -> list[str]:
    """Return the columns ID to MISC of a line without its end.

    Raises:
        LineError: another number of columns; the message says what the line may be.
    """
    columns = line.split("\t")
    if len(columns) != N_COLUMNS:
        raise LineError(row, _not_ten(columns))
    return columns


def _not_ten(columns: Sequence[str]) -> str:
    message = f"{counted(len(columns), 'column')} where CoNLL-U has {N_COLUMNS}"
    if len(columns) == 1:
        words = columns[0].split()
        if len(words) == N_COLUMNS and words[ID][:1].isdigit():
            return f"{message}: they are separated by spaces; separate them by tabs"
        if columns[0].startswith(BYTE_ORDER_MARK):
            return (
                "a byte order mark (U+FEFF) within the file, as after joining two files; remove it"
            )
        return (
            f"{message}, separated by tabs; plain text can only be parsed: "
            "optimal-step parse --text"
        )
    parts = _BLANKS.split("\t".join(columns).strip("\t "))
    # a form may have spaces
    are_more = len(parts) == N_COLUMNS or len(parts) > N_COLUMNS <= 2 * len(columns)
    if len(columns) < N_COLUMNS and are_more and EMPTY in parts and parts[ID][:1].isdigit():
        return f"{message}: some seem to be separated by spaces; separate them by tabs"
    if len(columns) == N_COLUMNS + 1 and not columns[-1]:
        return f"{message}: the line ends with a tab; remove it"
    if len(columns) >= 14:  # the least that CoNLL-2009 has
        return f"{message}: this may be CoNLL-2009; convert it to CoNLL-U"
    if len(columns) > N_COLUMNS:
        return (
            f"{message}; if this is CoNLL-U Plus, such as .cupt, keep the first {N_COLUMNS}: "
            "cut -f1-10"
        )
    return f"{message}; separate the columns by tabs and write _ in an empty one"
