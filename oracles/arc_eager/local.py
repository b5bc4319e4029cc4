"""Optimal transitions for arc-eager parsing by sums over single edges, for projective gold trees.

Goldberg and Nivre (2012; 2013, Section 4) count, one by one, the gold edges that can still be made:

    A = gold edges to a token of the buffer, from the buffer or the stack
        + gold edges from the buffer to a stack element s_i that is not linked

In the system of system.py, whose computations end in one tree, A is not yet the value. At the end,
stack elements that are not linked are attached to the elements below them; this may be worth more
than an edge that removes such an element earlier. If s_1..s_j stay to the end, the value changes by

    P_j   = sum over i <= j of: [s_i not linked] ([h(s_i) = s_{i-1}] - [h(s_i) >= b])
            - (gold children of s_{i-1} in the buffer)
    value = A + max(0, max over j: P_j)

We know of no such correction in the literature. With ``single_root`` (one gold child of the
artificial root) edges from 0 do not count once s_1 is linked. If edges can be undone
(``nonmonotonic``), no element has to stay. Two kinds of gold edges are then added to A: from
s_{i-1} to an s_i that is not linked, and from the buffer to an s_i that is linked. A transition's
score is its own edge plus the value after it.

Arc-eager is arc-decomposable for projective trees, and these values are exact for them; other trees
are refused. ``ArcEagerSums`` uses A alone, as many parsers do, for any tree. It is exact for no
kind of tree; it serves to measure the difference.

Complexity: O(k + c) per configuration of k + 1 stack elements with c gold children in the buffer;
O(n) per sentence to bind.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from oracles.arc_eager.system import (
    ATTACH,
    LEFT,
    N_TRANSITIONS,
    RIGHT,
    SHIFT,
    ArcEagerOracle,
    fill_applicable,
)
from oracles.interface import NO_NODE, NOT_APPLICABLE, BoundOracle, Query
from oracles.kernel_cache import array_kernel
from oracles.trees import GoldChildren, Trees


class ArcEagerLocal(ArcEagerOracle):
    """Sums over single edges, including edges made at the end; exact for projective gold trees."""

    name: ClassVar[str] = "arc_eager_local"
    needs_projective_gold: ClassVar[bool] = True
    complexity: ClassVar[str] = "O(k)"
    source: ClassVar[str] = "this project, from Goldberg and Nivre 2013, Section 4"
    waits: ClassVar[bool] = True

    def _bind(self, trees: Trees) -> BoundOracle:
        return _BoundLocal(trees, self)


class ArcEagerSums(ArcEagerLocal):
    """Goldberg and Nivre's sums alone, for any gold tree; not exact."""

    name: ClassVar[str] = "arc_eager_sums"
    needs_projective_gold: ClassVar[bool] = False
    takes_partial_gold: ClassVar[bool] = True
    source: ClassVar[str] = "Goldberg and Nivre 2012; 2013, Section 4"
    waits: ClassVar[bool] = False


class _BoundLocal(BoundOracle):
    def __init__(self, trees: Trees, oracle: ArcEagerLocal) -> None:
        super().__init__(trees)
        self._kind = oracle.single_root, oracle.nonmonotonic, oracle.waits
        self._children = GoldChildren.of(trees)

    def score_batch(self, query: Query) -> np.ndarray:
        return _score_batch(
            self.trees.heads,
            self.trees.offsets,
            self._children,
            *self._kind,
            query.made,
            *query.arrays,
        )


@array_kernel()
def _in_buffer(children, start, node, front):
    """Return how many gold children of the node are in the buffer."""
    count = 0
    child = children.last[start + node]
    while child >= front:
        count += 1
        child = children.previous[start + child]
    return count


@array_kernel()
def _value(
    all_heads, start, children, n, stack, linked, k, front, single_root, nonmonotonic, waits
):
    """Return the value of a configuration. ``linked``: bool[> k], whether each stack element has a
    head; ``waits``: whether edges made at the end count.
    """
    # the artificial root keeps the child it has
    closed = single_root and not nonmonotonic and k > 0 and linked[1]
    value = children.edges_from[start + front] if front <= n else 0
    change = best_change = 0
    for i in range(k + 1):
        node = stack[i]
        if i > 0:
            head = all_heads[start + node]
            from_below = head == stack[i - 1] and not (closed and head == 0)
            value += head >= front and not linked[i]
            if nonmonotonic and waits:
                value += from_below if not linked[i] else head >= front
            if not linked[i]:
                # int: NumPy cannot subtract bools, when this runs as plain Python
                change += int(from_below) - (head >= front)
            if waits and not nonmonotonic:
                best_change = max(best_change, change)
        waiting = 0 if closed and node == 0 else _in_buffer(children, start, node, front)
        value += waiting
        change -= waiting
    return value + best_change


@array_kernel()
def _score_batch(
    all_heads,
    offsets,
    children,
    single_root,
    nonmonotonic,
    waits,
    made_heads,
    sentences,
    stacks,
    stack_sizes,
    buffer_fronts,
):
    """Return the scores defined in this module's docstring; see BoundOracle.score_batch()."""
    scores = np.empty((len(sentences), N_TRANSITIONS), np.int16)
    stack = np.empty(stacks.shape[1] + 1, np.int32)
    linked = np.empty(stacks.shape[1] + 1, np.bool_)
    for row in range(len(sentences)):
        start = offsets[sentences[row]]
        n = offsets[sentences[row] + 1] - start - 1
        k, front = stack_sizes[row] - 1, buffer_fronts[row]
        for i in range(k + 1):
            stack[i] = stacks[row, i]
            linked[i] = i > 0 and made_heads[row, stack[i]] != NO_NODE
        fill_applicable(made_heads[row], stack, k, front, n, single_root, nonmonotonic, scores[row])
        top, top_linked = stack[k], linked[k]
        head = all_heads[start + top]
        for transition in range(N_TRANSITIONS):
            if scores[row, transition] == NOT_APPLICABLE:
                continue
            edge, after_k, after_front = 0, k - 1, front
            if transition in (SHIFT, RIGHT):
                after_k, after_front = k + 1, front + 1
                stack[k + 1], linked[k + 1] = front, transition == RIGHT
                edge = int(transition == RIGHT and all_heads[start + front] == top)
            elif transition == LEFT:
                edge = int(head == front) - int(top_linked and head == stack[k - 1])
            elif transition == ATTACH:
                edge = int(head == stack[k - 1])
            value = _value(
                all_heads,
                start,
                children,
                n,
                stack,
                linked,
                after_k,
                after_front,
                single_root,
                nonmonotonic,
                waits,
            )
            scores[row, transition] = edge + value
    return scores
