"""From strings to numbers: a vocabulary for an attribute of a token, and the numbers that all vocabularies share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

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
