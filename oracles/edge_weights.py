"""What an edge weighs in the charts and rows of an oracle, and the integers that sums of such weights are kept in.

Without ``ties`` an edge weighs 1 if it is gold and 0 if not. So where a word's gold head cannot be had, be it that an earlier
transition lost it or that the gold tree is not projective, all other heads are as good as each other, and many transitions are
optimal. ``ties="nearest_ancestor"`` prefers, among the transitions that lose the fewest gold edges, those that keep the most
other words attachable to their nearest gold ancestor that can be had. An edge from h to d then weighs

    GOLD_WEIGHT                                 if h is the gold head of d
    max(0, LEVELS - ancestors between d and h)  if h is an ancestor of d farther up the gold tree
    0                                           otherwise

The artificial root is an ancestor of every word. The weights depend only on the sentence, so they go through the same dynamic
programs. The rewards of a sentence's other edges sum to less than GOLD_WEIGHT, so gold edges come first: a score is GOLD_WEIGHT
times what it is without ``ties``, plus rewards, and the optimal transitions are some of those without ``ties``. Not in the
literature that we know; a choice among optimal projective trees by the same idea is ``nearest_ancestor`` in
projectivization/optimal.py.

Sums of plain weights fit in 16 bits, of which a vector instruction takes twice as many; the others need 32.
"""

from __future__ import annotations

import numpy as np

from oracles.kernel_cache import array_kernel, kernel

TIES = ("none", "nearest_ancestor")

GOLD_WEIGHT = 2**16

# How many ancestors of a word are worth something, its gold head included: the most for which MAX_TOKENS times the greatest
# reward is below GOLD_WEIGHT. With 32, the optimal transitions differ in one configuration of ten thousand (got, grc).
LEVELS = 7


def levels_of(ties: str | None) -> tuple[int, ...]:
    """() without ties, else (LEVELS,): a tuple, because its length is known when a kernel is compiled for it.

    Raises:
        ValueError: ``ties`` is neither None nor one of TIES.
    """
    if ties not in (None, *TIES):
        raise ValueError(f"unknown ties {ties!r}; known: {', '.join(TIES)}")
    return () if ties in (None, "none") else (LEVELS,)


@kernel()
def negative_infinity(scores):
    """Less than minus any sum of weights, as an integer of the array ``scores``; the sum of three does not wrap around."""
    return scores.dtype.type(-10000 if scores.itemsize == 2 else -700_000_000)


@kernel()
def weight(edges, head, child):
    """The weight of an edge, from the gold heads, int32[n + 1], or from a table of weights, int32[n + 1, n + 1]."""
    if edges.ndim == 1:  # known when this is compiled
        return np.int16(edges[child] == head)
    return edges[head, child]


@array_kernel()
def edges_of(heads, levels, table, new):
    """What ``weight`` reads of a sentence: its gold heads, or, if there are levels, its table of weights.

    Args:
        heads: int32[n + 1], heads[0] = -1.
        levels: see levels_of.
        table: int32[>= (n + 1)^2], where the table of weights is; not touched if there are no levels.
        new: whether it has to be filled in first.
    """
    if len(levels) == 0:  # known when this is compiled
        return heads
    size = len(heads)
    weights = table[: size * size].reshape((size, size))
    if new:
        _fill_weights(heads, levels[0], weights)
    return weights


@kernel()
def _fill_weights(heads, levels, weights):
    weights[:] = 0
    for child in range(1, len(heads)):
        head = heads[child]
        if head < 0:
            continue
        weights[head, child] = GOLD_WEIGHT
        for skipped in range(1, levels):
            head = heads[head]
            if head < 0:
                break
            weights[head, child] = levels - skipped
