"""The signature by which items of a beam merge:
the part of a stack that future scores can depend on.

Huang and Sagae (2010), Section 3, merge items whose features are equal. They require features to be
"bounded and monotonic": all that a step makes visible must follow from what was visible before it.
This module computes the smallest set with this property for any table of features, for
arc-standard: for each depth d of the stack, the positions below s_d and the values read there. The
set begins with the slots of the table, and is closed under the transitions. If a transition makes
something visible at s0, it was visible before, at the place listed here (q: the rest of a position;
r1: the outermost right child; r2: the next one):

    reduce_left (s0 becomes r1 of s1)
        r1.q at s0: q         r_k.q at s1: r_{k-1}.q     any other at s1: the same
    reduce_right (s1 becomes l1 of s0)
        l1.q at s1: q         l_k.q at s0: l_{k-1}.q     any other at s0: the same
    shift (s_d becomes s_{d+1})
        at depth d: all that is visible at depth d + 1

The relation of the new child is the transition's own.
The values read in the buffer follow from its front.

A search compares a new item with others before it makes the new item. So the values that features
will read after a transition are read in the stacks before it: for a shift, at depth d - 1 in place
of d; for a reduction, in the nodes that the reduction joins.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, TypeGuard

import numpy as np

from parser.data.sentences import NO_NODE
from parser.decoding.beam.tree_stacks import descend
from parser.kernels import kernel
from parser.transitions.attardi import Attardi
from parser.transitions.features import PROGRAM_LENGTH, RELATION, Slot, program_of
from parser.transitions.system import TransitionSystem, behaves_as

Visible = tuple[tuple[tuple[str, int], ...], bool]
"""The descents of a position below a stack element, such as (("l", 1), ("r", 2)), and whether the
relation is read there, not the token.
"""


def merges_by_signature(system: TransitionSystem) -> TypeGuard[Attardi]:
    """Return whether items can merge by signature, which only arc-standard allows."""
    return behaves_as(system, Attardi) and system.degree == 1


def visible_positions(slots: Sequence[Slot]) -> list[set[Visible]]:
    """Return, by depth of the stack, where two items must be equal to merge,
    closed under the rules of this module.
    """
    visible: list[set[Visible]] = [set()]
    for slot in slots:
        base, *descents = slot.position.split(".")
        reads_relation = slot.attribute == RELATION
        # a stack element has no relation yet
        if base[0] != "s" or (reads_relation and not descents):
            continue
        depth = int(base[1:])
        visible += [set() for _ in range(depth + 1 - len(visible))]
        visible[depth].add(
            (tuple((descent[0], int(descent[1:])) for descent in descents), reads_relation)
        )
    while _close(visible):
        pass
    return visible


def _close(visible: list[set[Visible]]) -> bool:
    """Apply the rules once; return whether they added anything."""
    before = sum(map(len, visible))
    for upper, deeper in pairwise(visible):
        upper |= deeper
    for position, reads_relation in list(visible[0]):
        for side, child_of, other in (("r", 0, 1), ("l", 1, 0)):  # reduce_left, reduce_right
            if position[:1] == ((side, 1),):
                if len(position) > 1 or not reads_relation:
                    _add(visible, child_of, position[1:], reads_relation)
            elif position and position[0][0] == side:
                _add(visible, other, ((side, position[0][1] - 1), *position[1:]), reads_relation)
            else:
                _add(visible, other, position, reads_relation)
    return sum(map(len, visible)) > before


def _add(
    visible: list[set[Visible]],
    depth: int,
    position: tuple[tuple[str, int], ...],
    reads_relation: bool,
) -> None:
    visible += [set() for _ in range(depth + 1 - len(visible))]
    visible[depth].add((position, reads_relation))


class VisiblePositions(NamedTuple):
    """The positions at which two items must be equal to merge,
    besides equal ``begins`` and ``fronts``.

    Attributes:
        programs: int32[positions, 9], the positions; see FeatureTable.
        reads_relation: bool[positions], whether the relation is read there, not the token.
        newest: int32[3], by column of the transition, the position that reads the relation of the
            new arc; NO_NODE: none does.
    """

    programs: np.ndarray
    reads_relation: np.ndarray
    newest: np.ndarray

    @classmethod
    def of(cls, slots: Sequence[Slot]) -> VisiblePositions:
        """Return the positions for a table of features, for arc-standard."""
        entries = sorted(
            (depth, len(descents), descents, reads_relation)
            for depth, positions in enumerate(visible_positions(slots))
            for descents, reads_relation in positions
        )
        names = [
            f"s{depth}" + "".join(f".{side}{rank}" for side, rank in descents)
            for depth, _, descents, _ in entries
        ]
        programs = [program_of(name) for name in names]
        newest = np.full(3, NO_NODE, np.int32)
        for column, side in ((1, "r"), (2, "l")):  # reduce_left, reduce_right
            if (relation := (0, 1, ((side, 1),), True)) in entries:
                newest[column] = entries.index(relation)
        reads_relation = np.array([entry[-1] for entry in entries], np.bool_)
        return cls(np.array(programs, np.int32).reshape(-1, PROGRAM_LENGTH), reads_relation, newest)

    @property
    def elements(self) -> int:
        """How many elements of the stack the positions read, at least one."""
        return 1 + int(self.programs[:, 1].max(initial=0))


class SignatureItems(NamedTuple):
    """The items of a sentence; row m of each array is step m, best first.
    signature_beam.py explains items.

    All predictors of an item belong to one step, the one before the first token of s0 was shifted.
    So a predictor is the number of an item of that step. The score of the shift is stored with the
    predictor.

    Attributes:
        counts: int32[steps + 1], the number of items.
        cells: int32[steps + 1, size], the stacks of their best computations.
        tops: int32[steps + 1, size, elements], the nodes at the top of these stacks;
            NO_NODE after the last.
        begins: int32[steps + 1, size], the first token of s0.
        fronts: int32[steps + 1, size], the first token of the buffer.
        prefixes, insides: float64[steps + 1, size].
        shifts: float64[steps + 1, size], the score of the shift from each item,
            if the search looked at it.
        predictor_counts, predictor_starts: int32 and int64[steps + 1, size],
            the item's part of ``predictors``.
        predictors: int32[capacity], numbers of items.
        backpointers: int32[steps + 1, size, 3], the numbers of the first,
            last and best way to make an item by a reduction.
        ways: int32[capacity, 4], for each way the numbers of the item and its predictor, the
            output, and the next way.
        costs: float64[capacity], the score of the transition of each way.
        used: int64[2], how many predictors and ways are in use.
    """

    counts: np.ndarray
    cells: np.ndarray
    tops: np.ndarray
    begins: np.ndarray
    fronts: np.ndarray
    prefixes: np.ndarray
    insides: np.ndarray
    shifts: np.ndarray
    predictor_counts: np.ndarray
    predictor_starts: np.ndarray
    predictors: np.ndarray
    backpointers: np.ndarray
    ways: np.ndarray
    costs: np.ndarray
    used: np.ndarray

    @classmethod
    def allocate(cls, tokens: int, size: int, elements: int, times: int) -> SignatureItems:
        """Allocate for a sentence of ``tokens`` tokens,
        with ``times`` times as many predictors and ways as items.
        """
        shape = 2 * tokens + 1, size
        most = times * shape[0] * size
        return cls(
            counts=np.empty(shape[0], np.int32),
            cells=np.empty(shape, np.int32),
            tops=np.empty((*shape, elements), np.int32),
            begins=np.empty(shape, np.int32),
            fronts=np.empty(shape, np.int32),
            prefixes=np.empty(shape),
            insides=np.empty(shape),
            shifts=np.empty(shape),
            predictor_counts=np.empty(shape, np.int32),
            predictor_starts=np.empty(shape, np.int64),
            predictors=np.empty(most, np.int32),
            backpointers=np.empty((*shape, 3), np.int32),
            ways=np.empty((most, 4), np.int32),
            costs=np.empty(most),
            used=np.zeros(2, np.int64),
        )


@kernel()
def step_of_predictors(items, m, k):
    """Return the step of the predictors of item k of step m. Since then, all tokens of s0 have been
    shifted, and all but one have become children.
    """
    return m - (2 * (items.fronts[m, k] - items.begins[m, k]) - 1)


@kernel(inline="always")
def describe_transition(items, m, k, below, column):
    """Return the description of a transition for read_after() and find_same().

    Returns:
        The column, the first tokens of s0 and of the buffer after the transition, and the nodes at
        the top of the stack of the item before it and of the predictor ``below``.
    """
    front, tops = items.fronts[m, k], items.tops[m, k]
    if column == 0:
        return np.int64(0), front, np.int32(front + 1), tops, tops
    earlier = step_of_predictors(items, m, k)
    return np.int64(column), items.begins[earlier, below], front, tops, items.tops[earlier, below]


@kernel(inline="always")
def read_after(positions, nodes, lists, described, relation, p):
    """Return the token or the relation that position p reads after a transition,
    without making the item.
    """
    column, begin, _, tops, under = described
    program = positions.programs[p]
    depth = program[1]
    node, node_relation, place, before = np.int64(NO_NODE), np.int64(NO_NODE), 2, 0
    if column == 0:
        # a token without children is its own node
        node = np.int64(begin if depth == 0 else tops[depth - 1])
    elif depth > 0:
        node = np.int64(under[depth])
    else:
        left = column == 1  # s0 becomes a child of s1
        node = np.int64(under[0] if left else tops[0])
        if program[2] == left:
            if program[3] == 1:
                node = np.int64(tops[0] if left else under[0])
                node_relation = np.int64(relation)
                place = 4
            else:
                before = 1
    node, node_relation = descend(nodes, lists, node, node_relation, program, place, before)
    if positions.reads_relation[p]:
        return np.int64(node_relation)
    return np.int64(NO_NODE if node == NO_NODE else nodes[node, 0])


@kernel()
def find_same(positions, nodes, lists, seen, begins, fronts, first, end, described, relation):
    """Return the first item from ``first`` to ``end - 1`` with the signature of a transition's
    result; NO_NODE if none has it.

    Args:
        positions: the positions to compare besides ``begins`` and ``fronts``.
        nodes, lists: the keys of TreeStacks.
        seen, begins, fronts: see Streams and SignatureItems.
        first, end: the numbers of the items to compare.
        described: see describe_transition().
        relation: the relation of the transition's arc.
    """
    _, begin, front, _, _ = described
    for other in range(first, end):
        if begins[other] == begin and fronts[other] == front:
            p = 0
            while p < len(positions.programs) and seen[other, p] == read_after(
                positions, nodes, lists, described, relation, p
            ):
                p += 1
            if p == len(positions.programs):
                return np.int64(other)
    return np.int64(NO_NODE)
