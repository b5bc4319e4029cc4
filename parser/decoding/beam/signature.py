"""The signature by which items of a beam merge: the part of a stack that future scores can depend on.

Huang and Sagae (2010), Section 3, merge items whose features are equal, and ask that features be "bounded and monotonic": what
a step makes visible must follow from what was visible before it. Here the least set with this property is worked out for any
table of features, for arc-standard: for each depth d of the stack, the positions below s_d and what is read there. It begins
with the slots of the table, and is closed under the transitions: where a transition makes (position, what) visible at s0, it
was visible before at (write q for the rest of a position, r1 for the outermost right child, r2 for the next one):

    reduce_left: s0 becomes r1 of s1     r1.q  at s0: q         r_k.q at s1: r_{k-1}.q     any other at s1: the same
    reduce_right: s1 becomes l1 of s0    l1.q  at s1: q         l_k.q at s0: l_{k-1}.q     any other at s0: the same
    shift: s_d becomes s_{d+1}           at depth d: all that is visible at depth d + 1

The relation of a child that is made just now is the transition's own. What is read in the buffer follows from where it begins.

A search tells items apart before they are made: what the features will read after a transition is read in the stacks from
before it, for a shift one place further down, for a reduction in the nodes that it joins.
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
"""The descents of a position below a stack element, such as (("l", 1), ("r", 2)); whether the relation is read, or the
token."""


def merges_by_signature(system: TransitionSystem) -> TypeGuard[Attardi]:
    """Whether the transition system is arc-standard, with which items can merge by signature."""
    return behaves_as(system, Attardi) and system.degree == 1


def visible_parts(slots: Sequence[Slot]) -> list[set[Visible]]:
    """By depth of the stack, what must be equal for two items to merge; complete sets, by the rules above."""
    parts: list[set[Visible]] = [set()]
    for slot in slots:
        base, *descents = slot.position.split(".")
        of_relation = slot.attribute == RELATION
        if base[0] != "s" or (of_relation and not descents):  # a stack element has no relation yet
            continue
        depth = int(base[1:])
        parts += [set() for _ in range(depth + 1 - len(parts))]
        parts[depth].add((tuple((descent[0], int(descent[1:])) for descent in descents), of_relation))
    while _close(parts):
        pass
    return parts


def _close(parts: list[set[Visible]]) -> bool:
    """Adds what the rules ask for; whether anything was added."""
    before = sum(map(len, parts))
    for upper, deeper in pairwise(parts):
        upper |= deeper
    for position, of_relation in list(parts[0]):
        for side, child_of, other in (("r", 0, 1), ("l", 1, 0)):  # reduce_left, reduce_right
            if position[:1] == ((side, 1),):
                if len(position) > 1 or not of_relation:
                    _add(parts, child_of, position[1:], of_relation)
            elif position and position[0][0] == side:
                _add(parts, other, ((side, position[0][1] - 1), *position[1:]), of_relation)
            else:
                _add(parts, other, position, of_relation)
    return sum(map(len, parts)) > before


def _add(parts: list[set[Visible]], depth: int, position: tuple[tuple[str, int], ...], of_relation: bool) -> None:
    parts += [set() for _ in range(depth + 1 - len(parts))]
    parts[depth].add((position, of_relation))


class Parts(NamedTuple):
    """What must be equal for two items to merge, besides their places: what is read at some positions (signature.py).

    Attributes:
        programs: int32[parts, 9], the positions; see FeatureTable.
        of_relation: bool[parts], whether the relation is read there, or the token.
        newest: int32[3], by column of the transition, the part that reads the relation of the arc just made; NO_NODE: none
            does.
    """

    programs: np.ndarray
    of_relation: np.ndarray
    newest: np.ndarray

    @classmethod
    def of(cls, slots: Sequence[Slot]) -> Parts:
        """Those of a table of features, for arc-standard."""
        found = sorted(
            (depth, len(descents), descents, of_relation)
            for depth, part in enumerate(visible_parts(slots))
            for descents, of_relation in part
        )
        positions = [f"s{depth}" + "".join(f".{side}{rank}" for side, rank in descents) for depth, _, descents, _ in found]
        programs = [program_of(position) for position in positions]
        newest = np.full(3, NO_NODE, np.int32)
        for column, side in ((1, "r"), (2, "l")):  # reduce_left, reduce_right
            if (relation := (0, 1, ((side, 1),), True)) in found:
                newest[column] = found.index(relation)
        of_relation = np.array([part[-1] for part in found], np.bool_)
        return cls(np.array(programs, np.int32).reshape(-1, PROGRAM_LENGTH), of_relation, newest)

    @property
    def elements(self) -> int:
        """How many elements of the stack they are in, at least one."""
        return 1 + int(self.programs[:, 1].max(initial=0))


class SignatureItems(NamedTuple):
    """The items of a sentence; row m of each array is step m, best first. See Item.

    The predictors of an item are all of one step, that before the first token of s0 was shifted, and the score of the shift out
    of them is theirs; so a predictor is the number of an item of that step.

    Attributes:
        counts: int32[steps + 1], how many there are.
        cells: int32[steps + 1, size], the stacks of their best computations.
        tops: int32[steps + 1, size, elements], the nodes at the top of these; NO_NODE after the last.
        begins: int32[steps + 1, size], the first token of s0.
        fronts: int32[steps + 1, size], the first token of the buffer.
        prefixes, insides: float64[steps + 1, size].
        shifts: float64[steps + 1, size], what a shift costs, where it is among the transitions that were looked at.
        predictor_counts, predictor_starts: int32 and int64[steps + 1, size], how many of ``predictors`` are theirs, from where.
        predictors: int32[capacity], numbers of items.
        backpointers: int32[steps + 1, size, 3], the first and the last way to make them by a reduction, and the best one.
        ways: int32[capacity, 4], of each backpointer the numbers of the item and the predictor, the output, and the next one.
        costs: float64[capacity], what the transition of each costs.
        used: int64[2], how many predictors and backpointers are in use.
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
        """For a sentence of this many tokens; ``times`` as many predictors, and as many backpointers, as items."""
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
    """The step of the predictors of item k of step m: before the words of s0, of which all but one have become children."""
    return m - (2 * (items.fronts[m, k] - items.begins[m, k]) - 1)


