"""The static oracle: the transition of a gold computation, for the first pass of training.

Two gold computations matter (Nederhof 2019, Section 2). Both depend only on the gold tree:

* eager, under left_before_right, strict_left_before_right and any: attach as soon as possible.
  reduce_right if a_k is the gold head of a_{k-1}; otherwise reduce_left if a_{k-1} is the gold head
  of a_k and no gold child of a_k is left in the buffer; otherwise shift. This is the canonical
  computation of arc-standard parsing.
* lazy, under right_before_left: a node takes its left children after its right children. The rules
  are the same, except that reduce_right also waits until no gold child of a_k is left in the
  buffer.

On the gold path the eager transition is the unique optimum under left_before_right,
the lazy one under right_before_left.

Off the gold path this oracle is NOT guaranteed to be optimal. It follows the same rules, and its
transition is always applicable: if the rules say shift and the buffer is empty, it is reduce_left,
which leads to the final configuration. Use it for gold computations, and another oracle elsewhere.

Its scores are 1 for its transition and 0 for other applicable ones, not numbers of edges.

Complexity: O(1) per configuration, O(n) per sentence to bind.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from oracles.interface import (
    N_TRANSITIONS,
    NOT_APPLICABLE,
    REDUCE_LEFT,
    REDUCE_RIGHT,
    SHIFT,
    BoundOracle,
    Oracle,
    Query,
    Strategy,
)
from oracles.kernel_cache import array_kernel
from oracles.trees import GoldChildren, Trees


class ArcStandardStatic(Oracle):
    """The transition of the eager (or, under right_before_left, the lazy) gold computation."""

    name: ClassVar[str] = "static"
    needs_projective_gold: ClassVar[bool] = True  # only a projective tree has a gold computation
    complexity: ClassVar[str] = "O(1)"
    source: ClassVar[str] = "Nivre 2008, Section 4; Nederhof 2019, Section 2"

    def _bind(self, trees: Trees) -> BoundOracle:
        return _BoundArcStandardStatic(trees, lazy=self.strategy is Strategy.RIGHT_BEFORE_LEFT)


class _BoundArcStandardStatic(BoundOracle):
    def __init__(self, trees: Trees, lazy: bool) -> None:
        super().__init__(trees)
        self.lazy = lazy
        self.last_child = GoldChildren.of(trees).last

    def score_batch(self, query: Query) -> np.ndarray:
        trees = self.trees
        return _score_batch(trees.heads, trees.offsets, self.last_child, self.lazy, *query.arrays)


@array_kernel()
def _score_batch(heads, offsets, last_child, lazy, sentences, stacks, stack_sizes, buffer_fronts):
    scores = np.full((len(sentences), N_TRANSITIONS), NOT_APPLICABLE, np.int16)
    for row in range(len(sentences)):
        start = offsets[sentences[row]]
        n = offsets[sentences[row] + 1] - start - 1
        front = buffer_fronts[row]
        k = stack_sizes[row] - 1
        top = stacks[row, k]
        if front <= n:
            scores[row, SHIFT] = 0
        if k >= 1:
            scores[row, REDUCE_LEFT] = 0
        if k >= 2:
            scores[row, REDUCE_RIGHT] = 0
        awaits_child = last_child[start + top] >= front
        if k >= 2 and heads[start + stacks[row, k - 1]] == top and not (lazy and awaits_child):
            scores[row, REDUCE_RIGHT] = 1
        elif k >= 1 and heads[start + top] == stacks[row, k - 1] and not awaits_child:
            scores[row, REDUCE_LEFT] = 1
        elif front <= n:
            scores[row, SHIFT] = 1
        elif k >= 1:
            scores[row, REDUCE_LEFT] = 1
    return scores
