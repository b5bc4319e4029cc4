"""Arc-standard parsing with swap (Nivre 2009), the interface of its oracles,
and the projective order that they swap by.

A computation leads from the stack [0] and the buffer 1..n to the stack [0] and an empty buffer.
The transitions, in order:

* shift ("sh"): pushes the first token of the buffer. Applicable if there is one.
* reduce_left ("ra"): the top becomes a child of the element below it, and is popped.
  Applicable if there is one.
* reduce_right ("la"): the element below the top, if it is not 0, becomes a child of the top,
  and is removed.
* swap ("sw"): the element i below the top returns to the front of the buffer. Applicable if 0 < i <
  top, so two tokens change places at most once, and a computation has O(n^2) transitions.

After a swap the buffer is no longer b..n in order, so it is an array: see oracles.interface.Query.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from oracles.errors import OptimalStepError
from oracles.interface import (
    NO_NODE,
    REDUCE_LEFT,
    REDUCE_RIGHT,
    SHIFT,
    Oracle,
    Query,
    Strategy,
    TransitionScores,
    by_name,
)
from oracles.kernel_cache import array_kernel
from oracles.trees import Trees, integers

SWAP = 3
N_TRANSITIONS = 4


class SwapOracle(Oracle):
    """The base class of the oracles of parsing with swap."""

    system: ClassVar[str] = "swap"
    transition_names = ("sh", "ra", "la", "sw")
    alternatives: ClassVar[tuple[str, ...]] = ()
    needs_projective_gold: ClassVar[bool] = False
    strategies: ClassVar[tuple[Strategy, ...]] = (Strategy.ANY,)

    def step_scores(
        self, heads: Sequence[int], stack: Sequence[int], buffer: Sequence[int]
    ) -> TransitionScores:
        """Score the transitions of one configuration of one sentence; for many,
        bind the trees and score a batch.

        Args:
            heads: gold heads [h_1, ..., h_n], 0 = the artificial root.
            stack: a_0..a_k, a_0 = 0, the top last.
            buffer: tokens in any order, the first one first.

        Returns:
            {"sh": score, "ra": ..., "la": ..., "sw": ...} of the applicable transitions.

        Raises:
            OptimalStepError: the heads are not a tree,
                or stack and buffer are not a configuration of the sentence.
        """
        heads, stack = integers(heads, "heads").tolist(), integers(stack, "stack").tolist()
        buffer, n = integers(buffer, "buffer").tolist(), len(heads)
        tokens = [*stack[1:], *buffer]
        if not stack or stack[0] != 0:
            raise OptimalStepError(f"the stack must begin with 0, the artificial root, not {stack}")
        if len(set(tokens)) < len(tokens) or not all(1 <= token <= n for token in tokens):
            raise OptimalStepError(
                f"stack {stack} and buffer {buffer}: after the 0 at the bottom of the stack, they "
                f"must hold tokens from 1 to {n}, each at most once"
            )
        front = n + 1 - len(buffer)
        buffers = np.zeros((1, n + 1), np.int32)
        buffers[0, front:] = buffer
        return by_name(
            self.transition_names,
            self._scores_of(heads, Query.single(stack, front, buffers=buffers)),
        )


def buffers_of(query: Query, trees: Trees) -> np.ndarray:
    """Return int32[batch, >= n + 1], the buffers of a query; if the query has none, nothing was
    swapped, and the buffers are in order.
    """
    if query.buffers is not None:
        return query.buffers
    width = int(trees.lengths.max(initial=0)) + 1
    return np.tile(np.arange(width, dtype=np.int32), (len(query), 1))


@array_kernel()
def fill_applicable(stack, size, buffered, score, scores):
    """Give all applicable transitions of a configuration the same score.

    Args:
        stack: int32[>= size].
        size: number of stack elements.
        buffered: whether the buffer holds a token.
        scores: int16[4], the result; entries of transitions that are not applicable do not change.
    """
    if buffered:
        scores[SHIFT] = score
    if size >= 2:
        scores[REDUCE_LEFT] = score
    if size >= 3:
        scores[REDUCE_RIGHT] = score
        if stack[size - 2] < stack[size - 1]:
            scores[SWAP] = score


@array_kernel()
def projective_orders(all_heads, offsets):
    """Return int32[total], the place of each node in the inorder traversal of its gold tree,
    0 for the artificial root.

    A node comes after its left children and their descendants, and before its right ones (Nivre
    2009, Section 4). In this order every tree is projective.
    """
    ranks = np.zeros(len(all_heads), np.int32)
    for s in range(len(offsets) - 1):
        start = offsets[s]
        n = offsets[s + 1] - start - 1
        heads = all_heads[start : start + n + 1]
        # The children of a node form an ordered list;
        # the node itself is visited between its left and its right children.
        first = np.full(n + 1, NO_NODE, np.int32)
        following = np.full(n + 1, NO_NODE, np.int32)
        for child in range(n, 0, -1):
            following[child] = first[heads[child]]
            first[heads[child]] = child
        passed = np.zeros(n + 1, np.bool_)
        count = 0
        node = np.int32(0)
        while node != NO_NODE:
            child = first[node]
            if not passed[node] and (child == NO_NODE or child > node):
                ranks[start + node] = count
                count += 1
                passed[node] = True
            if child != NO_NODE:
                first[node] = following[child]
                node = child
            else:
                node = heads[node]
    return ranks
