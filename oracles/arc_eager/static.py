"""The static oracle of arc-eager (Nivre 2003): the transition of the canonical gold computation,
for the first training pass.

If there is a gold edge between the top and the first token of the buffer, it makes this edge (left,
right). Otherwise, if the top already has a head and there is a gold edge between that token and an
element below the top, it reduces the top. Otherwise it shifts. When the buffer is empty, it pops
the rest.

It takes only projective gold trees. Off the path of the canonical computation it is NOT guaranteed
to be optimal. Its scores are 1 for its transition and 0 for other applicable ones, not numbers of
edges.

Complexity: O(k) per configuration of k + 1 stack elements.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from oracles.arc_eager.system import (
    ATTACH,
    LEFT,
    N_TRANSITIONS,
    REDUCE,
    RIGHT,
    SHIFT,
    ArcEagerOracle,
    fill_applicable,
)
from oracles.interface import NO_NODE, NOT_APPLICABLE, BoundOracle, Query
from oracles.kernel_cache import array_kernel
from oracles.trees import Trees


class ArcEagerStatic(ArcEagerOracle):
    """The transition of the canonical gold computation."""

    name: ClassVar[str] = "arc_eager_static"
    needs_projective_gold: ClassVar[bool] = True
    complexity: ClassVar[str] = "O(k)"
    source: ClassVar[str] = "Nivre 2003"

    def _bind(self, trees: Trees) -> BoundOracle:
        return _BoundStatic(trees, self)


class _BoundStatic(BoundOracle):
    def __init__(self, trees: Trees, oracle: ArcEagerStatic) -> None:
        super().__init__(trees)
        self._kind = oracle.single_root, oracle.nonmonotonic

    def score_batch(self, query: Query) -> np.ndarray:
        return _score_batch(
            self.trees.heads, self.trees.offsets, *self._kind, query.made, *query.arrays
        )


@array_kernel()
def _score_batch(
    all_heads,
    offsets,
    single_root,
    nonmonotonic,
    made_heads,
    sentences,
    stacks,
    stack_sizes,
    buffer_fronts,
):
    """Fill in the scores of score_batch()."""
    scores = np.empty((len(sentences), N_TRANSITIONS), np.int16)
    for row in range(len(sentences)):
        start = offsets[sentences[row]]
        n = offsets[sentences[row] + 1] - start - 1
        k, front, stack = stack_sizes[row] - 1, buffer_fronts[row], stacks[row]
        fill_applicable(made_heads[row], stack, k, front, n, single_root, nonmonotonic, scores[row])
        top = stack[k]
        linked = k > 0 and made_heads[row, top] != NO_NODE
        if front > n:
            chosen = REDUCE if linked else ATTACH
        elif all_heads[start + top] == front and not linked:
            chosen = LEFT
        elif all_heads[start + front] == top:
            chosen = RIGHT
        else:
            chosen = SHIFT
            for i in range(k):
                if linked and (
                    all_heads[start + front] == stack[i] or all_heads[start + stack[i]] == front
                ):
                    chosen = REDUCE
        if scores[row, chosen] == NOT_APPLICABLE:
            chosen = SHIFT  # single_root forbids reducing only while the buffer is not empty
        if k > 0 or front <= n:
            scores[row, chosen] = 1
    return scores
