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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from parser.beam_settings import Scores
from parser.classifier.scorer import Scorer
from parser.data.parses import NO_NODE
from parser.data.vocabulary import ABSENT, N_RESERVED, Sentences
from parser.decoding.move_costs import finite, normalizer
from parser.decoding.persistent_trees import Node, find, join
from parser.decoding.signature import visible_parts
from parser.transitions.attardi import Attardi, applicable
from parser.transitions.decisions import required_root_relation
from parser.transitions.features import RELATION, FeatureTable, Slot


@dataclass(eq=False)
class Item:
    """An item of a step; see above.

    Attributes:
        rank: its place among the items of its step.
        stack: s0, s1, ... of the best computation, as far as features can see.
        reductions: the ways to make it by a reduction, best first.
    """

    left: int
    front: int
    stack: tuple[Node, ...]
    prefix: float
    inside: float
    tails: list[Item]
    rank: int = 0
    shift: float = 0.0
    reductions: list[Reduction] = field(default_factory=list)


class Reduction(NamedTuple):
    """A way to make an item: from ``item`` and the tail ``below`` by a move that costs ``score`` and makes an arc."""

    item: Item
    below: Item
    score: float
    left: bool  # s0 becomes a child of s1 (reduce_left)
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
        self._scored = scores
        self._single_root = single_root
        self._root_relation = required_root_relation(system, single_root)
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
            scores = scorer(features)
            candidates = [
                candidate
                for item, row in zip(items, scores, strict=True)
                for candidate in self._candidates(item, row, 2 * item.front - 1 - step, length)
            ]
            items = self._merged(sorted(candidates, key=lambda candidate: candidate[:5]))
            yield items

    def _candidates(self, item: Item, scores: np.ndarray, size: int, length: int) -> Iterator[_Candidate]:
        outputs = self._outputs(size, item.front <= length)
        own = finite(scores[outputs])
        norm = normalizer(own, self._scored)
        if outputs[0] == 0:
            item.shift = float(own[0]) - norm
        for i in np.argsort(-own, kind="stable")[: self._size].tolist():
            output, score = outputs[i], float(own[i]) - norm
            if output == 0:
                yield _Candidate(-(item.prefix + score), 0.0, item.rank, 0, 0, item, None)
                continue
            column, relation = divmod(output - 1, self._system.n_relations)
            for below in item.tails:
                gain = below.shift + item.inside + score
                reduction = Reduction(item, below, score, column == 0, relation)
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
                if self._root_relation == NO_NODE or to_root == (relation == self._root_relation):
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
            same.reductions += made.reductions
        return list(found.values())

    def _make(self, candidate: _Candidate) -> Item:
        source, reduction = candidate.source, candidate.reduction
        if reduction is None:
            stack = (Node(source.front), *source.stack)[: self._elements]
            return Item(source.front, source.front + 1, stack, -candidate.minus_prefix, 0.0, [source])
        below = reduction.below
        joined = join(below.stack[0], source.stack[0], reduction.left, reduction.relation)
        scores = -candidate.minus_prefix, -candidate.minus_inside
        made = Item(below.left, source.front, (joined, *below.stack[1:]), *scores, list(below.tails))
        made.reductions.append(reduction)
        return made

    def _seen(self, item: Item) -> Iterator[int]:
        for depth, part in enumerate(self._visible):
            for address, of_relation in part:
                token, relation = find(item.stack[depth] if depth < len(item.stack) else None, address)
                yield relation if of_relation else token

    def _features(self, item: Item, values: np.ndarray) -> list[int]:
        """What the slots read."""
        features = []
        for in_stack, index, address, row in self._slots:
            if in_stack:
                token, relation = find(item.stack[index] if index < len(item.stack) else None, address)
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
