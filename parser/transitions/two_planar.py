"""2-planar parsing (Gómez-Rodríguez and Nivre 2010), whose computations all end in one tree.

There are two stacks, a plane each, one of which is active; arcs of one plane do not cross. Transitions of a configuration with
the active stack a_0..a_k (a_0 = 0, the artificial root) and buffer b..n, in the order of their columns:

* shift pushes b on both stacks; needs a buffer.
* left makes the top a_k a child of b; needs k >= 1 and a buffer; a_k has no head, and is no ancestor of b.
* right makes b a child of a_k; needs k >= 1 and a buffer; b has no head, and is no ancestor of a_k.
* reduce pops a_k; needs k >= 1 and a buffer.
* switch makes the other stack the active one; needs a token there, and a buffer; the transition before was no switch.

Left and right leave stacks and buffer as they are. When the buffer is empty, the last phase begins, with no_arc, root and
attach: it is that of Covington's system (covington.py), and what is said there of the artificial root holds here. A sentence of
n tokens takes O(n) transitions; it is final with stack (0) and an empty buffer. No configuration is a dead end.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from parser.data.sentences import NO_NODE
from parser.kernels import kernel
from parser.transitions.configurations import Configurations, attach, shift
from parser.transitions.covington import fill_arcs, fill_last_phase, go_on_in_last_phase
from parser.transitions.system import Transitions, TransitionSystem

SHIFT, LEFT, RIGHT, REDUCE, SWITCH, NO_ARC, ROOT, ATTACH = range(8)
N_TRANSITIONS = 8


class TwoPlanar(TransitionSystem):
    """2-planar: arcs in two planes, within which they do not cross, and those of the last phase."""

    name: ClassVar[str] = "two_planar"
    projective: ClassVar[bool] = False
    oracles: ClassVar[tuple[str, ...]] = ("two_planar_search",)
    gold_oracle: ClassVar[str] = "two_planar_search"
    leaves_words: ClassVar[bool] = True
    candidate_positions: ClassVar[tuple[str, ...]] = ("o0",)  # the top of the other stack
    further_positions: ClassVar[tuple[str, ...]] = ("o0",)

    @property
    def gold_options(self) -> Mapping[str, int | str]:
        """Arcs are made as soon as they can be, and not late."""
        return {"ties": "commit"}

    def _blocks_with_arcs(self) -> list[bool]:
        return [False, True, True, False, False, False, True, True]

    def eager_order(self, width: int) -> np.ndarray:
        return np.array([LEFT, RIGHT, SHIFT, REDUCE, SWITCH, ROOT, ATTACH, NO_ARC])

    def initial(self, lengths: np.ndarray) -> Configurations:
        return Configurations.initial(lengths, two_stacks=True)

    def transitions(self, now: Configurations, rows: np.ndarray, single_root: bool = False) -> Transitions:
        feature_rows, blocks, heads, children = np.full((4, len(rows), N_TRANSITIONS), NO_NODE, np.int32)
        others = np.full((len(rows), 1), NO_NODE, np.int32)
        _fill_transitions(now, rows, feature_rows, blocks, heads, children, others)
        return Transitions(feature_rows, blocks, heads, children, others)

    def apply(
        self, now: Configurations, rows: np.ndarray, transitions: Transitions, chosen: np.ndarray, relations: np.ndarray
    ) -> None:
        at = np.arange(len(rows))
        _apply(now, rows, chosen, transitions.heads[at, chosen], transitions.children[at, chosen], relations)


@kernel()
def _fill_transitions(now, rows, feature_rows, blocks, heads, children, others):
    """Fills in the arrays of Transitions, which hold NO_NODE."""
    for r in range(len(rows)):
        row = rows[r]
        for column in range(N_TRANSITIONS):
            blocks[r, column] = column
        if now.buffer_fronts[row] > now.lengths[row]:
            fill_last_phase(now, row, r, NO_ARC, ROOT, ATTACH, feature_rows, heads, children)
            continue
        feature_rows[r, SHIFT] = r
        if now.stack_sizes[row] > 1:
            fill_arcs(now, row, r, LEFT, RIGHT, feature_rows, heads, children)
            feature_rows[r, REDUCE] = r
        if now.other_sizes[row] > 1:
            others[r, 0] = now.other_stacks[row, now.other_sizes[row] - 1]
            if not now.switched[row]:
                feature_rows[r, SWITCH] = r


@kernel()
def _apply(now, rows, columns, heads, children, relations):
    for r in range(len(rows)):
        row = rows[r]
        if children[r] != NO_NODE:
            attach(now, row, heads[r], children[r], relations[r])
        if now.buffer_fronts[row] > now.lengths[row]:
            go_on_in_last_phase(now, row, columns[r] == NO_ARC)
            continue
        now.switched[row] = columns[r] == SWITCH
        if columns[r] == SWITCH:
            _exchange_stacks(now, row)
        elif columns[r] == REDUCE:
            now.stack_sizes[row] -= 1
        elif columns[r] == SHIFT:
            now.other_stacks[row, now.other_sizes[row]] = now.buffer_fronts[row]
            now.other_sizes[row] += 1
            shift(now, row)
            if now.buffer_fronts[row] > now.lengths[row]:
                _begin_last_phase(now, row)


@kernel()
def _exchange_stacks(now, row):
    size, other_size = now.stack_sizes[row], now.other_sizes[row]
    for d in range(max(size, other_size)):
        node = now.stacks[row, d]
        now.stacks[row, d] = now.other_stacks[row, d]
        now.other_stacks[row, d] = node
    now.stack_sizes[row], now.other_sizes[row] = other_size, size


@kernel()
def _begin_last_phase(now, row):
    for node in range(now.lengths[row] + 1):
        now.stacks[row, node] = node
    now.other_sizes[row] = 1
    go_on_in_last_phase(now, row, False)
