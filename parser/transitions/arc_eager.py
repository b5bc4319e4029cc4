"""Arc-eager parsing (Nivre 2003), whose computations all end in one tree.

Transitions of a configuration with stack a_0..a_k (a_0 = 0, the artificial root) and buffer b..n,
in the order of their columns; a stack element is *linked* if it has a head, which is then the
element below it:

* shift pushes b; needs a buffer.
* left makes the top a_k a child of b and pops it; needs a buffer, k >= 1, and an a_k that is not
  linked.
* right makes b a child of a_k and pushes it; needs a buffer.
* reduce pops a_k, which is linked.
* attach makes a_k a child of a_{k-1} and pops it; needs k >= 1, an empty buffer, and an a_k that is
  not linked. Other versions of arc-eager attach such elements to the artificial root.

A sentence of n tokens takes 2n transitions. A configuration is final with stack (0) and an empty
buffer. No configuration is a dead end. With ``single_root`` the only child of the root stays on the
stack to the end: a_1 is neither reduced nor attached while the buffer is not empty.

With ``nonmonotonic`` (Honnibal, Goldberg and Johnson 2013), attach is possible at any time, and
left also for a linked top, whose arc is then undone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from parser.data.sentences import NO_NODE
from parser.kernels import kernel
from parser.transitions.configurations import Configurations, attach, remove, shift
from parser.transitions.system import Transitions, TransitionSystem

SHIFT, LEFT, RIGHT, REDUCE, ATTACH = range(5)
N_TRANSITIONS = 5


class ArcEager(TransitionSystem):
    """Arc-eager: projective trees, arcs between the top of the stack and the first token of the
    buffer.

    Args:
        n_relations, root_relation: see TransitionSystem.
        nonmonotonic: whether arcs can be undone.
    """

    name: ClassVar[str] = "arc_eager"
    projective: ClassVar[bool] = True
    oracles: ClassVar[tuple[str, ...]] = (
        "arc_eager_rows",
        "arc_eager_local",
        "arc_eager_sums",
        "arc_eager_static",
    )
    gold_oracle: ClassVar[str] = "arc_eager_rows"

    def __init__(
        self, n_relations: int, root_relation: int | None = None, nonmonotonic: bool = False
    ) -> None:
        super().__init__(n_relations, root_relation)
        self.nonmonotonic = bool(nonmonotonic)
        if nonmonotonic:
            self.options = {"nonmonotonic": 1}

    @property
    def gold_options(self) -> Mapping[str, int | str]:
        """No options: gold computations undo no arcs."""
        return {}

    def _blocks_with_arcs(self) -> list[bool]:
        return [False, True, True, False, True]

    def eager_order(self, width: int) -> np.ndarray:
        return np.array([LEFT, RIGHT, ATTACH, REDUCE, SHIFT])

    def transitions(
        self, now: Configurations, rows: np.ndarray, single_root: bool = False
    ) -> Transitions:
        result = Transitions(*np.full((4, len(rows), N_TRANSITIONS), NO_NODE, np.int32))
        fill_transitions(
            now,
            rows,
            self.nonmonotonic,
            single_root,
            result.rows,
            result.blocks,
            result.heads,
            result.children,
        )
        return result

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
def fill_transitions(now, rows, nonmonotonic, single_root, feature_rows, blocks, heads, children):
    """Fill in the arrays of Transitions, int32[m, N_TRANSITIONS], which hold NO_NODE before."""
    for r in range(len(rows)):
        row = rows[r]
        size = now.stack_sizes[row]
        top = now.stacks[row, size - 1]
        buffered = now.buffer_fronts[row] <= now.lengths[row]
        front = now.buffers[row, now.buffer_fronts[row]] if buffered else NO_NODE
        linked = now.heads[row, top] != NO_NODE
        stays = single_root and size == 2 and buffered
        for column in range(N_TRANSITIONS):
            blocks[r, column] = column
        if buffered:
            feature_rows[r, SHIFT] = feature_rows[r, RIGHT] = r
            heads[r, RIGHT], children[r, RIGHT] = top, front
        if size < 2:
            continue
        if buffered and (nonmonotonic or not linked):
            feature_rows[r, LEFT] = r
            heads[r, LEFT], children[r, LEFT] = front, top
        if linked and not stays:
            feature_rows[r, REDUCE] = r
        if not linked and not stays and (nonmonotonic or not buffered):
            feature_rows[r, ATTACH] = r
            heads[r, ATTACH], children[r, ATTACH] = now.stacks[row, size - 2], top


@kernel()
def take_transition(now, row, column, relation):
    """Take a transition in one row of Configurations;
    ``relation`` is ignored if it makes no arc.
    """
    top = now.stacks[row, now.stack_sizes[row] - 1]
    front = now.buffers[row, now.buffer_fronts[row]] if column in (LEFT, RIGHT) else NO_NODE
    if column == RIGHT:
        attach(now, row, top, front, relation)
    if column in (SHIFT, RIGHT):
        shift(now, row)
        return
    remove(now, row, 0)
    if column == REDUCE:
        return
    below = now.stacks[row, now.stack_sizes[row] - 1]
    if column == LEFT:
        # undo the arc: the top was the outermost right child of the element below
        if now.heads[row, top] != NO_NODE:
            now.children[row, below, 1] = now.siblings[row, top]
        attach(now, row, front, top, relation)
    else:
        attach(now, row, below, top, relation)


@kernel()
def _apply(now, rows, columns, relations):
    for r in range(len(rows)):
        take_transition(now, rows[r], columns[r], relations[r])
