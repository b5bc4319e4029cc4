"""Random choices that come out the same on every version of Python."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

from .lexicon import Verb

T = TypeVar("T")

HELD_OUT = "*"
"""Words that begin with this mark are kept out of the training part, so that dev and test have unknown words."""


class Draw:
    """Choices derived from ``random()`` alone: Python promises its sequence, not that of ``choice`` and the like."""

    def __init__(self, seed: int, held_out: bool) -> None:
        self._random = random.Random(seed)
        self._held_out = held_out

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        return self._random.random() < probability

    def weighted(self, options: Sequence[tuple[T, float]]) -> T:
        """One of the options (option, weight)."""
        total = 0.0
        for _, weight in options:  # not sum(): from Python 3.12 on it rounds in another way
            total += weight
        rest = self._random.random() * total
        for option, weight in options:
            rest -= weight
            if rest < 0:
                return option
        return options[-1][0]

    def uniform(self, options: Sequence[T]) -> T:
        """One of the options, all equally likely."""
        return options[int(self._random.random() * len(options))]

    def word(self, words: Sequence[str]) -> str:
        """A word, the earlier in the list the likelier (Zipf's law, flattened a little), without its mark."""
        known = [word for word in words if self._held_out or not word.startswith(HELD_OUT)]
        chosen = self.weighted([(word, 1 / (rank + 2)) for rank, word in enumerate(known)])
        return chosen.removeprefix(HELD_OUT)

    def verb(self, verbs: Sequence[Verb]) -> Verb:
        """A verb, by rank as in ``word``."""
        known = [verb for verb in verbs if self._held_out or not verb.lemma.startswith(HELD_OUT)]
        return self.weighted([(verb, 1 / (rank + 2)) for rank, verb in enumerate(known)])
