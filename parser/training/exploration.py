"""Computations over training sentences, and the examples that are met on the way.

``gold_examples`` follows a static oracle over (projective) gold trees: the first pass of Nederhof (2019), Section 8.
``explore`` follows the classifier's own predictions and asks an oracle at each configuration which steps are optimal: the
second pass. All sentences advance in lockstep, so that classifier and oracle always see a large batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from oracles import NOT_APPLICABLE, BoundOracle, Trees
from parser.classifier.scorer import Scorer
from parser.data.vocabulary import Sentences
from parser.transitions.arc_standard import NO_NODE, ArcStandard, Configurations
from parser.transitions.features import FeatureTable

# Sentences that advance together; bounds the memory of a walk, and is far above what fills a matrix product.
_LOCKSTEP = 4096


class Target(StrEnum):
    """What an example teaches where several steps are optimal.

    * OWN_BEST: the optimal action that the classifier scores highest (Nederhof 2019 leaves the choice open).
    * FIXED_ORDER: the first optimal step in the order reduce_right, reduce_left, shift: attach as soon as possible.
    * MARGINAL: the whole set; the loss is minus the logarithm of the total probability of the optimal actions.
    """

    OWN_BEST = "own_best"
    FIXED_ORDER = "fixed_order"
    MARGINAL = "marginal"


class Policy(StrEnum):
    """Which actions a walk takes.

    * PREDICTION: the one that the classifier scores highest (Nederhof 2019, Section 8).
    * MIXED: that one with a certain probability, otherwise the best optimal one (Goldberg and Nivre 2012, Algorithm 3).
    * SAMPLE: one drawn from the classifier's distribution over the applicable actions.
    """

    PREDICTION = "prediction"
    MIXED = "mixed"
    SAMPLE = "sample"


@dataclass(frozen=True)
class Walk:
    """How to walk: the policy, and for MIXED the probability to ``follow`` the prediction."""

    policy: Policy = Policy.PREDICTION
    follow: float = 1.0


@dataclass(frozen=True)
class TrainingSentences:
    """Encoded sentences with the trees to learn.

    Attributes:
        sentences: the attributes of the tokens.
        trees: the trees, sentence by sentence the same ones.
        relations: int32[total], gold relations at the places of ``trees.heads``.
    """

    sentences: Sentences
    trees: Trees
    relations: np.ndarray

    def __len__(self) -> int:
        return len(self.trees)


@dataclass(frozen=True)
class Examples:
    """What the classifier learns from.

    Attributes:
        features: int32[examples, slots].
        targets: int32[examples, targets]: the right actions; NO_NODE fills up rows that have fewer.
        sentences: int32[examples], the number of the sentence that each is from.
    """

    features: np.ndarray
    targets: np.ndarray
    sentences: np.ndarray

    def __len__(self) -> int:
        return len(self.features)

    def join(self, other: Examples) -> Examples:
        """These examples and the others, of the same sentences."""
        width = max(self.targets.shape[1], other.targets.shape[1])
        padded = [
            np.pad(targets, ((0, 0), (0, width - targets.shape[1])), constant_values=NO_NODE)
            for targets in (self.targets, other.targets)
        ]
        features = np.concatenate([self.features, other.features])
        return Examples(features, np.concatenate(padded), np.concatenate([self.sentences, other.sentences]))


@dataclass(frozen=True)
class ExplorationReport:
    """What happened on a walk.

    Attributes:
        steps: steps taken.
        left_optimum_percent: share of the steps where the parser's own prediction was not optimal.
        mean_optimal_steps: mean number of optimal steps of a configuration.
        reached_gold_percent: share of the sentences whose tree came out gold (heads; relations not counted).
        lost_edges: gold edges lost by the steps, summed losses.
    """

    steps: int
    left_optimum_percent: float
    mean_optimal_steps: float
    reached_gold_percent: float
    lost_edges: int


def gold_examples(data: TrainingSentences, oracle: BoundOracle, system: ArcStandard, table: FeatureTable) -> Examples:
    """The configurations of the gold computations and their actions; ``oracle`` is static and bound to ``data.trees``."""
    features, targets, sentences = [], [], []
    for batch in _lockstep(data):
        for rows in batch:
            optimal = _optimal_steps(batch.score(oracle, rows))
            actions = _first_in_fixed_order(system.optimal_actions(optimal, batch.configurations, rows, batch.gold_relations))
            features.append(table.extract(batch.configurations, rows, data.sentences, batch.numbers))
            targets.append(actions)
            sentences.append(batch.numbers[rows])
            system.apply(batch.configurations, rows, actions)
    return Examples(np.concatenate(features), np.concatenate(targets)[:, None], np.concatenate(sentences))


def explore(
    data: TrainingSentences,
    oracle: BoundOracle,
    system: ArcStandard,
    table: FeatureTable,
    scorer: Scorer,
    target: Target = Target.OWN_BEST,
    walk: Walk = Walk(),
    generator: np.random.Generator | None = None,
) -> tuple[Examples, ExplorationReport]:
    """Follows the classifier over the sentences, and asks the oracle on the way.

    Args:
        data: sentences with the trees that the oracle is bound to.
        oracle: says which steps are optimal.
        system: the transition system.
        table: the features.
        scorer: the classifier.
        target: which of several optimal actions becomes the target of an example.
        walk: which actions are taken.
        generator: draws them where the policy leaves it to chance; needed only then.

    Returns:
        An example for each configuration met, and what happened.
    """
    features, targets, sentences = [], [], []
    steps = left_optimum = optimal_steps = reached_gold = lost_edges = 0
    for batch in _lockstep(data):
        for rows in batch:
            step_scores = batch.score(oracle, rows)
            optimal = _optimal_steps(step_scores)
            values = table.extract(batch.configurations, rows, data.sentences, batch.numbers)
            scores = scorer(values)
            right = system.optimal_actions(optimal, batch.configurations, rows, batch.gold_relations)
            features.append(values)
            targets.append(_choose(right, scores, target))
            sentences.append(batch.numbers[rows])

            own = system.best_actions(scores, batch.configurations, rows)
            if walk.policy is Policy.SAMPLE:
                assert generator is not None
                # The highest of scores with Gumbel noise is a draw from their softmax.
                taken = system.best_actions(
                    scores + generator.gumbel(size=scores.shape).astype(np.float32), batch.configurations, rows
                )
            elif walk.policy is Policy.MIXED:
                assert generator is not None
                guided = _choose(right, scores, Target.OWN_BEST)[:, 0]
                taken = np.where(generator.random(len(rows)) < walk.follow, own, guided)
            else:
                taken = own
            at = np.arange(len(rows))
            steps += len(rows)
            left_optimum += int((~optimal[at, system.action_steps[own]]).sum())
            optimal_steps += int(optimal.sum())
            lost_edges += int((step_scores.max(axis=1) - step_scores[at, system.action_steps[taken]]).sum())
            system.apply(batch.configurations, rows, taken)
        reached_gold += int((batch.configurations.heads == batch.gold_heads).all(axis=1).sum())
    report = ExplorationReport(
        steps=steps,
        left_optimum_percent=100.0 * left_optimum / max(1, steps),
        mean_optimal_steps=optimal_steps / max(1, steps),
        reached_gold_percent=100.0 * reached_gold / max(1, len(data)),
        lost_edges=lost_edges,
    )
    return Examples(np.concatenate(features), np.concatenate(targets), np.concatenate(sentences)), report


class _Batch:
    """Some of the sentences, advancing together. Iterating yields the rows that are not final, until none is left."""

    def __init__(self, data: TrainingSentences, numbers: np.ndarray) -> None:
        self.numbers = numbers.astype(np.int32)
        self.configurations = Configurations.initial(data.trees.lengths[numbers])
        self.gold_heads = _by_row(data.trees.heads, data.trees.offsets, numbers)
        self.gold_relations = _by_row(data.relations, data.trees.offsets, numbers)

    def __iter__(self) -> Iterator[np.ndarray]:
        while len(rows := self.configurations.unfinished()):
            yield rows

    def score(self, oracle: BoundOracle, rows: np.ndarray) -> np.ndarray:
        """int16[m, steps]: the oracle's scores of the steps in the given rows."""
        now = self.configurations
        return oracle.score_batch(self.numbers[rows], now.stacks[rows], now.stack_sizes[rows], now.buffer_fronts[rows])


