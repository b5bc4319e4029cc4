"""Projectivization by lifting, the baseline of pseudo-projective parsing:
Nivre and Nilsson 2005, Figure 3.

While the tree is not projective, the smallest non-projective arc is lifted: its child moves from
its head to the head of its head. The smallest arc is the shortest one, the leftmost among equally
short ones. An arc is non-projective if some word between its ends does not descend from its head.
Arcs from the artificial root are always projective, so the loop ends.

Lifting keeps at most as many gold edges as the optimal projectivization (Nederhof 2019, Table 6),
and attaches words only to gold ancestors. Labels are not encoded here. Complexity: O(n^2 depth) for
each lift.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oracles.kernel_cache import array_kernel
from oracles.trees import Trees


def lift(heads: Sequence[int]) -> list[int]:
    """Return the tree [h_1, ..., h_n] made projective by lifting;
    a projective tree is returned unchanged.

    Raises:
        OptimalStepError: not a tree.
    """
    return lift_trees(Trees.from_heads([heads]))[0]


def lift_trees(trees: Trees) -> Trees:
    """Return lift() of each tree."""
    heads = trees.heads.copy()
    for s in np.flatnonzero(~trees.projective):
        _lift(heads[trees.offsets[s] : trees.offsets[s + 1]])
    return Trees(heads, trees.offsets)


@array_kernel()
def _lift(heads):
    """Lift in place; heads: int32[n + 1], heads[0] = -1."""
    while True:
        child = _smallest_nonprojective_arc(heads)
        if child == 0:
            return
        heads[child] = heads[heads[child]]


@array_kernel()
def _smallest_nonprojective_arc(heads):
    """Return the child of the smallest non-projective arc, 0 if all arcs are projective."""
    n = len(heads) - 1
    for length in range(2, n):
        for low in range(1, n + 1 - length):
            high = low + length
            if heads[high] == low and not _covers_descendants(heads, low, low, high):
                return high
            if heads[low] == high and not _covers_descendants(heads, high, low, high):
                return low
    return 0


@array_kernel()
def _covers_descendants(heads, head, low, high):
    """Return whether all words between low and high descend from head."""
    for token in range(low + 1, high):
        node = token
        while node > 0 and node != head:
            node = heads[node]
        if node != head:
            return False
    return True
