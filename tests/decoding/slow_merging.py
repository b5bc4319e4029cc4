"""Items that merge by signature: the readable reference for parser/decoding/beam/signature_beam.py, which says what they are.

Without a limit to the beam the best tree of all is found, in polynomial time if the signature is bounded. Items stand for many
computations; their derivations are computed lazily, best first (Huang and Chiang 2005).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from parser.beam_settings import Beam, Scores
from parser.data.sentences import NO_NODE, Sentences
from parser.data.vocabulary import ABSENT, N_RESERVED
from parser.decoding.beam.scores import finite, normalizer
from parser.decoding.beam.signature import SignatureItems, merges_by_signature, visible_parts
from parser.decoding.beam.signature_beam import ways_of
from parser.decoding.sentence_parser import Tree, distinct
from parser.inference.precomputed import Scorer, precomputed_scorer
from parser.model.model import Model
from parser.transitions.attardi import Attardi, applicable, transition_of
from parser.transitions.decisions import required_root_relation
from parser.transitions.features import RELATION, FeatureTable, Slot


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


def count_derivations(item: Item) -> int:
    """How many computations since the first token of s0 was shifted the item stands for."""
    counts: dict[int, int] = {}
    waiting = [item]
    while waiting:  # no recursion: items are as deep as sentences are long
        one = waiting[-1]
        parts = [part for made in one.backpointers for part in (made.item, made.below.item)]
        unknown = [part for part in parts if id(part) not in counts]
        if unknown:
            waiting += unknown
            continue
        waiting.pop()
        counts[id(one)] = sum(counts[id(made.item)] * counts[id(made.below.item)] for made in one.backpointers) or 1
    return counts[id(item)]


@dataclass(eq=False, kw_only=True)
class MergedItem(Item):
    """An Item with all that the search knows of it.

    Attributes:
        front: the first token of the buffer.
        size: elements of the stack.
        stack: s0, s1, ... of the best computation, as far as features can see.
        predictors: the items out of which the first token of s0 was shifted.
        rank: its place among the items of its step.
    """

    front: int
    size: int
    stack: tuple[Node, ...]
    predictors: list[PredictorState] = field(default_factory=list)
    rank: int = 0


class _NextItem(NamedTuple):
    """An item that can be made, in the order of the beam by the fields up to ``output``."""

    minus_prefix: float
    minus_inside: float
    rank: int
    rank_below: int
    output: int
    item: MergedItem


class MergingSearch:
    """Searches through single sentences.

    Args:
        system: arc-standard.
        table: the features.
        size: of the beam; None: no limit.
        scores: what transitions cost.
        single_root: see TransitionSystem.transitions.
    """

    def __init__(self, system: Attardi, table: FeatureTable, size: int | None, scores: Scores, single_root: bool) -> None:
        self._system = system
        self._size = size
        self._scored = scores
        self._single_root = single_root
        self._root_relation = required_root_relation(system, single_root)
        self._visible = [sorted(part) for part in visible_parts(table.slots)]
        self._slots = [_slot(slot, table.attributes) for slot in table.slots]
        self._table = table

    def steps(self, sentences: Sentences, number: int, scorer: Scorer) -> Iterator[list[MergedItem]]:
        """Yields the items of each step for one of the sentences, best first; the last are those of whole trees."""
        values = self._table.values(sentences)[:, sentences.offsets[number] : sentences.offsets[number + 1]]
        length = values.shape[1] - 1
        items = [MergedItem(prefix=0.0, inside=0.0, began=0, front=1, size=1, stack=(Node(0),))]
        yield items
        for _ in range(2 * length):
            scores = scorer(np.array([_features(item, values, self._slots) for item in items], np.int32))
            found = [one for item, row in zip(items, scores, strict=True) for one in self._candidates(item, row, length)]
            items = self._merged(sorted(found, key=lambda candidate: candidate[:5]))
            yield items

    def _candidates(self, item: MergedItem, scores: np.ndarray, length: int) -> Iterator[_NextItem]:
        """What an item can become."""
        outputs = self._outputs(item.size, item.front <= length)
        own = finite(scores[outputs])
        norm = normalizer(own, self._scored)
        for i in np.argsort(-own, kind="stable")[: self._size].tolist():
            output, score = outputs[i], float(own[i]) - norm
            if output == 0:
                made = MergedItem(
                    prefix=item.prefix + score,
                    inside=0.0,
                    began=item.front,
                    front=item.front + 1,
                    size=item.size + 1,
                    stack=(Node(item.front), *item.stack)[: len(self._visible)],
                    predictors=[PredictorState(item, score)],
                )
                yield _NextItem(-made.prefix, -made.inside, item.rank, 0, output, made)
                continue
            column, relation = divmod(output - 1, self._system.n_relations)
            for predictor in item.predictors:
                below = predictor.item
                assert isinstance(below, MergedItem)
                gain = predictor.shift + item.inside + score
                joined = join(below.stack[0], item.stack[0], column == 0, relation)
                made = MergedItem(
                    prefix=below.prefix + gain,
                    inside=below.inside + gain,
                    began=below.began,
                    front=item.front,
                    size=below.size,
                    stack=(joined, *below.stack[1:]),
                    predictors=[*below.predictors],
                    backpointers=[Backpointer(item, predictor, score, column == 0, relation)],
                )
                yield _NextItem(-made.prefix, -made.inside, item.rank, below.rank, output, made)

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

    def _merged(self, candidates: Sequence[_NextItem]) -> list[MergedItem]:
        found: dict[tuple, MergedItem] = {}
        for *_, made in candidates:
            signature = made.began, made.front, *self._seen(made)
            if signature not in found:
                if self._size is None or len(found) < self._size:
                    made.rank = len(found)
                    found[signature] = made
                continue
            same = found[signature]
            same.inside = max(same.inside, made.inside)
            same.predictors += [
                predictor for predictor in made.predictors if all(predictor.item is not other.item for other in same.predictors)
            ]
            same.backpointers += made.backpointers
        return list(found.values())

    def _seen(self, item: MergedItem) -> Iterator[int]:
        for depth, part in enumerate(self._visible):
            for position, of_relation in part:
                token, relation = _find(item.stack[depth] if depth < len(item.stack) else None, position)
                yield relation if of_relation else token


_Slot = tuple[bool, int, list[tuple[str, int]], int | None]


def _slot(slot: Slot, attributes: list[str]) -> _Slot:
    """Whether a slot begins in the stack, its index there, the descents to children, the attribute's row (None: the
    relation)."""
    base, *descents = slot.position.split(".")
    row = None if slot.attribute == RELATION else attributes.index(slot.attribute)
    return base[0] == "s", int(base[1:]), [(descent[0], int(descent[1:])) for descent in descents], row


def _features(item: MergedItem, values: np.ndarray, slots: Sequence[_Slot]) -> list[int]:
    features = []
    for in_stack, index, position, row in slots:
        token, relation = NO_NODE, NO_NODE
        if in_stack:
            token, relation = _find(item.stack[index] if index < len(item.stack) else None, position)
        elif item.front + index < values.shape[1] and not position:
            token = item.front + index
        if row is None:
            features.append(ABSENT if relation == NO_NODE else relation + N_RESERVED)
        else:
            features.append(ABSENT if token == NO_NODE else int(values[row, token]))
    return features


def _find(node: Node | None, position: Sequence[tuple[str, int]]) -> tuple[int, int]:
    """The token at a position below a node, and its relation; NO_NODE where there is none."""
    relation = NO_NODE
    for side, rank in position:
        children = None if node is None else node.left if side == "l" else node.right
        for _ in range(rank - 1):
            children = children and children.rest
        if children is None:
            return NO_NODE, NO_NODE
        node, relation = children.child, children.relation
    return (NO_NODE, NO_NODE) if node is None else (node.token, relation)


class MergingBeamParser:
    """Searches with the weights of a model, for arc-standard."""

    def __init__(self, model: Model, beam: Beam) -> None:
        self._model, self._beam = model, beam

    def final_items(self, sentences: Sentences, *, single_root: bool = True) -> list[list[MergedItem]]:
        """For each sentence, the items of the last step, which stand for whole trees; best first."""
        model, beam = self._model, self._beam
        assert merges_by_signature(model.system)
        search = MergingSearch(model.system, model.table, beam.size, beam.scores, single_root)
        scorer = precomputed_scorer(model.weights(), model.table, sentences)
        return [list(search.steps(sentences, number, scorer))[-1] for number in range(len(sentences))]

    def k_best(self, sentences: Sentences, k: int, *, single_root: bool = True) -> list[list[Tree]]:
        found = zip(self.final_items(sentences, single_root=single_root), sentences.lengths.tolist(), strict=True)
        return [distinct(best_trees(final, n + 1), k) for final, n in found]
