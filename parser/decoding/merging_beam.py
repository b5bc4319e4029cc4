"""Beam search with dynamic programming for arc-standard: items that no feature can tell apart are one (Huang and Sagae 2010).

An item of step m is (left, front, s0, s1, ...): the tree s0 covers the tokens from ``left`` to before ``front``, so the stack
has 2 * front - 1 - m elements. What lies below s0 is not a part of it: ``tails`` are the items out of which the first token of
s0 was shifted, and the item stands for all stacks that they make. Scores of an item:

    prefix   of the best computation from the start
    inside   of the best computation since the first token of s0 was shifted, that shift left out
    shift    of the shift out of the item, filled in when the item is expanded

    shift    from I: prefix I.prefix + I.shift, inside 0, tails {I}
    reduce   from I with each P of I.tails: d = P.shift + I.inside + the score of the move in I;
             prefix P.prefix + d, inside P.inside + d, left P.left, tails P.tails

The score of a shift is kept with the tail, as it differs from tail to tail; and ``left`` belongs to an item, for without it
tails and insides of different stretches of the sentence would be combined. Items of a step merge when their signatures
(signature.py) are equal: the higher prefix and inside count, tails and ways to make them are joined. Without a limit to the
beam the best tree of all is found, in polynomial time if the signature is bounded.

This is a readable implementation, some hundred times slower than beam_search.py.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from parser.beam_settings import Beam, Scores
from parser.classifier.precomputed_scorer import precomputed_scorer
from parser.classifier.scorer import Scorer
from parser.classifier.weights import ClassifierWeights
from parser.data.parses import NO_NODE, Parses
from parser.data.vocabulary import ABSENT, N_RESERVED, Sentences
from parser.decoding.k_best import Tree, distinct
from parser.decoding.signature import visible_parts
from parser.transitions.attardi import Attardi, applicable
from parser.transitions.features import RELATION, FeatureTable, Slot

# Tokens whose contributions to the hidden layer are kept at a time.
_SHARE = 4_000


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


@dataclass(eq=False)
class Item:
    """An item of a step; see above.

    Attributes:
        rank: its place among the items of its step.
        stack: s0, s1, ... of the best computation, as far as features can see.
        made: the ways to make it by a reduction, best first.
    """

    left: int
    front: int
    stack: tuple[Node, ...]
    prefix: float
    inside: float
    tails: list[Item]
    rank: int = 0
    shift: float = 0.0
    made: list[Reduction] = field(default_factory=list)


class Reduction(NamedTuple):
    """A way to make an item: from ``item`` and the tail ``below`` by a move that costs ``score`` and makes an arc."""

    item: Item
    below: Item
    score: float
    column: int
    relation: int


class _Candidate(NamedTuple):
    """An item that can be made, in the order of the beam by the fields up to ``output``; ``reduction`` is None for a shift."""

    minus_prefix: float
    minus_inside: float
    rank: int
    rank_below: int
    output: int
    source: Item
    reduction: Reduction | None


class MergingSearch:
    """Searches through single sentences.

    Args:
        system: arc-standard.
        table: the features.
        size: of the beam; None: no limit.
        scores: what moves cost.
        single_root: see TransitionSystem.moves.
    """

    def __init__(self, system: Attardi, table: FeatureTable, size: int | None, scores: Scores, single_root: bool) -> None:
        self._system = system
        self._table = table
        self._size = size
        self._local = scores is Scores.LOCAL
        self._single_root = single_root
        self._visible = [sorted(part) for part in visible_parts(table.slots)]
        self._elements = len(self._visible)
        self._slots = [_slot(slot, table.attributes) for slot in table.slots]

    def steps(self, sentences: Sentences, number: int, scorer: Scorer) -> Iterator[list[Item]]:
        """Yields the items of each step for one of the sentences, best first; the last are those of whole trees."""
        length = int(sentences.lengths[number])
        values = self._table.values(sentences)[:, sentences.offsets[number] : sentences.offsets[number + 1]]
        items = [Item(0, 1, (Node(0),), 0.0, 0.0, [])]
        yield items
        for step in range(2 * length):
            features = np.array([self._features(item, values) for item in items], np.int32)
            scores = scorer(features).astype(np.float64)
            candidates = [
                candidate
                for item, row in zip(items, scores, strict=True)
                for candidate in self._candidates(item, row, 2 * item.front - 1 - step, length)
            ]
            items = self._merged(sorted(candidates, key=lambda candidate: candidate[:5]))
            yield items

    def _candidates(self, item: Item, scores: np.ndarray, size: int, length: int) -> Iterator[_Candidate]:
        outputs = self._outputs(size, item.front <= length)
        own = scores[outputs]
        if self._local:
            own = own - (own.max() + np.log(np.exp(own - own.max()).sum()))
        if outputs[0] == 0:
            item.shift = float(own[0])
        for i in np.argsort(-own, kind="stable")[: self._size].tolist():
            output, score = outputs[i], float(own[i])
            if output == 0:
                yield _Candidate(-(item.prefix + score), 0.0, item.rank, 0, 0, item, None)
                continue
            column, relation = divmod(output - 1, self._system.n_relations)
            for below in item.tails:
                gain = below.shift + item.inside + score
                reduction = Reduction(item, below, score, column + 1, relation)
                order = -(below.prefix + gain), -(below.inside + gain), item.rank, below.rank, output
                yield _Candidate(*order, item, reduction)

    def _outputs(self, size: int, buffered: bool) -> list[int]:
        """The outputs that are applicable."""
        system, found = self._system, [0] if buffered else []
        for column in (1, 2):
            if not applicable(column, size, buffered, self._single_root):
                continue
            first = 1 + (column - 1) * system.n_relations
            to_root = column == 1 and size == 2
            for relation in range(system.n_relations):
                is_root = relation == system.root_relation
                if not self._single_root or system.root_relation is None or to_root == is_root:
                    found.append(first + relation)
        return found

    def _merged(self, candidates: Sequence[_Candidate]) -> list[Item]:
        found: dict[tuple, Item] = {}
        for candidate in candidates:
            made = self._make(candidate)
            signature = made.left, made.front, *self._seen(made)
            if signature not in found:
                if self._size is None or len(found) < self._size:
                    made.rank = len(found)
                    found[signature] = made
                continue
            same = found[signature]
            same.inside = max(same.inside, made.inside)
            same.tails += [tail for tail in made.tails if tail not in same.tails]
            same.made += made.made
        return list(found.values())

    def _make(self, candidate: _Candidate) -> Item:
        source, reduction = candidate.source, candidate.reduction
        if reduction is None:
            stack = (Node(source.front), *source.stack)[: self._elements]
            return Item(source.front, source.front + 1, stack, -candidate.minus_prefix, 0.0, [source])
        below = reduction.below
        joined = join(below.stack[0], source.stack[0], reduction)
        scores = -candidate.minus_prefix, -candidate.minus_inside
        made = Item(below.left, source.front, (joined, *below.stack[1:]), *scores, list(below.tails))
        made.made.append(reduction)
        return made

    def _seen(self, item: Item) -> Iterator[int]:
        for depth, part in enumerate(self._visible):
            for address, of_relation in part:
                token, relation = _find(item.stack[depth] if depth < len(item.stack) else None, address)
                yield relation if of_relation else token

    def _features(self, item: Item, values: np.ndarray) -> list[int]:
        """What the slots read."""
        features = []
        for in_stack, index, address, row in self._slots:
            if in_stack:
                token, relation = _find(item.stack[index] if index < len(item.stack) else None, address)
            else:
                token, relation = item.front + index, NO_NODE
                if address or token >= values.shape[1]:
                    token = NO_NODE
            if row is None:
                features.append(ABSENT if relation == NO_NODE else relation + N_RESERVED)
            else:
                features.append(ABSENT if token == NO_NODE else int(values[row, token]))
        return features


def _slot(slot: Slot, attributes: list[str]) -> tuple[bool, int, list[tuple[str, int]], int | None]:
    """Whether a slot begins in the stack, its index there, the moves to children, the attribute's row (None: the relation)."""
    base, *moves = slot.address.split(".")
    row = None if slot.attribute == RELATION else attributes.index(slot.attribute)
    return base[0] == "s", int(base[1:]), [(move[0], int(move[1:])) for move in moves], row


