"""Items that stand for many computations as objects, and all their derivations, best first: the readable reference for
parser/decoding/beam/signature_beam.py.

signature_beam.py says what an item is. Derivations are computed lazily (Huang and Chiang 2005).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from parser.data.sentences import NO_NODE
from parser.decoding.beam.signature import SignatureItems
from parser.decoding.beam.signature_beam import ways_of
from parser.decoding.sentence_parser import Tree
from parser.transitions.attardi import transition_of


class Node(NamedTuple):
    """A tree whose parts are shared: its token, and its children on either side, the outermost first."""

    token: int
    left: Children | None = None
    right: Children | None = None


class Children(NamedTuple):
    """A child, its relation, and the next children towards the head."""

    child: Node
    relation: int
    rest: Children | None


def join(below: Node, top: Node, left: bool, relation: int) -> Node:
    """The tree that a reduction of arc-standard makes of s1 and s0: with ``left``, s0 becomes a child of s1."""
    if left:
        return below._replace(right=Children(top, relation, below.right))
    return top._replace(left=Children(below, relation, top.left))


def arcs_of(root: Node, tokens: int) -> tuple[np.ndarray, np.ndarray]:
    """int32[tokens] heads and relations, NO_NODE of the root and of tokens that are not in the tree."""
    heads = np.full(tokens, NO_NODE, np.int32)
    relations = heads.copy()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        for side in (node.left, node.right):
            children = side
            while children is not None:
                heads[children.child.token], relations[children.child.token] = node.token, children.relation
                waiting.append(children.child)
                children = children.rest
    return heads, relations


@dataclass(eq=False, kw_only=True)
class Item:
    """An item, as far as its derivations depend on it.

    Attributes:
        prefix: score of the best computation from the start.
        inside: score of the best computation since the first token of s0 was shifted, that shift left out.
        began: the first token of s0; without backpointers s0 is this token alone.
        backpointers: the ways to make it by a reduction, best first.
    """

    prefix: float
    inside: float
    began: int
    backpointers: list[Backpointer] = field(default_factory=list)


class PredictorState(NamedTuple):
    """An item, and the score of the shift out of it."""

    item: Item
    shift: float


class Backpointer(NamedTuple):
    """A way to make an item: from ``item`` and the predictor ``below`` by a transition that costs ``score`` and makes an
    arc."""

    item: Item
    below: PredictorState
    score: float
    left: bool  # s0 becomes a child of s1 (reduce_left)
    relation: int


class Derivations:
    """The derivations of an item, best first, computed lazily (Huang and Chiang 2005, Algorithm 3).

    Args:
        item: the item.
        known: those of other items, by the items' identities; filled in.
    """

    def __init__(self, item: Item, known: dict[int, Derivations]) -> None:
        self._known = known
        self._backpointers = item.backpointers
        self._found: list[tuple[float, Node]] = [] if item.backpointers else [(item.inside, Node(item.began))]
        # (minus score, backpointer, rank of the upper part, rank of the lower part): those that may come next.
        self._waiting: list[tuple[float, int, int, int]] = []
        # The last three of those whose parts have to be found first.
        self._coming = [(backpointer, 0, 0) for backpointer in range(len(item.backpointers))]
        self._seen = {*self._coming}

    @classmethod
    def of(cls, item: Item, known: dict[int, Derivations]) -> Derivations:
        """Those of an item, made once."""
        if id(item) not in known:
            known[id(item)] = cls(item, known)
        return known[id(item)]

    def get(self, rank: int) -> tuple[float, Node] | None:
        """The score, and the tree s0, of the derivation of this rank, from 0; None if there are not that many."""
        asked = [(self, rank)]
        while asked:  # no recursion: derivations are as deep as sentences are long
            derivations, wanted = asked[-1]
            needed = derivations._advance(wanted)
            if needed is None:
                asked.pop()
            else:
                asked.append(needed)
        return self._found[rank] if rank < len(self._found) else None

    def _advance(self, rank: int) -> tuple[Derivations, int] | None:
        """Finds derivations up to this rank; returns whose derivation of which rank must be found before, None if done."""
        while len(self._found) <= rank:
            while self._coming:
                backpointer, above, below = self._coming[-1]
                parts = self._parts(backpointer)
                for part, its_rank in zip(parts, (above, below), strict=True):
                    if not part._knows(its_rank):
                        return part, its_rank
                self._coming.pop()
                if above < len(parts[0]._found) and below < len(parts[1]._found):
                    made = self._backpointers[backpointer]
                    score = parts[1]._found[below][0] + (made.below.shift + parts[0]._found[above][0] + made.score)
                    heapq.heappush(self._waiting, (-score, backpointer, above, below))
            if not self._waiting:
                return None
            minus_score, backpointer, above, below = heapq.heappop(self._waiting)
            top, under = self._parts(backpointer)
            made = self._backpointers[backpointer]
            tree = join(under._found[below][1], top._found[above][1], made.left, made.relation)
            self._found.append((-minus_score, tree))
            for following in ((backpointer, above + 1, below), (backpointer, above, below + 1)):
                if following not in self._seen:
                    self._seen.add(following)
                    self._coming.append(following)
        return None

    def _parts(self, backpointer: int) -> tuple[Derivations, Derivations]:
        """The derivations of the item that is reduced, and of its predictor."""
        made = self._backpointers[backpointer]
        return self.of(made.item, self._known), self.of(made.below.item, self._known)

    def _knows(self, rank: int) -> bool:
        """Whether it is known what get() would say."""
        return rank < len(self._found) or not (self._waiting or self._coming)


def best_trees(last: Sequence[Item], tokens: int) -> Iterator[Tree]:
    """All trees that the items of the last step stand for, best first; a tree comes once for each of its derivations.

    Args:
        last: the items.
        tokens: how many there are, the artificial root included.
    """
    known: dict[int, Derivations] = {}
    streams = [Derivations.of(item, known) for item in last]
    waiting = [(-found[0], s, 0) for s, stream in enumerate(streams) if (found := stream.get(0)) is not None]
    heapq.heapify(waiting)
    while waiting:
        _, s, rank = heapq.heappop(waiting)
        score, root = streams[s].get(rank) or (0.0, Node(0))
        heads, relations = arcs_of(root, tokens)
        yield Tree(score, heads[1:], relations[1:])
        if (following := streams[s].get(rank + 1)) is not None:
            heapq.heappush(waiting, (-following[0], s, rank + 1))


def last_items(found: SignatureItems, step: int, n_relations: int) -> list[Item]:
    """The items of a step of the compiled search, and with them all that they were made from; each is made once."""
    known: dict[tuple[int, int], Item] = {}
    for m in range(step + 1):
        for k in range(found.counts[m]):
            item = Item(prefix=float(found.prefixes[m, k]), inside=float(found.insides[m, k]), began=int(found.begins[m, k]))
            for above, below, output, cost in ways_of(found, m, k):
                column, relation = transition_of(output, n_relations)
                predictor = PredictorState(known[below], float(found.shifts[below]))
                item.backpointers.append(Backpointer(known[above], predictor, cost, column == 1, relation))
            known[m, k] = item
    return [known[step, k] for k in range(found.counts[step])]
