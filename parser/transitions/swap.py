"""Arc-standard with swaps, which reorder words, so it can make any tree (Nivre 2009).

Transitions of a configuration with stack a_0..a_k (a_0 = 0, the artificial root) and buffer
b_1..b_m, in the order of their columns:

* shift pushes b_1; needs a buffer.
* reduce_left makes a_k a child of a_{k-1} and pops it; needs k >= 1.
* reduce_right makes a_{k-1} a child of a_k and removes it; needs k >= 2,
  so the root never gets a head.
* swap moves a_{k-1} back to the front of the buffer; needs k >= 2 and a_{k-1} < a_k, so two words
  change places at most once.

A sentence of n tokens takes 2n transitions, plus two for each swap (the swap, and shifting the word
again), at most O(n^2). A configuration is final with stack (0) and an empty buffer. No
configuration is a dead end. With ``single_root`` the child of the root is attached last.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from parser.data.sentences import NO_NODE
from parser.kernels import kernel
from parser.transitions.attardi import applicable, take_transition
from parser.transitions.configurations import Configurations, remove
from parser.transitions.system import Transitions, TransitionSystem

SHIFT, REDUCE_LEFT, REDUCE_RIGHT, SWAP = range(4)


class Swap(TransitionSystem):
    """Arc-standard with swaps."""

    name: ClassVar[str] = "swap"
    projective: ClassVar[bool] = False
    oracles: ClassVar[tuple[str, ...]] = ("swap_dynamic", "swap_eager", "swap_lazy")
    gold_oracle: ClassVar[str] = "swap_lazy"
    reorders_buffer: ClassVar[bool] = True

    def _blocks_with_arcs(self) -> list[bool]:
        return [False, True, True, False]

    def eager_order(self, width: int) -> np.ndarray:
        return np.array([REDUCE_RIGHT, REDUCE_LEFT, SWAP, SHIFT])

    def transitions(
        self, now: Configurations, rows: np.ndarray, single_root: bool = False
    ) -> Transitions:
        transitions = Transitions(*np.full((4, len(rows), 4), NO_NODE, np.int32))
        _fill_transitions(
            now,
            rows,
            single_root,
            transitions.rows,
            transitions.blocks,
            transitions.heads,
            transitions.children,
        )
        return transitions

    def apply(
        self,
        now: Configurations,
        rows: np.ndarray,
        transitions: Transitions,
        chosen: np.ndarray,
        relations: np.ndarray,
    ) -> None:
        _apply(now, rows, chosen, relations)


@kernel()
def _fill_transitions(now, rows, single_root, feature_rows, blocks, heads, children):
    for r in range(len(rows)):
        row = rows[r]
        size = now.stack_sizes[row]
        buffered = now.buffer_fronts[row] <= now.lengths[row]
        for column in range(4):
            blocks[r, column] = column
        for column in range(SWAP):
            if applicable(column, size, buffered, single_root):
                feature_rows[r, column] = r
        if size < 2:
            continue
        top, below = now.stacks[row, size - 1], now.stacks[row, size - 2]
        if feature_rows[r, REDUCE_LEFT] != NO_NODE:
            heads[r, REDUCE_LEFT], children[r, REDUCE_LEFT] = below, top
        if feature_rows[r, REDUCE_RIGHT] != NO_NODE:
            heads[r, REDUCE_RIGHT], children[r, REDUCE_RIGHT] = top, below
        if 0 < below < top:
            feature_rows[r, SWAP] = r


@kernel()
def _apply(now, rows, columns, relations):
    for r in range(len(rows)):
        row = rows[r]
        if columns[r] == SWAP:
            now.buffer_fronts[row] -= 1
            now.buffers[row, now.buffer_fronts[row]] = remove(now, row, 1)
        else:
            take_transition(now, row, columns[r], relations[r])
