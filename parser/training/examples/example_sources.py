"""Where the examples of a pass come from: gold computations, or exploration by the parser itself."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from inspect import signature
from typing import Protocol

import numpy as np
from torch import Tensor

import oracles
from oracles import BoundOracle
from parser.beam_settings import Beam, Merge
from parser.inference.precomputed import Scorer
from parser.model.model import Model
from parser.networks.batch_scorer import ContextualScorer, batch_scorer
from parser.settings import ExampleUse, Settings, SettingsError, TrainingTrees, system_options
from parser.training.checkpoint import restore_weights, trained_weights
from parser.training.examples.choice_examples import Choices
from parser.training.examples.corpus import Corpus
from parser.training.examples.examples import Examples, Target, TrainingSentences, gold_examples
from parser.training.examples.exploration import Exploration, ExplorationReport, Policy, explore, explore_with_beam
from parser.training.examples.teacher import Teacher, teacher_of
from parser.training.observers.observer import ExplorationEnd, Observer
from parser.training.observers.stopwatch import Stopwatch


def oracle_of(settings: Settings) -> oracles.Oracle:
    """The oracle of the second pass.

    Raises:
        ValueError: it does not know the strategy, or has no ties; the message says what it knows.
    """
    ties = {} if settings.ties is None else {"ties": settings.ties}
    if ties and "ties" not in signature(oracles.oracle_class(settings.oracle)).parameters:
        raise SettingsError(
            f"ties={settings.ties} is not known to oracle={settings.oracle}; leave ties= out, or choose "
            "system=arc_standard with oracle=context_rows or nederhof_cubic"
        )
    return oracles.create(settings.oracle, settings.strategy, **system_options(settings), **ties)


class ExampleSource(Protocol):
    """What a pass learns from."""

    @property
    def data(self) -> TrainingSentences:
        """The sentences of the pass."""

    def examples(self, epoch: int) -> Examples:
        """The examples that an epoch of the pass (from 0) learns from."""

    def state(self) -> dict[str, Tensor]:
        """What is needed to make the current examples again, besides the settings: weights of the model."""

    def restore(self, state: dict[str, Tensor], epochs_done: int) -> None:
        """Remakes the examples that were current after this many epochs. Then the model's weights are those of ``state``."""


def _choices(corpus: Corpus, model: Model, data: TrainingSentences) -> Choices | None:
    """The choices in the lattices of the training part, where the model learns to make them."""
    if model.lookahead is None:
        return None
    paths = corpus.lattices["train"].paths
    return Choices(paths, data.sentences, model.vocabularies, model.system, model.table, model.lookahead)


class GoldComputations:
    """The first pass: the configurations of gold computations, the same in every epoch."""

    def __init__(self, corpus: Corpus, model: Model, settings: Settings, stopwatch: Stopwatch) -> None:
        self._corpus = corpus
        self._model = model
        self._settings = settings
        self._stopwatch = stopwatch

    @cached_property
    def data(self) -> TrainingSentences:
        """See ExampleSource."""
        with self._stopwatch("projectivize"):
            return self._corpus.training_sentences(TrainingTrees(self._settings.first_pass.trees))

    @cached_property
    def _examples(self) -> Examples:
        data, system = self.data, self._model.system
        with self._stopwatch("gold_computations"):
            oracle = oracles.create(system.gold_oracle, None, **system_options(self._settings)).bind(data.trees)
            if (choices := _choices(self._corpus, self._model, data)) is None:
                return gold_examples(data, oracle, system, self._model.table)
            choices.begin()
            return choices.joined(gold_examples(data, oracle, system, self._model.table, choices))

    def examples(self, epoch: int) -> Examples:
        """See ExampleSource."""
        return self._examples

    def forget(self) -> None:
        """Lets go of the examples, which take gigabytes in a big treebank; they are made again if they are needed."""
        self.__dict__.pop("_examples", None)

    def state(self) -> dict[str, Tensor]:
        """See ExampleSource; the settings determine all."""
        return {}

    def restore(self, state: dict[str, Tensor], epochs_done: int) -> None:
        """See ExampleSource."""


