"""LR-spine parsing (Sartorio, Satta and Nivre 2013), and the interface of its oracles.

A stack element is a tree. Its left spine is its root, the leftmost child of the root, the leftmost
child of that child, and so on; its right spine is the same with rightmost children. The top has the
left spine u_1..u_p, the element below it the right spine v_1..v_s. A computation leads from the
stack [0] and the buffer 1..n to the stack [0] and an empty buffer in 2n transitions; b = first
token of the buffer:

* shift ("sh"): pushes b. Applicable if the buffer is not empty.
* la_k ("la1", ...): the root of the element below the top becomes a child of u_k.
  Applicable if that root is not 0.
* ra_k ("ra1", ...): the root of the top becomes a child of v_k.
  Applicable if there is an element below the top.

Both merge the two elements: with (ls_1, rs_1) for the top and (ls_2, rs_2) for the one below it,
la_k makes the spines (ls_1[..k] + ls_2, rs_1), ra_k makes (ls_2, rs_2[..k] + rs_1).

Order of the transitions: shift, la_1..la_p, ra_1..ra_s. So the index of ra_k is p + k, even if the
root of the second element is 0 and no la_k is applicable. If the stack holds one element, only
shift is applicable.

Spines need no arrays of their own: they are the chains of outermost children of a Query,
``children[row, x, 0]`` and ``children[row, x, 1]``, from the root of an element down to NO_NODE.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from oracles.errors import OptimalStepError
from oracles.interface import NO_NODE, Oracle, Query, Strategy, TransitionScores, by_name, front_of
from oracles.kernel_cache import array_kernel
from oracles.trees import integers

LEFT_SPINE, RIGHT_SPINE = range(2)


class LRSpineOracle(Oracle):
    """The base class of the oracles of LR-spine parsing."""

    system: ClassVar[str] = "lr_spine"
    alternatives: ClassVar[tuple[str, ...]] = ("lr_spine_chart",)
    strategies: ClassVar[tuple[Strategy, ...]] = (Strategy.ANY,)

    def step_scores(
        self, heads: Sequence[int], stack: Sequence[Any], buffer: Sequence[int]
    ) -> TransitionScores:
        """Score the transitions of one configuration of one sentence; for many,
        bind the trees and score a batch.

        Args:
            heads: gold heads [h_1, ..., h_n], 0 = the artificial root.
            stack: for each element [left spine, right spine], both beginning with its root; the
                element of 0 first, the top last.
            buffer: the tokens b..n.

        Returns:
            {"sh": score, "la1": ..., "ra1": ...} of the applicable transitions.

        Raises:
            OptimalStepError: the heads are not a tree,
                or stack and buffer are not a configuration of the sentence.
        """
        heads = integers(heads, "heads").tolist()
        stack = [[integers(spine, "a spine").tolist() for spine in element] for element in stack]
        front = check_spines(len(heads), stack, buffer)
        children = np.full((1, len(heads) + 1, 2), NO_NODE, np.int32)
        for element in stack:
            for side in (LEFT_SPINE, RIGHT_SPINE):
                for node, child in pairwise(element[side]):
                    children[0, node, side] = child
        roots = [element[LEFT_SPINE][0] for element in stack]
        names = ["sh"]
        if len(stack) > 1:
            names += [f"la{k + 1}" for k in range(len(stack[-1][LEFT_SPINE]))]
            names += [f"ra{k + 1}" for k in range(len(stack[-2][RIGHT_SPINE]))]
        return by_name(names, self._scores_of(heads, Query.single(roots, front, children=children)))


def check_spines(n: int, stack: Sequence[Any], buffer: Sequence[int]) -> int:
    """Refuse a stack and a buffer that are not a configuration of n tokens; return b,
    n + 1 if the buffer is empty.

    Raises:
        OptimalStepError: they are not such a configuration; the message names the wrong element of
            the stack, and the fix.
    """
    front = front_of(n, buffer)
    if not stack:
        raise OptimalStepError(
            "the stack is empty; its first element must be the artificial root's, [[0], [0, ...]]"
        )
    end = -1  # the last node of earlier elements
    for place, element in enumerate(stack):
        where = f"element {place} of the stack (counted from 0), {element}"
        if len(element) != 2 or not all(len(spine) for spine in element):
            raise OptimalStepError(
                f"{where}: an element is [left spine, right spine], each with the root first"
            )
        left, right = element
        if left[0] != right[0]:
            raise OptimalStepError(
                f"{where}: its spines begin with {left[0]} and {right[0]}; "
                "both must begin with the root"
            )
        if not all(a > b for a, b in pairwise(left)) or not all(a < b for a, b in pairwise(right)):
            raise OptimalStepError(
                f"{where}: numbers must decrease along a left spine, "
                "and increase along a right spine"
            )
        if place == 0 and list(left) != [0]:
            raise OptimalStepError(
                f"{where}: the first element must be the artificial root's, with the left spine [0]"
            )
        if left[-1] <= end:
            raise OptimalStepError(
                f"{where} overlaps the elements before it, which reach to {end}; "
                "elements must not overlap"
            )
        end = right[-1]
    if end >= front:
        raise OptimalStepError(
            f"the stack reaches to {end}, but the buffer begins with {front}; they must not overlap"
        )
    return front


@array_kernel()
def spine(children, node, side, nodes):
    """Write the left (0) or right (1) spine that begins with ``node`` into ``nodes``;
    return its length.

    Args:
        children: int32[n + 1, 2], outermost children, NO_NODE where there is none.
        node: the root of an element.
        side: LEFT_SPINE or RIGHT_SPINE.
        nodes: int32[>= length], the result.
    """
    length = 0
    while node != NO_NODE:
        nodes[length] = node
        length += 1
        node = children[node, side]
    return length


@array_kernel()
def count_transitions(stacks, stack_sizes, children):
    """Return the most transitions of a configuration of a batch: 1 + p + s,
    or 1 for a stack of one element.
    """
    width = 1
    for row in range(len(stack_sizes)):
        size = stack_sizes[row]
        if size < 2:
            continue
        count = 1
        for side in range(2):
            node = stacks[row, size - 1 - side]
            while node != NO_NODE:
                count += 1
                node = children[row, node, side]
        width = max(width, count)
    return width
