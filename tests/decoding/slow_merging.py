"""Beam search with dynamic programming for arc-standard: items that no feature can tell apart are one (Huang and Sagae 2010).

An item (beam/derivations.py) is (began, ahead, size, s0, s1, ...). What lies below s0 is not a part of it: ``predictors`` are
the items out of which the first token of s0 was shifted, and the item stands for all stacks that they make. Its scores:

    shift    from I: prefix I.prefix + c, inside 0, predictors {(I, c)}, where c is the score of the shift
    reduce   from I with each predictor (P, c): d = c + I.inside + the score of the transition in I;
             prefix P.prefix + d, inside P.inside + d, began P.began, predictors P.predictors

The score of a shift is kept with the predictor, as it differs from one to the other; and ``began`` belongs to an item, for
without it predictors and insides of different stretches of the sentence would be combined. Items merge when their signatures
(beam/signature.py) are equal: the higher prefix and inside count, predictors and ways to make them are joined. Without a limit
to the beam the best tree of all is found, in polynomial time if the signature is bounded.

A sentence is a lattice with a single path. On the way through a lattice (compiled.py says what ahead, choices and the clock
are) c has the choice in it that follows the shift, which is scored after it, in a configuration that differs from one predictor
to the other; so ``began`` has all that was ahead after the shift. Two things that follow from the step in a sentence do not
follow from the bucket there: the number of elements of the stack, and the bucket of the predictors. They are of the signature,
too.

This is a readable implementation: the reference for beam/signature_beam.py, which is some hundred times as fast and takes
sentences only, and what searches lattices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from parser import batch_sizes
from parser.beam_settings import Beam, Scores
from parser.data.sentences import NO_NODE, Sentences
from parser.data.vocabularies import ABSENT, N_RESERVED
from parser.decoding.beam.derivations import Backpointer, Item, Node, Predictor, best_trees, find, join
from parser.decoding.beam.scores import finite, normalizer
from parser.decoding.beam.signature import visible_parts
from parser.decoding.lattice.compiled import Arcs
from parser.decoding.sentence_parser import Tree
from parser.inference.precomputed import Scorer, precomputed_scorer
from parser.inference.weights import ClassifierWeights
from parser.transitions.attardi import Attardi, applicable
from parser.transitions.decisions import required_root_relation
from parser.transitions.features import RELATION, FeatureTable, Slot


class _NextItem(NamedTuple):
    """An item that can be made, in the order of the beam by the fields up to ``output``."""

    minus_prefix: float
    minus_inside: float
    bucket: int  # of the item it is made from
    rank: int
    rank_below: int
    output: int
    item: Item


class MergingSearch:
    """Searches through single sentences and lattices.

    Args:
        system: arc-standard.
        table: the features.
        size: of the beam; None: no limit.
        scores: what transitions cost.
        single_root: see TransitionSystem.transitions.
        lookahead: tokens ahead that are decided, at least as many as features read; None: just as many.
        choice: the output that scores choices; NO_NODE: they cost nothing.
    """

    def __init__(
        self,
        system: Attardi,
        table: FeatureTable,
        size: int | None,
        scores: Scores,
        single_root: bool,
        lookahead: int | None = None,
        choice: int = NO_NODE,
    ) -> None:
        self._system = system
        self._size = size
        self._scored = scores
        self._single_root = single_root
        self._root_relation = required_root_relation(system, single_root)
        self._visible = [sorted(part) for part in visible_parts(table.slots)]
        self._elements = len(self._visible)
        self._slots = [_slot(slot, table.attributes) for slot in table.slots]
        self._table = table
        self._lookahead = lookahead or max(1, table.read_ahead)
        self._choice = choice

    def buckets(self, sentences: Sentences, number: int, arcs: Arcs, scorer: Scorer) -> Iterator[list[Item]]:
        """Yields the items of each bucket for one of the lattices, best first; the last are those of whole trees."""
        values = self._table.values(sentences)[:, sentences.offsets[number] : sentences.offsets[number + 1]]
        through = _ScoredLattice(arcs, values, scorer)
        last = 2 * arcs.last_node + self._lookahead
        waiting: list[list[_NextItem]] = [[] for _ in range(last + 1)]
        items = [Item((), (), 1, 0, (Node(0),), 0.0, 0.0, [])]
        for bucket in range(last + 1):
            if bucket > 0:
                items = self._merged(sorted(waiting[bucket], key=lambda candidate: candidate[:6]))
            waiting[bucket] = []
            yield items
            if bucket < self._lookahead:
                for item in items:
                    waiting[bucket + 1] += self._beginnings(item, through)
            elif bucket < last and items:
                scores = scorer(through.features(items, self._slots))
                for item, row in zip(items, scores, strict=True):
                    for candidate in self._candidates(item, row, through):
                        waiting[candidate.item.bucket].append(candidate)

    def _beginnings(self, item: Item, through: _ScoredLattice) -> Iterator[_NextItem]:
        """The choices before the first step."""
        for ahead, cost in self._choices(item.stack, item.ahead, through.end(item.ahead), through):
            yield _candidate(Item((), ahead, 1, item.bucket + 1, item.stack, item.prefix + cost, item.inside + cost, []), item)

    def _choices(
        self, stack: tuple[Node, ...], ahead: tuple[int, ...], node: int, through: _ScoredLattice
    ) -> list[tuple[tuple[int, ...], float]]:
        """What is ahead when one more arc has been chosen, of those from a node, and what that costs."""
        arcs = through.arcs
        following = [(*ahead, arc) for arc in range(arcs.first[node], arcs.first[node + 1])]
        if not following:
            return [(ahead, 0.0)]
        if self._choice == NO_NODE or (len(following) == 1 and self._scored is Scores.LOCAL):
            return [(further, 0.0) for further in following]
        features = [_features(stack, further, through.values, self._slots) for further in following]
        scores = finite(through.scorer(np.array(features, np.int32))[:, self._choice])
        norm = normalizer(scores, self._scored)
        return [(further, float(score) - norm) for further, score in zip(following, scores, strict=True)]

    def _candidates(self, item: Item, scores: np.ndarray, through: _ScoredLattice) -> Iterator[_NextItem]:
        """What an item can become."""
        outputs = self._outputs(item.size, bool(item.ahead))
        own = finite(scores[outputs])
        norm = normalizer(own, self._scored)
        ticks = through.arcs.ticks
        for i in np.argsort(-own, kind="stable")[: self._size].tolist():
            output, score = outputs[i], float(own[i]) - norm
            if output == 0:
                first, *others = item.ahead
                stack = (Node(first), *item.stack)[: self._elements]
                for ahead, choice in self._choices(stack, tuple(others), through.end(item.ahead), through):
                    predictor, bucket = Predictor(item, score + choice), item.bucket + int(ticks[first])
                    prefix = item.prefix + predictor.shift
                    yield _candidate(Item((first, *ahead), ahead, item.size + 1, bucket, stack, prefix, 0.0, [predictor]), item)
                continue
            column, relation = divmod(output - 1, self._system.n_relations)
            for predictor in item.predictors:
                below = predictor.item
                gain = predictor.shift + item.inside + score
                joined = join(below.stack[0], item.stack[0], column == 0, relation)
                child = item.stack[0] if column == 0 else below.stack[0]
                bucket, stack = item.bucket + int(ticks[child.token]), (joined, *below.stack[1:])
                sums = below.prefix + gain, below.inside + gain
                made = Item(below.began, item.ahead, below.size, bucket, stack, *sums, list(below.predictors))
                made.backpointers.append(Backpointer(item, predictor, score, column == 0, relation))
                yield _candidate(made, item, below.rank, output)

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

    def _merged(self, candidates: Sequence[_NextItem]) -> list[Item]:
        found: dict[tuple, Item] = {}
        for *_, made in candidates:
            bucket_below = made.predictors[0].item.bucket if made.predictors else NO_NODE
            signature = made.began, made.ahead, made.size, bucket_below, *self._seen(made)
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

    def _seen(self, item: Item) -> Iterator[int]:
        for depth, part in enumerate(self._visible):
            for position, of_relation in part:
                token, relation = find(item.stack[depth] if depth < len(item.stack) else None, position)
                yield relation if of_relation else token


def _candidate(made: Item, source: Item, rank_below: int = 0, output: int = 0) -> _NextItem:
    return _NextItem(-made.prefix, -made.inside, source.bucket, source.rank, rank_below, output, made)


class _ScoredLattice(NamedTuple):
    """A lattice, its arcs' values (int32[attributes, arcs + 1]), and what scores configurations of it."""

    arcs: Arcs
    values: np.ndarray
    scorer: Scorer

    def end(self, ahead: Sequence[int]) -> int:
        """The node at which the last of some arcs ends; the first node if there is none."""
        return int(self.arcs.ends[ahead[-1]]) if ahead else 0

    def features(self, items: Sequence[Item], slots: Sequence[_Slot]) -> np.ndarray:
        """int32[items, slots]: what the slots read."""
        return np.array([_features(item.stack, item.ahead, self.values, slots) for item in items], np.int32)


