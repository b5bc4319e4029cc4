"""What of a stack the scores of all moves to come can depend on: the signature by which items of a beam merge.

Huang and Sagae (2010), Section 3, merge items whose features are equal, and ask that features be "bounded and monotonic": what
a step makes visible must follow from what was visible before it. Here the least set with this property is worked out for any
table of features, for arc-standard: for each depth d of the stack, the addresses below s_d and what is read there. It begins
with the slots of the table, and is closed under the moves: where a move makes (address, what) visible at s0, it was visible
before at (write q for the rest of an address, r1 for the outermost right child, r2 for the next one):

    reduce_left: s0 becomes r1 of s1     r1.q  at s0: q         r_k.q at s1: r_{k-1}.q     any other at s1: the same
    reduce_right: s1 becomes l1 of s0    l1.q  at s1: q         l_k.q at s0: l_{k-1}.q     any other at s0: the same
    shift: s_d becomes s_{d+1}           at depth d: all that is visible at depth d + 1

The relation of a child that is made just now is the move's own. What is read in the buffer follows from where it begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TypeGuard

from parser.beam_settings import BeamError, Merge
from parser.transitions.attardi import Attardi
from parser.transitions.features import RELATION, Slot
from parser.transitions.system import TransitionSystem, behaves_as

Visible = tuple[tuple[tuple[str, int], ...], bool]
"""The moves of an address below a stack element, such as (("l", 1), ("r", 2)); whether the relation is read, or the token."""


def merges_by_signature(system: TransitionSystem) -> TypeGuard[Attardi]:
    """Whether the transition system is arc-standard, with which items can merge by signature."""
    return behaves_as(system, Attardi) and system.degree == 1


def arc_standard_alone(system: TransitionSystem) -> Attardi:
    """The transition system, if items can merge by signature with it.

    Raises:
        BeamError: they cannot.
    """
    if not merges_by_signature(system):
        raise BeamError(
            f"merge={Merge.SIGNATURE} is supported only with system=arc_standard, and the model has system={system.name}; "
            f"use merge={Merge.CONFIGURATION}"
        )
    return system


def visible_parts(slots: Sequence[Slot]) -> list[set[Visible]]:
    """By depth of the stack, what must be equal for two items to merge; complete sets, by the rules above."""
    parts: list[set[Visible]] = [set()]
    for slot in slots:
        base, *moves = slot.address.split(".")
        of_relation = slot.attribute == RELATION
        if base[0] != "s" or (of_relation and not moves):  # a stack element has no relation yet
            continue
        depth = int(base[1:])
        parts += [set() for _ in range(depth + 1 - len(parts))]
        parts[depth].add((tuple((move[0], int(move[1:])) for move in moves), of_relation))
    while _close(parts):
        pass
    return parts


def _close(parts: list[set[Visible]]) -> bool:
    """Adds what the rules ask for; whether anything was added."""
    before = sum(map(len, parts))
    for upper, deeper in pairwise(parts):
        upper |= deeper
    for address, of_relation in list(parts[0]):
        for side, child_of, other in (("r", 0, 1), ("l", 1, 0)):  # reduce_left, reduce_right
            if address[:1] == ((side, 1),):
                if len(address) > 1 or not of_relation:
                    _add(parts, child_of, address[1:], of_relation)
            elif address and address[0][0] == side:
                _add(parts, other, ((side, address[0][1] - 1), *address[1:]), of_relation)
            else:
                _add(parts, other, address, of_relation)
    return sum(map(len, parts)) > before


def _add(parts: list[set[Visible]], depth: int, address: tuple[tuple[str, int], ...], of_relation: bool) -> None:
    parts += [set() for _ in range(depth + 1 - len(parts))]
    parts[depth].add((address, of_relation))