@kernel(inline="always")
def describe_transition(items, m, k, below, column):
    """What there is to know of a transition to tell what it makes.

    Returns:
        The column, the first tokens of s0 and of the buffer after the transition, the nodes at the top of the stack before it,
        and those of the predictor ``below``.
    """
    front, tops = items.fronts[m, k], items.tops[m, k]
    if column == 0:
        return np.int64(0), front, np.int32(front + 1), tops, tops
    earlier = step_of_predictors(items, m, k)
    return np.int64(column), items.begins[earlier, below], front, tops, items.tops[earlier, below]


@kernel(inline="always")
def read_after(parts, nodes, lists, described, relation, p):
    """What part p reads after a transition, of which nothing is made for this: the token, or the relation."""
    column, begin, _, tops, under = described
    program = parts.programs[p]
    depth = program[1]
    node, of_node, place, before = np.int64(NO_NODE), np.int64(NO_NODE), 2, 0
    if column == 0:
        node = np.int64(begin if depth == 0 else tops[depth - 1])  # a token without children is its own node
    elif depth > 0:
        node = np.int64(under[depth])
    else:
        left = column == 1  # s0 becomes a child of s1
        node = np.int64(under[0] if left else tops[0])
        if program[2] == left:
            if program[3] == 1:
                node, of_node, place = np.int64(tops[0] if left else under[0]), np.int64(relation), 4
            else:
                before = 1
    node, of_node = descend(nodes, lists, node, of_node, program, place, before)
    if parts.of_relation[p]:
        return np.int64(of_node)
    return np.int64(NO_NODE if node == NO_NODE else nodes[node, 0])


@kernel()
def find_same(parts, nodes, lists, seen, begins, fronts, first, made, described, relation):
    """The first item from ``first`` to before ``made`` that has the signature of what a transition makes; NO_NODE if none has.

    Args:
        parts: what must be equal besides the places.
        nodes, lists: of TreeStacks.
        seen, begins, fronts: of the items.
        first, made: their numbers.
        described: see describe_transition().
        relation: of the arc that the transition makes.
    """
    _, begin, front, _, _ = described
    for other in range(first, made):
        if begins[other] == begin and fronts[other] == front:
            p = 0
            while p < len(parts.programs) and seen[other, p] == read_after(parts, nodes, lists, described, relation, p):
                p += 1
            if p == len(parts.programs):
                return np.int64(other)
    return np.int64(NO_NODE)
