"""LR-spine parsing (Sartorio, Satta and Nivre 2013).

A stack element is a tree. Its left spine is its root, the leftmost child of the root, the leftmost
child of that child, and so on; its right spine is the same with rightmost children. The stack
a_0..a_k of a configuration holds the roots (a_0 = 0, the artificial root). With u_1..u_p the left
spine of the top, v_1..v_s the right spine of the element below it, and the buffer b..n, the
transitions are:

* shift pushes b; needs a buffer.
* la_k, k = 1..p, makes a_{k-1}, the root of the second element, a child of u_k; needs a second
  element whose root is not 0.
* ra_k, k = 1..s, makes a_k, the root of the top, a child of v_k; needs a second element.

Columns: shift, la_1..la_p, ra_1..ra_s. So ra_k is in column p + k, even if no la_k is applicable;
with one element there is only shift. A batch has as many columns as its widest configuration needs.

Each applicable transition has its own feature row. Outputs have three blocks (shift, la, ra); the
nodes at the row's own positions describe the ends of the arc (Sartorio, Satta and Nivre 2013, Table
1; u, v as above, e the root of the third element):

    shift  c1, c2, c3: roots of the upper three elements; q1, q2: b, b + 1; gp, gg: none
    la_k   c1, c2, c3: u_k, root of the second, e;
           q1, q2: b, b + 1 (k = 2: u_1, b; k > 2: u_{k-1}, u_{k-2}); gp, gg: u_{k-1}, u_{k-2}
    ra_k   c1, c2, c3: root of the top, v_k, e (k > 1: v_{k-1});
           q1, q2: b, b + 1; gp, gg: v_{k-1}, v_{k-2}

A sentence of n tokens takes 2n transitions. A configuration is final with stack (0) and an empty
buffer. No configuration is a dead end. With ``single_root`` the root can get a child only while it
has none, so it gets exactly one; later tokens go below that child.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from parser.data.sentences import NO_NODE
from parser.kernels import kernel
from parser.transitions.configurations import Configurations, attach, remove, shift
from parser.transitions.system import Transitions, TransitionSystem

SHIFT, LEFT, RIGHT = range(3)  # blocks
C1, C2, C3, Q1, Q2, GP, GG = range(7)  # positions of a candidate


class LRSpine(TransitionSystem):
    """LR-spine: projective trees, arcs to all nodes of the spines between two stack elements."""

    name: ClassVar[str] = "lr_spine"
    projective: ClassVar[bool] = True
    oracles: ClassVar[tuple[str, ...]] = ("lr_spine_chart", "lr_spine_tabular", "lr_spine_partial")
    gold_oracle: ClassVar[str] = "lr_spine_chart"
    candidate_positions: ClassVar[tuple[str, ...]] = ("c1", "c2", "c3", "q1", "q2", "gp", "gg")
    always_there: ClassVar[str] = "c1"
    candidate_of: ClassVar[Mapping[str, str]] = {
        "s0": "c1",
        "s1": "c2",
        "s2": "c3",
        "b0": "q1",
        "b1": "q2",
    }
    further_positions: ClassVar[tuple[str, ...]] = ("gp", "gg", "b0", "b1")

    def _blocks_with_arcs(self) -> list[bool]:
        return [False, True, True]

    def eager_order(self, width: int) -> np.ndarray:
        return np.roll(np.arange(width), -1)

    def transitions(
        self, now: Configurations, rows: np.ndarray, single_root: bool = False
    ) -> Transitions:
        starts = np.zeros(len(rows) + 1, np.int64)
        shape = len(rows), count_transitions(now, rows, single_root, starts)
        feature_rows, heads, children = np.full((3, *shape), NO_NODE, np.int32)
        blocks = np.full(shape, SHIFT, np.int32)
        candidate_nodes = np.full((starts[-1], len(self.candidate_positions)), NO_NODE, np.int32)
        fill_transitions(
            now, rows, single_root, starts, feature_rows, blocks, heads, children, candidate_nodes
        )
        return Transitions(feature_rows, blocks, heads, children, candidate_nodes, starts)

    def apply(
        self,
        now: Configurations,
        rows: np.ndarray,
        transitions: Transitions,
        chosen: np.ndarray,
        relations: np.ndarray,
    ) -> None:
        at = np.arange(len(rows))
        take_transitions(
            now, rows, transitions.heads[at, chosen], transitions.children[at, chosen], relations
        )


@kernel()
def _spine_length(now, row, depth, side):
    """Return the number of nodes of the left (0) or right (1) spine of the stack element ``depth``
    below the top.
    """
    length = 0
    node = now.stacks[row, now.stack_sizes[row] - 1 - depth]
    while node != NO_NODE:
        length += 1
        node = now.children[row, node, side]
    return length


@kernel()
def _root_is_taken(now, row, single_root):
    """Return whether 0 may get no further child."""
    return single_root and now.children[row, 0, 1] != NO_NODE


@kernel()
def count_transitions(now, rows, single_root, starts):
    """Fill in where the feature rows of each configuration begin;
    return the number of columns of the widest one.
    """
    width = 1
    for r in range(len(rows)):
        row = rows[r]
        size = now.stack_sizes[row]
        applicable = 1 if now.buffer_fronts[row] <= now.lengths[row] else 0
        if size >= 2:
            left, right = _spine_length(now, row, 0, 0), _spine_length(now, row, 1, 1)
            width = max(width, 1 + left + right)
            applicable += right
            if size > 2:
                applicable += left
            elif _root_is_taken(now, row, single_root):
                applicable -= 1
        starts[r + 1] = starts[r] + applicable
    return width


@kernel()
def _element(now, row, depth):
    """Return the root of the stack element ``depth`` below the top, or NO_NODE."""
    place = now.stack_sizes[row] - 1 - depth
    return now.stacks[row, place] if place >= 0 else NO_NODE


@kernel()
def _buffered(now, row, place):
    """Return the token at a place in the buffer, or NO_NODE."""
    place += now.buffer_fronts[row]
    return now.buffers[row, place] if place <= now.lengths[row] else NO_NODE


@kernel()
def fill_transitions(
    now, rows, single_root, starts, feature_rows, blocks, heads, children, candidate_nodes
):
    """Fill in the arrays of Transitions, which hold NO_NODE at the start (``blocks`` holds SHIFT);
    count_transitions() gave ``starts``.
    """
    for r in range(len(rows)):
        row = rows[r]
        size = now.stack_sizes[row]
        top, second, third = _element(now, row, 0), _element(now, row, 1), _element(now, row, 2)
        first, next_one = _buffered(now, row, 0), _buffered(now, row, 1)
        for i in range(starts[r], starts[r + 1]):  # nodes that most transitions share
            candidate_nodes[i, C1] = top
            candidate_nodes[i, C2] = second
            candidate_nodes[i, C3] = third
            candidate_nodes[i, Q1], candidate_nodes[i, Q2] = first, next_one
        at = starts[r]
        if first != NO_NODE:
            feature_rows[r, 0] = at
            at += 1
        if size < 2:
            continue

        column = 1
        node, parent, grandparent = top, NO_NODE, NO_NODE
        while node != NO_NODE:
            blocks[r, column] = LEFT
            if second != 0:
                feature_rows[r, column] = at
                heads[r, column], children[r, column] = node, second
                candidate_nodes[at, C1] = node
                candidate_nodes[at, GP], candidate_nodes[at, GG] = parent, grandparent
                if parent != NO_NODE:
                    candidate_nodes[at, Q1] = parent
                    candidate_nodes[at, Q2] = first if grandparent == NO_NODE else grandparent
                at += 1
            column += 1
            node, parent, grandparent = now.children[row, node, 0], node, parent

        node, parent, grandparent = second, NO_NODE, NO_NODE
        while node != NO_NODE:
            blocks[r, column] = RIGHT
            if not (node == 0 and _root_is_taken(now, row, single_root)):
                feature_rows[r, column] = at
                heads[r, column], children[r, column] = node, top
                candidate_nodes[at, C2] = node
                candidate_nodes[at, GP], candidate_nodes[at, GG] = parent, grandparent
                if parent != NO_NODE:
                    candidate_nodes[at, C3] = parent
                at += 1
            column += 1
            node, parent, grandparent = now.children[row, node, 1], node, parent


@kernel()
def take_transitions(now, rows, heads, children, relations):
    """Take the transitions that make these arcs, int32[rows] each;
    shift where the head is NO_NODE.
    """
    for r in range(len(rows)):
        take_transition(now, rows[r], heads[r], children[r], relations[r])


@kernel()
def take_transition(now, row, head, child, relation):
    """Take the transition that makes this arc in one row of Configurations;
    shift if the head is NO_NODE.
    """
    if head == NO_NODE:
        shift(now, row)
    else:
        depth = 0 if child == _element(now, row, 0) else 1
        attach(now, row, head, remove(now, row, depth), relation)
