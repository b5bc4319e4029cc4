"""LR-spine parsing by search over transition sequences, for the tests; shares nothing with the package under test.

A configuration is ``(stack, front)``: for each stack element the pair of its left and right spine as tuples, the root first,
and the first token of the buffer.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from oracles import Query

Element = tuple[tuple[int, ...], tuple[int, ...]]
Configuration = tuple[tuple[Element, ...], int]

INITIAL: Configuration = ((((0,), (0,)),), 1)


def transitions(configuration: Configuration, n: int) -> Iterator[tuple[str, tuple[int, int] | None, Configuration]]:
    """All applicable transitions: (name, its edge as (head, child), configuration after it)."""
    stack, front = configuration
    if front <= n:
        yield "sh", None, ((*stack, ((front,), (front,))), front + 1)
    if len(stack) < 2:
        return
    rest, (ls2, rs2), (ls1, rs1) = stack[:-2], stack[-2], stack[-1]
    for k in range(1, len(ls1) + 1):
        if ls2[0] != 0:
            yield f"la{k}", (ls1[k - 1], ls2[0]), ((*rest, (ls1[:k] + ls2, rs1)), front)
    for k in range(1, len(rs2) + 1):
        yield f"ra{k}", (rs2[k - 1], ls1[0]), ((*rest, (ls2, rs2[:k] + rs1)), front)


class TransitionScores:
    """Scores of transitions for one gold tree; remembers what it has searched."""

    def __init__(self, heads: Sequence[int]) -> None:
        self.heads = heads
        self.best_of: dict[Configuration, int] = {}

    def __call__(self, configuration: Configuration) -> dict[str, int]:
        """{transition: most gold edges that can still be made if it is taken, its own included}."""
        return {
            name: (edge is not None and self.heads[edge[1] - 1] == edge[0]) + self._best(after)
            for name, edge, after in transitions(configuration, len(self.heads))
        }

    def _best(self, configuration: Configuration) -> int:
        if configuration not in self.best_of:
            self.best_of[configuration] = max(self(configuration).values(), default=0)
        return self.best_of[configuration]


def configurations(n: int) -> list[Configuration]:
    """All that can be reached in a sentence of n tokens, the final ones included."""
    found = {INITIAL: None}
    agenda = [INITIAL]
    while agenda:
        for _, _, after in transitions(agenda.pop(), n):
            if after not in found:
                found[after] = None
                agenda.append(after)
    return list(found)


def random_computation(rng: random.Random, n: int) -> Iterator[Configuration]:
    """The configurations of a random computation."""
    now = INITIAL
    yield now
    while following := [after for _, _, after in transitions(now, n)]:
        now = rng.choice(following)
        yield now


def query(cases: Sequence[tuple[int, Configuration]], longest: int) -> Query:
    """(sentence, configuration) pairs as a query; what must be ignored is filled with 99."""
    width = max((len(stack) for _, (stack, _) in cases), default=1) + 1
    stacks = np.full((len(cases), width), 99, np.int32)
    children = np.full((len(cases), longest + 1, 2), -1, np.int32)
    for row, (_, (stack, _)) in enumerate(cases):
        for place, element in enumerate(stack):
            stacks[row, place] = element[0][0]
            for side, spine in enumerate(element):
                for node, child in pairwise(spine):
                    children[row, node, side] = child
    sizes = np.array([len(stack) for _, (stack, _) in cases], np.int32)
    sentences = np.array([sentence for sentence, _ in cases], np.int32)
    return Query(sentences, stacks, sizes, np.array([front for _, (_, front) in cases], np.int32), children=children)


def by_name(configuration: Configuration, row: np.ndarray, not_applicable: int) -> dict[str, int]:
    """A row of score_batch as {transition: score}; what lies behind the columns of the configuration must be filled up."""
    stack, _ = configuration
    columns = ["sh"]
    if len(stack) > 1:
        columns += [f"la{k}" for k in range(1, len(stack[-1][0]) + 1)] + [f"ra{k}" for k in range(1, len(stack[-2][1]) + 1)]
    assert (row[len(columns) :] == not_applicable).all()
    return {name: int(score) for name, score in zip(columns, row, strict=False) if score != not_applicable}
