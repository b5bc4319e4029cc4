"""Arc-hybrid parsing (Kuhlmann, Gómez-Rodríguez and Satta 2011).

Transitions of a configuration with stack a_0..a_k (a_0 = 0, the artificial root) and buffer b..n,
in the order of their columns:

* shift pushes b; needs a buffer.
* left makes the top a_k a child of b and pops it; needs a buffer and k >= 1,
  so the root never gets a head.
* right makes the top a_k a child of a_{k-1} and pops it; needs k >= 1.

A sentence of n tokens takes 2n transitions. A configuration is final with stack (0) and an empty
buffer. No configuration is a dead end. With ``single_root`` the child of the root is attached last.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from parser.data.sentences import NO_NODE
from parser.kernels import kernel
from parser.transitions.configurations import Configurations, attach, remove, shift
from parser.transitions.system import Transitions, TransitionSystem

SHIFT, LEFT, RIGHT = range(3)


class ArcHybrid(TransitionSystem):
    """Arc-hybrid: projective trees, left arcs from the buffer."""

    name: ClassVar[str] = "arc_hybrid"
    projective: ClassVar[bool] = True
    oracles: ClassVar[tuple[str, ...]] = (
        "arc_hybrid_rows",
        "arc_hybrid_local",
        "arc_hybrid_tabular",
    )
    gold_oracle: ClassVar[str] = "arc_hybrid_rows"

    def _blocks_with_arcs(self) -> list[bool]:
        return [False, True, True]

    def eager_order(self, width: int) -> np.ndarray:
        return np.array([LEFT, RIGHT, SHIFT])

    def transitions(
        self, now: Configurations, rows: np.ndarray, single_root: bool = False
    ) -> Transitions:
        transitions = Transitions(*np.full((4, len(rows), 3), NO_NODE, np.int32))
        fill_transitions(
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
        at = np.arange(len(rows))
        _apply(now, rows, transitions.heads[at, chosen], relations)


@kernel()
def fill_transitions(now, rows, single_root, feature_rows, blocks, heads, children):
    """Fill in the arrays of Transitions, int32[m, >= 3], which hold NO_NODE before."""
    for r in range(len(rows)):
        row = rows[r]
        size = now.stack_sizes[row]
        top = now.stacks[row, size - 1]
        buffered = now.buffer_fronts[row] <= now.lengths[row]
        blocks[r, SHIFT], blocks[r, LEFT], blocks[r, RIGHT] = SHIFT, LEFT, RIGHT
        if buffered:
            feature_rows[r, SHIFT] = r
        if buffered and size >= 2:
            feature_rows[r, LEFT] = r
            heads[r, LEFT], children[r, LEFT] = now.buffers[row, now.buffer_fronts[row]], top
        if size >= 2 and not (single_root and size == 2 and buffered):
            feature_rows[r, RIGHT] = r
            heads[r, RIGHT], children[r, RIGHT] = now.stacks[row, size - 2], top


@kernel()
def take_transition(now, row, head, relation):
    """Attach the top to ``head`` in one row of Configurations; shift if ``head`` is NO_NODE."""
    if head == NO_NODE:
        shift(now, row)
    else:
        attach(now, row, head, remove(now, row, 0), relation)


@kernel()
def _apply(now, rows, heads, relations):
    for r in range(len(rows)):
        take_transition(now, rows[r], heads[r], relations[r])
