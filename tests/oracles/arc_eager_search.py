"""Arc-eager's values by exhaustive search over Python tuples; nothing here is shared with the package under test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from tests.oracles.search import Search

# Stack, first token of the buffer, and the heads made, 0..n, -1 = none.
Configuration = tuple[tuple[int, ...], int, tuple[int, ...]]


class ArcEagerSearch(Search[Configuration]):
    """Scores of transitions for one gold tree; remembers what it has searched."""

    def __init__(self, heads: Sequence[int], single_root: bool = False, nonmonotonic: bool = False) -> None:
        self.heads = (-1, *heads)
        self.n = len(heads)
        self.single_root = single_root
        self.nonmonotonic = nonmonotonic
        self.best = cache(self._best)

    def initial(self) -> Configuration:
        return (0,), 1, (-1,) * (self.n + 1)

    def scores(self, configuration: Configuration) -> dict[str, int]:
        return {name: gain + self.best(after) for name, gain, after in self.transitions(configuration)}

    def _best(self, configuration: Configuration) -> int:
        stack, front, _ = configuration
        if len(stack) == 1 and front > self.n:
            return 0
        return max(self.scores(configuration).values())

    def transitions(self, configuration: Configuration) -> Iterator[tuple[str, int, Configuration]]:
        """Name, gold edges made less those undone, and the configuration after it."""
        stack, front, made = configuration
        top, buffer = stack[-1], front <= self.n
        linked = made[top] != -1
        stays = self.single_root and len(stack) == 2 and buffer

        def given(child: int, head: int) -> tuple[int, ...]:
            return (*made[:child], head, *made[child + 1 :])

        def gold(child: int, head: int) -> int:
            return int(self.heads[child] == head)

        if buffer:
            yield "sh", 0, ((*stack, front), front + 1, made)
            if top != 0 and (not linked or self.nonmonotonic):
                undone = gold(top, made[top]) if linked else 0
                yield "la", gold(top, front) - undone, (stack[:-1], front, given(top, front))
            yield "ra", gold(front, top), ((*stack, front), front + 1, given(front, top))
        if top != 0 and linked and not stays:
            yield "re", 0, (stack[:-1], front, made)
        if top != 0 and not linked and not stays and (self.nonmonotonic or not buffer):
            yield "at", gold(top, stack[-2]), (stack[:-1], front, given(top, stack[-2]))
