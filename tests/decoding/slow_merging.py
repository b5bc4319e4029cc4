"""Items that merge by signature: the readable reference for parser/decoding/beam/signature_beam.py, which says what they are.

Without a limit to the beam the best tree of all is found, in polynomial time if the signature is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from parser.beam_settings import Beam, Scores
from parser.data.sentences import NO_NODE, Sentences
from parser.data.vocabulary import ABSENT, N_RESERVED
from parser.decoding.beam.scores import finite, normalizer
from parser.decoding.beam.signature import merges_by_signature, visible_parts
from parser.decoding.sentence_parser import Tree, distinct
from parser.inference.precomputed import Scorer, precomputed_scorer
from parser.model.model import Model
from parser.transitions.attardi import Attardi, applicable
from parser.transitions.decisions import required_root_relation
from parser.transitions.features import RELATION, FeatureTable, Slot
from tests.decoding.slow_derivations import Backpointer, Item, Node, PredictorState, best_trees, join


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