class ExploredComputations:
    """The second pass: the parser follows its own predictions, and an oracle says which steps are optimal.

    Args:
        corpus: the training part.
        model: whose predictions are followed.
        settings: of the run.
        gold: the first pass's examples, which the others may join.
        pass_name: what observers know the pass by.
        stopwatch: counts the time.
        observer: hears of each exploration.
        teachers: give soft targets to what is explored; if there are none, nobody does.
    """

    def __init__(
        self,
        corpus: Corpus,
        model: Model,
        settings: Settings,
        gold: GoldComputations,
        pass_name: str,
        stopwatch: Stopwatch,
        observer: Observer,
        teachers: Sequence[Model] = (),
    ) -> None:
        self._corpus = corpus
        self._model = model
        self._settings = settings
        self._gold = gold
        self._pass_name = pass_name
        self._stopwatch = stopwatch
        self._observer = observer
        self._teachers = teachers
        self._weights: dict[str, Tensor] = {}
        self._current: Examples | None = None
        self._explored: int | None = None  # before which epoch

    @cached_property
    def data(self) -> TrainingSentences:
        """See ExampleSource."""
        with self._stopwatch("projectivize"):
            return self._corpus.training_sentences(TrainingTrees(str(self._settings.second_pass.trees)))

    @cached_property
    def _oracle(self) -> BoundOracle:
        return oracle_of(self._settings).bind(self.data.trees)

    @cached_property
    def _choices(self) -> Choices | None:
        return _choices(self._corpus, self._model, self.data)

    @cached_property
    def _teacher(self) -> Teacher | None:
        return teacher_of(self._teachers, self._corpus, self._settings) if self._teachers else None

    def examples(self, epoch: int) -> Examples:
        """See ExampleSource; explores first, where ``second_pass.explore_every`` says so."""
        if self._current is None or (self._is_due(epoch) and epoch != self._explored):
            self._current = None  # in a big treebank, examples take gigabytes
            if self._settings.second_pass.examples != ExampleUse.JOIN:
                self._gold.forget()
            self._weights = trained_weights(self._model.classifier)
            examples, report = self._explore(epoch)
            self._observer.on_exploration(ExplorationEnd(self._pass_name, epoch, report, self._stopwatch.last))
            self._current, self._explored = self._joined(examples), epoch
        return self._current

    def state(self) -> dict[str, Tensor]:
        """See ExampleSource; the weights with which the parser explored last."""
        return self._weights

    def restore(self, state: dict[str, Tensor], epochs_done: int) -> None:
        """See ExampleSource."""
        self._weights = state
        restore_weights(self._model.classifier, state)
        examples, _ = self._explore(max(epoch for epoch in range(epochs_done) if self._is_due(epoch)))
        self._current = self._joined(examples)

    def _is_due(self, epoch: int) -> bool:
        every = self._settings.second_pass.explore_every
        return epoch == 0 or (every > 0 and epoch % every == 0)

    def _explore(self, epoch: int) -> tuple[Examples, ExplorationReport]:
        second, model, data = self._settings.second_pass, self._model, self.data
        generator = np.random.default_rng([self._settings.seed, epoch])
        with self._stopwatch(f"{self._pass_name}_exploration"):
            kind = ContextualScorer if model.classifier.tokens.contextual else batch_scorer
            scorer: Scorer = kind(model.weights(), model.table, data.sentences)
            if second.policy == Policy.BEAM:
                size, merge = self._settings.beam.size, self._settings.beam.merge
                assert size is not None, "see beam_check.py"
                assert merge is not None
                beam = Beam(size, Merge(merge)).for_training()
                asked = self._oracle, model.system, model.table, scorer, beam, Target(second.target)
                return explore_with_beam(data, *asked)
            exploration = Exploration(Policy(second.policy), second.follow)
            arguments = self._oracle, model.system, model.table, scorer, Target(second.target), exploration, generator
            if (choices := self._choices) is None:
                return explore(data, *arguments, teach=self._teacher)
            choices.begin()
            examples, report = explore(data, *arguments, choices)
            return choices.joined(examples), report

    def _joined(self, examples: Examples) -> Examples:
        if self._settings.second_pass.examples == ExampleUse.JOIN:
            return Examples.concatenate([self._gold.examples(0), examples])
        return examples
