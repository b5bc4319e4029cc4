"""two_planar's values by exhaustive search over Python tuples; nothing here is shared with the package under test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from tests.oracles.search import Search


class Configuration(NamedTuple):
    """In the last phase, ``active`` is 0..the token in question."""

    active: tuple[int, ...]
    other: tuple[int, ...]
    switched: bool
    front: int
    made: tuple[int, ...]  # 0..n, -1 = none


class TwoPlanarSearch(Search[Configuration]):
    """Scores of transitions for one gold tree; remembers what it has searched."""

    def __init__(self, heads: Sequence[int]) -> None:
        self.heads = (-1, *heads)
        self.n = len(heads)
        self.best = cache(self._best)

    def initial(self) -> Configuration:
        return Configuration((0,), (0,), False, 1, (-1,) * (self.n + 1))

    def final(self, now: Configuration) -> bool:
        return now.front > self.n and -1 not in now.made[1:]

    def scores(self, now: Configuration) -> dict[str, int]:
        return {name: gain + self.best(after) for name, gain, after in self.transitions(now)}

    def _best(self, now: Configuration) -> int:
        return 0 if self.final(now) else max(self.scores(now).values())

    def transitions(self, now: Configuration) -> Iterator[tuple[str, int, Configuration]]:
        """Name, gold edges made, and the configuration after it."""
        active, other, _, front, made = now
        top = active[-1]

        def gold(child: int, head: int) -> int:
            return int(self.heads[child] == head)

        def given(child: int, head: int) -> tuple[int, ...]:
            return (*made[:child], head, *made[child + 1 :])

        def is_above(node: int, other: int) -> bool:
            return other == node or (made[other] != -1 and is_above(node, made[other]))

        if front <= self.n:
            after = Configuration((*active, front), (*other, front), False, front + 1, made)
            yield "sh", 0, after if front < self.n else self._last_phase(made, self.n)
            if top > 0:
                for name, child, head in (("la", top, front), ("ra", front, top)):
                    if made[child] == -1 and not is_above(child, head):
                        yield name, gold(child, head), Configuration(active, other, False, front, given(child, head))
                yield "re", 0, Configuration(active[:-1], other, False, front, made)
            if len(other) > 1 and not now.switched:
                yield "sw", 0, Configuration(other, active, True, front, made)
        elif 0 in made:
            heads = given(top, made.index(0))
            yield "at", gold(top, made.index(0)), self._last_phase(heads, self.n)
        else:
            heads = given(top, 0)
            yield "ro", gold(top, 0), self._last_phase(heads, self.n)
            if -1 in made[1:top]:
                yield "na", 0, self._last_phase(made, top - 1)

    def _last_phase(self, made: tuple[int, ...], last: int) -> Configuration:
        waiting = [token for token in range(1, last + 1) if made[token] == -1]
        return Configuration(tuple(range(max(waiting, default=0) + 1)), (0,), False, self.n + 1, made)
