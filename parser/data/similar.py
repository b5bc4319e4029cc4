"""Vocabularies that give an unknown value the number of a similar known one, so that it shares what
training taught about it.

* A form, or an end of a form, is similar to one that differs only in the shape of quotes,
  apostrophes and dashes, or otherwise only in case: a curly quote to a straight one, ``HOUSE`` to
  ``house``.
* A character is similar to another quote, apostrophe or dash, or to the same digit or letter in
  another case or without its marks. Otherwise it is similar to the most frequent character of its
  class, such as symbols or opening brackets. Letters have no class: an unknown letter of another
  script is UNKNOWN.

Of several similar values the one in ASCII or lower case counts, or the most frequent one if there
is none.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any

from parser.data.attributes import ATTRIBUTES
from parser.data.vocabulary import N_RESERVED, UNKNOWN, Vocabulary, vocabulary_for
from parser.stored_values import checked

# Characters of one kind, with the one that stands for them. Quotes first keep their direction,
# then all are alike.
_DIRECTED = str.maketrans(
    {
        **dict.fromkeys("\u201e\u201f\u00ab\u2039", "\u201c"),
        **dict.fromkeys("\u00bb\u203a", "\u201d"),
        **dict.fromkeys("\u02bc\u00b4\u2032", "\u2019"),
        **dict.fromkeys("\u201a\u201b", "\u2018"),
        **dict.fromkeys("\u2010\u2011\u2212", "-"),
        "\u2012": "\u2013",
        "\u2015": "\u2014",
    }
)
_PLAIN = str.maketrans(
    {
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2039\u203a", '"'),
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u02bc\u00b4\u2032`", "'"),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    }
)
_MARKS = re.compile("[-'\"" + "".join(map(chr, {**_DIRECTED, **_PLAIN})) + "]")
# Categories of Unicode whose characters are alike: digits, brackets, dashes, quotes,
# and symbols of four kinds.
_CLASSES = ("Nd", "Ps", "Pe", "Pd", "Pi", "Pf", "So", "Sc", "Sm", "Sk")

# How many unknown values are remembered, and the length in characters of the longest.
_REMEMBERED, _LONGEST = 2**13, 100


def directed(text: str) -> str:
    """Return a text in which quotes, apostrophes and dashes of one direction or length are the
    same.
    """
    return text.translate(_DIRECTED)


def plain(text: str) -> str:
    """Return a text with the quotes, apostrophes and dashes of ASCII."""
    return text.translate(_PLAIN)


def _plain_and_small(text: str) -> str:
    return plain(text).lower()


class SimilarVocabulary(Vocabulary):
    """A vocabulary of forms or of their ends; see the module's docstring.

    Args:
        symbols: the known values, the most frequent first.
    """

    foldings: tuple[Callable[[str], str], ...] = (directed, plain, _plain_and_small)
    """Values are similar if one of these functions makes them the same.
    The first function that finds a known value decides.
    """

    def __init__(self, symbols: Iterable[str]) -> None:
        super().__init__(symbols)
        self._remembered = lru_cache(_REMEMBERED)(self._closest)

    def encode(self, values: Iterable[str]) -> list[int]:
        """Return the numbers of the values; an unknown value gets the number of a similar value, or
        UNKNOWN if there is none.
        """
        get = self._numbers.get
        return [
            number if (number := get(value)) is not None else self._similar(value)
            for value in values
        ]

    def _similar(self, value: str) -> int:
        return self._remembered(value) if len(value) <= _LONGEST else UNKNOWN

    def _closest(self, value: str) -> int:
        marked = _MARKS.search(value) is not None
        for folding, numbers in zip(self.foldings, self._folded, strict=True):
            if not marked and folding is not _plain_and_small:
                continue
            folded = folding(value)
            if (number := self._numbers.get(folded, numbers.get(folded))) is not None:
                return number
        return UNKNOWN

    @cached_property
    def _folded(self) -> list[dict[str, int]]:
        """For each folding, a table from folded values to the number of the most frequent value
        that the folding turns into them.
        """
        marked = [symbol for symbol in self.symbols if _MARKS.search(symbol)]
        cased = (
            [symbol for symbol in self.symbols if symbol != symbol.lower()]
            if _plain_and_small in self.foldings
            else []
        )
        tables = []
        for folding in self.foldings:
            changed: dict[str, int] = {}
            for symbol in [*cased, *marked] if folding is _plain_and_small else marked:
                changed.setdefault(folding(symbol), self._numbers[symbol])
            tables.append(changed)
        return tables


class SimilarQuotes(SimilarVocabulary):
    """A vocabulary of forms in which case matters: only quotes,
    apostrophes and dashes make forms similar.
    """

    foldings = (directed, plain)

    def spelled(self, form: str) -> str:
        """Return the known form that is similar to a form with such marks;
        return a known form, or a dash, unchanged.

        If a known form is similar only in another case, return the form with the marks of that
        known form. If no known form is similar, replace each mark that occurs in no known form by a
        similar one that does.
        """
        if form in self or not _MARKS.search(form) or not plain(form).strip("-"):
            return form
        if (number := self._similar(form)) != UNKNOWN:
            return self.symbols[number - N_RESERVED]
        for small in (form.lower(), form.capitalize()):
            if len(small) == len(form) and (number := self._similar(small)) != UNKNOWN:
                known_form = self.symbols[number - N_RESERVED]
                return "".join(
                    its if mine != its and _MARKS.match(mine) else mine
                    for mine, its in zip(form, known_form, strict=True)
                )
        marks = self._marks
        return _MARKS.sub(
            lambda match: match[0] if match[0] in marks else marks.most_similar(match[0]), form
        )

    @cached_property
    def _marks(self) -> SimilarQuotes:
        """The marks of all known forms, the most frequent first."""
        counts = Counter(mark for symbol in self.symbols for mark in _MARKS.findall(symbol))
        return SimilarQuotes([mark for mark, _ in counts.most_common()])

    def most_similar(self, mark: str) -> str:
        """Return the known mark that is similar to a mark; the mark itself if there is none."""
        return (
            mark
            if (number := self._similar(mark)) == UNKNOWN
            else self.symbols[number - N_RESERVED]
        )


class SimilarCharacters(SimilarVocabulary):
    """A vocabulary of characters; see the module's docstring."""

    foldings = (directed, plain)

    def _closest(self, value: str) -> int:
        if (number := super()._closest(value)) != UNKNOWN:
            return number
        for relative in _kin(value):
            if relative in self._numbers:
                return self._numbers[relative]
        return self._by_class.get(unicodedata.category(value), UNKNOWN)

    @cached_property
    def _by_class(self) -> dict[str, int]:
        """The number of the most frequent character of each class."""
        by_class: dict[str, int] = {}
        for number, symbol in enumerate(self.symbols, N_RESERVED):
            if (category := unicodedata.category(symbol)) in _CLASSES:
                by_class.setdefault(category, number)
        return by_class


