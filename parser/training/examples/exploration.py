"""Exploration: the parser goes through training sentences by its own predictions, and an oracle says which transitions are
optimal.

This is the second pass of Nederhof (2019), Section 8. Sentences are parsed in batches, so that classifier and oracle always
see a large batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from oracles import BoundOracle
from parser.data.sentences import NO_NODE
from parser.inference.precomputed import Scorer
from parser.networks.classifier import ContextualScorer
from parser.settings.choices import Policy, Target
from parser.training.examples.examples import (
    BatchedComputations,
    Examples,
    GatheredExamples,
    OnStep,
    TrainingSentences,
    batched_computations,
    new_examples,
    target_columns,
)
from parser.transitions.decisions import (
    best,
    best_correct_columns,
    correct_outputs,
    optimal_transitions,
    with_best_labels,
)
from parser.transitions.features import FeatureTable
from parser.transitions.system import Transitions, TransitionSystem

SoftTargetSource = Callable[[BatchedComputations, np.ndarray, Transitions], np.ndarray]
"""From a batch, its rows that are at a step (int[m]) and their transitions to soft targets, float32[m, outputs]."""


@dataclass(frozen=True)
class Exploration:
    """How to explore: the policy, and for MIXED the probability of the prediction."""

    policy: Policy = Policy.prediction
    probability: float = 1.0


@dataclass(frozen=True)
class ExplorationReport:
    """What happened while exploring.

    Attributes:
        steps: transitions taken.
        left_optimum_percent: share of the configurations where the parser's own prediction was not optimal.
        mean_optimal_steps: mean number of optimal transitions of a configuration.
        reached_gold_percent: share of the sentences whose tree came out gold (heads; relations not counted).
        lost_edges: gold arcs lost by the transitions, summed losses.
    """

    steps: int
    left_optimum_percent: float
    mean_optimal_steps: float
    reached_gold_percent: float
    lost_edges: int

    @classmethod
    def of(
        cls, steps: int, left_optimum: int, optimal_steps: int, lost_edges: int, reached_gold: int, sentences: int
    ) -> ExplorationReport:
        """From sums over all configurations and sentences."""
        return cls(
            steps=steps,
            left_optimum_percent=100.0 * left_optimum / max(1, steps),
            mean_optimal_steps=optimal_steps / max(1, steps),
            reached_gold_percent=100.0 * reached_gold / max(1, sentences),
            lost_edges=lost_edges,
        )


def explore(
    data: TrainingSentences,
    oracle: BoundOracle,
    system: TransitionSystem,
    table: FeatureTable,
    scorer: Scorer,
    target: Target = Target.own_best,
    exploration: Exploration = Exploration(),
    generator: np.random.Generator | None = None,
    on_step: OnStep | None = None,
    soft_targets: SoftTargetSource | None = None,
) -> tuple[Examples, ExplorationReport]:
    """Goes through the sentences by the predictions of the classifier; the oracle says what is optimal at every step.

    Args:
        data: sentences with the trees that the oracle is bound to.
        oracle: says which transitions are optimal.
        system: the transition system.
        table: the features.
        scorer: the classifier.
        target: which of several optimal outputs becomes the target of an example.
        exploration: which transitions are taken.
        generator: draws them where the policy leaves it to chance; needed only then.
        on_step: called for each step.
        soft_targets: gives the examples soft targets.

    Returns:
        An example for each configuration met, and what happened.
    """
    collector = _ExampleCollector(data, oracle, system, table, scorer, target, soft_targets)
    for batch in batched_computations(data, system):
        collector.begin(batch)
        for rows in batch:
            scored = collector.collect(batch, rows)
            columns, relations = _explored_transitions(system, batch, rows, scored, exploration, generator)
            collector.lost_edges += int(scored.losses[np.arange(len(rows)), columns].sum())
            system.apply(batch.now, rows, scored.transitions, columns, relations)
            if on_step is not None:
                on_step(batch, rows, columns)
        collector.reached_gold += int(batch.has_gold().sum())
    return collector.examples.all(), collector.report()


@dataclass(frozen=True)
class _ScoredConfigurations:
    """What is known of m configurations.

    Attributes:
        transitions: their transitions.
        scores: float32[feature rows, outputs], of the classifier.
        outputs: int32[m, width], the right outputs of the optimal transitions, the best where the relation is not known; see
            correct_outputs().
        predicted: the columns and relations of the transitions that the classifier would take.
        losses: int[m, width], the gold arcs that each transition loses.
    """

    transitions: Transitions
    scores: np.ndarray
    outputs: np.ndarray
    predicted: tuple[np.ndarray, np.ndarray]
    losses: np.ndarray


class _ExampleCollector:
    """Scores configurations by the classifier and by the oracle, and keeps examples and counts; see explore()."""

    def __init__(
        self,
        data: TrainingSentences,
        oracle: BoundOracle,
        system: TransitionSystem,
        table: FeatureTable,
        scorer: Scorer,
        target: Target,
        soft_targets: SoftTargetSource | None = None,
    ) -> None:
        self._data = data
        self._oracle = oracle
        self._system = system
        self._table = table
        self._scorer = scorer
        self._target = target
        self._soft_targets = soft_targets
        self.examples = GatheredExamples()
        self.lost_edges = self.reached_gold = 0
        self._steps = self._left_optimum = self._optimal_steps = 0

    def begin(self, batch: BatchedComputations) -> None:
        """Makes ready for the configurations of a batch, which is at its start."""
        if isinstance(self._scorer, ContextualScorer):
            self._scorer.begin(batch.numbers)

    def collect(self, batch: BatchedComputations, rows: np.ndarray) -> _ScoredConfigurations:
        """Makes examples of the configurations in some rows (int[m])."""
        system = self._system
        transition_scores = batch.score(self._oracle, rows)
        optimal = optimal_transitions(transition_scores)
        transitions = system.transitions(batch.now, rows)
        features = self._table.extract(batch.now, rows, self._data.sentences, batch.numbers, transitions)
        scores = self._scorer(features)
        outputs = correct_outputs(system, optimal, transitions, batch.gold_relations, rows)
        whole = self._data.trees.whole[batch.numbers[rows]]
        edges = transition_scores // self._oracle.gold_weight
        right = batch.taught(outputs, rows, transitions, edges)
        taught = target_columns(system, outputs, transitions, scores, self._target, whole)
        examples = new_examples(system, features, transitions, right, taught, batch.numbers[rows])
        soft = None if self._soft_targets is None else self._soft_targets(batch, rows, transitions)
        self.examples.append(replace(examples, soft=soft))
        outputs = with_best_labels(system, outputs, transitions, scores)
        predicted = best(system, scores, transitions)
        self._steps += len(rows)
        self._left_optimum += int((~optimal[np.arange(len(rows)), predicted[0]]).sum())
        self._optimal_steps += int(optimal.sum())
        return _ScoredConfigurations(transitions, scores, outputs, predicted, edges.max(axis=1, keepdims=True) - edges)

    def report(self) -> ExplorationReport:
        """What happened."""
        return ExplorationReport.of(
            self._steps, self._left_optimum, self._optimal_steps, self.lost_edges, self.reached_gold, len(self._data)
        )


def _explored_transitions(
    system: TransitionSystem,
    batch: BatchedComputations,
    rows: np.ndarray,
    scored: _ScoredConfigurations,
    exploration: Exploration,
    generator: np.random.Generator | None,
) -> tuple[np.ndarray, np.ndarray]:
    """The columns and relations, int32[m], of the transitions by which exploration goes on."""
    transitions, scores = scored.transitions, scored.scores
    if exploration.policy is Policy.prediction:
        return scored.predicted
    assert generator is not None
    if exploration.policy is Policy.sample:
        # The highest of scores with Gumbel noise is a draw from their softmax.
        return best(system, scores + generator.gumbel(size=scores.shape).astype(np.float32), transitions)
    optimal = best_correct_columns(scored.outputs, transitions, scores)
    at = np.arange(len(rows)), optimal
    gold = np.where(
        transitions.children[at] == NO_NODE, NO_NODE, scored.outputs[at] - system.block_starts[transitions.blocks[at]]
    )
    predicts = generator.random(len(rows)) < exploration.probability
    columns, relations = np.where(predicts, scored.predicted, (optimal, gold))
    return columns.astype(np.int32), relations.astype(np.int32)
