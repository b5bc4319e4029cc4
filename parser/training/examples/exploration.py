"""Exploration: the parser parses training sentences by its own predictions;
an oracle says which transitions are optimal.

This is the second pass of Nederhof (2019), Section 8. Large batches of sentences keep the
classifier and the oracle fast.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from oracles import BoundOracle
from parser.data.sentences import NO_NODE
from parser.inference.precomputed import Scorer
from parser.networks.classifier import ContextualScorer
from parser.settings.groups import Policy, Target
from parser.training.examples.examples import (
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


@dataclass(frozen=True)
class ExplorationReport:
    """Statistics of an exploration.

    Attributes:
        steps: how many transitions were taken.
        left_optimum_percent: the share of configurations in which the parser's own prediction was
            not optimal.
        mean_optimal_steps: the mean number of optimal transitions of a configuration.
        reached_gold_percent: the share of sentences in which every word got its gold head;
            relations do not count.
        lost_edges: how many gold arcs the transitions lost.
    """

    steps: int
    left_optimum_percent: float
    mean_optimal_steps: float
    reached_gold_percent: float
    lost_edges: int

    @classmethod
    def of(
        cls,
        *,
        steps: int,
        left_optimum: int,
        optimal_steps: int,
        lost_edges: int,
        reached_gold: int,
        sentences: int,
    ) -> ExplorationReport:
        """Return the report for sums over all configurations and sentences."""
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
    policy: Policy = Policy.prediction,
    probability: float = 1.0,
    generator: np.random.Generator | None = None,
    on_step: OnStep | None = None,
) -> tuple[Examples, ExplorationReport]:
    """Parse the sentences by the predictions of the classifier;
    the oracle says what is optimal at every step.

    Args:
        data: sentences with the trees that the oracle is bound to.
        oracle: says which transitions are optimal.
        scorer: scores transitions, as the classifier does.
        target: which of several optimal outputs becomes the target of an example.
        policy: which transitions are taken.
        probability: the probability of the predicted transition,
            where the policy mixes predicted and optimal ones.
        generator: random numbers, for policies that need them.
        on_step: called for each step.

    Returns:
        An example for each configuration met, and statistics.
    """
    gathered = GatheredExamples()
    steps = left_optimum = optimal_steps = lost_edges = reached_gold = 0
    for batch in batched_computations(data, system):
        if isinstance(scorer, ContextualScorer):
            scorer.begin(batch.numbers)
        for rows in batch:
            oracle_scores = batch.score(oracle, rows)
            optimal, edges = optimal_transitions(oracle_scores), oracle_scores // oracle.gold_weight
            transitions = system.transitions(batch.now, rows)
            features = table.extract(batch.now, rows, data.sentences, batch.numbers, transitions)
            scores = scorer(features)
            outputs = correct_outputs(system, optimal, transitions, batch.gold_relations, rows)
            right = batch.right_outputs(outputs, rows, transitions, edges)
            whole = data.trees.whole[batch.numbers[rows]]
            targets = target_columns(system, outputs, transitions, scores, target, whole)
            gathered.append(
                new_examples(system, features, transitions, right, targets, batch.numbers[rows])
            )
            predicted = best(system, scores, transitions)
            columns, relations = _explored(
                system, transitions, scores, outputs, predicted, policy, probability, generator
            )
            each = np.arange(len(rows))
            steps += len(rows)
            left_optimum += int((~optimal[each, predicted[0]]).sum())
            optimal_steps += int(optimal.sum())
            lost_edges += int((edges.max(axis=1) - edges[each, columns]).sum())
            system.apply(batch.now, rows, transitions, columns, relations)
            if on_step is not None:
                on_step(batch, rows, columns)
        reached_gold += int(batch.has_gold().sum())
    return gathered.all(), ExplorationReport.of(
        steps=steps,
        left_optimum=left_optimum,
        optimal_steps=optimal_steps,
        lost_edges=lost_edges,
        reached_gold=reached_gold,
        sentences=data.n_active,
    )


def _explored(
    system: TransitionSystem,
    transitions: Transitions,
    scores: np.ndarray,
    outputs: np.ndarray,
    predicted: tuple[np.ndarray, np.ndarray],
    policy: Policy,
    probability: float,
    generator: np.random.Generator | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return columns and relations, int32[m], of the transitions to take; ``predicted`` has the
    parser's own.
    """
    if policy is Policy.prediction:
        return predicted
    assert generator is not None
    if policy is Policy.sample:
        # The highest of scores with Gumbel noise is a draw from their softmax.
        return best(
            system, scores + generator.gumbel(size=scores.shape).astype(np.float32), transitions
        )
    outputs = with_best_labels(system, outputs, transitions, scores)
    optimal = best_correct_columns(outputs, transitions, scores)
    at = np.arange(len(outputs)), optimal
    gold = np.where(
        transitions.children[at] == NO_NODE,
        NO_NODE,
        outputs[at] - system.block_starts[transitions.blocks[at]],
    )
    predicts = generator.random(len(outputs)) < probability
    columns, relations = np.where(predicts, predicted, (optimal, gold))
    return columns.astype(np.int32), relations.astype(np.int32)
