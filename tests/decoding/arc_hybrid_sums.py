"""Sums and maxima over all computations of arc-hybrid by recursion over stacks, without a chart or anything of the package."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

NOTHING = -1
IMPOSSIBLE = -math.inf


def number(i: int, j: int) -> int:
    """That of the state in which i is on top and j is the front of the buffer."""
    return j * (j - 1) // 2 + i


def log_sum(values: Sequence[float]) -> float:
    """log(sum(exp(values)))."""
    top = max(values)
    return top if top == IMPOSSIBLE else top + math.log(sum(math.exp(value - top) for value in values))


def over_computations(
    scores: Sequence[Sequence[Any]],
    n: int,
    combine: Callable[[list[Any]], Any],
    *,
    root_relation: int = NOTHING,
    single_root: bool = False,
    local: bool = False,
    arcs: dict[int, tuple[int, int]] | None = None,
) -> Any:
    """The logarithm of the sum of exp(score) over computations (combine = log_sum), or the best one's score (max).

    Args:
        scores: by state and output (shift, left with each relation, right with each): floats, or what can be added like them.
        n: tokens.
        combine: how alternatives are combined.
        root_relation: that of the root's child alone, and of nothing else; NOTHING: relations are free.
        single_root: whether the root has one child.
        local: whether transitions cost the logarithms of their probabilities among those that apply.
        arcs: {child: (head, relation)} that must be made; others are free.
    """
    n_relations = len(scores[0]) // 2
    wanted = arcs or {}

    @cache
    def rest(stack: tuple[int, ...], front: int) -> Any:
        """Over what may follow."""
        if stack == (0,) and front > n:
            return 0.0
        of_state = scores[number(stack[-1], front)]
        transitions: list[tuple[int, tuple[int, ...], int, tuple[int, int, int] | None]] = []
        if front <= n:
            transitions.append((0, (*stack, front), front + 1, None))
        for output in range(1, 1 + 2 * n_relations):
            relation = (output - 1) % n_relations
            head = front if output <= n_relations else stack[-2] if len(stack) > 1 else NOTHING
            if len(stack) == 1 or head > n or (head == 0 and single_root and not (front > n and len(stack) == 2)):
                continue
            if root_relation == NOTHING or (head == 0) == (relation == root_relation):
                transitions.append((output, stack[:-1], front, (stack[-1], head, relation)))
        norm = log_sum([of_state[output] for output, *_ in transitions]) if local else 0.0
        return combine(
            [
                of_state[output] - norm + rest(below, following)
                for output, below, following, arc in transitions
                if arc is None or wanted.get(arc[0], arc[1:]) == arc[1:]
            ]
            or [IMPOSSIBLE]
        )

    return rest((0,), 1)