def join(below: Node, top: Node, reduction: Reduction) -> Node:
    """The tree that a reduction makes of s1 and s0."""
    if reduction.column == 1:
        return below._replace(right=Children(top, reduction.relation, below.right))
    return top._replace(left=Children(below, reduction.relation, top.left))


def _find(node: Node | None, address: Sequence[tuple[str, int]]) -> tuple[int, int]:
    """The token at an address below a node, and its relation; NO_NODE where there is none."""
    relation = NO_NODE
    for side, rank in address:
        children = None if node is None else node.left if side == "l" else node.right
        for _ in range(rank - 1):
            children = children and children.rest
        if children is None:
            return NO_NODE, NO_NODE
        node, relation = children.child, children.relation
    return (NO_NODE, NO_NODE) if node is None else (node.token, relation)


def count_derivations(item: Item) -> int:
    """How many computations since the first token of s0 was shifted the item stands for."""
    known: dict[int, int] = {}

    def count(one: Item) -> int:
        if id(one) not in known:
            known[id(one)] = sum(count(made.item) * count(made.below) for made in one.made) or 1
        return known[id(one)]

    return count(item)


class Derivations:
    """The computations that an item stands for, best first, found when asked for (Huang and Chiang 2005, Algorithm 3)."""

    def __init__(self, item: Item, known: dict[int, Derivations]) -> None:
        self._known = known
        self._found: list[tuple[float, Node]] = []
        self._waiting: list[tuple[float, int, int, int]] = []
        self._made = item.made
        self._seen: set[tuple[int, int, int]] = set()
        if not item.made:
            self._found.append((0.0, item.stack[0]))
        for way in range(len(item.made)):
            self._push(way, 0, 0)

    @classmethod
    def of(cls, item: Item, known: dict[int, Derivations]) -> Derivations:
        """Those of an item, made once."""
        if id(item) not in known:
            known[id(item)] = cls(item, known)
        return known[id(item)]

    def get(self, rank: int) -> tuple[float, Node] | None:
        """The score, and the tree s0, of the computation of this rank, from 0; None if there are not so many."""
        while len(self._found) <= rank and self._waiting:
            minus_score, way, above, below = heapq.heappop(self._waiting)
            made = self._made[way]
            top, under = self.of(made.item, self._known).get(above), self.of(made.below, self._known).get(below)
            assert top is not None, "_push() has looked"
            assert under is not None, "_push() has looked"
            self._found.append((-minus_score, join(under[1], top[1], made)))
            self._push(way, above + 1, below)
            self._push(way, above, below + 1)
        return self._found[rank] if rank < len(self._found) else None

    def _push(self, way: int, above: int, below: int) -> None:
        made = self._made[way]
        top, under = self.of(made.item, self._known).get(above), self.of(made.below, self._known).get(below)
        if top is None or under is None or (way, above, below) in self._seen:
            return
        self._seen.add((way, above, below))
        score = under[0] + (made.below.shift + top[0] + made.score)
        heapq.heappush(self._waiting, (-score, way, above, below))


