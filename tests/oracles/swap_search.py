"""Parsing with swap by search over transition sequences, for the tests; shares nothing with the package under test.

A configuration is ``(stack, buffer)``, both tuples; the top is the last of the stack, the next token the first of the buffer.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np

from oracles import Query
from tests import brute_force

Configuration = tuple[tuple[int, ...], tuple[int, ...]]


def initial(n: int) -> Configuration:
    return (0,), tuple(range(1, n + 1))


def transitions(configuration: Configuration) -> Iterator[tuple[str, tuple[int, int] | None, Configuration]]:
    """All applicable transitions: (name, its edge as (head, child), configuration after it)."""
    stack, buffer = configuration
    if buffer:
        yield "sh", None, ((*stack, buffer[0]), buffer[1:])
    if len(stack) >= 2:
        yield "ra", (stack[-2], stack[-1]), (stack[:-1], buffer)
    if len(stack) >= 3:
        yield "la", (stack[-1], stack[-2]), ((*stack[:-2], stack[-1]), buffer)
        if stack[-2] < stack[-1]:
            yield "sw", None, ((*stack[:-2], stack[-1]), (stack[-2], *buffer))


def best_of_all(heads: Sequence[int]):
    """A function from a configuration to the most gold edges that any computation from there makes."""

    @cache
    def best(configuration):
        return max((is_gold(edge, heads) + best(after) for _, edge, after in transitions(configuration)), default=0)

    return best


def is_gold(edge: tuple[int, int] | None, heads: Sequence[int]) -> bool:
    return edge is not None and heads[edge[1] - 1] == edge[0]


def projective_order(heads: Sequence[int]) -> list[int]:
    """The nodes of the tree in inorder, by recursion."""

    def visit(node: int) -> Iterator[int]:
        children = [child for child, head in enumerate(heads, 1) if head == node]
        for child in children:
            if child < node:
                yield from visit(child)
        yield node
        for child in children:
            if child > node:
                yield from visit(child)

    return list(visit(0))


class StaticDynamic:
    """What the oracle's docstring defines, by search: static swaps, and arc-standard in the order that these lead to."""

    def __init__(self, heads: Sequence[int]) -> None:
        self.heads = heads
        self.order = projective_order(heads)

    def __call__(self, configuration: Configuration) -> dict[str, int]:
        """{transition: score}."""
        scores = {name: is_gold(edge, self.heads) + self._value(after) for name, edge, after in transitions(configuration)}
        if "sw" in scores:
            if self.wants_swap(configuration[0]):
                return {name: score if name == "sw" else min(score, scores["sw"] - 1) for name, score in scores.items()}
            scores["sw"] = min(scores["sw"], max(score for name, score in scores.items() if name != "sw") - 1)
        return scores

    def wants_swap(self, stack: tuple[int, ...]) -> bool:
        """Whether swap is applicable and the top comes first in the projective order."""
        swappable = len(stack) >= 3 and stack[-2] < stack[-1]
        return swappable and self.order.index(stack[-1]) < self.order.index(stack[-2])

    def _value(self, configuration: Configuration) -> int:
        stack, buffer = configuration
        while buffer or self.wants_swap(stack):
            swap = self.wants_swap(stack)
            stack, buffer = next(after for name, _, after in transitions((stack, buffer)) if name == ("sw" if swap else "sh"))
        stays = 1
        while stays < len(configuration[0]) and stack[stays] == configuration[0][stays]:
            stays += 1
        if stays < len(configuration[0]):
            stays += 1
        # Nodes are renamed by their places; a head that is gone is no node.
        heads = [stack.index(head) if head in stack else -1 for head in (self.heads[node - 1] for node in stack[1:])]
        scores = brute_force.StepScores(heads, "any")(range(stays), stays)
        return max((score for score in scores if score is not None), default=0)


def configurations(n: int) -> list[Configuration]:
    """All that can be reached in a sentence of n tokens, the final ones included."""
    found = {initial(n): None}
    agenda = [initial(n)]
    while agenda:
        for _, _, after in transitions(agenda.pop()):
            if after not in found:
                found[after] = None
                agenda.append(after)
    return list(found)


def random_computation(rng: random.Random, n: int) -> Iterator[Configuration]:
    """The configurations of a random computation."""
    now = initial(n)
    yield now
    while following := [after for _, _, after in transitions(now)]:
        now = rng.choice(following)
        yield now


def query(cases: Sequence[tuple[int, int, Configuration]], longest: int) -> Query:
    """(sentence, its length, configuration) triples as a query; what must be ignored is 99."""
    width = max((len(stack) for _, _, (stack, _) in cases), default=1) + 1
    stacks = np.full((len(cases), width), 99, np.int32)
    buffers = np.full((len(cases), longest + 1), 99, np.int32)
    for row, (_, n, (stack, buffer)) in enumerate(cases):
        stacks[row, : len(stack)] = stack
        buffers[row, n + 1 - len(buffer) : n + 1] = buffer
    sizes = np.array([len(stack) for _, _, (stack, _) in cases], np.int32)
    fronts = np.array([n + 1 - len(buffer) for _, n, (_, buffer) in cases], np.int32)
    return Query(np.array([s for s, _, _ in cases], np.int32), stacks, sizes, fronts, buffers=buffers)
