"""What a Parser reads: sentences of forms, of tuples with tags, or of the library ``conllu``, as columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from parser.conllu.checks import EMPTY, shortened
from parser.data.attributes import TAGS

TAG_COLUMNS = tuple(TAGS)
"""The columns of tags that words may have."""

Word = str | Sequence[str | None] | Mapping[str, Any]
"""A form; a tuple (form, upos, xpos, feats), of which only the form must be there; or a token of the library ``conllu``."""


class InputError(ValueError):
    """What was given to a Parser is not a sentence or not text; the message names the word or character, counted from 1."""


@dataclass
class WordColumns:
    """The columns of a sentence, as parser.data.attributes.Columns has them."""

    forms: list[str]
    lemmas: list[str]
    upos: list[str]
    xpos: list[str]
    feats: list[str]


def read_words(sentence: Iterable[Word], number: int) -> WordColumns:
    """The columns of a sentence; ``number`` is the sentence's, for errors."""
    columns = WordColumns([], [], [], [], [])
    if isinstance(sentence, str):
        raise InputError(f"sentence {number} is a str; give a list of its words, or parse_text() the text")
    if isinstance(sentence, bytes | Mapping) or not isinstance(sentence, Iterable):
        raise InputError(f"sentence {number} is {named(sentence)}; give a list of its words")
    for place, word in enumerate(sentence, 1):
        lemma = None
        if isinstance(word, Mapping):
            if not isinstance(word.get("id", place), int):
                continue  # a multiword token or an empty node
            lemma = word.get("lemma")
            values: Sequence[Any] = (word.get("form"), word.get("upos"), word.get("xpos"), _written(word.get("feats")))
        else:
            values = tuple(word) if isinstance(word, list | tuple) else (word,)
        if not 1 <= len(values) <= 4 or not isinstance(values[0], str):
            raise InputError(f"sentence {number}, word {place}: give a form, or a tuple (form, upos, xpos, feats)")
        columns.forms.append(values[0])
        others = (lemma, *values[1:], None, None, None)
        read = (columns.lemmas, columns.upos, columns.xpos, columns.feats)
        for name, column, value in zip(("lemma", *TAG_COLUMNS), read, others, strict=False):
            if not (value is None or isinstance(value, str)):
                raise InputError(f"sentence {number}, word {place}: its {name} is {named(value)}; give a str, or None")
            column.append(value or EMPTY)
    return columns


def _written(feats: Any) -> Any:
    """FEATS as ``conllu`` writes them, where they are a mapping: "" is of an attribute without =, None of one without value."""
    if not isinstance(feats, Mapping):
        return feats
    return "|".join(str(key) if value == "" else f"{key}={EMPTY if value is None else value}" for key, value in feats.items())


def named(value: object) -> str:
    """A value as errors show it."""
    return "None" if value is None else f"{type(value).__name__} {shortened(repr(value))}"
