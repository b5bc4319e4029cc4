"""Attributes whose values are sets of elements, such as FEATS as a set of Attribute=Value pairs.

A set is embedded as the sum of its elements' vectors, so that what is learned of ``Case=Nom`` serves every value that has it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from parser.data.attributes import ATTRIBUTES, ELEMENTS, TAGS
from parser.data.vocabulary import N_RESERVED, Vocabulary

# Bytes of the unknown values that a vocabulary remembers the most similar one of; bounds the memory of parsing a stream.
_REMEMBERED_BYTES = 8 * 2**20


class SetVocabulary(Vocabulary):
    """A vocabulary of sets. A set that it lacks is taken for the known one that is most like it.

    Args:
        symbols: the known values, the most frequent first.
        elements_of: the elements of a value.
    """

    def __init__(self, symbols: Iterable[str], elements_of: Callable[[str], list[str]]) -> None:
        super().__init__(symbols)
        if not self.symbols:
            raise ValueError("a vocabulary of sets has at least one value")
        self.elements_of = elements_of
        sets = [frozenset(elements_of(symbol)) for symbol in self.symbols]
        self._sizes = np.array([len(known) for known in sets])
        having: dict[str, list[int]] = {}
        for number, known in enumerate(sets):
            for element in known:
                having.setdefault(element, []).append(number)
        self._having = {element: np.array(numbers) for element, numbers in having.items()}  # the values with an element
        self._closest: dict[str, tuple[int, bool]] = {}  # and whether an element is unknown
        self._remembered_bytes = 0

    @cached_property
    def elements(self) -> Elements:
        """Which elements the values have."""
        return Elements.of(self)

    def encode(self, values: Iterable[str]) -> list[int]:
        """The numbers of the values; for unknown ones those of the most similar, the share of common elements deciding."""
        get = self._numbers.get
        return [number if (number := get(value)) is not None else self._most_similar(value)[0] for value in values]

    def have_unseen(self, values: Iterable[str]) -> list[bool]:
        """Of each value, whether it has an element that no known value has."""
        known = self._numbers
        return [value not in known and self._most_similar(value)[1] for value in values]

    def _most_similar(self, value: str) -> tuple[int, bool]:
        """The number of the most similar value; and whether this one has an element that no known value has."""
        if (found := self._closest.get(value)) is not None:
            return found
        wanted = frozenset(self.elements_of(value))
        having = [self._having[element] for element in wanted if element in self._having]
        common = np.bincount(np.concatenate(having), minlength=len(self._sizes)) if having else np.zeros(len(self._sizes))
        likeness = common / (len(wanted) + self._sizes - common)
        closest = N_RESERVED + int(np.argmax(likeness)), len(having) < len(wanted)  # the most frequent of the most similar
        size = sys.getsizeof(value)
        if self._remembered_bytes + size > _REMEMBERED_BYTES:
            self._closest.clear()
            self._remembered_bytes = 0
        if size <= _REMEMBERED_BYTES:
            self._closest[value] = closest
            self._remembered_bytes += size
        return closest


@dataclass(frozen=True)
class Elements:
    """Which elements the values of a vocabulary have, as pairs of numbers; each reserved value is an element of its own.

    Attributes:
        values: int64[pairs], the number of the value.
        elements: int64[pairs], the number of one of its elements.
        n_elements: elements in all.
    """

    values: np.ndarray
    elements: np.ndarray
    n_elements: int

    @classmethod
    def of(cls, vocabulary: SetVocabulary) -> Elements:
        """The elements of the values of a vocabulary."""
        sets = [vocabulary.elements_of(symbol) for symbol in vocabulary.symbols]
        numbering = Vocabulary.of(chain.from_iterable(sets))
        pairs = [(reserved, reserved) for reserved in range(N_RESERVED)]
        for number, elements in enumerate(sets, N_RESERVED):
            pairs += [(number, element) for element in numbering.encode(elements)]
        values, elements_of_pairs = np.array(pairs, np.int64).T
        return cls(values, elements_of_pairs, len(numbering))


def vocabulary_for(attribute: str, symbols: Iterable[str]) -> Vocabulary:
    """The vocabulary of an attribute with the given values: a SetVocabulary if they are sets.

    Raises:
        ValueError: unknown attribute, a value that is there twice, or no sets.
    """
    if attribute not in ATTRIBUTES:
        raise ValueError(f"unknown attribute {attribute!r}; known: {', '.join(ATTRIBUTES)}")
    return SetVocabulary(symbols, ELEMENTS[attribute]) if attribute in ELEMENTS else Vocabulary(symbols)


def tag_vocabulary(column: str, symbols: Iterable[str]) -> Vocabulary:
    """The vocabulary of a column that a tagger predicts; of feats, a SetVocabulary.

    Raises:
        ValueError: no column that is predicted, a value that is there twice, or no value.
    """
    if column not in TAGS:
        raise ValueError(f"unknown column of tags {column!r}; known: {', '.join(TAGS)}")
    return vocabulary_for(TAGS[column], symbols)
