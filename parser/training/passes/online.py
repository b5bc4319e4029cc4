"""Online training of a linear model: Algorithm 2 of Goldberg, Sartorio and Satta (2014),
see linear/perceptron.py.

Each iteration goes over the sentences in a new random order, and each update counts at once. The
epochs of OnlinePass are iterations; after each, the average of all weights so far is measured and
kept. With global training (beam=global), StructuredPass continues with these weights and learns
from whole computations (beam_perceptron.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from oracles import BoundOracle
from parser.linear.model import LinearModel
from parser.linear.perceptron import Perceptron
from parser.linear.weights import HashedWeights
from parser.settings.groups import Mode, TrainingTrees
from parser.settings.plan import OnlinePlan, OraclePlan, StructuredPlan
from parser.training.examples.examples import TrainingSentences
from parser.training.examples.exploration import ExplorationReport
from parser.training.fitting.beam_objective import BeamTraining, SearchReport
from parser.training.fitting.beam_perceptron import BeamPerceptron
from parser.training.fitting.trainer import EpochLoss
from parser.training.observers import ExplorationEnd, SearchEnd
from parser.training.passes import PlanT, RunContext, Saved, TrainingPass
from parser.transitions.decisions import query


@dataclass
class TrainedLinearModel:
    """The linear model that the passes train, and the data that they share.

    Attributes:
        model: the model, which parses with the average of the perceptron's weights so far.
        perceptron: the weights and their sums.
        trees: the kind of trees that it learns from.
        oracle_plan: an oracle that is exact for these trees.
        context: shared by all passes of the run.
    """

    model: LinearModel
    perceptron: Perceptron
    trees: TrainingTrees
    oracle_plan: OraclePlan
    context: RunContext

    @cached_property
    def data(self) -> TrainingSentences:
        """The sentences."""
        with self.context.stopwatch("projectivize"):
            return self.context.corpus.training_sentences(self.trees)

    @cached_property
    def oracle(self) -> BoundOracle:
        """The oracle, bound to the trees of ``data``."""
        return self.oracle_plan.create().bind(self.data.trees)


class LinearPass(TrainingPass[PlanT]):
    """A pass that trains a linear model.

    ``context`` is shared by all passes of the run.
    """

    def __init__(self, plan: PlanT, trained: TrainedLinearModel, context: RunContext) -> None:
        super().__init__(plan, context)
        self._trained = trained

    def restore(self, saved: Saved, epochs_done: int) -> None:
        perceptron = self._trained.perceptron
        perceptron.restore({name: tensor.numpy() for name, tensor in saved["perceptron"].items()})
        self._trained.model.weights = perceptron.average()

    def state(self) -> Saved:
        return {
            "perceptron": {
                name: torch.from_numpy(array)
                for name, array in self._trained.perceptron.state().items()
            }
        }

    def weights(self) -> dict[str, Tensor]:
        weights = self._trained.model.weights
        arrays = {"keys": weights.keys.view(np.int64)} | {
            n: getattr(weights, n) for n in ("starts", "outputs", "values")
        }
        return {name: torch.from_numpy(array).clone() for name, array in arrays.items()}

    def put_weights(self, weights: Mapping[str, Tensor]) -> None:
        keys, starts, outputs, values = (
            weights[name].numpy() for name in ("keys", "starts", "outputs", "values")
        )
        model = self._trained.model
        model.weights = HashedWeights(
            keys.view(np.uint64), starts, outputs, values, model.system.n_outputs
        )

    @property
    def data(self) -> TrainingSentences:
        """The sentences."""
        return self._trained.data


class OnlinePass(LinearPass[OnlinePlan]):
    """A pass that learns at every step of computations; see LinearPass."""

    def begin(self) -> None:
        """Do nothing: the perceptron is new."""

    def fit_epoch(self, epoch: int) -> EpochLoss:
        online, trained = self._plan.settings, self._trained
        explores = online.mode is Mode.explore and epoch >= online.explore_after
        learned = trained.perceptron, trained.model, trained.data, trained.oracle
        generator = np.random.default_rng([self._context.seed, epoch])
        probability = online.exploration_probability if explores else 0.0
        with self._context.stopwatch(f"{self.name}_fit"):
            wrong, report = iterate(
                *learned, generator, canonical=online.mode is Mode.static, probability=probability
            )
        trained.model.weights = trained.perceptron.average()
        if explores:
            seconds = self._context.stopwatch.last
            self._context.observers.on_exploration(
                ExplorationEnd(self.name, epoch, report, seconds)
            )
        return EpochLoss(wrong / max(1, report.steps), report.steps, 1.0)


class StructuredPass(LinearPass[StructuredPlan]):
    """A pass that learns from whole computations, which compete in a beam. It averages only its own
    weights. See LinearPass.
    """

    def begin(self) -> None:
        # observers that draw trees parse them with this beam
        self._trained.model.beam = self._plan.search
        self._trained.perceptron.begin_average()

    def restore(self, saved: Saved, epochs_done: int) -> None:
        self._trained.model.beam = self._plan.search
        super().restore(saved, epochs_done)

    def fit_epoch(self, epoch: int) -> EpochLoss:
        trained, model = self._trained, self._trained.model
        search, how = self._plan.search.without_signatures(), self._plan.training
        training = BeamTraining(search, how.gold_size, how.update)
        learner = BeamPerceptron(
            trained.perceptron,
            model.system,
            model.templates,
            trained.data,
            trained.oracle,
            training,
        )
        # different from OnlinePass's
        generator = np.random.default_rng([self._context.seed, 1, 1 + epoch])
        with self._context.stopwatch(f"{self.name}_fit"):
            learned = np.array(
                [learner.learn(s) for s in generator.permutation(len(trained.data)).tolist()]
            )
        model.weights = trained.perceptron.average()
        loss, step, lost, configurations = learned.mean(axis=0).tolist()
        report = SearchReport(
            100 * float((learned[:, 0] > 0).mean()), 100 * step, 100 * lost, configurations
        )
        self._context.observers.on_search(SearchEnd(self.name, epoch, report))
        return EpochLoss(loss, len(learned), 1.0)


def iterate(
    perceptron: Perceptron,
    model: LinearModel,
    data: TrainingSentences,
    oracle: BoundOracle,
    generator: np.random.Generator,
    *,
    canonical: bool = False,
    probability: float = 1.0,
) -> tuple[int, ExplorationReport]:
    """Go over the sentences once; return the number of wrong predictions (relations included),
    and statistics.

    Args:
        perceptron: the perceptron, changed in place.
        model: the model with the transition system.
        data: the sentences, with the trees that the oracle is bound to.
        oracle: says which transitions are optimal.
        generator: draws the order of the sentences, and whether exploration follows a prediction.
        canonical: whether only the first optimal transition in the eager order counts as optimal.
        probability: the probability of following a prediction even if it is not optimal.
    """
    system, sentences, trees = model.system, data.sentences, data.trees
    wrong = steps = left_optimum = n_optimal = reached_gold = lost_edges = 0
    for s in generator.permutation(len(data)).tolist():
        start, end = int(trees.offsets[s]), int(trees.offsets[s + 1])
        gold = trees.heads[start:end], data.relations[start:end]
        now = system.initial(trees.lengths[s : s + 1])
        queries = query(np.array([s], np.int32), now)
        goes_on = len(system.unfinished(now))
        while goes_on:
            scores = oracle.score_batch(queries)[0]
            explores = probability == 1 or (probability > 0 and generator.random() < probability)
            updated, optimal, highest, score, goes_on = perceptron.step(
                now, scores, sentences.values, start, gold, canonical=canonical, follows=explores
            )
            steps += 1
            wrong += updated
            n_optimal += optimal
            left_optimum += score < highest
            lost_edges += (
                highest // oracle.gold_weight - score // oracle.gold_weight if explores else 0
            )
        reached_gold += bool((now.heads[0, 1 : end - start] == gold[0][1:]).all())
    return wrong, ExplorationReport.of(
        steps=steps,
        left_optimum=left_optimum,
        optimal_steps=n_optimal,
        lost_edges=lost_edges,
        reached_gold=reached_gold,
        sentences=len(data),
    )
