"""Finds the arc-standard transitions that lose no gold edge, provided that none has been lost so
far; works on partial trees, in nearly constant time.

An exact oracle counts the edges that can still be made; its time grows with the square of the
sentence length or faster. To keep given edges, it is enough to know which transitions lose none. A
partial tree whose edges are part of a projective tree can be completed. So as long as only lossless
transitions are taken, there is always one to take next. We know of no such rules for partial trees
in the literature. The scores of context_rows are the reference: while no edge is lost, these
transitions have the highest score.

If no projective tree has all these edges, they are replaced by a largest subset that fits into a
projective tree (projectivization/largest_part.py). It is chosen before the first step. So a step
takes no longer in a sentence with conflicting edges than in any other.

With stack a_0..a_k and front b, h(x) the known head of x,
and a child *waiting* if it is on the stack or in the buffer:

    reduce_left    h(a_k) is a_{k-1} or unknown, and no gold child of a_k waits
    reduce_right   h(a_{k-1}) is a_k or unknown, and no gold child of a_{k-1} waits
    shift          no a_i, i >= 1, is busy; or the topmost busy one is an ancestor of b, or to the
                   left of all nodes that known edges connect to b

a_i is *busy* if h(a_i) is to its left, or a gold child to its left waits. After the shift, the edge
that makes such a node busy can be made only if everything above the node on the stack, b included,
becomes part of its subtree. So b must be able to become its descendant. Every other stack element
can become a left child of a node further right, without having to take children itself.

Why these rules suffice: take a projective tree with all known edges that can still be made. If a
transition removes a node without known edges, its children in this tree are attached to one of
these children, or to its head. The tests compare the rules with a search over all computations of
small sentences.

Complexity: O(n) per sentence to bind, at worst O(n^2) where edges conflict; O(k log k) per
configuration at worst, plus the depth of b among the known edges.
"""

from __future__ import annotations

import numpy as np

from oracles.interface import N_TRANSITIONS, REDUCE_LEFT, REDUCE_RIGHT, SHIFT, BoundLossless, Query
from oracles.kernel_cache import array_kernel, kernel
from oracles.projectivization.largest_part import largest_projective_part
from oracles.trees import GoldChildren, Trees, topmost_nodes


class ArcStandardLossless(BoundLossless):
    """Finds transitions by the rules of this module's docstring."""

    def __init__(self, trees: Trees) -> None:
        trees = largest_projective_part(trees)
        # By node: its first child, 0 if none,
        # and the first node of its component (the nodes that known edges connect to it).
        first, leftmost = np.zeros((2, len(trees.heads)), np.int32)
        _fill_first(trees.heads, trees.offsets, first, leftmost)
        self._nodes = trees.heads, first, GoldChildren.of(trees).last, leftmost
        self._offsets = trees.offsets

    def allowed(self, query: Query) -> np.ndarray:
        allowed = np.zeros((len(query), N_TRANSITIONS), np.bool_)
        _find(self._offsets, self._nodes, *query.arrays, allowed)
        return allowed


@array_kernel()
def _fill_first(all_heads, offsets, first, leftmost):
    """Fill in the first child of each node, and the first node of its component (the nodes that
    known edges connect to it); both arrays must be 0 at the start.
    """
    for s in range(len(offsets) - 1):
        start = offsets[s]
        heads = all_heads[start : offsets[s + 1]]
        topmost = topmost_nodes(heads)
        least = np.full(len(heads), -1, np.int32)  # by topmost node
        for node in range(len(heads)):
            if least[topmost[node]] < 0:
                least[topmost[node]] = node
            leftmost[start + node] = least[topmost[node]]
            if node > 0 and heads[node] >= 0 and first[start + heads[node]] == 0:
                first[start + heads[node]] = node


@kernel()
def _waits(stacks, row, size, node):
    """Return whether a node is among the first ``size`` elements of an ascending stack."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if stacks[row, middle] < node:
            low = middle + 1
        else:
            high = middle
    return low < size and stacks[row, low] == node


@kernel()
def _left_child_waits(first, start, stacks, row, depth):
    """Return whether the stack element at this depth has a gold child to its left that waits.

    Only its first child is looked up: if any of them waits, so does the first.
    """
    child = first[start + stacks[row, depth]]
    return 0 < child < stacks[row, depth] and _waits(stacks, row, depth, child)


@kernel()
def _may_shift(nodes, start, stacks, row, k, front):
    """Return whether a shift loses no edge; the buffer is not empty."""
    heads, first, _, leftmost = nodes
    for depth in range(k, 0, -1):
        node = stacks[row, depth]
        if 0 <= heads[start + node] < node or _left_child_waits(first, start, stacks, row, depth):
            if leftmost[start + front] > node:
                return True
            above = heads[start + front]
            while above >= 0 and above != node:
                above = heads[start + above]
            return above == node
    return True


@kernel()
def _find(offsets, nodes, sentences, stacks, stack_sizes, buffer_fronts, allowed):
    """Fill in ``allowed``, which must be False at the start; see BoundLossless.allowed()."""
    heads, first, last, _ = nodes
    for row in range(len(sentences)):
        s = sentences[row]
        start = offsets[s]
        n = offsets[s + 1] - start - 1
        k = np.int64(stack_sizes[row]) - 1
        front = buffer_fronts[row]
        top = stacks[row, k]
        if front <= n:
            allowed[row, SHIFT] = _may_shift(nodes, start, stacks, row, k, front)
        if k >= 1:
            head, below = heads[start + top], stacks[row, k - 1]
            waiting = last[start + top] >= front or _left_child_waits(first, start, stacks, row, k)
            allowed[row, REDUCE_LEFT] = (head < 0 or head == below) and not waiting
            if k >= 2:
                head = heads[start + below]
                waiting = last[start + below] >= top or _left_child_waits(
                    first, start, stacks, row, k - 1
                )
                allowed[row, REDUCE_RIGHT] = (head < 0 or head == top) and not waiting
