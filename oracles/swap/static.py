"""The static oracles of parsing with swap: Nivre 2009 (eager) and Nivre,
Kuhlmann and Hall 2009 (lazy).

Both follow one computation of the gold tree, projective or not. With the stack [.., i,
j] and the buffer [b, ..]:

* reduce_right if j is the gold head of i, and i has no gold child on the stack or in the buffer;
* otherwise reduce_left if i is the gold head of j, and j has no gold child there;
* otherwise swap if it is applicable and j is before i in the projective order of the gold tree
  (configuration.py). The lazy oracle waits while j and b belong to the same maximal projective
  component, which is built first and then moved as a whole;
* otherwise shift.

On the gold path both are exact: they make the gold tree. The eager oracle swaps more often. Off the
gold path they are NOT guaranteed to be optimal, but their transition is always applicable: if the
rules say shift and the buffer is empty, it is reduce_left. Use swap_dynamic there.

Their scores are 1 for their transition and 0 for other applicable ones, not numbers of edges.

Complexity: O(k + m) per configuration of k stack elements and m tokens in the buffer;
O(n) per sentence to bind.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from oracles.interface import NOT_APPLICABLE, REDUCE_LEFT, REDUCE_RIGHT, SHIFT, BoundOracle, Query
from oracles.kernel_cache import array_kernel
from oracles.swap.configuration import (
    N_TRANSITIONS,
    SWAP,
    SwapOracle,
    buffers_of,
    fill_applicable,
    projective_orders,
)
from oracles.trees import Trees


class SwapEager(SwapOracle):
    """Swaps as soon as the projective order allows."""

    name: ClassVar[str] = "swap_eager"
    complexity: ClassVar[str] = "O(n)"
    source: ClassVar[str] = "Nivre 2009, Section 4"

    def _bind(self, trees: Trees) -> BoundOracle:
        return _BoundSwapStatic(trees, lazy=False)


class SwapLazy(SwapOracle):
    """Swaps maximal projective components as a whole, so it swaps less."""

    name: ClassVar[str] = "swap_lazy"
    complexity: ClassVar[str] = "O(n)"
    source: ClassVar[str] = "Nivre, Kuhlmann and Hall 2009"

    def _bind(self, trees: Trees) -> BoundOracle:
        return _BoundSwapStatic(trees, lazy=True)


class _BoundSwapStatic(BoundOracle):
    def __init__(self, trees: Trees, lazy: bool) -> None:
        super().__init__(trees)
        self.ranks = projective_orders(trees.heads, trees.offsets)
        self.components = _projective_components(trees.heads, trees.offsets)
        self.lazy = lazy

    def score_batch(self, query: Query) -> np.ndarray:
        trees = self.trees
        buffers = buffers_of(query, trees)
        return _score_batch(
            trees.heads,
            trees.offsets,
            self.ranks,
            self.components,
            self.lazy,
            *query.arrays,
            buffers,
        )


@array_kernel()
def _projective_components(all_heads, offsets):
    """Return int32[total], for each node the head of its maximal projective component (Nivre,
    Kuhlmann and Hall 2009).

    The components are the trees that the eager arc-standard computation of the gold tree makes
    without any swap.
    """
    component = np.zeros(len(all_heads), np.int32)
    for s in range(len(offsets) - 1):
        start = offsets[s]
        n = offsets[s + 1] - start - 1
        heads = all_heads[start : start + n + 1]
        awaited = np.zeros(n + 1, np.int32)  # children that are not attached yet
        for child in range(1, n + 1):
            awaited[heads[child]] += 1
        attached = np.zeros(n + 1, np.bool_)
        stack = np.zeros(n + 1, np.int32)
        size = 1
        for node in range(1, n + 1):
            stack[size] = node
            size += 1
            while size >= 2:
                top = stack[size - 1]
                below = stack[size - 2]
                if below != 0 and heads[below] == top and awaited[below] == 0:
                    attached[below] = True
                    awaited[top] -= 1
                    stack[size - 2] = top
                elif heads[top] == below and awaited[top] == 0:
                    attached[top] = True
                    awaited[below] -= 1
                else:
                    break
                size -= 1
        for node in range(n + 1):
            root = node
            while attached[root]:
                root = heads[root]
            component[start + node] = root
    return component


@array_kernel()
def _score_batch(
    all_heads,
    offsets,
    ranks,
    components,
    lazy,
    sentences,
    stacks,
    stack_sizes,
    buffer_fronts,
    buffers,
):
    scores = np.full((len(sentences), N_TRANSITIONS), NOT_APPLICABLE, np.int16)
    for row in range(len(sentences)):
        start = offsets[sentences[row]]
        n = offsets[sentences[row] + 1] - start - 1
        heads = all_heads[start : start + n + 1]
        size = stack_sizes[row]
        front = buffer_fronts[row]
        stack = stacks[row]
        fill_applicable(stack, size, front <= n, 0, scores[row])
        transition = SHIFT
        if size >= 2:
            top = stack[size - 1]
            below = stack[size - 2]
            # Gold children of both that have no head yet.
            awaited_by_top = awaited_by_below = 0
            for place in range(1, size):
                awaited_by_top += heads[stack[place]] == top
                awaited_by_below += heads[stack[place]] == below
            for place in range(front, n + 1):
                awaited_by_top += heads[buffers[row, place]] == top
                awaited_by_below += heads[buffers[row, place]] == below
            if below != 0 and heads[below] == top and awaited_by_below == 0:
                transition = REDUCE_RIGHT
            elif heads[top] == below and awaited_by_top == 0:
                transition = REDUCE_LEFT
            elif scores[row, SWAP] == 0 and ranks[start + top] < ranks[start + below]:
                together = (
                    front <= n
                    and components[start + top] == components[start + buffers[row, front]]
                )
                if not (lazy and together):
                    transition = SWAP
            if transition == SHIFT and front > n:
                transition = REDUCE_LEFT
        if scores[row, transition] == 0:
            scores[row, transition] = 1
    return scores
