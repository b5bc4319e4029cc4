"""The weight of an edge in the charts and rows of an oracle,
and the integer type for sums of weights.

Without ``ties`` an edge weighs 1 if it is gold, else 0. If a word can no longer get its gold head,
because an earlier transition lost it or because the gold tree is not projective, all other heads
are equally good, and many transitions are optimal. ``ties="nearest_ancestor"`` decides among the
transitions that lose the fewest gold edges: it prefers those after which the other words can be
attached to the nearest possible gold ancestors. An edge from h to d then weighs

    GOLD_WEIGHT                                 if h is the gold head of d
    max(0, LEVELS - ancestors between d and h)  if h is an ancestor of d farther up the gold tree
    0                                           otherwise

The artificial root is an ancestor of every word. The weights depend only on the sentence, so the
same dynamic programs apply. The weights of all edges that are not gold sum to less than
GOLD_WEIGHT, so gold edges come first: a score is GOLD_WEIGHT times the score without ``ties``, plus
a reward, and the optimal transitions are among those without ``ties``. We know of no such method in
the literature; ``nearest_ancestor`` in projectivization/optimal.py chooses among projective trees
by the same idea.

Sums of plain weights fit in 16 bits, and vector instructions process twice as many of these; sums
under ``ties`` need 32 bits.
"""

from __future__ import annotations

import numpy as np

from oracles.errors import OptimalStepError, did_you_mean
from oracles.kernel_cache import array_kernel, kernel

TIES = ("none", "nearest_ancestor")

GOLD_WEIGHT = 2**16

# How many ancestors of a word have a weight, its gold head included: the largest number for which
# MAX_TOKENS times the greatest reward is below GOLD_WEIGHT. With LEVELS = 32, the optimal
# transitions differ in one of ten thousand configurations (treebanks got and grc).
LEVELS = 7


def levels_of(ties: str | None) -> tuple[int, ...]:
    """Return () without ties, else (LEVELS,). It is a tuple,
    because numba knows the length of a tuple when it compiles a kernel.

    Raises:
        OptimalStepError: ``ties`` is neither None nor one of TIES.
    """
    if ties not in (None, *TIES):
        raise OptimalStepError(
            f"unknown ties {ties!r}{did_you_mean(str(ties), TIES)}; known: {', '.join(TIES)}"
        )
    return () if ties in (None, "none") else (LEVELS,)


@kernel()
def negative_infinity(scores):
    """Return a number below minus any sum of weights, of the type of ``scores``;
    the sum of three does not wrap around.
    """
    return scores.dtype.type(-10000 if scores.itemsize == 2 else -700_000_000)


@kernel()
def weight(edges, head, child):
    """Return the weight of an edge, from the gold heads, int32[n + 1],
    or from a table of weights, int32[n + 1, n + 1].
    """
    if edges.ndim == 1:  # decided when numba compiles
        return np.int16(edges[child] == head)
    return edges[head, child]


@array_kernel()
def edges_of(heads, levels, table, new):
    """Return the edges of a sentence for weight(): its gold heads, or, if there are levels,
    its table of weights.

    Args:
        heads: int32[n + 1], heads[0] = -1.
        levels: see levels_of().
        table: int32[>= (n + 1)^2], the memory of the table of weights;
            not touched if there are no levels.
        new: whether to fill in the table first.
    """
    if len(levels) == 0:  # decided when numba compiles
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
