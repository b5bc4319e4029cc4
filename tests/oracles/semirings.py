"""Semirings of Nederhof 2019, Section 3, besides the one that oracles need: the tables of the paper hold over each of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from oracles.tabular import Semiring

# Whether there is a derivation.
BOOLEAN: Semiring[bool] = Semiring(
    zero=False, one=True, plus=lambda a, b: a or b, times=lambda a, b: a and b, edge=lambda score, head, child: True
)

# How many derivations there are.
COUNTING: Semiring[int] = Semiring(
    zero=0, one=1, plus=lambda a, b: a + b, times=lambda a, b: a * b, edge=lambda score, head, child: 1
)


def _better_score_and_count(a: tuple[float, int], b: tuple[float, int]) -> tuple[float, int]:
    if a[0] == b[0]:
        return a[0], a[1] + b[1]
    return max(a, b)


# The best score, and how many derivations have it. Counts are Python's integers: exact however large.
SCORE_AND_COUNT: Semiring[tuple[float, int]] = Semiring(
    zero=(-math.inf, 0),
    one=(0, 1),
    plus=_better_score_and_count,
    times=lambda a, b: (a[0] + b[0], a[1] * b[1]),
    edge=lambda score, head, child: (score, 1),
)

# The best score, and a derivation that has it (of several the one found first), as nested pairs with edges at the leaves.
# Only up to the choice among equals is this a semiring. ``edges_of`` reads the derivation.
BEST_DERIVATION: Semiring[tuple[float, Any]] = Semiring(
    zero=(-math.inf, None),
    one=(0, None),
    plus=lambda a, b: b if b[0] > a[0] else a,
    times=lambda a, b: (a[0] + b[0], (a[1], b[1])),
    edge=lambda score, head, child: (score, _Edge(head, child)),
)


@dataclass(frozen=True)
class _Edge:
    head: int
    child: int


def edges_of(derivation: Any) -> list[tuple[int, int]]:
    """The edges (head, child) of the second part of a weight of BEST_DERIVATION, by child."""
    edges = []
    agenda = [derivation]
    while agenda:
        part = agenda.pop()
        if isinstance(part, _Edge):
            edges.append((part.head, part.child))
        elif part is not None:
            agenda.extend(part)
    return sorted(edges, key=lambda edge: edge[1])
