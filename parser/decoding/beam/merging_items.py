"""Items that stand for many computations, and the ways to make them; merging_search.py says what they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from parser.decoding.beam.persistent_trees import Node


@dataclass(eq=False)
class Item:
    """An item.

    Attributes:
        began: the first token of s0, and those that were ahead right after it was shifted; empty for the artificial root.
        ahead: the first tokens of the buffer, as many as are decided.
        size: elements of the stack.
        bucket: the one it is in; of a sentence, the step.
        stack: s0, s1, ... of the best computation, as far as features can see.
        prefix: score of the best computation from the start.
        inside: score of the best computation since the first token of s0 was shifted, that shift left out.
        tails: the items out of which it was shifted.
        rank: its place among the items of its bucket.
        reductions: the ways to make it by a reduction, best first.
    """

    began: tuple[int, ...]
    ahead: tuple[int, ...]
    size: int
    bucket: int
    stack: tuple[Node, ...]
    prefix: float
    inside: float
    tails: list[Tail]
    rank: int = 0
    reductions: list[Reduction] = field(default_factory=list)


class Tail(NamedTuple):
    """An item, and the score of the shift out of it; with a lattice, that of the choice that follows, too."""

    item: Item
    shift: float


class Reduction(NamedTuple):
    """A way to make an item: from ``item`` and the tail ``below`` by a move that costs ``score`` and makes an arc."""

    item: Item
    below: Tail
    score: float
    left: bool  # s0 becomes a child of s1 (reduce_left)
    relation: int
