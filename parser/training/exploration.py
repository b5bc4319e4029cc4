"""Exploration: the parser follows its own classifier over training sentences, and an oracle says which moves are optimal.

This is the second pass of Nederhof (2019), Section 8. All sentences advance in lockstep, so that classifier and oracle always
see a large batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from oracles import BoundOracle
from parser.classifier.batch_scorer import ContextualScorer
from parser.classifier.scorer import Scorer
from parser.data.parses import NO_NODE
from parser.training.examples import (
    Batch,
    Examples,
    OnStep,
    Target,
    TrainingSentences,
    batches,
    new_examples,
    target_columns,
)
from parser.training.soft_targets import SoftTargets
from parser.transitions.decisions import best, right
from parser.transitions.features import FeatureTable
from parser.transitions.optimal import best_right_columns, optimal_moves
from parser.transitions.system import Moves, TransitionSystem


class Policy(StrEnum):
    """Which moves exploration takes.

    * PREDICTION: the one that the classifier scores highest (Nederhof 2019, Section 8).
    * MIXED: that one with a certain probability, otherwise the best optimal one (Goldberg and Nivre 2012, Algorithm 3).
    * SAMPLE: one drawn from the classifier's distribution over the applicable outputs.
    """

    PREDICTION = "prediction"
    MIXED = "mixed"
    SAMPLE = "sample"


Teach = Callable[[Batch, np.ndarray, Moves, np.ndarray], SoftTargets]
"""From a batch, its rows that are at a step (int[m]), their moves and the right outputs (int32[m, width]) to soft targets."""


@dataclass(frozen=True)
class Exploration:
    """How to explore: the policy, and for MIXED the probability to ``follow`` the prediction."""

    policy: Policy = Policy.PREDICTION
    follow: float = 1.0


@dataclass(frozen=True)
class ExplorationReport:
    """What happened while exploring.

    Attributes:
        steps: moves taken.
        left_optimum_percent: share of the configurations where the parser's own prediction was not optimal.
        mean_optimal_steps: mean number of optimal moves of a configuration.
        reached_gold_percent: share of the sentences whose tree came out gold (heads; relations not counted).
        lost_edges: gold arcs lost by the moves, summed losses.
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
    target: Target = Target.OWN_BEST,
    exploration: Exploration = Exploration(),
    generator: np.random.Generator | None = None,
    on_step: OnStep | None = None,
    teach: Teach | None = None,
) -> tuple[Examples, ExplorationReport]:
    """Follows the classifier over the sentences, and asks the oracle on the way.

    Args:
        data: sentences with the trees that the oracle is bound to.
        oracle: says which moves are optimal.
        system: the transition system.
        table: the features.
        scorer: the classifier.
        target: which of several optimal outputs becomes the target of an example.
        exploration: which moves are taken.
        generator: draws them where the policy leaves it to chance; needed only then.
        on_step: told of each step.
        teach: gives the examples soft targets.

    Returns:
        An example for each configuration met, and what happened.
    """
    parts = []
    steps = left_optimum = n_optimal = reached_gold = lost_edges = 0
    for batch in batches(data, system):
        if isinstance(scorer, ContextualScorer):
            scorer.begin(batch.numbers)
        for rows in batch:
            move_scores = batch.score(oracle, rows)
            optimal = optimal_moves(move_scores)
            moves = system.moves(batch.now, rows)
            features = table.extract(batch.now, rows, data.sentences, batch.numbers, moves)
            scores = scorer(features)
            outputs = right(system, optimal, moves, batch.gold_relations, rows)
            taught = target_columns(system, outputs, moves, scores, target)
            examples = new_examples(system, features, moves, outputs, taught, batch.numbers[rows])
            parts.append(examples if teach is None else replace(examples, soft=teach(batch, rows, moves, outputs)))

            predicted = best(system, scores, moves)
            columns, relations = _taken(system, batch, rows, moves, outputs, scores, predicted, exploration, generator)
            at = np.arange(len(rows))
            steps += len(rows)
            left_optimum += int((~optimal[at, predicted[0]]).sum())
            n_optimal += int(optimal.sum())
            edges = move_scores // oracle.gold_weight
            lost_edges += int((edges.max(axis=1) - edges[at, columns]).sum())
            system.apply(batch.now, rows, moves, columns, relations)
            if on_step is not None:
                on_step(batch, rows, columns)
        reached_gold += int((batch.now.heads == batch.gold_heads).all(axis=1).sum())
    report = ExplorationReport.of(steps, left_optimum, n_optimal, lost_edges, reached_gold, len(data))
    return Examples.concatenate(parts), report


def _taken(
    system: TransitionSystem,
    batch: Batch,
    rows: np.ndarray,
    moves: Moves,
    outputs: np.ndarray,
    scores: np.ndarray,
    predicted: tuple[np.ndarray, np.ndarray],
    exploration: Exploration,
    generator: np.random.Generator | None,
) -> tuple[np.ndarray, np.ndarray]:
    """The columns and relations, int32[m], of the moves that the policy takes."""
    if exploration.policy is Policy.PREDICTION:
        return predicted
    assert generator is not None
    if exploration.policy is Policy.SAMPLE:
        # The highest of scores with Gumbel noise is a draw from their softmax.
        return best(system, scores + generator.gumbel(size=scores.shape).astype(np.float32), moves)
    guided = best_right_columns(outputs, moves, scores)
    children = moves.children[np.arange(len(rows)), guided]
    gold = np.where(children == NO_NODE, NO_NODE, batch.gold_relations[rows, children])
    follow = generator.random(len(rows)) < exploration.follow
    columns, relations = np.where(follow, predicted, (guided, gold))
    return columns.astype(np.int32), relations.astype(np.int32)
