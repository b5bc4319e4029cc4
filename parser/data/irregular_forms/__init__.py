"""Irregular forms of some languages with their lemmas: a file each, with its source;
LICENSES has their licences.

A line is a form, its UPOS and its lemma, with tabs between them. Lines that begin with ``#`` are
comments.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent


def irregular_lists() -> list[str]:
    """Return the languages that have a list, by their codes."""
    return sorted(path.stem for path in _FOLDER.glob("*.tsv"))


@cache
def irregular_forms(language: str) -> dict[tuple[str, str], str]:
    """Return the lemmas of a language's irregular forms, by UPOS and form.

    ``language``: the code of a language that has a list.
    """
    lines = (_FOLDER / f"{language}.tsv").read_text(encoding="utf-8").splitlines()
    rows = (line.split("\t") for line in lines if not line.startswith("#"))
    return {(upos, form): lemma for form, upos, lemma in rows}
