"""The nondeterministic oracle of LR-spine parsing for the gold path: Sartorio,
Satta and Nivre 2013, Lemma 1.

On the gold path of a projective gold tree (where all edges not yet made can still be made),

* la_k or ra_k is correct if and only if its edge is gold;
* shift is wrong if and only if the root of the top has its gold head on the stack, and no node of
  the right spine of the top has a gold child in the buffer.

So a transition is correct there if it loses no gold edge. In about 30% of the configurations of
gold paths two transitions are correct: an edge can be made now or later.

Off the gold path this oracle is NOT guaranteed to be optimal: it applies the same rules, and there
may be no correct transition. Use it for gold computations, and lr_spine_chart elsewhere.

Its scores are 1 for correct and 0 for other applicable transitions, not numbers of edges.

Complexity: O(p + s) per configuration with spines of lengths p and s; O(n) per sentence to bind.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from oracles.interface import NO_NODE, NOT_APPLICABLE, BoundOracle, Query
from oracles.kernel_cache import array_kernel
from oracles.lr_spine.configuration import LEFT_SPINE, RIGHT_SPINE, LRSpineOracle, count_transitions
from oracles.trees import GoldChildren, Trees


class LRSpinePartial(LRSpineOracle):
    """All transitions that keep to the gold tree, for configurations of a gold path."""

    name: ClassVar[str] = "lr_spine_partial"
    needs_projective_gold: ClassVar[bool] = True  # only a projective tree has a gold path
    complexity: ClassVar[str] = "O(p + s)"
    source: ClassVar[str] = "Sartorio, Satta and Nivre 2013, Lemma 1"

    def _bind(self, trees: Trees) -> BoundOracle:
        return _BoundLRSpinePartial(trees)


class _BoundLRSpinePartial(BoundOracle):
    def __init__(self, trees: Trees) -> None:
        super().__init__(trees)
        self.last_child = GoldChildren.of(trees).last

    def score_batch(self, query: Query) -> np.ndarray:
        trees = self.trees
        return _score_batch(
            trees.heads, trees.offsets, self.last_child, *query.arrays, query.children
        )


@array_kernel()
def _score_batch(
    all_heads, offsets, last_child, sentences, stacks, stack_sizes, buffer_fronts, children
):
    scores = np.full(
        (len(sentences), count_transitions(stacks, stack_sizes, children)), NOT_APPLICABLE, np.int16
    )
    for row in range(len(sentences)):
        start = offsets[sentences[row]]
        n = offsets[sentences[row] + 1] - start - 1
        front = buffer_fronts[row]
        top = stacks[row, stack_sizes[row] - 1]
        if front <= n:
            # 0 has no head on the stack, so it never makes a shift wrong.
            right = top == 0 or all_heads[start + top] >= front
            node = top
            while node != NO_NODE:
                right |= last_child[start + node] >= front
                node = children[row, node, RIGHT_SPINE]
            scores[row, 0] = right
        if stack_sizes[row] < 2:
            continue
        second = stacks[row, stack_sizes[row] - 2]
        transition = 1
        node = top
        while node != NO_NODE:
            if second != 0:
                scores[row, transition] = all_heads[start + second] == node
            transition += 1
            node = children[row, node, LEFT_SPINE]
        node = second
        while node != NO_NODE:
            scores[row, transition] = all_heads[start + top] == node
            transition += 1
            node = children[row, node, RIGHT_SPINE]
    return scores
