"""Vocabularies number values; the numbers 0 to 2 are the same in all vocabularies: ABSENT,
ROOT, UNKNOWN.

The values of some attributes are sets of elements, such as FEATS, a set of Attribute=Value pairs. A
set is embedded as the sum of its elements' vectors, so that what is learned about ``Case=Nom``
serves every value that contains it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain

import numpy as np

from oracles.errors import OptimalStepError, did_you_mean
from parser.data.attributes import ATTRIBUTES, ELEMENTS, TAGS
from parser.network_spec import ValueCounts

# Every vocabulary begins with these: no node at the position, the artificial root, a value unseen
# in training.
ABSENT, ROOT, UNKNOWN = range(3)
N_RESERVED = 3

# The relation that UD reserves for the child of the artificial root,
# and the one for unspecified relations.
UD_ROOT, UD_UNSPECIFIED = "root", "dep"


class Vocabulary:
    """A numbering of strings; the reserved numbers come first, then ``symbols`` in their order."""

    def __init__(self, symbols: Iterable[str]) -> None:
        self.symbols = list(symbols)
        self._numbers = {symbol: number for number, symbol in enumerate(self.symbols, N_RESERVED)}
        if len(self._numbers) != len(self.symbols):
            repeated = next(symbol for symbol, times in Counter(self.symbols).items() if times > 1)
            raise OptimalStepError(f"the vocabulary lists {repeated!r} twice")

    @classmethod
    def of(cls, values: Iterable[str]) -> Vocabulary:
        """Return a vocabulary of all distinct values, the most frequent first,
        ties in alphabetical order.
        """
        counts = Counter(values)
        return cls(sorted(counts, key=lambda value: (-counts[value], value)))

    def extended(self, values: Iterable[str], min_count: int = 1) -> list[str]:
        """Return the symbols, followed by new values that occur ``min_count`` times or more,
        the most frequent first.
        """
        counts = Counter(value for value in values if value not in self)
        new = [value for value, count in counts.items() if count >= min_count]
        return [*self.symbols, *sorted(new, key=lambda value: (-counts[value], value))]

    def __len__(self) -> int:
        """Return the number of rows of a table indexed by this vocabulary,
        reserved ones included.
        """
        return N_RESERVED + len(self.symbols)

    def __contains__(self, symbol: object) -> bool:
        return symbol in self._numbers

    @property
    def vector_labels(self) -> list[Hashable]:
        """The values of the rows in a table of vectors: the reserved numbers and the symbols."""
        return [*range(N_RESERVED), *self.symbols]

    @property
    def n_vectors(self) -> int:
        """The number of rows in a table of vectors."""
        return len(self)

    @property
    def counts(self) -> ValueCounts:
        """How many values there are, without the reserved ones."""
        return ValueCounts(len(self.symbols))

    def encode(self, values: Iterable[str]) -> list[int]:
        """Return the numbers of the values, UNKNOWN for values that are not in the vocabulary."""
        return self.encode_exactly(values)

    def encode_exactly(self, values: Iterable[str]) -> list[int]:
        """Return the numbers of the values, UNKNOWN instead of similar values."""
        get = self._numbers.get
        return [get(value, UNKNOWN) for value in values]


# The cache of most similar values: its size, and the length in characters of the longest value that
# is cached.
_REMEMBERED, _LONGEST = 2**13, 1_000


class SetVocabulary(Vocabulary):
    """A vocabulary of sets. An unknown set gets the number of the most similar known set.

    Args:
        symbols: the known values, the most frequent first.
        elements_of: returns the elements of a value.
    """

    def __init__(self, symbols: Iterable[str], elements_of: Callable[[str], list[str]]) -> None:
        super().__init__(symbols)
        if not self.symbols:
            raise OptimalStepError("a vocabulary of sets has at least one value")
        self.elements_of = elements_of
        sets = [frozenset(elements_of(symbol)) for symbol in self.symbols]
        self._sizes = np.array([len(elements) for elements in sets])
        having: dict[str, list[int]] = {}
        for number, elements in enumerate(sets):
            for element in elements:
                having.setdefault(element, []).append(number)
        # for each element, the numbers of the values that have it
        self._having = {element: np.array(numbers) for element, numbers in having.items()}
        self._remembered = lru_cache(_REMEMBERED)(self._closest)

    @cached_property
    def elements(self) -> Elements:
        """The elements of the values."""
        return Elements.of(self)

    @property
    def vector_labels(self) -> list[Hashable]:
        """The values of the rows in a table of the elements' vectors:
        the reserved numbers and the elements.
        """
        return [*range(N_RESERVED), *self.elements.symbols]

    @property
    def n_vectors(self) -> int:
        """The number of rows in a table of the elements' vectors."""
        return self.elements.n_elements

    @property
    def counts(self) -> ValueCounts:
        """How many values there are, without the reserved ones, and how many elements."""
        return ValueCounts(len(self.symbols), self.elements.n_elements)

    def encode(self, values: Iterable[str]) -> list[int]:
        """Return the numbers of the values; an unknown value gets that of the known value with the
        largest share of common elements.
        """
        get = self._numbers.get
        return [
            number if (number := get(value)) is not None else self._most_similar(value)[0]
            for value in values
        ]

    def have_unseen(self, values: Iterable[str]) -> list[bool]:
        """Return, for each value, whether it has an element that no known value has."""
        numbers = self._numbers
        return [value not in numbers and self._most_similar(value)[1] for value in values]

    def _most_similar(self, value: str) -> tuple[int, bool]:
        """Return the number of the most similar value,
        and whether ``value`` has an element that no known value has.
        """
        return self._remembered(value) if len(value) <= _LONGEST else self._closest(value)

    def _closest(self, value: str) -> tuple[int, bool]:
        wanted = frozenset(self.elements_of(value))
        having = [self._having[element] for element in wanted if element in self._having]
        common = (
            np.bincount(np.concatenate(having), minlength=len(self._sizes))
            if having
            else np.zeros(len(self._sizes))
        )
        likeness = common / (len(wanted) + self._sizes - common)
        # the most frequent of the most similar
        return N_RESERVED + int(np.argmax(likeness)), len(having) < len(wanted)


