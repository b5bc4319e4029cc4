"""From strings to numbers: a vocabulary for every attribute of a token, and encoded sentences in flat arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from parser.conllu.checks import FEATS, FORM, LEMMA, UPOS, XPOS

if TYPE_CHECKING:
    from parser.data.characters import Characters

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
        return self.encode_exactly(values)

    def encode_exactly(self, values: Iterable[str]) -> list[int]:
        """The same where encode() would take one value for another."""
        get = self._numbers.get
        return [get(value, UNKNOWN) for value in values]


class Columns(Protocol):
    """What is read of a sentence: the columns of its words 1..n, as far as they serve as attributes."""

    forms: list[str]
    lemmas: list[str]
    upos: list[str]
    xpos: list[str]
    feats: list[str]


# Their numbers among the ten columns of CoNLL-U.
COLUMN_NUMBERS = {"forms": FORM, "lemmas": LEMMA, "upos": UPOS, "xpos": XPOS, "feats": FEATS}


@dataclass(frozen=True)
class Attribute:
    """What a feature reads of a word: ``of`` a value of one ``column`` (an attribute of Columns)."""

    column: str
    of: Callable[[str], str]


# The column of the nodes of a lattice that a word advances by, as text; other words have none, and advance by one.
LENGTHS = "lengths"

# "lower" ignores case, as word vectors often do. Affixes are those of the form in lower case, shorter forms whole.
ATTRIBUTES = {
    "form": Attribute("forms", lambda form: form),
    "lower": Attribute("forms", str.lower),
    "prefix2": Attribute("forms", lambda form: form[:2].lower()),
    "suffix2": Attribute("forms", lambda form: form[-2:].lower()),
    "suffix3": Attribute("forms", lambda form: form[-3:].lower()),
    "suffix4": Attribute("forms", lambda form: form[-4:].lower()),
    "lemma": Attribute("lemmas", str.lower),
    "upos": Attribute("upos", lambda tag: tag),
    "xpos": Attribute("xpos", lambda tag: tag),
    "feats": Attribute("feats", lambda feats: feats),
    "feats_pairs": Attribute("feats", lambda feats: feats),
    "length": Attribute(LENGTHS, lambda length: length),
}

# Attributes whose values are sets, such as FEATS: "Case=Nom|Number=Sing" has two elements. They are embedded as the sum of a
# vector for each element, so that values which differ in one element are alike.
ELEMENTS = {"feats_pairs": lambda feats: feats.split("|")}

# The columns that a tagger can predict, and the attribute whose values are theirs.
TAGS = {"upos": "upos", "xpos": "xpos", "feats": "feats_pairs"}


def attribute_values(sentences: Iterable[Columns], attribute: str) -> list[list[str]]:
    """The values of an attribute, a list per sentence. ValueError for an attribute that is not in ATTRIBUTES."""
    if attribute not in ATTRIBUTES:
        raise ValueError(f"unknown attribute {attribute!r}; known: {', '.join(ATTRIBUTES)}")
    column, of = ATTRIBUTES[attribute].column, ATTRIBUTES[attribute].of
    if column == LENGTHS:
        return [getattr(sentence, LENGTHS, None) or ["1"] * len(sentence.forms) for sentence in sentences]
    return [[of(value) for value in getattr(sentence, column)] for sentence in sentences]


@dataclass(frozen=True)
class Sentences:
    """Encoded sentences. Sentence s has its root at ``offsets[s]`` and token i at ``offsets[s] + i``.

    Attributes:
        values: int32[attributes, total], total = sum of (n + 1); characters have rows after the attributes (characters.py).
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
        """Consecutive sentences, from the first number up to the second, of at most this many tokens if there are several."""
        first = 0
        while first < len(self):
            last = int(np.searchsorted(self.offsets, self.offsets[first] + tokens, side="right")) - 1
            yield first, (last := max(last, first + 1))
            first = last

    def take(self, numbers: np.ndarray) -> Sentences:
        """The sentences with these numbers (int[m]), in their order."""
        offsets = np.concatenate([[0], np.cumsum(np.diff(self.offsets)[numbers])])
        return Sentences(self.values[:, self.places(numbers)], offsets)

    def places(self, numbers: np.ndarray) -> np.ndarray:
        """int64[tokens]: where the tokens of some sentences (int[m]) are, one sentence after the other."""
        lengths = np.diff(self.offsets)[numbers]
        return np.arange(lengths.sum()) + np.repeat(self.offsets[numbers] - (np.cumsum(lengths) - lengths), lengths)


class Vocabularies:
    """The vocabularies of all attributes, ``by_attribute`` in a fixed order.

    Args:
        by_attribute: what is read of a word.
        characters: those of forms, where they are read.
        tags: by column of gold data that a tagger predicts (upos, xpos, feats), its values; input need not have them.
    """

    def __init__(
        self,
        by_attribute: dict[str, Vocabulary],
        characters: Characters | None = None,
        tags: dict[str, Vocabulary] | None = None,
    ) -> None:
        self.by_attribute = by_attribute
        self.characters = characters
        self.tags = tags or {}

    @property
    def attributes(self) -> list[str]:
        """The names of the attributes, in the order of ``Sentences.values``."""
        return list(self.by_attribute)

    @property
    def n_rows(self) -> int:
        """Rows of ``Sentences.values``: the attributes, and the places of characters."""
        return len(self.by_attribute) + (0 if self.characters is None else self.characters.longest)

    def encode(self, sentences: Sequence[Columns]) -> Sentences:
        """Encodes the words of the sentences; unknown values become UNKNOWN (unknown_counts() counts them)."""
        offsets = _offsets(sentences)
        values = np.empty((self.n_rows, offsets[-1]), np.int32)
        for row, (attribute, vocabulary) in zip(values, self.by_attribute.items(), strict=False):
            numbers: list[int] = []
            for column in attribute_values(sentences, attribute):
                numbers.append(ROOT)
                numbers += vocabulary.encode(column)
            row[:] = numbers
        if self.characters is not None:
            values[len(self.by_attribute) :] = self.characters.encode([sentence.forms for sentence in sentences])
        return Sentences(values, offsets)

    def encode_tags(self, sentences: Sequence[Columns]) -> np.ndarray:
        """int32[tags, total]: the columns that a tagger predicts, ROOT before each sentence, UNKNOWN for unknown values."""
        numbers = [
            [number for sentence in sentences for number in (ROOT, *known.encode_exactly(getattr(sentence, column)))]
            for column, known in self.tags.items()
        ]
        return np.array(numbers, np.int32).reshape(len(self.tags), _offsets(sentences)[-1])

    def unknown_counts(self, sentences: Sentences) -> dict[str, int]:
        """By attribute: how many tokens have a value that training never saw."""
        unknown = (sentences.values[: len(self.by_attribute)] == UNKNOWN).sum(axis=1)
        return {name: int(count) for name, count in zip(self.by_attribute, unknown, strict=True)}


def _offsets(sentences: Sequence[Columns]) -> np.ndarray:
    """int64[sentences + 1]: where the sentences begin, each with its root."""
    offsets = np.zeros(len(sentences) + 1, np.int64)
    np.cumsum(np.array([len(sentence.forms) + 1 for sentence in sentences], np.int64), out=offsets[1:])
    return offsets