def _kin(character: str) -> Iterator[str]:
    """Yield the same digit or letter in other shapes, the most similar first."""
    digit = unicodedata.digit(character, None)
    if digit is not None:
        yield str(digit)
    base = unicodedata.normalize("NFKD", character)[0]
    yield from (character.lower(), character.upper(), base, base.lower(), base.upper())


SIMILAR = "similar"
"""The key of vocabularies.json that is true if a model looks up similar values."""


def looks_up_similar(contents: Mapping[str, Any]) -> bool:
    """Return whether the model with these contents of vocabularies.json looks up similar values;
    older ones do not.

    Raises:
        TypeError: the entry is not a truth value.
    """
    return checked(contents.get(SIMILAR, False), bool, SIMILAR)


def attribute_vocabulary(attribute: str, symbols: Iterable[str], similar: bool) -> Vocabulary:
    """Return the vocabulary of an attribute: a SimilarVocabulary if ``similar`` is true and the
    attribute is read from forms.

    Raises:
        OptimalStepError: the attribute is unknown, a value is repeated, or an attribute of sets has
            no value.
    """
    reads_forms = attribute in ATTRIBUTES and ATTRIBUTES[attribute].column == "forms"
    return (
        SimilarVocabulary(symbols)
        if similar and reads_forms
        else vocabulary_for(attribute, symbols)
    )
