"""Covington parsing (Covington 2001; Gómez-Rodríguez and Fernández-González 2015), whose
computations all end in one tree.

The first token b of the buffer is compared with the tokens before it, the nearest first. The next
token to compare is i, the top of the stack 0..i; the tokens between i and b have been passed.
Transitions, in the order of their columns:

* shift ends the comparison: the stack becomes 0..b. Needs a buffer.
* no_arc passes i; needs i >= 1.
* left makes i a child of b and passes i; needs a buffer,
  and an i >= 1 that has no head and is not an ancestor of b.
* right makes b a child of i and passes i; needs i >= 1,
  and a b that has no head and is not an ancestor of i.

When the buffer is empty, the last phase begins. While the artificial root has no child, the top is
the last token without a head:

* root makes the top a child of the artificial root.
* no_arc moves on to the next token below that has no head; needs one.

Then, until all tokens have heads, the top is the last token without a head:

* attach makes the top a child of the child of the artificial root.

In the papers, the remaining tokens become children of the artificial root. Here the artificial root
always gets one child, so ``single_root`` has no effect, and gold arcs from that child can still be
made late. A sentence of n tokens takes O(n^2) transitions. A configuration is final with stack (0)
and an empty buffer. No configuration is a dead end.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from parser.data.sentences import NO_NODE
from parser.kernels import kernel
from parser.transitions.configurations import Configurations, attach
from parser.transitions.system import Transitions, TransitionSystem

SHIFT, NO_ARC, LEFT, RIGHT, ROOT, ATTACH = range(6)
N_TRANSITIONS = 6


class Covington(TransitionSystem):
    """Covington: any tree, arcs between the first token of the buffer and all tokens before it."""

    name: ClassVar[str] = "covington"
    projective: ClassVar[bool] = False
    oracles: ClassVar[tuple[str, ...]] = ("covington_loss",)
    gold_oracle: ClassVar[str] = "covington_loss"
    leaves_words: ClassVar[bool] = True
    candidate_positions: ClassVar[tuple[str, ...]] = ("p0",)  # the first token that was passed
    further_positions: ClassVar[tuple[str, ...]] = ("p0",)

    @property
    def gold_options(self) -> Mapping[str, int | str]:
        """Gold computations make arcs as soon as possible, not late."""
        return {"ties": "commit"}

    def _blocks_with_arcs(self) -> list[bool]:
        return [False, False, True, True, True, True]

    def eager_order(self, width: int) -> np.ndarray:
        return np.array([LEFT, RIGHT, ROOT, ATTACH, SHIFT, NO_ARC])

    def initial(self, lengths: np.ndarray) -> Configurations:
        now = super().initial(lengths)
        now.stacks[:] = now.buffers  # only its size changes
        return now

    def transitions(
        self, now: Configurations, rows: np.ndarray, single_root: bool = False
    ) -> Transitions:
        feature_rows, blocks, heads, children = np.full(
            (4, len(rows), N_TRANSITIONS), NO_NODE, np.int32
        )
        passed = np.full((len(rows), 1), NO_NODE, np.int32)
        _fill_transitions(now, rows, feature_rows, blocks, heads, children, passed)
        return Transitions(feature_rows, blocks, heads, children, passed)

    def apply(
        self,
        now: Configurations,
        rows: np.ndarray,
        transitions: Transitions,
        chosen: np.ndarray,
        relations: np.ndarray,
    ) -> None:
        at = np.arange(len(rows))
        _apply(
            now,
            rows,
            chosen,
            transitions.heads[at, chosen],
            transitions.children[at, chosen],
            relations,
        )


@kernel()
def _is_ancestor(now, row, node, other):
    """Return whether a node is the other one, or its ancestor by the arcs made so far."""
    while other != node and other != NO_NODE:
        other = now.heads[row, other]
    return other == node


@kernel()
def _fill_arcs(now, row, r, feature_rows, heads, children):
    """Fill in left and right, between the top (not 0) and the first token of the buffer."""
    top, front = now.stacks[row, now.stack_sizes[row] - 1], now.buffer_fronts[row]
    if now.heads[row, top] == NO_NODE and not _is_ancestor(now, row, top, front):
        feature_rows[r, LEFT] = r
        heads[r, LEFT], children[r, LEFT] = front, top
    if now.heads[row, front] == NO_NODE and not _is_ancestor(now, row, front, top):
        feature_rows[r, RIGHT] = r
        heads[r, RIGHT], children[r, RIGHT] = top, front


@kernel()
def _fill_last_phase(now, row, r, feature_rows, heads, children):
    """Fill in the transitions of the last phase."""
    top = now.stacks[row, now.stack_sizes[row] - 1]
    if top == 0:
        return  # final
    child = now.children[row, 0, 1]
    if child != NO_NODE:
        feature_rows[r, ATTACH] = r
        heads[r, ATTACH], children[r, ATTACH] = child, top
        return
    feature_rows[r, ROOT] = r
    heads[r, ROOT], children[r, ROOT] = 0, top
    if _last_without_head(now, row, top - 1) > 0:
        feature_rows[r, NO_ARC] = r


@kernel()
def _last_without_head(now, row, last):
    """Return the last of the tokens 1..``last`` without a head, 0 if all have one."""
    token = last
    while token > 0 and now.heads[row, token] != NO_NODE:
        token -= 1
    return token


@kernel()
def _go_on_in_last_phase(now, row, passes):
    """Set the stack's size so that its top is the next token without a head; with ``passes``, look
    only below the present top.
    """
    last = now.stack_sizes[row] - 2 if passes else now.lengths[row]
    now.stack_sizes[row] = _last_without_head(now, row, last) + 1


@kernel()
def _fill_transitions(now, rows, feature_rows, blocks, heads, children, passed):
    """Fill in the arrays of Transitions, which hold NO_NODE before."""
    for r in range(len(rows)):
        row = rows[r]
        top, front = now.stack_sizes[row] - 1, now.buffer_fronts[row]
        for column in range(N_TRANSITIONS):
            blocks[r, column] = column
        if top + 1 < front:
            passed[r, 0] = top + 1
        if front > now.lengths[row]:
            _fill_last_phase(now, row, r, feature_rows, heads, children)
            continue
        feature_rows[r, SHIFT] = r
        if top > 0:
            feature_rows[r, NO_ARC] = r
            _fill_arcs(now, row, r, feature_rows, heads, children)


@kernel()
def _apply(now, rows, columns, heads, children, relations):
    for r in range(len(rows)):
        row = rows[r]
        if children[r] != NO_NODE:
            attach(now, row, heads[r], children[r], relations[r])
        if now.buffer_fronts[row] > now.lengths[row]:
            _go_on_in_last_phase(now, row, columns[r] == NO_ARC)
        elif columns[r] != SHIFT:
            now.stack_sizes[row] -= 1
        else:
            now.buffer_fronts[row] += 1
            now.stack_sizes[row] = now.buffer_fronts[row]
            if now.buffer_fronts[row] > now.lengths[row]:
                _go_on_in_last_phase(now, row, False)
