"""A vocabulary, which makes values into numbers; the numbers 0 to 2 are the same in all of them: ABSENT, ROOT, UNKNOWN.

The value of some attributes is a set of elements, such as FEATS as a set of Attribute=Value pairs. A set is embedded as the sum
of its elements' vectors, so that what is learned of ``Case=Nom`` serves every value that has it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain

import numpy as np

from parser.data.attributes import ATTRIBUTES, ELEMENTS, TAGS
from parser.network_spec import ValueCounts

# Every vocabulary begins with these: no node at the position, the artificial root, a value that training never saw.
ABSENT, ROOT, UNKNOWN = range(3)
N_RESERVED = 3

# The relation that UD reserves for the child of the artificial root, and the one for relations that nobody can tell.
UD_ROOT, UD_UNSPECIFIED = "root", "dep"


class Vocabulary:
    """A numbering of strings; the reserved numbers come first, then ``symbols`` in their order."""

    def __init__(self, symbols: Iterable[str]) -> None:
        self.symbols = list(symbols)
        self._numbers = {symbol: number for number, symbol in enumerate(self.symbols, N_RESERVED)}
        if len(self._numbers) != len(self.symbols):
            repeated = next(symbol for symbol, times in Counter(self.symbols).items() if times > 1)
            raise ValueError(f"the vocabulary lists {repeated!r} twice")

    @classmethod
    def of(cls, values: Iterable[str]) -> Vocabulary:
        """All distinct values, the most frequent first, ties in alphabetical order."""
        counts = Counter(values)
        return cls(sorted(counts, key=lambda value: (-counts[value], value)))

    def extended(self, values: Iterable[str], min_count: int = 1) -> list[str]:
        """The symbols, and then those of the values that are new and there so often, the most frequent first."""
        counts = Counter(value for value in values if value not in self)
        new = [value for value, count in counts.items() if count >= min_count]
        return [*self.symbols, *sorted(new, key=lambda value: (-counts[value], value))]

    def __len__(self) -> int:
        """Reserved numbers included: the rows that a table indexed by this vocabulary must have."""
        return N_RESERVED + len(self.symbols)

    def __contains__(self, symbol: object) -> bool:
        return symbol in self._numbers

    @property
    def vector_labels(self) -> list[Hashable]:
        """What the rows of a table of their vectors belong to: the reserved numbers and the symbols."""
        return [*range(N_RESERVED), *self.symbols]

    @property
    def n_vectors(self) -> int:
        """Rows of a table of their vectors."""
        return len(self)

    @property
    def counts(self) -> ValueCounts:
        """How many values there are, without the reserved ones."""
        return ValueCounts(len(self.symbols))

    def encode(self, values: Iterable[str]) -> list[int]:
        """The numbers of the values, UNKNOWN for those that the vocabulary lacks."""
        return self.encode_exactly(values)

    def encode_exactly(self, values: Iterable[str]) -> list[int]:
        """The same where encode() would take one value for another."""
        get = self._numbers.get
        return [get(value, UNKNOWN) for value in values]


# Unknown values that a vocabulary remembers the most similar one of, and how long they are at most, in characters.
_REMEMBERED, _LONGEST = 2**13, 1_000


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
        self._remembered = lru_cache(_REMEMBERED)(self._closest)

    @cached_property
    def elements(self) -> Elements:
        """Which elements the values have."""
        return Elements.of(self)

    @property
    def vector_labels(self) -> list[Hashable]:
        """Of a table of vectors of elements: the reserved numbers and the elements."""
        return [*range(N_RESERVED), *self.elements.symbols]

    @property
    def n_vectors(self) -> int:
        """Rows of a table of their elements' vectors."""
        return self.elements.n_elements

    @property
    def counts(self) -> ValueCounts:
        """How many values there are, without the reserved ones, and how many elements."""
        return ValueCounts(len(self.symbols), self.elements.n_elements)

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
        return self._remembered(value) if len(value) <= _LONGEST else self._closest(value)

    def _closest(self, value: str) -> tuple[int, bool]:
        wanted = frozenset(self.elements_of(value))
        having = [self._having[element] for element in wanted if element in self._having]
        common = np.bincount(np.concatenate(having), minlength=len(self._sizes)) if having else np.zeros(len(self._sizes))
        likeness = common / (len(wanted) + self._sizes - common)
        return N_RESERVED + int(np.argmax(likeness)), len(having) < len(wanted)  # the most frequent of the most similar


@dataclass(frozen=True)
class Elements:
    """Which elements the values of a vocabulary have, as pairs of numbers; each reserved value is an element of its own.

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
        """Elements in all."""
        return N_RESERVED + len(self.symbols)

    @classmethod
    def of(cls, vocabulary: SetVocabulary) -> Elements:
        """The elements of the values of a vocabulary."""
        sets = [vocabulary.elements_of(symbol) for symbol in vocabulary.symbols]
        numbering = Vocabulary.of(chain.from_iterable(sets))
        pairs = [(reserved, reserved) for reserved in range(N_RESERVED)]
        for number, elements in enumerate(sets, N_RESERVED):
            pairs += [(number, element) for element in numbering.encode(elements)]
        values, elements_of_pairs = np.array(pairs, np.int64).T
        return cls(values, elements_of_pairs, numbering.symbols)


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