_Slot = tuple[bool, int, list[tuple[str, int]], int | None]


def _slot(slot: Slot, attributes: list[str]) -> _Slot:
    """Whether a slot begins in the stack, its index there, the descents to children, the attribute's row (None: the
    relation)."""
    base, *descents = slot.position.split(".")
    row = None if slot.attribute == RELATION else attributes.index(slot.attribute)
    return base[0] == "s", int(base[1:]), [(descent[0], int(descent[1:])) for descent in descents], row


def _features(stack: tuple[Node, ...], ahead: tuple[int, ...], values: np.ndarray, slots: Sequence[_Slot]) -> list[int]:
    features = []
    for in_stack, index, position, row in slots:
        token, relation = NO_NODE, NO_NODE
        if in_stack:
            token, relation = find(stack[index] if index < len(stack) else None, position)
        elif index < len(ahead) and not position:
            token = ahead[index]
        if row is None:
            features.append(ABSENT if relation == NO_NODE else relation + N_RESERVED)
        else:
            features.append(ABSENT if token == NO_NODE else int(values[row, token]))
    return features


class MergingBeamParser:
    """Searches with the weights of a classifier, with arc-standard; see LatticeSearcher.

    Args:
        weights: the weights.
        system: arc-standard.
        table: the features.
        beam: the beam.
        lookahead, choice: of lattices; see MergingSearch.
    """

    def __init__(
        self,
        weights: ClassifierWeights,
        system: Attardi,
        table: FeatureTable,
        beam: Beam,
        lookahead: int | None = None,
        choice: int = NO_NODE,
    ) -> None:
        self._weights = weights
        self._system = system
        self._table = table
        self._beam = beam
        self._of_lattices = lookahead, choice

    def lattice_trees(self, sentences: Sentences, arcs: Sequence[Arcs], single_root: bool) -> Iterator[Iterator[Tree]]:
        """For each lattice, the trees that its final items stand for, best first, made as they are asked for."""
        for lattice, final in zip(arcs, self.final_items(sentences, arcs, single_root), strict=True):
            yield best_trees(final, len(lattice.ends))

    def final_items(self, sentences: Sentences, arcs: Sequence[Arcs], single_root: bool) -> Iterator[list[Item]]:
        """For each sentence, or lattice, the items of the last step, which stand for whole trees; best first."""
        beam = self._beam
        search = MergingSearch(self._system, self._table, beam.size, beam.scores, single_root, *self._of_lattices)
        for first, last in sentences.spans(batch_sizes.TOKENS_PER_SPAN):
            part = sentences.span(first, last)
            scorer = precomputed_scorer(self._weights, self._table, part)
            for number, lattice in enumerate(arcs[first:last]):
                *_, final = search.buckets(part, number, lattice, scorer)
                yield final
