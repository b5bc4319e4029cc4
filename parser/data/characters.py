"""The characters of forms as numbers, in as many rows as the longest form has that is read whole.

The rows lie after those of the attributes in ``Sentences.values``, so that all that cuts, caches and batches sentences takes
characters along. The row of a character is its place in the form; after the last one is ABSENT.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from parser.data.vocabulary import ABSENT, ROOT, UNKNOWN, Vocabulary

# Rarer characters are unknown ones, from which a model learns what to make of characters that training never saw.
_MIN_COUNT = 2


class Characters:
    """A vocabulary of characters.

    Args:
        symbols: the known characters.
        longest: of a longer form its first and its last characters are read, this many in all; affixes are at the ends.

    Raises:
        ValueError: a character is there twice, or one is not a single character.
    """

    def __init__(self, symbols: Iterable[str], longest: int) -> None:
        self.vocabulary = Vocabulary(symbols)
        if odd := [symbol for symbol in self.vocabulary.symbols if len(symbol) != 1]:
            raise ValueError(f"{odd[0][:20]!r} is not one character")
        self.longest = longest

    @classmethod
    def of(cls, forms: Iterable[str], longest: int) -> Characters:
        """Those that are seen at least twice in the forms, the most frequent first."""
        counts = Counter(chain.from_iterable(forms))
        known = [character for character, count in counts.items() if count >= _MIN_COUNT]
        return cls(sorted(known, key=lambda character: (-counts[character], character)), longest)

    def __len__(self) -> int:
        """Reserved numbers included."""
        return len(self.vocabulary)

    @property
    def symbols(self) -> list[str]:
        """The known characters, in the order of their numbers."""
        return self.vocabulary.symbols

    def encode(self, sentences: Sequence[Sequence[str]]) -> np.ndarray:
        """int32[longest, tokens]: the characters of the forms of sentences, a root before each.

        A root has only the character ROOT, a form without characters has UNKNOWN.
        """
        numbers: dict[str, list[int]] = {}
        rows = []
        for forms in sentences:
            rows.append([ROOT])
            for form in forms:
                if (known := numbers.get(form)) is None:
                    known = numbers[form] = self.vocabulary.encode(self._ends(form)) or [UNKNOWN]
                rows.append(known)
        encoded = np.full((len(rows), self.longest), ABSENT, np.int32)
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        encoded[np.arange(self.longest) < lengths[:, None]] = list(chain.from_iterable(rows))
        return np.ascontiguousarray(encoded.T)

    def _ends(self, form: str) -> str:
        """The characters that are read."""
        if len(form) <= self.longest:
            return form
        first = self.longest // 2
        return form[:first] + form[len(form) - (self.longest - first) :]
