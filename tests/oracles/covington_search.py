"""Covington's values by exhaustive search over Python tuples; nothing here is shared with the package under test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from tests.oracles.search import Search

# The top i of the stack 0..i, the first token of the buffer, and the heads made, 0..n, -1 = none.
Configuration = tuple[int, int, tuple[int, ...]]


def without_head(made: tuple[int, ...]) -> list[int]:
    return [token for token in range(1, len(made)) if made[token] == -1]


def above(made: tuple[int, ...], node: int) -> list[int]:
    """The node and its ancestors."""
    found = [node]
    while made[found[-1]] != -1:
        found.append(made[found[-1]])
    return found


class CovingtonSearch(Search[Configuration]):
    """Scores of transitions for one gold tree; remembers what it has searched."""

    def __init__(self, heads: Sequence[int]) -> None:
        self.heads = (-1, *heads)
        self.n = len(heads)
        self.best = cache(self._best)

    def initial(self) -> Configuration:
        return 0, 1, (-1,) * (self.n + 1)

    def final(self, configuration: Configuration) -> bool:
        return configuration[1] > self.n and not without_head(configuration[2])

    def scores(self, configuration: Configuration) -> dict[str, int]:
        return {name: gain + self.best(after) for name, gain, after in self.transitions(configuration)}

    def _best(self, configuration: Configuration) -> int:
        return 0 if self.final(configuration) else max(self.scores(configuration).values())

    def transitions(self, configuration: Configuration) -> Iterator[tuple[str, int, Configuration]]:
        """Name, gold edges made, and the configuration after it."""
        i, j, made = configuration

        def arc(name: str, child: int, head: int) -> tuple[str, int, Configuration]:
            heads = (*made[:child], head, *made[child + 1 :])
            left = without_head(heads)
            top = i - 1 if j <= self.n else left[-1] if left else 0
            return name, int(self.heads[child] == head), (top, j, heads)

        if j <= self.n:
            yield "sh", 0, (j if j < self.n else without_head(made)[-1], j + 1, made)
            if i > 0:
                yield "na", 0, (i - 1, j, made)
                if made[i] == -1 and i not in above(made, j):
                    yield arc("la", i, j)
                if made[j] == -1 and j not in above(made, i):
                    yield arc("ra", j, i)
        elif 0 not in made:
            yield arc("ro", i, 0)
            if below := [token for token in without_head(made) if token < i]:
                yield "na", 0, (below[-1], j, made)
        else:
            yield arc("at", i, made.index(0))
