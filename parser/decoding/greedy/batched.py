"""Greedy parsing of many sentences in step: the best applicable transition of every sentence,
step after step.

It works for any transition system and any model, including linear ones. The compiled loops give the
same results faster: compiled.py for arc-standard and Attardi's system, spine.py for LR-spine,
buffer_arcs.py for arc-hybrid and arc-eager.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from parser import batch_sizes
from parser.data.sentences import NO_NODE, Parses, Sentences
from parser.decoding.sentence_parser import parse_spans
from parser.inference.precomputed import Scorer, precomputed_scorer
from parser.inference.weights import ClassifierWeights
from parser.linear.model import LinearModel
from parser.transitions.configurations import Configurations
from parser.transitions.decisions import best, log_probabilities
from parser.transitions.features import Features, FeatureTable
from parser.transitions.system import Transitions, TransitionSystem


@dataclass(frozen=True)
class Allowed:
    """The allowed transitions of m configurations.

    Attributes:
        columns: bool[m, width], at least one per configuration.
        relations: int32[m, width], the relation that the arc must have; NO_NODE: any. None: any
            relation for all transitions.
    """

    columns: np.ndarray
    relations: np.ndarray | None

    def permits(self, row: int, column: int, relation: int) -> bool:
        """Return whether a configuration may take a transition with a relation."""
        return bool(self.columns[row, column]) and (
            self.relations is None or self.relations[row, column] in (NO_NODE, relation)
        )

    def applied(
        self, system: TransitionSystem, transitions: Transitions, scores: np.ndarray
    ) -> tuple[Transitions, np.ndarray]:
        """Return the transitions without the forbidden ones, and scores in which forbidden
        relations are minus infinity.
        """
        allowed = transitions.restricted(self.columns)
        if self.relations is None:
            return allowed, scores
        labelled = self.columns & (self.relations != NO_NODE)
        if labelled.any():
            starts = system.block_starts[transitions.blocks[labelled]]
            relations = self.relations[labelled]
            at = allowed.rows[labelled][:, None], starts[:, None] + np.arange(system.n_relations)
            own = np.arange(system.n_relations) == relations[:, None]
            masked = np.where(own, scores[at], -np.inf)
            scores = scores.copy()
            scores[at] = masked
        return allowed, scores


Restriction = Callable[[Configurations, np.ndarray, np.ndarray, Transitions], Allowed]
"""Returns the allowed transitions. Its arguments: all configurations, the rows of m of them
(int[m]), the numbers of their sentences (int[m]), and their transitions.
"""


@dataclass
class StepProbabilities:
    """Log probabilities (natural logarithms) of a parser's steps,
    by a softmax over the applicable transitions.

    Attributes:
        arcs: float64[total], of the step that gave a word its head,
            in the layout of ``Sentences``; roots: 0.
        trees: float64[sentences], of all steps of a sentence together.
    """

    arcs: np.ndarray
    trees: np.ndarray

    @classmethod
    def allocate(cls, sentences: Sentences) -> StepProbabilities:
        """Return zeros for these sentences: no step has been taken."""
        return cls(np.zeros(int(sentences.offsets[-1])), np.zeros(len(sentences)))

    def span(self, sentences: Sentences, first: int, last: int) -> StepProbabilities:
        """Return a view of sentences ``first`` to ``last - 1``."""
        return StepProbabilities(
            self.arcs[sentences.offsets[first] : sentences.offsets[last]], self.trees[first:last]
        )


def parse_batched(
    sentences: Sentences,
    system: TransitionSystem,
    features: Features,
    scorer: Scorer,
    *,
    single_root: bool = True,
    probabilities: StepProbabilities | None = None,
    restriction: Restriction | None = None,
) -> Parses:
    """Parse sentences greedily.

    Args:
        sentences: encoded sentences.
        system: the transition system.
        features: extracts the features of configurations.
        scorer: computes the scores of the outputs from features.
        single_root: make valid UD trees: exactly one child of the root,
            and only this child has the root relation.
        probabilities: newly allocated, to be filled in; None: not wanted.
        restriction: returns the allowed transitions; None: all are.
    """
    parses = Parses.allocate(sentences.offsets)
    order = np.argsort(sentences.lengths, kind="stable")
    for start in range(0, len(order), batch_sizes.SENTENCES_PER_BATCH):
        numbers = order[start : start + batch_sizes.SENTENCES_PER_BATCH]
        now = system.initial(sentences.lengths[numbers])
        while len(rows := system.unfinished(now)):
            transitions = system.transitions(now, rows, single_root)
            scores = scorer(features.extract(now, rows, sentences, numbers, transitions))
            allowed = transitions, scores
            if restriction is not None:
                allowed = restriction(now, rows, numbers[rows], transitions).applied(
                    system, *allowed
                )
            columns, relations_of_arcs = best(system, allowed[1], allowed[0], single_root)
            if probabilities is not None:
                step_logs = log_probabilities(
                    system, scores, transitions, columns, relations_of_arcs, single_root
                )
                probabilities.trees[numbers[rows]] += step_logs
                children = transitions.children[np.arange(len(rows)), columns]
                made = children != NO_NODE
                probabilities.arcs[sentences.offsets[numbers[rows[made]]] + children[made]] = (
                    step_logs[made]
                )
            system.apply(now, rows, transitions, columns, relations_of_arcs)
        tokens = np.arange(now.heads.shape[1])
        inside = (tokens >= 1) & (tokens <= now.lengths[:, None])
        places = (sentences.offsets[numbers][:, None] + tokens)[inside]
        parses.heads[places] = now.heads[inside]
        parses.relations[places] = now.relations[inside]
    return parses


class BatchedParser:
    """Parses greedily with the weights of a classifier, for any transition system;
    see SentenceParser.

    Args:
        weights: the weights.
        system: the transition system.
        table: the features.
    """

    def __init__(
        self, weights: ClassifierWeights, system: TransitionSystem, table: FeatureTable
    ) -> None:
        self._weights = weights
        self._system = system
        self._table = table

    def parse(
        self,
        sentences: Sentences,
        *,
        single_root: bool = True,
        probabilities: StepProbabilities | None = None,
        restriction_of: Callable[[int, int], Restriction] | None = None,
    ) -> Parses:
        """Parse sentences greedily.

        Args:
            sentences, single_root, probabilities: see parse_batched().
            restriction_of: returns the ``Restriction`` for sentences ``first`` to ``last - 1``,
                its two arguments.
        """
        parses = Parses.allocate(sentences.offsets)
        for first, last in sentences.spans(
            batch_sizes.TOKENS_PER_SPAN if self._weights.contextual else len(parses.heads)
        ):
            part, trees = sentences.span(first, last), parses.span(first, last)
            scorer = precomputed_scorer(self._weights, self._table, part)
            logs = None if probabilities is None else probabilities.span(sentences, first, last)
            restriction = None if restriction_of is None else restriction_of(first, last)
            found = parse_batched(
                part,
                self._system,
                self._table,
                scorer,
                single_root=single_root,
                probabilities=logs,
                restriction=restriction,
            )
            trees.heads[:], trees.relations[:] = found.heads, found.relations
        return parses


class LinearParser:
    """Parses greedily with a linear model; see SentenceParser.

    Args:
        model: the model.
        threads: how many spans of sentences are parsed at the same time.
    """

    def __init__(self, model: LinearModel, threads: int = 1) -> None:
        self._model = model
        self._threads = threads

    def parse(self, sentences: Sentences, *, single_root: bool = True) -> Parses:
        """Parse sentences greedily; see parse_batched()."""
        model = self._model

        def parse(part: Sentences, parses: Parses) -> None:
            found = parse_batched(
                part, model.system, model.templates, model.weights.scores, single_root=single_root
            )
            parses.heads[:], parses.relations[:] = found.heads, found.relations

        return parse_spans(sentences, batch_sizes.TOKENS_PER_SPAN, self._threads, parse)
