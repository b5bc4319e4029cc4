"""Attardi's system: arc-standard with further arcs,
between the top of the stack and deeper elements (Attardi 2006).

Transitions of a configuration with stack a_0..a_k (a_0 = 0, the artificial root) and buffer b..n,
in the order of their columns, for degree D (Gómez-Rodríguez, Sartorio and Satta 2014, whose D is
2):

* shift pushes b; needs a buffer.
* for d = 1..D: ra_d makes the top a_k a child of a_{k-d} and pops it; needs k >= d. la_d makes
  a_{k-d} a child of a_k and removes it; needs k >= d + 1, so the root never gets a head.

D = 1 is arc-standard, with the steps of Nederhof (2019), Table 1: ra_1 is its reduce_left, la_1 its
reduce_right. A sentence of n tokens takes 2n transitions. A configuration is final with stack (0)
and an empty buffer. No configuration is a dead end.

With ``single_root`` the child of the root is attached last, by ra_1.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from oracles.errors import OptimalStepError
from parser.data.sentences import NO_NODE
from parser.kernels import kernel
from parser.transitions.configurations import Configurations, attach, remove, shift
from parser.transitions.system import Transitions, TransitionSystem

MAX_DEGREE = 9


class Attardi(TransitionSystem):
    """Attardi's system of a degree; trees are projective only with degree 1.

    Args:
        n_relations, root_relation: see TransitionSystem.
        degree: how many elements below the top an arc may reach, 1 to MAX_DEGREE.
    """

    name: ClassVar[str] = "attardi"
    projective: ClassVar[bool] = False
    oracles: ClassVar[tuple[str, ...]] = ("attardi_search", "attardi_tabular", "attardi_static")
    gold_oracle: ClassVar[str] = "attardi_search"

    def __init__(self, n_relations: int, root_relation: int | None = None, degree: int = 2) -> None:
        if not 1 <= degree <= MAX_DEGREE:
            raise OptimalStepError(f"degree={degree}: it must be from 1 to {MAX_DEGREE}")
        self.degree = degree
        super().__init__(n_relations, root_relation)
        self.options = {"degree": degree}

    def _blocks_with_arcs(self) -> list[bool]:
        return [False, *[True] * (2 * self.degree)]

    def eager_order(self, width: int) -> np.ndarray:
        return np.array([*(c for d in range(1, self.degree + 1) for c in (2 * d, 2 * d - 1)), 0])

    def transitions(
        self, now: Configurations, rows: np.ndarray, single_root: bool = False
    ) -> Transitions:
        shape = len(rows), 1 + 2 * self.degree
        transitions = Transitions(*np.full((4, *shape), NO_NODE, np.int32))
        fill_transitions(
            now,
            rows,
            self.degree,
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
def applicable(column, size, buffered, single_root):
    """Return whether a transition is applicable with ``size`` = k + 1 stack elements; ``buffered``
    says whether the buffer has tokens.
    """
    if column == 0:
        return buffered
    depth = (column + 1) // 2
    if column % 2 == 0:
        return size >= depth + 2
    if single_root and size == depth + 1:  # the head is the root
        return depth == 1 and not buffered
    return size >= depth + 1


@kernel()
def transition_of(output, n_relations):
    """Return the column of an output's transition, and the relation of its arc (for a shift, the
    relation means nothing).
    """
    return 0 if output == 0 else 1 + (output - 1) // n_relations, (output - 1) % n_relations


@kernel()
def take_transition(now, row, column, relation):
    """Take a transition in one row of Configurations; the relation of a shift is ignored."""
    if column == 0:
        shift(now, row)
        return
    depth = (column + 1) // 2
    last = now.stack_sizes[row] - 1
    top, below = now.stacks[row, last], now.stacks[row, last - depth]
    top_is_child = column % 2 == 1
    remove(now, row, 0 if top_is_child else depth)
    attach(now, row, below if top_is_child else top, top if top_is_child else below, relation)


@kernel()
def best_output(scores, r, degree, size, buffered, n_relations, root_relation, single_root):
    """Return the best output of one configuration, as decisions.best() does.

    Args:
        scores, r: float32[rows, outputs], and the row of the configuration in them.
        degree, n_relations: the system's.
        size, buffered: see applicable().
        root_relation: the relation of the root's child if ``single_root``; NO_NODE: any.
        single_root: see TransitionSystem.transitions.
    """
    highest = -np.inf
    chosen = NO_NODE
    for column in range(1 + 2 * degree):
        if not applicable(column, size, buffered, single_root):
            continue
        if column == 0:
            chosen = 0
            highest = scores[r, 0]
            continue
        to_root = column % 2 == 1 and size == (column + 1) // 2 + 1
        first = 1 + (column - 1) * n_relations
        for relation in range(n_relations):
            if single_root and root_relation >= 0 and to_root != (relation == root_relation):
                continue
            if chosen == NO_NODE or scores[r, first + relation] > highest:
                chosen = first + relation
                highest = scores[r, chosen]
    return chosen


@kernel()
def forced_output(degree, size, buffered, root_relation, single_root):
    """Return the output of a configuration in which only one is possible;
    NO_NODE if several are.
    """
    only = NO_NODE
    for column in range(1 + 2 * degree):
        if applicable(column, size, buffered, single_root):
            if only != NO_NODE:
                return NO_NODE
            only = column
    if only == 1 and single_root and root_relation >= 0 and size == 2:
        return 1 + root_relation
    return 0 if only == 0 else NO_NODE


@kernel()
def fill_transitions(now, rows, degree, single_root, feature_rows, blocks, heads, children):
    """Fill in the arrays of Transitions, which hold NO_NODE before."""
    for r in range(len(rows)):
        row = rows[r]
        last = now.stack_sizes[row] - 1
        buffered = now.buffer_fronts[row] <= now.lengths[row]
        for column in range(1 + 2 * degree):
            blocks[r, column] = column
            if not applicable(column, last + 1, buffered, single_root):
                continue
            feature_rows[r, column] = r
            if column > 0:
                top, below = now.stacks[row, last], now.stacks[row, last - (column + 1) // 2]
                heads[r, column] = below if column % 2 == 1 else top
                children[r, column] = top if column % 2 == 1 else below


@kernel()
def _apply(now, rows, columns, relations):
    for r in range(len(rows)):
        take_transition(now, rows[r], np.int64(columns[r]), np.int64(relations[r]))


class ArcStandard(Attardi):
    """Arc-standard: Attardi's system of degree 1, projective trees."""

    name: ClassVar[str] = "arc_standard"
    projective: ClassVar[bool] = True
    oracles: ClassVar[tuple[str, ...]] = (
        "context_rows",
        "nederhof_cubic",
        "nederhof_quadratic",
        "nederhof_linear",
        "goldberg_tabular",
        "static",
        "arc_standard_tabular",
    )
    gold_oracle: ClassVar[str] = "static"

    def __init__(self, n_relations: int, root_relation: int | None = None) -> None:
        super().__init__(n_relations, root_relation, degree=1)
        self.options = {}