class MergingBeamParser:
    """Parses with the weights of a classifier, with arc-standard; see KBestParser.

    Args:
        weights: the weights.
        system: arc-standard.
        table: the features.
        beam: the beam.
    """

    def __init__(self, weights: ClassifierWeights, system: Attardi, table: FeatureTable, beam: Beam) -> None:
        self._weights = weights
        self._system = system
        self._table = table
        self._beam = beam

    def parse(self, sentences: Sentences, *, single_root: bool = True) -> Parses:
        """Parses sentences; see SentenceParser."""
        heads = np.full(sentences.offsets[-1], NO_NODE, np.int32)
        relations = heads.copy()
        for start, last in zip(sentences.offsets, self._last_items(sentences, single_root), strict=False):
            inside = slice(start, start + last[0].front)
            heads[inside], relations[inside] = _arcs(last[0].stack[0], last[0].front)
        return Parses(heads, relations, sentences.offsets)

    def k_best(self, sentences: Sentences, k: int, *, single_root: bool = True) -> list[list[Tree]]:
        """See KBestParser; k may be larger than the beam, as an item stands for many trees."""
        self._beam.check_k_best(k)
        return [distinct(_trees(last), k) for last in self._last_items(sentences, single_root)]

    def _last_items(self, sentences: Sentences, single_root: bool) -> Iterator[list[Item]]:
        """The items of the last step, for each sentence."""
        search = MergingSearch(self._system, self._table, self._beam.size, self._beam.scores, single_root)
        for span in sentences.spans(_SHARE):
            part = sentences.span(*span)
            scorer = precomputed_scorer(self._weights, self._table, part)
            for number in range(len(part)):
                *_, last = search.steps(part, number, scorer)
                yield last


def _trees(last: list[Item]) -> Iterator[Tree]:
    """All trees that the last items stand for, best first."""
    known: dict[int, Derivations] = {}
    streams = [Derivations.of(item, known) for item in last]
    ranks = [0] * len(streams)
    while True:
        heads = [(found[0], -s) for s, stream in enumerate(streams) if (found := stream.get(ranks[s])) is not None]
        if not heads:
            return
        s = -max(heads)[1]
        score, node = streams[s].get(ranks[s]) or (0.0, Node(0))
        ranks[s] += 1
        heads_of, relations = _arcs(node, last[s].front)
        yield Tree(score, heads_of[1:], relations[1:])


def _arcs(root: Node, front: int) -> tuple[np.ndarray, np.ndarray]:
    """int32[front] heads and relations of the tokens, NO_NODE of the root."""
    heads = np.full(front, NO_NODE, np.int32)
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
