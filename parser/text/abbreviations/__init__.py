"""Abbreviations of some languages, for tokenizers: a file each, with its sources;
LICENSES has their licences.

A line is an abbreviation in lower case, with its period. A ``+`` behind it says that a name or a
number follows, so that no sentence ends there. Lines that begin with ``#`` are comments.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from pathlib import Path

from oracles.errors import OptimalStepError
from parser.conllu.formats import TO_UTF8

_FOLDER = Path(__file__).parent


def abbreviation_lists() -> list[str]:
    """Return the languages that have a list, by their codes."""
    return sorted(path.stem for path in _FOLDER.glob("*.txt"))


def abbreviations_of(language: str | None) -> dict[str, bool]:
    """Return the abbreviations of a language, and whether a name or a number follows; none,
    if it has no list.
    """
    return (
        read_abbreviations(_FOLDER / f"{language}.txt") if language in abbreviation_lists() else {}
    )


def read_abbreviations(path: Path) -> dict[str, bool]:
    """Return the abbreviations in a file, and whether a name or a number follows.

    Raises:
        OptimalStepError: the file cannot be read or is not UTF-8, or a line is not an abbreviation.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise OptimalStepError(
            f"{path}: {error.strerror}; name a file with an abbreviation a line"
        ) from error
    abbreviations = {}
    for number, raw in enumerate(content.removeprefix(BOM_UTF8).splitlines(), 1):
        try:
            line = raw.decode("utf-8").strip()
        except UnicodeDecodeError as error:
            raise OptimalStepError(
                f"{path}, line {number}: not UTF-8 ({error.reason}); {TO_UTF8}"
            ) from error
        short, *mark = line.split() or [""]
        if short and not line.startswith("#"):
            if mark not in ([], ["+"]) or not re.search(r"\w.*\.$", short):
                raise OptimalStepError(
                    f"{path}, line {number}: {line!r} is not an abbreviation; write one with its "
                    "period on each line, and + behind it if a name or a number follows"
                )
            abbreviations[short.lower()] = bool(mark)
    return abbreviations
