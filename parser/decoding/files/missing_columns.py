"""Refuse input without columns that the model reads, such as tags, before anything is parsed.

A parser that learned from tags makes poor trees without them (13 LAS instead of 77), and nothing in
the output shows it. Input that is too short to decide is parsed, with a warning.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import chain
from weakref import WeakSet

from parser.conllu.checks import (
    COLUMN_NAMES,
    EMPTY,
    FEATS,
    FORM,
    ID,
    XPOS,
    ConlluError,
    counted,
    describe_file,
)
from parser.conllu.chunks import Chunk
from parser.data.attributes import ATTRIBUTES, COLUMN_NUMBERS, TREEBANK
from parser.data.vocabulary import Vocabulary

# A column counts as empty if it is _ in this many words at the beginning of the input.
_LOOKED_AT = 1000
# In fewer words than this, a column such as FEATS may be _ by chance.
_BY_CHANCE = 100
# No warning for so few words, or for a column with so few values in training:
# it may have been nearly empty there.
_FEW_WORDS, _FEW_VALUES = 2, 10

log = logging.getLogger(__name__)
# vocabularies of models that a warning was about: one warning for each model
_warned: WeakSet[Vocabulary] = WeakSet()


class MissingColumnsError(ConlluError):
    """A column that the model reads is empty in the input;
    the message names the column and the fix.
    """


_OPTION = "--allow-missing-columns"


def refuse_missing_columns(
    chunks: Iterator[Chunk],
    vocabularies: Mapping[str, Vocabulary],
    name: str,
    option: str = _OPTION,
) -> Iterator[Chunk]:
    """Return the same chunks, after a look at the words of the first ones.

    A column is missing if it is ``_`` in all these words, and either they are many, or the column
    had no ``_`` in training. But XPOS and FEATS are not missing if a model of several treebanks has
    seen ``_`` in training: some treebanks do not have these columns.

    Args:
        vocabularies: the vocabulary of each attribute that the model reads.
        name: the name of the input in errors.
        option: the name, in errors, of the option to parse it anyway.

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
    """Refuse input without a column that a model reads; with too few words to decide, warn,
    once for each model.

    Args:
        empty: the columns that are ``_`` in the first ``n_words`` words.
        n_words: the number of words that were checked.
        vocabularies: the vocabulary of each attribute that the model reads.
        name: the name of the input in errors.
        option: the name, in errors, of the option to parse it anyway; None: there is none.

    Raises:
        MissingColumnsError: see refuse_missing_columns().
    """
    missing, doubtful = [], []
    for column in sorted(read_columns(vocabularies) & set(empty)):
        readers = [
            vocabulary
            for attribute, vocabulary in vocabularies.items()
            if COLUMN_NUMBERS.get(ATTRIBUTES[attribute].column) == column
        ]
        never_empty = column != FORM and any(EMPTY not in vocabulary for vocabulary in readers)
        lacked = TREEBANK in vocabularies and column in (XPOS, FEATS) and not never_empty
        if (n_words >= _BY_CHANCE and not lacked) or (n_words and never_empty):
            missing.append(COLUMN_NAMES[column])
        elif (
            n_words > _FEW_WORDS
            and not lacked
            and max(map(len, readers)) > _FEW_VALUES
            and _warned.isdisjoint(readers)
        ):
            doubtful.append(COLUMN_NAMES[column])
            _warned.update(readers)
    if missing:
        described = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} _"
        them = "it" if len(missing) == 1 else "them"
        without = "or use a model that needs no tags (recipe=text)"
        anyway = (
            "" if option is None else f", or parse it anyway, far less accurately, with {option}"
        )
        raise MissingColumnsError(
            f"{describe_file(name)}: {described} in the first {counted(n_words, 'word')}, and this "
            f"model reads {them}; tag the input first, {without}{anyway}"
        )
    if doubtful:
        told = (
            "%s: %s may be missing: all of the %s have _, and this model reads it; if so, "
            "tag the input first"
        )
        log.warning(told, describe_file(name), " and ".join(doubtful), counted(n_words, "word"))


def tags_read(attributes: Iterable[str]) -> str:
    """Return the names of the columns besides FORM that the attributes are read from,
    joined by "and".
    """
    return " and ".join(
        COLUMN_NAMES[column] for column in sorted(read_columns(attributes) - {FORM})
    )


def read_columns(attributes: Iterable[str]) -> set[int]:
    """Return the numbers of the columns that the attributes are read from."""
    columns = (ATTRIBUTES[attribute].column for attribute in attributes)
    return {COLUMN_NUMBERS[column] for column in columns if column in COLUMN_NUMBERS}
