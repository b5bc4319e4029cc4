"""Input without the columns that a model reads, such as text that nobody has tagged: refused before anything is parsed.

A parser that learned from tags makes poor trees without them (13 LAS where it had 77), and would say nothing. Input that is too
short to be sure is parsed, with a warning.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from weakref import WeakSet

from parser.conllu.checks import COLUMN_NAMES, EMPTY, FEATS, FORM, ID, XPOS, ConlluError, counted, describe_file
from parser.conllu.chunks import Chunk
from parser.data.attributes import ATTRIBUTES, COLUMN_NUMBERS, TREEBANK
from parser.data.vocabulary import Vocabulary

# A column is looked at in this many words at the beginning of the input.
_LOOKED_AT = 1000
# This many words in a row may all be without features, or forms that are an underscore, though the column is filled in.
_BY_CHANCE = 100
# So few words give no warning, nor does a column that had so few values in training: it may well have been empty.
_FEW_WORDS, _FEW_VALUES = 2, 10

log = logging.getLogger(__name__)
_warned: WeakSet[Vocabulary] = WeakSet()  # for which there was a warning: once for a model


class MissingColumnsError(ConlluError):
    """A column that the model reads is empty in the input. The message names the column and the fix."""


_OPTION = "--allow-missing-columns"


def refuse_missing_columns(
    chunks: Iterator[Chunk], vocabularies: Mapping[str, Vocabulary], name: str, option: str = _OPTION
) -> Iterator[Chunk]:
    """The same chunks, after a look at the words in the first of them.

    A column is missing where it is ``_`` in all these words, and either they are many, or training never saw a ``_`` there. Of
    several treebanks that a model was trained on, one may lack XPOS or FEATS: there, what training saw is not missing.

    Args:
        chunks: the input.
        vocabularies: by attribute that the model reads.
        name: what errors call the input.
        option: what errors call the option to parse it anyway.

    Raises:
        MissingColumnsError: a column that the model reads is missing.
    """
    empty = read_columns(vocabularies)
    begun = []
    n_words = 0
    for chunk in chunks:
        begun.append(chunk)
        for line in chunk.content.split(b"\n"):
            columns = line.split(b"\t")
            if len(columns) > FEATS and columns[ID].isdigit():
                n_words += 1
                empty = {column for column in empty if columns[column] == EMPTY.encode()}
            if not empty or n_words == _LOOKED_AT:
                break
        if not empty or n_words == _LOOKED_AT:
            break
    check_columns(empty, n_words, vocabularies, name, option)
    return chain(begun, chunks)


def check_columns(
    empty: Collection[int],
    n_words: int,
    vocabularies: Mapping[str, Vocabulary],
    name: str,
    option: str | None = _OPTION,
) -> None:
    """Refuses input without a column that a model reads; if there are too few words to be sure, warns, once for a model.

    Args:
        empty: the columns that are ``_`` in all the words that were looked at.
        n_words: how many these were.
        vocabularies: by attribute that the model reads.
        name: what errors call the input.
        option: what errors call the option to parse it anyway; None: there is none.

    Raises:
        MissingColumnsError: see refuse_missing_columns().
    """
    missing, doubtful = [], []
    for column in sorted(read_columns(vocabularies) & set(empty)):
        of_column = [
            known for attribute, known in vocabularies.items() if COLUMN_NUMBERS.get(ATTRIBUTES[attribute].column) == column
        ]
        never_empty = column != FORM and any(EMPTY not in known for known in of_column)
        lacked = TREEBANK in vocabularies and column in (XPOS, FEATS) and not never_empty
        if (n_words >= _BY_CHANCE and not lacked) or (n_words and never_empty):
            missing.append(COLUMN_NAMES[column])
        elif n_words > _FEW_WORDS and not lacked and max(map(len, of_column)) > _FEW_VALUES and _warned.isdisjoint(of_column):
            doubtful.append(COLUMN_NAMES[column])
            _warned.update(of_column)
    if missing:
        described = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} _"
        them = "it" if len(missing) == 1 else "them"
        without = "a model that needs no tags (recipe=text)"
        anyway = f"parse with {without}, or parse it anyway, far less accurately, with {option}"
        raise MissingColumnsError(
            f"{describe_file(name)}: {described} in the first {counted(n_words, 'word')}, and this model reads {them}; "
            f"tag the input first, {f'or take {without}' if option is None else anyway}"
        )
    if doubtful:
        told = "%s: %s may be missing: none of the %s has any, and this model reads it; tag the input first if so"
        log.warning(told, describe_file(name), " and ".join(doubtful), counted(n_words, "word"))


def tags_read(attributes: Iterable[str]) -> str:
    """The columns besides FORM that attributes are read off, as in a sentence; empty if there are none."""
    return " and ".join(COLUMN_NAMES[column] for column in sorted(read_columns(attributes) - {FORM}))


def read_columns(attributes: Iterable[str]) -> set[int]:
    """The numbers of the columns that attributes are read off."""
    columns = (ATTRIBUTES[attribute].column for attribute in attributes)
    return {COLUMN_NUMBERS[column] for column in columns if column in COLUMN_NUMBERS}