@dataclass(frozen=True)
class Elements:
    """The elements of the values of a vocabulary, as pairs of numbers;
    each reserved value is an element of its own.

    Attributes:
        values: int64[pairs], the number of the value.
        elements: int64[pairs], the number of one of its elements.
        symbols: the elements besides the reserved ones, in the order of their numbers.
    """

    values: np.ndarray
    elements: np.ndarray
    symbols: list[str]

    @property
    def n_elements(self) -> int:
        """The number of elements, reserved ones included."""
        return N_RESERVED + len(self.symbols)

    @classmethod
    def of(cls, vocabulary: SetVocabulary) -> Elements:
        """Return the elements of a vocabulary."""
        sets = [vocabulary.elements_of(symbol) for symbol in vocabulary.symbols]
        numbering = Vocabulary.of(chain.from_iterable(sets))
        pairs = [(reserved, reserved) for reserved in range(N_RESERVED)]
        for number, elements in enumerate(sets, N_RESERVED):
            pairs += [(number, element) for element in numbering.encode(elements)]
        values, elements_of_pairs = np.array(pairs, np.int64).T
        return cls(values, elements_of_pairs, numbering.symbols)


def vocabulary_for(attribute: str, symbols: Iterable[str]) -> Vocabulary:
    """Return the vocabulary of an attribute with these values: a SetVocabulary if they are sets.

    Raises:
        OptimalStepError: the attribute is unknown, a value is repeated, or an attribute of sets has
            no value.
    """
    if attribute not in ATTRIBUTES:
        near = did_you_mean(attribute, ATTRIBUTES)
        raise OptimalStepError(
            f"unknown attribute {attribute!r}{near}; known: {', '.join(ATTRIBUTES)}"
        )
    return (
        SetVocabulary(symbols, ELEMENTS[attribute])
        if attribute in ELEMENTS
        else Vocabulary(symbols)
    )


def tag_vocabulary(column: str, symbols: Iterable[str]) -> Vocabulary:
    """Return the vocabulary of a column that a tagger predicts; for feats, a SetVocabulary.

    Raises:
        OptimalStepError: unknown column, a repeated value, or no value.
    """
    if column not in TAGS:
        raise OptimalStepError(
            f"unknown column of tags {column!r}{did_you_mean(column, TAGS)}; "
            f"known: {', '.join(TAGS)}"
        )
    return vocabulary_for(TAGS[column], symbols)
