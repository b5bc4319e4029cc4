"""Attardi's system by search over its computations: shares nothing with the package under test. Fit for n up to about 8."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

Configuration = tuple[tuple[int, ...], int]  # the stack, and the first token of the buffer

INITIAL: Configuration = ((0,), 1)


def transitions(now: Configuration, n: int, degree: int) -> Iterator[tuple[str, tuple[int, int] | None, Configuration]]:
    """The applicable transitions in the order of their columns: (name, arc (head, child) or None, configuration after it)."""
    stack, front = now
    if front <= n:
        yield "sh", None, ((*stack, front), front + 1)
    for depth in range(1, degree + 1):
        suffix = str(depth) if depth > 1 else ""
        if len(stack) > depth:
            yield "ra" + suffix, (stack[-1 - depth], stack[-1]), (stack[:-1], front)
        if len(stack) > depth + 1:
            child = stack[-1 - depth]
            yield "la" + suffix, (stack[-1], child), (tuple(x for x in stack if x != child), front)


class TransitionScores:
    """{transition: score} of any configuration for one gold tree; remembers what it has searched."""

    def __init__(self, heads: Sequence[int], degree: int) -> None:
        self.heads = [-1, *heads]
        self.degree = degree
        self.best_of: dict[Configuration, int] = {}

    def __call__(self, now: Configuration) -> dict[str, int]:
        """The most gold edges that can be made by each applicable transition and all that may follow it."""
        options = transitions(now, len(self.heads) - 1, self.degree)
        return {name: self._is_gold(arc) + self.best(after) for name, arc, after in options}

    def best(self, now: Configuration) -> int:
        """The most gold edges that can still be made."""
        if now not in self.best_of:
            self.best_of[now] = max(self(now).values(), default=0)
        return self.best_of[now]

    def _is_gold(self, arc: tuple[int, int] | None) -> bool:
        return arc is not None and self.heads[arc[1]] == arc[0]


def random_computation(rng: random.Random, n: int, degree: int) -> Iterator[Configuration]:
    """The configurations of a random computation, from the first to the final one."""
    now = INITIAL
    yield now
    while options := list(transitions(now, n, degree)):
        now = rng.choice(options)[2]
        yield now


def random_parseable_tree(rng: random.Random, n: int, degree: int, depth: float = 0.5) -> list[int]:
    """The tree of a random computation; the greater ``depth`` (0..1), the more is shifted before anything is attached."""
    heads = [0] * (n + 1)
    now = INITIAL
    while options := list(transitions(now, n, degree)):
        arcs = options[1:] if options[0][0] == "sh" else options
        shifts = options[0][0] == "sh" and (not arcs or rng.random() < depth)
        _, arc, now = options[0] if shifts else rng.choice(arcs)
        if arc:
            heads[arc[1]] = arc[0]
    return heads[1:]
