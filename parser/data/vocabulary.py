"""From strings to numbers: a vocabulary for every attribute of a token, and encoded sentences in flat arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

# Every vocabulary begins with these: no node at the address, the artificial root, a value that training never saw.
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

    def __len__(self) -> int:
        """Reserved numbers included: the rows that a table indexed by this vocabulary must have."""
        return N_RESERVED + len(self.symbols)

    def __contains__(self, symbol: object) -> bool:
        return symbol in self._numbers

    def encode(self, values: Iterable[str]) -> list[int]:
        """The numbers of the values, UNKNOWN for those that the vocabulary lacks."""
        get = self._numbers.get
        return [get(value, UNKNOWN) for value in values]


class Columns(Protocol):
    """What is read of a sentence: the columns of its words 1..n, as far as they serve as attributes."""

    forms: list[str]
    upos: list[str]
    xpos: list[str]
    feats: list[str]


@dataclass(frozen=True)
class Attribute:
    """What a feature reads of a word: ``of`` a value of one ``column`` (an attribute of Columns)."""

    column: str
    of: Callable[[str], str]


# "lower" ignores case, as word vectors often do. Affixes are those of the form in lower case, shorter forms whole.
ATTRIBUTES = {
    "form": Attribute("forms", lambda form: form),
    "lower": Attribute("forms", str.lower),
    "prefix2": Attribute("forms", lambda form: form[:2].lower()),
    "suffix2": Attribute("forms", lambda form: form[-2:].lower()),
    "suffix3": Attribute("forms", lambda form: form[-3:].lower()),
    "suffix4": Attribute("forms", lambda form: form[-4:].lower()),
    "upos": Attribute("upos", lambda tag: tag),
    "xpos": Attribute("xpos", lambda tag: tag),
    "feats": Attribute("feats", lambda feats: feats),
    "feats_pairs": Attribute("feats", lambda feats: feats),
}

# Attributes whose values are sets, such as FEATS: "Case=Nom|Number=Sing" has two elements. They are embedded as the sum of a
# vector for each element, so that values which differ in one element are alike.
ELEMENTS = {"feats_pairs": lambda feats: feats.split("|")}


def attribute_values(sentences: Iterable[Columns], attribute: str) -> list[list[str]]:
    """The values of an attribute, a list per sentence. ValueError for an attribute that is not in ATTRIBUTES."""
    if attribute not in ATTRIBUTES:
        raise ValueError(f"unknown attribute {attribute!r}; known: {', '.join(ATTRIBUTES)}")
    column, of = ATTRIBUTES[attribute].column, ATTRIBUTES[attribute].of
    return [[of(value) for value in getattr(sentence, column)] for sentence in sentences]


@dataclass(frozen=True)
class Sentences:
    """Encoded sentences. Sentence s has its root at ``offsets[s]`` and token i at ``offsets[s] + i``.

    Attributes:
        values: int32[attributes, total], total = sum of (n + 1).
        offsets: int64[sentences + 1].
    """

    values: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray:
        """int32[sentences]: tokens n, the root not counted."""
        return (np.diff(self.offsets) - 1).astype(np.int32)

    def span(self, first: int, last: int) -> Sentences:
        """The sentences from number ``first`` to before ``last``, not copied."""
        start, end = self.offsets[first], self.offsets[last]
        return Sentences(self.values[:, start:end], self.offsets[first : last + 1] - start)

    def spans(self, tokens: int) -> Iterator[tuple[int, int]]:
        """Consecutive sentences, from the first number to before the second, of at most so many tokens if they are several."""
        first = 0
        while first < len(self):
            last = int(np.searchsorted(self.offsets, self.offsets[first] + tokens, side="right")) - 1
            yield first, (last := max(last, first + 1))
            first = last

    def places(self, numbers: np.ndarray) -> np.ndarray:
        """int64[tokens]: where the tokens of some sentences (int[m]) are, one sentence behind the other."""
        lengths = np.diff(self.offsets)[numbers]
        return np.arange(lengths.sum()) + np.repeat(self.offsets[numbers] - (np.cumsum(lengths) - lengths), lengths)


class Vocabularies:
    """The vocabularies of all attributes, ``by_attribute`` in a fixed order."""

    def __init__(self, by_attribute: dict[str, Vocabulary]) -> None:
        self.by_attribute = by_attribute

    @property
    def attributes(self) -> list[str]:
        """The names of the attributes, in the order of ``Sentences.values``."""
        return list(self.by_attribute)

    def encode(self, sentences: Sequence[Columns]) -> Sentences:
        """Encodes the words of the sentences; unknown values become UNKNOWN (unknown_counts() counts them)."""
        lengths = [len(sentence.forms) for sentence in sentences]
        offsets = np.zeros(len(sentences) + 1, np.int64)
        np.cumsum(np.array(lengths, np.int64) + 1, out=offsets[1:])
        values = np.empty((len(self.by_attribute), offsets[-1]), np.int32)
        for row, (attribute, vocabulary) in zip(values, self.by_attribute.items(), strict=True):
            numbers: list[int] = []
            for column in attribute_values(sentences, attribute):
                numbers.append(ROOT)
                numbers += vocabulary.encode(column)
            row[:] = numbers
        return Sentences(values, offsets)

    def unknown_counts(self, sentences: Sentences) -> dict[str, int]:
        """By attribute: how many tokens have a value that training never saw."""
        unknown = (sentences.values == UNKNOWN).sum(axis=1)
        return {name: int(count) for name, count in zip(self.by_attribute, unknown, strict=True)}
