"""What exhaustive searches over the configurations of a transition system have in common."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Generic, TypeVar

Configuration = TypeVar("Configuration")


class Search(ABC, Generic[Configuration]):
    """The configurations of a sentence."""

    @abstractmethod
    def initial(self) -> Configuration:
        """Where computations begin."""

    @abstractmethod
    def transitions(self, now: Configuration) -> Iterator[tuple[str, int, Configuration]]:
        """What can be done: the name of a transition, the gold edges that it makes, and the configuration after it."""

    def final(self, now: Configuration) -> bool:
        """Whether a configuration is left out, as no transition is asked of it."""
        return False

    def reachable(self) -> set[Configuration]:
        """All configurations that some computation passes, but for the final ones."""
        found = {self.initial()}
        waiting = list(found)
        while waiting:
            for _, _, after in self.transitions(waiting.pop()):
                if not self.final(after) and after not in found:
                    found.add(after)
                    waiting.append(after)
        return found

    @abstractmethod
    def scores(self, now: Configuration) -> dict[str, int]:
        """By transition, the most gold edges with it."""

    def walk(self, rng: random.Random, optimal_probability: float) -> list[Configuration]:
        """The configurations of a computation that takes an optimal transition with that probability, else any."""
        now, passed = self.initial(), []
        while not self.final(now):
            passed.append(now)
            able = list(self.transitions(now))
            if rng.random() < optimal_probability:
                scores = self.scores(now)
                able = [one for one in able if scores[one[0]] == max(scores.values())]
            now = rng.choice(able)[2]
        return passed