def _lockstep(data: TrainingSentences) -> Iterator[_Batch]:
    """All sentences in batches of like lengths, the order within a length kept."""
    order = np.argsort(data.trees.lengths, kind="stable")
    for start in range(0, len(order), _LOCKSTEP):
        yield _Batch(data, order[start : start + _LOCKSTEP])


def _by_row(flat: np.ndarray, offsets: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """int32[batch, width]: the flat entries of each sentence as a row, NO_NODE behind its end; the root's is NO_NODE."""
    lengths = (offsets[numbers + 1] - offsets[numbers]).astype(np.int64)
    columns = np.arange(lengths.max(initial=1))
    inside = columns < lengths[:, None]
    places = np.where(inside, offsets[numbers][:, None] + columns, 0)
    rows = np.where(inside, flat[places], NO_NODE).astype(np.int32)
    rows[:, 0] = NO_NODE
    return rows


def _optimal_steps(scores: np.ndarray) -> np.ndarray:
    """bool[m, steps]: the steps with the highest score of their configuration."""
    return (scores == scores.max(axis=1, keepdims=True)) & (scores != NOT_APPLICABLE)


def _first_in_fixed_order(actions: np.ndarray) -> np.ndarray:
    """int32[m]: of each row of actions by step, the one of the step with the highest number: reductions before shift."""
    last = actions.shape[1] - 1 - (actions[:, ::-1] != NO_NODE).argmax(axis=1)
    return actions[np.arange(len(actions)), last]


def _choose(actions: np.ndarray, scores: np.ndarray, target: Target) -> np.ndarray:
    """int32[m, 1 or steps]: the targets among the optimal actions (int32[m, steps], NO_NODE = not optimal)."""
    if target is Target.MARGINAL:
        return actions
    if target is Target.FIXED_ORDER:
        return _first_in_fixed_order(actions)[:, None]
    own = np.where(actions == NO_NODE, -np.inf, np.take_along_axis(scores, np.maximum(actions, 0), axis=1))
    return np.take_along_axis(actions, own.argmax(axis=1)[:, None], axis=1)
