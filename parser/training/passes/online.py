"""Online training of a linear model: Algorithm 2 of Goldberg, Sartorio and Satta (2014), see linear/perceptron.py.

One sentence comes after the other, in an order drawn anew for each iteration, and each update counts at once. A run has a
pass, ``online``, whose epochs are the iterations; what is measured after each, and kept, is the average of the weights so far.
With global training (beam=global) another pass, ``beam``, goes on from the weights that the first has come to, over whole
computations (beam_perceptron.py), with an average of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from oracles import BoundOracle
from parser.beam_settings import Beam, Search
from parser.linear.model import LinearModel
from parser.linear.perceptron import Perceptron
from parser.linear.templates import FEATS_TEMPLATES, TEMPLATES
from parser.linear.weights import HashedWeights
from parser.settings import Mode, OnlineSettings, TrainingTrees, UpdateStep, system_options, update_of
from parser.training.examples.example_sources import oracle_of
from parser.training.examples.examples import TrainingSentences
from parser.training.examples.exploration import ExplorationReport
from parser.training.fitting.beam_fitter import SearchReport
from parser.training.fitting.beam_perceptron import BeamPerceptron, StructuredTraining
from parser.training.observers.observer import ExplorationEnd, SearchEnd
from parser.training.representation_settings import MODELS
from parser.training.run import Fitted, Pass, Run, Saved
from parser.transitions.optimal import query

PASS = "online"
BEAM_PASS = "beam"


class OnlineRun(Run):
    """A run that trains a linear model."""

    def _begin(self) -> None:
        settings, corpus = self.settings, self.corpus
        assert settings.online is not None, "see settings_check.py"
        self._online: OnlineSettings = settings.online
        templates = [*TEMPLATES, *(FEATS_TEMPLATES if self._online.feats else ())]
        self._model = LinearModel.new(
            corpus.vocabularies, corpus.relations, templates, settings.system, system_options(settings)
        )
        self._perceptron = Perceptron(self._model.system, self._model.templates)
        (trees,) = MODELS[settings.model].trees(settings)
        with self.stopwatch("projectivize"):
            self._data = corpus.training_sentences(TrainingTrees(trees))
        self._oracle = oracle_of(settings).bind(self._data.trees)

    @property
    def model(self) -> LinearModel:
        """See Run."""
        return self._model

    @property
    def passes(self) -> Sequence[Pass]:
        """See Run."""
        training = self.settings.beam.training
        beam = [] if training is None else [Pass(1, BEAM_PASS, training.epochs)]
        return [Pass(0, PASS, self._online.iterations), *beam]

    def _beam_in(self, one: Pass) -> Search | None:
        return self.beam if one.name == BEAM_PASS else None

    def _begin_pass(self, number: int) -> None:
        if number == 1:
            self._model.beam = self.beam  # what observers draw is parsed with it
            if not self.saved:
                self._perceptron.begin_average()
        if self.saved:
            self._perceptron.restore({name: tensor.numpy() for name, tensor in self.saved["perceptron"].items()})
            self._model.weights = self._perceptron.average()

    def _fit(self, number: int, epoch: int) -> Fitted:
        return self._fit_with_beam(epoch) if number == 1 else self._fit_steps(epoch)

    def _fit_steps(self, epoch: int) -> Fitted:
        online, explores = self._online, self._online.mode == Mode.EXPLORE and epoch >= self._online.explore_after
        generator = np.random.default_rng([self.settings.seed, epoch])
        with self.stopwatch(f"{PASS}_fit"):
            wrong, report = iterate(
                self._perceptron,
                self._model,
                self._data,
                self._oracle,
                generator,
                canonical=online.mode == Mode.STATIC,
                follow=online.follow if explores else 0.0,
            )
        seconds = self.stopwatch.last
        self._model.weights = self._perceptron.average()
        if explores:
            self.observers.on_exploration(ExplorationEnd(PASS, epoch, report, seconds))
        return Fitted(wrong / max(1, report.steps), 1.0, report.steps, int(self._data.sentences.lengths.sum()), seconds)

    def _fit_with_beam(self, epoch: int) -> Fitted:
        learner = BeamPerceptron(
            self._perceptron, self._model.system, self._model.templates, self._data, self._oracle, self._structured_training()
        )
        generator = np.random.default_rng([self.settings.seed, 1, 1 + epoch])  # none of the pass before
        with self.stopwatch(f"{BEAM_PASS}_fit"):
            learned = [learner.learn(s) for s in generator.permutation(len(self._data)).tolist()]
        self._model.weights = self._perceptron.average()
        report = SearchReport(
            100 * float(np.mean([one.loss > 0 for one in learned])),
            100 * float(np.mean([one.step for one in learned])),
            100 * float(np.mean([one.lost for one in learned])),
            float(np.mean([one.configurations for one in learned])),
        )
        self.observers.on_search(SearchEnd(BEAM_PASS, epoch, report))
        loss, words = float(np.mean([one.loss for one in learned])), int(self._data.sentences.lengths.sum())
        return Fitted(loss, 1.0, len(learned), words, self.stopwatch.last)

    def _structured_training(self) -> StructuredTraining:
        wanted = self.settings.beam.training
        assert wanted is not None
        assert isinstance(self.beam, Beam), "see beam_check.py"
        update, gold_size = update_of(wanted), wanted.gold_size
        assert update is not None, "see beam_check.py"
        assert gold_size is not None, "see beam_check.py"
        return StructuredTraining(self.beam.for_training(), UpdateStep(update), gold_size)

    def _state(self, number: int) -> Saved:
        return {"perceptron": {name: torch.from_numpy(array) for name, array in self._perceptron.state().items()}}

    def _weights(self) -> dict[str, Tensor]:
        weights = self._model.weights
        arrays = {"keys": weights.keys.view(np.int64)} | {n: getattr(weights, n) for n in ("starts", "outputs", "values")}
        return {name: torch.from_numpy(array).clone() for name, array in arrays.items()}

    def _put_weights(self, weights: Mapping[str, Tensor]) -> None:
        keys, starts, outputs, values = (weights[name].numpy() for name in ("keys", "starts", "outputs", "values"))
        self._model.weights = HashedWeights(keys.view(np.uint64), starts, outputs, values, self._model.system.n_outputs)

    def finish(self) -> dict[str, Any]:
        """The model remembers its beam."""
        self._model.beam = self.beam
        return {}

    def metrics(self) -> dict[str, Any]:
        """What metrics.json holds; there is no column of Table 7."""
        return super().metrics() | {"column": None}


def iterate(
    perceptron: Perceptron,
    model: LinearModel,
    data: TrainingSentences,
    oracle: BoundOracle,
    generator: np.random.Generator,
    *,
    canonical: bool = False,
    follow: float = 1.0,
) -> tuple[int, ExplorationReport]:
    """Goes once over the sentences; how many predictions were wrong, relations included, and what happened.

    Args:
        perceptron: learns, in place.
        model: whose system and templates it has.
        data: the sentences, with the trees that the oracle is bound to.
        oracle: says which moves are optimal.
        generator: draws the order of the sentences, and whether a prediction is followed.
        canonical: only the first optimal move of the eager order counts as optimal.
        follow: the probability that the computation goes on by the prediction.
    """
    system, sentences, trees = model.system, data.sentences, data.trees
    wrong = steps = left_optimum = n_optimal = reached_gold = lost_edges = 0
    for s in generator.permutation(len(data)).tolist():
        start, end = int(trees.offsets[s]), int(trees.offsets[s + 1])
        gold = trees.heads[start:end], data.relations[start:end]
        now = system.initial(trees.lengths[s : s + 1])
        asked = query(np.array([s], np.int32), now)
        goes_on = len(system.unfinished(now))
        while goes_on:
            scores = oracle.score_batch(asked)[0]
            followed = follow == 1 or (follow > 0 and generator.random() < follow)
            step = perceptron.step(now, scores, sentences.values, start, gold, canonical=canonical, follows=followed)
            updated, optimal, highest, score, goes_on = step.counts()
            steps += 1
            wrong += updated
            n_optimal += optimal
            left_optimum += score < highest
            lost_edges += highest // oracle.gold_weight - score // oracle.gold_weight if followed else 0
        reached_gold += bool((now.heads[0, 1 : end - start] == gold[0][1:]).all())
    return wrong, ExplorationReport.of(steps, left_optimum, n_optimal, lost_edges, reached_gold, len(data))
