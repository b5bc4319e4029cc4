"""Beam search over copies of configurations, for any transition system and any model:
the readable reference.

All items of all sentences are scored together; then items are selected for each sentence
separately. compiled.py gives the same results faster for arc-standard and Attardi's system.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from parser import batch_sizes
from parser.beam_settings import Beam, Merge
from parser.data.sentences import NO_NODE, Parses, Sentences
from parser.decoding.beam.scores import finite, normalizer
from parser.decoding.greedy.batched import Allowed, Restriction
from parser.decoding.sentence_parser import Tree, distinct, write_trees
from parser.inference.precomputed import Scorer, precomputed_scorer
from parser.inference.weights import ClassifierWeights
from parser.transitions.configurations import Configurations
from parser.transitions.decisions import required_root_relation
from parser.transitions.features import Features, FeatureTable
from parser.transitions.system import Transitions, TransitionSystem


@dataclass
class BatchedItems:
    """The items of all sentences.

    Attributes:
        now: their configurations.
        numbers: int64[items], the sentence of each item;
            the items of a sentence are neighbours, the best first.
        totals: float64[items], their scores.
    """

    now: Configurations
    numbers: np.ndarray
    totals: np.ndarray

    def take(self, rows: np.ndarray) -> BatchedItems:
        """Return copies of some items."""
        return BatchedItems(
            Configurations(*(array[rows] for array in self.now)),
            self.numbers[rows],
            self.totals[rows],
        )


def search_batched(
    sentences: Sentences,
    system: TransitionSystem,
    table: Features,
    scorer: Scorer,
    beam: Beam,
    *,
    single_root: bool = True,
    restriction: Restriction | None = None,
) -> BatchedItems:
    """Search, and return the final items of all sentences.

    For ``single_root`` and ``restriction`` see parse_batched().
    """
    numbers = np.arange(len(sentences))
    items = BatchedItems(system.initial(sentences.lengths), numbers, np.zeros(len(sentences)))
    while len(rows := system.unfinished(items.now)):
        transitions = system.transitions(items.now, rows, single_root)
        scores = scorer(table.extract(items.now, rows, sentences, items.numbers, transitions))
        allowed = (
            None
            if restriction is None
            else restriction(items.now, rows, items.numbers[rows], transitions)
        )
        items = advance_items(
            items, rows, system, transitions, scores, beam, single_root=single_root, allowed=allowed
        ).items
    return items


@dataclass
class NextItems:
    """The items after a step.

    Attributes:
        parents: int64[items], the item that each was made from.
        columns: int32[items], the transition that made it; NO_NODE:
            the item was final and is unchanged.
    """

    items: BatchedItems
    parents: np.ndarray
    columns: np.ndarray


def advance_items(
    items: BatchedItems,
    rows: np.ndarray,
    system: TransitionSystem,
    transitions: Transitions,
    scores: np.ndarray,
    beam: Beam,
    *,
    single_root: bool,
    allowed: Allowed | None = None,
) -> NextItems:
    """Return the items after one more transition; final items stay unchanged.

    Args:
        items: the items before the step.
        rows: int64[m], the items that are not final.
        transitions: the transitions of these m items.
        scores: float32[feature rows, outputs], their scores.
        single_root: see parse_batched().
        allowed: the allowed transitions; None: all.
            Forbidden ones still count in the normalization of local scores.
    """
    parents, columns, relations, totals = [], [], [], []
    ranks = {row: rank for rank, row in enumerate(rows.tolist())}
    candidates: dict[int, list[tuple[float, int, int, int]]] = {}
    for item, number in enumerate(items.numbers.tolist()):
        rivals = candidates.setdefault(number, [])
        if item not in ranks:
            rivals.append((float(items.totals[item]), item, NO_NODE, NO_NODE))
            continue
        about_item = items.totals[item], ranks[item]
        best = _best_transitions(
            *about_item, system, transitions, scores, beam, single_root, allowed
        )
        rivals += [(float(total), item, column, relation) for total, column, relation in best]
    for rivals in candidates.values():
        # The sort is stable: among equal scores, the better item comes first,
        # then the classifier's better output.
        rivals.sort(key=lambda candidate: -candidate[0])
        for total, item, column, relation in (
            rivals if beam.merge is not Merge.NONE else rivals[: beam.size]
        ):
            parents.append(item)
            columns.append(column)
            relations.append(relation)
            totals.append(total)
    new_items = items.take(np.array(parents))
    new_items.totals = np.array(totals)
    taken = np.array(columns, np.int32)
    advancing = np.flatnonzero(taken != NO_NODE)
    parent_ranks = np.array([ranks[parents[row]] for row in advancing])
    system.apply(
        new_items.now,
        advancing,
        _taken(transitions, parent_ranks),
        taken[advancing],
        np.array(relations, np.int32)[advancing],
    )
    kept = (
        np.arange(len(parents))
        if beam.merge is Merge.NONE
        else _distinct_rows(new_items, beam.size)
    )
    return NextItems(new_items.take(kept), np.array(parents)[kept], taken[kept])


def _best_transitions(
    total: float,
    row: int,
    system: TransitionSystem,
    transitions: Transitions,
    scores: np.ndarray,
    beam: Beam,
    single_root: bool,
    allowed: Allowed | None,
) -> list[tuple[float, int, int]]:
    """Return the best columns and relations of one configuration,
    with the scores of the items that they make.
    """
    root_relation = required_root_relation(system, single_root)
    pairs: list[tuple[int, int]] = []
    outputs: list[float] = []
    for column, feature_row in enumerate(transitions.rows[row].tolist()):
        if feature_row == NO_NODE:
            continue
        block, head = transitions.blocks[row, column], transitions.heads[row, column]
        block_scores = scores[feature_row, system.block_starts[block] :]
        for relation in range(system.block_sizes[block]):
            if (
                head == NO_NODE
                or root_relation == NO_NODE
                or (head == 0) == (relation == root_relation)
            ):
                pairs.append((column, relation))
                outputs.append(block_scores[relation])
    finite_scores = finite(np.array(outputs, np.float32))
    norm = normalizer(finite_scores, beam.scores)
    order = np.argsort(-finite_scores, kind="stable")
    if allowed is not None:
        is_allowed = [allowed.permits(row, column, relation) for column, relation in pairs]
        order = order[np.array(is_allowed)[order]]
    order = order[: beam.size]
    return [((total - norm) + finite_scores[i], *pairs[i]) for i in order.tolist()]


def _taken(transitions: Transitions, rows: np.ndarray) -> Transitions:
    """Return the fields that apply() reads of the transitions of some configurations."""
    return Transitions(
        transitions.rows[rows],
        transitions.blocks[rows],
        transitions.heads[rows],
        transitions.children[rows],
    )


def _distinct_rows(items: BatchedItems, size: int) -> np.ndarray:
    """Return int64[m], for each sentence the first ``size`` items whose configurations differ from
    all before them.
    """
    kept, seen = [], set()
    counts: dict[int, int] = {}
    now = items.now
    for row, number in enumerate(items.numbers.tolist()):
        stack = now.stacks[row, : now.stack_sizes[row]].tobytes()
        buffer = now.buffers[row, now.buffer_fronts[row] : now.lengths[row] + 1].tobytes()
        key = number, stack, buffer, now.heads[row].tobytes(), now.relations[row].tobytes()
        if key not in seen and counts.get(number, 0) < size:
            seen.add(key)
            counts[number] = counts.get(number, 0) + 1
            kept.append(row)
    return np.array(kept)


class BatchedBeamParser:
    """Searches with a beam for any transition system and any scorer; see KBestParser.

    Args:
        scorer_of: makes the ``Scorer`` for some sentences.
    """

    def __init__(
        self,
        system: TransitionSystem,
        table: Features,
        scorer_of: Callable[[Sentences], Scorer],
        beam: Beam,
    ) -> None:
        self._system = system
        self._table = table
        self._scorer_of = scorer_of
        self._beam = beam

    @classmethod
    def with_weights(
        cls, weights: ClassifierWeights, system: TransitionSystem, table: FeatureTable, beam: Beam
    ) -> BatchedBeamParser:
        """Return a parser with the weights of a classifier."""
        return cls(system, table, partial(precomputed_scorer, weights, table), beam)

    def parse(
        self,
        sentences: Sentences,
        *,
        single_root: bool = True,
        restriction_of: Callable[[int, int], Restriction] | None = None,
    ) -> Parses:
        """Parse sentences; see SentenceParser, and BatchedParser.parse() for ``restriction_of``."""
        parses = Parses.allocate(sentences.offsets)
        trees = self.k_best(sentences, 1, single_root=single_root, restriction_of=restriction_of)
        write_trees((best for best, *_ in trees), parses)
        return parses

    def k_best(
        self,
        sentences: Sentences,
        k: int,
        *,
        single_root: bool = True,
        restriction_of: Callable[[int, int], Restriction] | None = None,
    ) -> list[list[Tree]]:
        """Return the k best trees of each sentence; k is at most the size of the beam."""
        self._beam.check_k_best(k)
        best_trees: list[list[Tree]] = []
        for first, last in sentences.spans(batch_sizes.TOKENS_PER_SEARCH):
            part = sentences.span(first, last)
            scorer = self._scorer_of(part)
            restriction = None if restriction_of is None else restriction_of(first, last)
            items = search_batched(
                part,
                self._system,
                self._table,
                scorer,
                self._beam,
                single_root=single_root,
                restriction=restriction,
            )
            trees: list[list[Tree]] = [[] for _ in range(len(part))]
            for row, (number, total) in enumerate(
                zip(items.numbers.tolist(), items.totals.tolist(), strict=True)
            ):
                inside = slice(1, items.now.lengths[row] + 1)
                trees[number].append(
                    Tree(total, items.now.heads[row, inside], items.now.relations[row, inside])
                )
            best_trees += [distinct(sentence_trees, k) for sentence_trees in trees]
        return best_trees
