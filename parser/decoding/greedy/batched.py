"""Greedy parsing of many sentences side by side: the best applicable transition of every sentence, step after step.

Any transition system and any model can be parsed with this way, linear ones too. compiled.py gives the same result sooner for
arc-standard and Attardi's system, spine.py for LR-spine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from parser.data.sentences import NO_NODE, Parses, Sentences
from parser.decoding import batch_sizes
from parser.decoding.sentence_parser import parse_spans
from parser.inference.precomputed import Scorer, precomputed_scorer
from parser.inference.weights import ClassifierWeights
from parser.linear.model import LinearModel
from parser.transitions.configurations import Configurations
from parser.transitions.decisions import best, log_probabilities
from parser.transitions.features import Features, FeatureTable
from parser.transitions.system import Transitions, TransitionSystem

# What chooses a transition for each of some configurations, as best() does: from the configurations, which of them (int[m]),
# the numbers of their sentences (int[m]), the transitions and the scores, columns and relations, int32[m].
Choice = Callable[[Configurations, np.ndarray, np.ndarray, Transitions, np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass
class StepProbabilities:
    """The probabilities of a parser's steps, each by a softmax over the transitions that it could choose from.

    Attributes:
        arcs: float64[total], natural logarithms, in the layout of ``Sentences``: the step that gave a word its head; roots: 0.
        trees: float64[sentences], natural logarithms: all steps of a sentence together.
    """

    arcs: np.ndarray
    trees: np.ndarray

    @classmethod
    def allocate(cls, sentences: Sentences) -> StepProbabilities:
        """For these sentences, none of whose steps has been taken."""
        return cls(np.zeros(int(sentences.offsets[-1])), np.zeros(len(sentences)))

    def span(self, sentences: Sentences, first: int, last: int) -> StepProbabilities:
        """Those of the sentences from number ``first`` to before ``last``, not copied."""
        return StepProbabilities(self.arcs[sentences.offsets[first] : sentences.offsets[last]], self.trees[first:last])


def parse_batched(
    sentences: Sentences,
    system: TransitionSystem,
    features: Features,
    scorer: Scorer,
    *,
    single_root: bool = True,
    probabilities: StepProbabilities | None = None,
    choice: Choice | None = None,
) -> Parses:
    """Parses sentences greedily.

    Args:
        sentences: encoded sentences.
        system: the transition system.
        features: what reads the features.
        scorer: the scores of the outputs, from features.
        single_root: make valid UD trees with exactly one child of the root, which alone bears the root relation.
        probabilities: filled in, if given, where no step has been taken.
        choice: what chooses the transitions; None: only the scores do.
    """
    parses = Parses.allocate(sentences.offsets)
    order = np.argsort(sentences.lengths, kind="stable")
    for start in range(0, len(order), batch_sizes.SENTENCES_PER_BATCH):
        numbers = order[start : start + batch_sizes.SENTENCES_PER_BATCH]
        now = system.initial(sentences.lengths[numbers])
        while len(rows := system.unfinished(now)):
            transitions = system.transitions(now, rows, single_root)
            scores = scorer(features.extract(now, rows, sentences, numbers, transitions))
            if choice is None:
                columns, relations_of_arcs = best(system, scores, transitions, single_root)
            else:
                columns, relations_of_arcs = choice(now, rows, numbers[rows], transitions, scores)
            if probabilities is not None:
                of_steps = log_probabilities(system, scores, transitions, columns, relations_of_arcs, single_root)
                probabilities.trees[numbers[rows]] += of_steps
                children = transitions.children[np.arange(len(rows)), columns]
                made = children != NO_NODE
                probabilities.arcs[sentences.offsets[numbers[rows[made]]] + children[made]] = of_steps[made]
            system.apply(now, rows, transitions, columns, relations_of_arcs)
        tokens = np.arange(now.heads.shape[1])
        inside = (tokens >= 1) & (tokens <= now.lengths[:, None])
        places = (sentences.offsets[numbers][:, None] + tokens)[inside]
        parses.heads[places] = now.heads[inside]
        parses.relations[places] = now.relations[inside]
    return parses


class BatchedParser:
    """Parses with the weights of a classifier, for any transition system; see SentenceParser.

    Args:
        weights: the weights.
        system: the transition system.
        table: the features.
    """

    def __init__(self, weights: ClassifierWeights, system: TransitionSystem, table: FeatureTable) -> None:
        self._weights = weights
        self._system = system
        self._table = table

    def parse(
        self,
        sentences: Sentences,
        *,
        single_root: bool = True,
        probabilities: StepProbabilities | None = None,
        choice_of: Callable[[int, int], Choice] | None = None,
    ) -> Parses:
        """Parses sentences greedily; see parse_batched.

        Args:
            sentences, single_root, probabilities: as there.
            choice_of: what chooses the transitions in the sentences from the first number to before the second.
        """
        parses = Parses.allocate(sentences.offsets)
        for first, last in sentences.spans(batch_sizes.TOKENS_PER_SPAN if self._weights.contextual else len(parses.heads)):
            part, trees = sentences.span(first, last), parses.span(first, last)
            scorer = precomputed_scorer(self._weights, self._table, part)
            of_part = None if probabilities is None else probabilities.span(sentences, first, last)
            choice = None if choice_of is None else choice_of(first, last)
            found = parse_batched(
                part, self._system, self._table, scorer, single_root=single_root, probabilities=of_part, choice=choice
            )
            trees.heads[:], trees.relations[:] = found.heads, found.relations
        return parses


class LinearParser:
    """Parses with a linear model; see SentenceParser.

    Args:
        model: the model.
        threads: how many shares of the sentences are parsed side by side.
    """

    def __init__(self, model: LinearModel, threads: int = 1) -> None:
        self._model = model
        self._threads = threads

    def parse(self, sentences: Sentences, *, single_root: bool = True) -> Parses:
        """Parses sentences greedily; see parse_batched."""
        model = self._model

        def parse(part: Sentences, parses: Parses) -> None:
            found = parse_batched(part, model.system, model.templates, model.weights.scores, single_root=single_root)
            parses.heads[:], parses.relations[:] = found.heads, found.relations

        return parse_spans(sentences, batch_sizes.TOKENS_PER_SPAN, self._threads, parse)
