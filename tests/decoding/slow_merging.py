"""Items that merge by signature: the readable reference for parser/decoding/beam/signature_beam.py,
which says what they are.

Without a limit to the beam the best tree of all is found. Items stand for many computations, whose
derivations are those of the items that they were made from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import pairwise, product
from typing import NamedTuple

import numpy as np

from parser.beam_settings import Beam, Scores
from parser.data.sentences import Sentences
from parser.decoding.beam.signature import visible_positions
from parser.decoding.sentence_parser import Tree, distinct
from parser.inference.precomputed import precomputed_scorer
from parser.model.trained_model import TrainedModel
from parser.transitions.features import Slot
from tests.decoding.computations import Space, find, space_of
from tests.transitions.reference_systems import State


class Derivation(NamedTuple):
    """A way to make the tree s0: its root, and its arcs as {child: (head, relation)}."""

    score: float
    root: int
    arcs: dict[int, tuple[int, int]]


@dataclass(eq=False)
class Item:
    """Configurations that merge.

    Attributes:
        prefix: score of the best computation from the start.
        inside: score of the best computation since the first token of s0 was shifted,
            that shift left out.
        began: the first token of s0; without ways s0 is this token alone.
        state: the configuration of the best computation.
        predictors: the items out of which the first token of s0 was shifted.
        ways: the ways to make it by a reduction, best first.
        rank: its place among the items of its step.
    """

    prefix: float
    inside: float
    began: int
    state: State
    predictors: list[Predictor]
    ways: list[Way] = field(default_factory=list)
    rank: int = 0

    @cached_property
    def count(self) -> int:
        """How many computations since the first token of s0 was shifted it stands for."""
        return sum(way.item.count * way.below.item.count for way in self.ways) or 1


class Predictor(NamedTuple):
    """An item, and the score of the shift out of it."""

    item: Item
    shift: float


class Way(NamedTuple):
    """A way to make an item: from ``item`` and the predictor ``below`` by a transition that costs
    ``score``.
    """

    item: Item
    below: Predictor
    score: float
    left: bool  # s0 becomes a child of s1 (reduce_left)
    relation: int


def best_trees(last: Sequence[Item], n: int, k: int) -> list[Tree]:
    """Return the k best trees of n tokens that the items of the last step stand for, best first."""

    @cache
    def derivations(item: Item) -> list[Derivation]:
        """Return the k best of distinct trees, best first."""
        found = [] if item.ways else [Derivation(item.inside, item.began, {})]
        for way in item.ways:
            for under, top in product(derivations(way.below.item), derivations(way.item)):
                score = under.score + (way.below.shift + top.score + way.score)
                head, child = (under.root, top.root) if way.left else (top.root, under.root)
                found.append(
                    Derivation(score, head, under.arcs | top.arcs | {child: (head, way.relation)})
                )
        best: dict[frozenset, Derivation] = {}
        for one in sorted(found, key=lambda derivation: -derivation.score):
            best.setdefault(frozenset(one.arcs.items()), one)
        return [*best.values()][:k]

    found = sorted((one for item in last for one in derivations(item)), key=lambda one: -one.score)
    arcs = [(one.score, [one.arcs[token] for token in range(1, n + 1)]) for one in found]
    return distinct(
        (Tree(score, *np.array(of_tree, np.int32).reshape(-1, 2).T) for score, of_tree in arcs), k
    )


class MergingSearch:
    """Searches with arc-standard.

    Args:
        space: what transitions there are, and what they cost.
        slots: what features read.
        size: of the beam; None: no limit.
    """

    def __init__(self, space: Space, slots: Sequence[Slot], size: int | None) -> None:
        self._space, self._size = space, size
        self._visible = [
            (f"s{depth}" + "".join(f".{side}{rank}" for side, rank in descents), of_relation)
            for depth, positions in enumerate(visible_positions(slots))
            for descents, of_relation in sorted(positions)
        ]

    def steps(self, n: int) -> Iterator[list[Item]]:
        """Yield the items of each step for a sentence of n tokens, best first;
        the items of the last step are whole trees.
        """
        items = [Item(0.0, 0.0, 0, State.initial(n), [])]
        yield items
        for _ in range(2 * n):
            found = [one for item in items for one in self._candidates(item)]
            items = self._merged(
                [made for *_, made in sorted(found, key=lambda candidate: candidate[:-1])]
            )
            yield items

    def _candidates(self, item: Item) -> Iterator[tuple[float, float, int, int, int, Item]]:
        """Yield what an item can become, last, behind what says its place among all candidates."""
        state = item.state
        successors = enumerate(self._space.successors(state))
        for place, (score, after) in sorted(successors, key=lambda successor: -successor[1][0])[
            : self._size
        ]:
            if len(after.stack) > len(state.stack):
                made = Item(
                    item.prefix + score, 0.0, after.stack[-1], after, [Predictor(item, score)]
                )
                yield -made.prefix, -made.inside, item.rank, 0, place, made
                continue
            [reduced] = {*state.stack} - {*after.stack}
            _, relation = after.arcs[reduced]
            own_arcs = {child: arc for child, arc in state.arcs.items() if child >= item.began}
            for predictor in item.predictors:
                below, gain = predictor.item, predictor.shift + item.inside + score
                under, top = below.state.stack[-1], state.stack[-1]
                head, child = (under, top) if reduced == top else (top, under)
                arcs = below.state.arcs | own_arcs | {child: (head, relation)}
                way = Way(item, predictor, score, reduced == top, relation)
                joined = State([*below.state.stack[:-1], head], state.buffer, arcs)
                made = Item(
                    below.prefix + gain,
                    below.inside + gain,
                    below.began,
                    joined,
                    [*below.predictors],
                    [way],
                )
                yield -made.prefix, -made.inside, item.rank, below.rank, place, made

    def _merged(self, candidates: Sequence[Item]) -> list[Item]:
        found: dict[tuple, Item] = {}
        for made in candidates:
            seen = [
                find(made.state, position)[of_relation] for position, of_relation in self._visible
            ]
            signature = made.began, len(made.state.buffer), *seen
            if signature not in found:
                if self._size is None or len(found) < self._size:
                    made.rank = len(found)
                    found[signature] = made
                continue
            same = found[signature]
            same.inside = max(same.inside, made.inside)
            known = {predictor.item for predictor in same.predictors}
            same.predictors += [
                predictor for predictor in made.predictors if predictor.item not in known
            ]
            same.ways += made.ways
        return list(found.values())


def final_items(
    model: TrainedModel, beam: Beam, sentences: Sentences, single_root: bool
) -> list[list[Item]]:
    """For each sentence, the items of the last step, which stand for whole trees; best first."""
    scorer, values = (
        precomputed_scorer(model.frozen().weights, model.table, sentences),
        model.table.values(sentences),
    )
    found = []
    for start, end in pairwise(sentences.offsets.tolist()):
        space = space_of(
            model, values[:, start:end], scorer, single_root, beam.scores is Scores.LOCAL
        )
        *_, last = MergingSearch(space, model.slots, beam.size).steps(end - start - 1)
        found.append(last)
    return found
