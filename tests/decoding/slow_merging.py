"""Items that merge by signature: the readable reference for parser/decoding/beam/signature_beam.py, which says what they are.

Without a limit to the beam the best tree of all is found. Items stand for many computations, whose derivations are those of the
items that they were made from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import NamedTuple

import numpy as np

from parser.beam_settings import Beam, Scores
from parser.data.sentences import NO_NODE, Sentences
from parser.decoding.beam.scores import finite, normalizer
from parser.decoding.beam.signature import SignatureItems, merges_by_signature, visible_parts
from parser.decoding.beam.signature_beam import ways_of
from parser.decoding.sentence_parser import Tree, distinct
from parser.inference.precomputed import Scorer, precomputed_scorer
from parser.model.model import Model
from parser.transitions.attardi import Attardi, transition_of
from parser.transitions.decisions import required_root_relation
from parser.transitions.features import FeatureTable
from tests.decoding.computations import find, read_slots
from tests.transitions.reference_systems import State, applicable, arc


@dataclass(eq=False)
class Item:
    """Configurations that merge.

    Attributes:
        prefix: score of the best computation from the start.
        inside: score of the best computation since the first token of s0 was shifted, that shift left out.
        began: the first token of s0; without backpointers s0 is this token alone.
        state: the configuration of the best computation; empty in an item of the compiled search.
        predictors: the items out of which the first token of s0 was shifted.
        backpointers: the ways to make it by a reduction, best first.
        rank: its place among the items of its step.
    """

    prefix: float
    inside: float
    began: int
    state: State = field(default_factory=lambda: State([], [], {}))
    predictors: list[Predictor] = field(default_factory=list)
    backpointers: list[Backpointer] = field(default_factory=list)
    rank: int = 0


class Predictor(NamedTuple):
    """An item, and the score of the shift out of it."""

    item: Item
    shift: float


class Backpointer(NamedTuple):
    """A way to make an item: from ``item`` and the predictor ``below`` by a transition that costs ``score``."""

    item: Item
    below: Predictor
    score: float
    left: bool  # s0 becomes a child of s1 (reduce_left)
    relation: int


class Derivation(NamedTuple):
    """A way to make the tree s0: its root, and its arcs as {child: (head, relation)}."""

    score: float
    root: int
    arcs: dict[int, tuple[int, int]]


def derivations(item: Item, k: int, known: dict[Item, list[Derivation]]) -> list[Derivation]:
    """The k best derivations of distinct trees, best first; ``known`` are those of other items."""
    if item not in known:
        found = [] if item.backpointers else [Derivation(item.inside, item.began, {})]
        for made in item.backpointers:
            for under, top in product(derivations(made.below.item, k, known), derivations(made.item, k, known)):
                score = under.score + (made.below.shift + top.score + made.score)
                head, child = (under.root, top.root) if made.left else (top.root, under.root)
                found.append(Derivation(score, head, under.arcs | top.arcs | {child: (head, made.relation)}))
        of_trees: dict[frozenset, Derivation] = {}
        for one in sorted(found, key=lambda derivation: -derivation.score):
            of_trees.setdefault(frozenset(one.arcs.items()), one)
        known[item] = [*of_trees.values()][:k]
    return known[item]


def best_trees(last: Sequence[Item], n: int, k: int) -> list[Tree]:
    """The k best trees of n tokens that the items of the last step stand for, best first."""
    known: dict[Item, list[Derivation]] = {}
    found = sorted((one for item in last for one in derivations(item, k, known)), key=lambda one: -one.score)
    arcs = [(one.score, [one.arcs[token] for token in range(1, n + 1)]) for one in found]
    return distinct((Tree(score, *np.array(of_tree, np.int32).reshape(-1, 2).T) for score, of_tree in arcs), k)


def count_derivations(item: Item, known: dict[Item, int] | None = None) -> int:
    """How many computations since the first token of s0 was shifted the item stands for."""
    known = {} if known is None else known
    if item not in known:
        ways = (count_derivations(made.item, known) * count_derivations(made.below.item, known) for made in item.backpointers)
        known[item] = sum(ways) or 1
    return known[item]


def last_items(found: SignatureItems, step: int, n_relations: int) -> list[Item]:
    """The items of a step of the compiled search, and with them all that they were made from; each is made once."""
    known: dict[tuple[int, int], Item] = {}
    for m in range(step + 1):
        for k in range(found.counts[m]):
            item = Item(float(found.prefixes[m, k]), float(found.insides[m, k]), int(found.begins[m, k]))
            for above, below, output, cost in ways_of(found, m, k):
                column, relation = transition_of(output, n_relations)
                predictor = Predictor(known[below], float(found.shifts[below]))
                item.backpointers.append(Backpointer(known[above], predictor, cost, column == 1, relation))
            known[m, k] = item
    return [known[step, k] for k in range(found.counts[step])]


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
        self._system, self._table, self._size, self._scored = system, table, size, scores
        self._single_root = single_root
        self._root_relation = required_root_relation(system, single_root)
        self._visible = [
            (f"s{depth}" + "".join(f".{side}{rank}" for side, rank in descents), of_relation)
            for depth, part in enumerate(visible_parts(table.slots))
            for descents, of_relation in sorted(part)
        ]

    def steps(self, sentences: Sentences, number: int, scorer: Scorer) -> Iterator[list[Item]]:
        """Yields the items of each step for one of the sentences, best first; the last are those of whole trees."""
        values = self._table.values(sentences)[:, sentences.offsets[number] : sentences.offsets[number + 1]]
        length = values.shape[1] - 1
        items = [Item(0.0, 0.0, 0, State.initial(length))]
        yield items
        for _ in range(2 * length):
            scores = scorer(np.array([read_slots(self._table, values, item.state) for item in items], np.int32))
            found = [one for item, row in zip(items, scores, strict=True) for one in self._candidates(item, row)]
            items = self._merged([made for *_, made in sorted(found, key=lambda candidate: candidate[:-1])])
            yield items

    def _candidates(self, item: Item, scores: np.ndarray) -> Iterator[tuple[float, float, int, int, int, Item]]:
        """What an item can become, last, behind what says its place among all candidates."""
        state = item.state
        outputs = self._outputs(state)
        own = finite(scores[outputs])
        norm = normalizer(own, self._scored)
        for i in np.argsort(-own, kind="stable")[: self._size].tolist():
            output, score = outputs[i], float(own[i]) - norm
            if output == 0:
                front, *buffer = state.buffer
                after = State([*state.stack, front], buffer, state.arcs)
                made = Item(item.prefix + score, 0.0, front, after, [Predictor(item, score)])
                yield -made.prefix, -made.inside, item.rank, 0, output, made
                continue
            column, relation = transition_of(output, self._system.n_relations)
            own_arcs = {child: arc for child, arc in state.arcs.items() if child >= item.began}
            for predictor in item.predictors:
                below, gain = predictor.item, predictor.shift + item.inside + score
                under, top = below.state.stack[-1], state.stack[-1]
                head, child = (under, top) if column == 1 else (top, under)
                arcs = below.state.arcs | own_arcs | {child: (head, relation)}
                after = State([*below.state.stack[:-1], head], state.buffer, arcs)
                way = Backpointer(item, predictor, score, column == 1, relation)
                made = Item(below.prefix + gain, below.inside + gain, below.began, after, [*below.predictors], [way])
                yield -made.prefix, -made.inside, item.rank, below.rank, output, made

    def _outputs(self, state: State) -> list[int]:
        """The outputs that are applicable."""
        found = []
        for column in range(3):
            if not applicable("arc_standard", 1, state, column, self._single_root):
                continue
            if (made := arc("arc_standard", 1, state, column)) is None:
                found.append(0)
                continue
            first = 1 + (column - 1) * self._system.n_relations
            for relation in range(self._system.n_relations):
                if self._root_relation == NO_NODE or (made[0] == 0) == (relation == self._root_relation):
                    found.append(first + relation)
        return found

    def _merged(self, candidates: Sequence[Item]) -> list[Item]:
        found: dict[tuple, Item] = {}
        for made in candidates:
            seen = [find(made.state, position)[of_relation] for position, of_relation in self._visible]
            signature = made.began, len(made.state.buffer), *seen
            if signature not in found:
                if self._size is None or len(found) < self._size:
                    made.rank = len(found)
                    found[signature] = made
                continue
            same = found[signature]
            same.inside = max(same.inside, made.inside)
            known = {predictor.item for predictor in same.predictors}
            same.predictors += [predictor for predictor in made.predictors if predictor.item not in known]
            same.backpointers += made.backpointers
        return list(found.values())


def final_items(model: Model, beam: Beam, sentences: Sentences, single_root: bool) -> list[list[Item]]:
    """For each sentence, the items of the last step, which stand for whole trees; best first."""
    assert merges_by_signature(model.system)
    search = MergingSearch(model.system, model.table, beam.size, beam.scores, single_root)
    scorer = precomputed_scorer(model.weights(), model.table, sentences)
    return [[*search.steps(sentences, number, scorer)][-1] for number in range(len(sentences))]
