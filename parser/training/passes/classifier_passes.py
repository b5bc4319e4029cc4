"""The passes that train a classifier, one after the other (Nederhof 2019, Section 8).

GoldPass learns the steps of gold computations. ExplorationPass lets the parser follow its own
predictions, and learns at every configuration the transitions that an oracle calls optimal.
GlobalPass trains for whole computations, which compete in a search. Each gives an Objective of its
own to the Trainer (fitting/trainer.py).
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

import oracles
from oracles import BoundOracle
from parser.inference.layouts import TOKENS
from parser.inference.precomputed import Scorer
from parser.model.trained_model import TrainedModel
from parser.networks.classifier import ContextualScorer, batch_scorer
from parser.settings.groups import Policy
from parser.settings.plan import (
    ExplorationPlan,
    GlobalPlan,
    GoldPlan,
    NetworkPlan,
    OptimizerPlan,
    OraclePlan,
)
from parser.training.examples.augmentation import Augmentation
from parser.training.examples.corpus import Corpus
from parser.training.examples.examples import (
    NO_EXAMPLES,
    Examples,
    TrainingSentences,
    gold_examples,
)
from parser.training.examples.exploration import ExplorationReport, explore
from parser.training.examples.lattices import Choices
from parser.training.fitting.beam_objective import BeamObjective, BeamTraining
from parser.training.fitting.example_objective import (
    ExampleObjective,
    SentenceObjective,
    gradients_and_optimizer,
)
from parser.training.fitting.sentence_batches import (
    BatchEncoder,
    BatchReader,
    WordDropout,
    unknown_rates,
)
from parser.training.fitting.trainer import EpochLoss, Optimizer, TorchOptimizer, Trainer, Tuning
from parser.training.observers import ExplorationEnd, SearchEnd, Update
from parser.training.passes import PlanT, RunContext, Saved, TrainingPass
from parser.training.run_folder import restore_weights, trained_weights

log = logging.getLogger(__name__)


@dataclass
class TrainedClassifier:
    """The classifier that the passes train, and the data that they share.

    Attributes:
        plan: the plan of the network.
        corpus: the training data.
        order: the random generator that draws the order of batches in all passes.
        fresh_model: makes a model with newly initialized weights.
    """

    model: TrainedModel
    plan: NetworkPlan
    corpus: Corpus
    order: torch.Generator
    fresh_model: Callable[[], TrainedModel]
    _tuning: tuple[tuple[str, float], TorchOptimizer] | None = field(default=None, init=False)

    @property
    def device(self) -> torch.device:
        """The device of the classifier."""
        return self.model.classifier.output.weight.device

    def encoder(self, data: TrainingSentences) -> BatchEncoder:
        """Return an encoder of batches of sentences, for a contextual token representation."""
        word_dropout = self.word_dropout(self.corpus.vocabularies.attributes)
        return BatchEncoder(self.model.classifier, data, word_dropout, self.plan.task_weights)

    def word_dropout(
        self, attributes: Sequence[str], device: torch.device | str = "cpu"
    ) -> WordDropout | None:
        """Return word dropout on a device for a matrix whose columns hold values of these
        attributes; None if it is off.
        """
        if self.plan.classifier.word_dropout == 0:
            return None
        counts, nothing = self.corpus.value_counts(), np.zeros(0, np.int64)
        rates = [
            unknown_rates(counts.get(attribute, nothing), self.plan.classifier.word_dropout)
            for attribute in attributes
        ]
        return WordDropout(rates, device)

    @property
    def shares(self) -> Mapping[str, float]:
        """The shares of sentences that epochs change, by name in AUGMENTS; empty: they change none.

        With fixed parts nothing is changed: their vectors are computed once, for the sentences as
        they are.
        """
        shares, fixed = self.plan.augment, any(part.fixed for part in self.model.vocabularies.parts)
        return {} if fixed or not any(shares.values()) else shares

    def optimizer(self, plan: OptimizerPlan) -> TorchOptimizer:
        """Return one of torch's optimizers, for gradients by autograd.

        If a pretrained encoder is tuned, a pass continues with the optimizer of the pass before:
        the first steps of a new one would be based on few gradients, and the learning rate would
        rise again.
        """
        if self._tuning is not None and (plan.name, plan.learning_rate) == self._tuning[0]:
            return self._tuning[1]
        tunings = (part.tuning(self.plan) for part in self.model.vocabularies.parts)
        tuning = None
        if (first := next(filter(None, tunings), None)) is not None:
            tuning = Tuning(
                f"{TOKENS}{first.prefix}", first.learning_rate / plan.learning_rate, first.warmup
            )
        optimizer = TorchOptimizer(self.model.classifier, plan, self.plan.max_grad_norm, tuning)
        self._tuning = None if tuning is None else ((plan.name, plan.learning_rate), optimizer)
        return optimizer

    def weights(self) -> dict[str, Tensor]:
        """Return copies of the trained weights, on the CPU."""
        return trained_weights(self.model.classifier)

    def put_weights(self, weights: Mapping[str, Tensor]) -> None:
        """Put back the weights that weights() returned."""
        restore_weights(self.model.classifier, weights)

    def begin_anew(self) -> None:
        """Reinitialize the weights."""
        self._tuning = None
        self.put_weights(trained_weights(self.fresh_model().classifier))

    def state(self) -> Saved:
        """Return the weights, and the states of all random generators."""
        generators = {"order": self.order.get_state(), "global": torch.get_rng_state()}
        if self.device.type == "cuda":  # this generator draws the dropout on the device
            generators["cuda"] = torch.cuda.get_rng_state(self.device)
        return {"weights": self.weights(), "generators": generators}

    def restore(self, saved: Saved) -> None:
        """Put back the state that state() returned."""
        self.put_weights(saved["weights"])
        self.order.set_state(saved["generators"]["order"])
        torch.set_rng_state(saved["generators"]["global"])
        if "cuda" in saved["generators"]:
            torch.cuda.set_rng_state(saved["generators"]["cuda"], self.device)


class ClassifierPass(TrainingPass[PlanT]):
    """A pass that trains a classifier by the gradients of an Objective.

    ``context`` is shared by all passes of the run.
    """

    _trainer: Trainer
    _objective: ExampleObjective | SentenceObjective | BeamObjective

    def __init__(self, plan: PlanT, classifier: TrainedClassifier, context: RunContext) -> None:
        super().__init__(plan, context)
        self._classifier = classifier
        self._drawn: tuple[int, TrainingSentences] | None = None  # an epoch, and what it reads

    @property
    def model(self) -> TrainedModel:
        """The model whose classifier is trained."""
        return self._classifier.model

    @cached_property
    def data(self) -> TrainingSentences:
        """The sentences of the pass."""
        with self._context.stopwatch("projectivize"):
            return self._context.corpus.training_sentences(
                self._plan.trees, self._classifier.shares
            )

    @cached_property
    def _augmentation(self) -> Augmentation | None:
        """The changes of the sentences in each epoch; None: there are none."""
        if not (shares := self._classifier.shares):
            return None
        corpus = self._context.corpus
        return Augmentation(
            shares,
            self.data,
            corpus.sentences(self._plan.trees),
            corpus.vocabularies,
            [self._context.seed, *self.name.encode()],
        )

    def _data_of(self, epoch: int) -> TrainingSentences:
        """Return the sentences as an epoch reads them."""
        if self._augmentation is None:
            return self.data
        if self._drawn is None or self._drawn[0] != epoch:
            self._drawn = epoch, self._augmentation.of(epoch)
        return self._drawn[1]

    def begin(self) -> None:
        self._trainer = self._new_trainer()

    def restore(self, saved: Saved, epochs_done: int) -> None:
        self._trainer = self._new_trainer()
        self._classifier.restore(saved)
        self._trainer.optimizer.restore(saved.get("optimizer", {}))

    @abstractmethod
    def _new_trainer(self) -> Trainer:
        """Return the Trainer of this pass, and set its objective."""

    def fit_epoch(self, epoch: int) -> EpochLoss:

        def tell(number: int, loss: Tensor | float, examples: int, rate: float) -> None:
            self._context.observers.on_update(
                Update(self.name, epoch, number, loss, examples, rate)
            )

        if self._augmentation is not None:
            assert not isinstance(self._objective, ExampleObjective), (
                "only sentences that an encoder reads are changed"
            )
            self._objective.vary(self._data_of(epoch))
        with self._context.stopwatch(f"{self.name}_fit"):
            return self._trainer.fit_epoch(epoch, self._classifier.order, tell)

    def state(self) -> Saved:
        return self._classifier.state() | {"optimizer": self._trainer.optimizer.state()}

    def weights(self) -> dict[str, Tensor]:
        return self._classifier.weights()

    def put_weights(self, weights: Mapping[str, Tensor]) -> None:
        self._classifier.put_weights(weights)


ExamplePlanT = TypeVar("ExamplePlanT", GoldPlan, ExplorationPlan)


class ExamplePass(ClassifierPass[ExamplePlanT]):
    """A pass that learns from examples; see ClassifierPass."""

    _objective: ExampleObjective | SentenceObjective

    def _new_trainer(self) -> Trainer:
        plan, trained, classifier = self._plan.optimizer, self._classifier, self.model.classifier
        data = self.data
        optimizer: Optimizer
        if classifier.tokens.contextual:
            self._objective = SentenceObjective(classifier, trained.encoder(data), plan.batch_size)
            optimizer = trained.optimizer(plan)
        else:
            gradients, optimizer = gradients_and_optimizer(classifier, plan)
            word_dropout = trained.word_dropout(
                [slot.attribute for slot in self.model.slots], trained.device
            )
            self._objective = ExampleObjective(classifier, gradients, plan.batch_size, word_dropout)
        return Trainer(self._objective, optimizer, plan, self.name)

    @cached_property
    def _choices(self) -> Choices | None:
        """The choices in the lattices of the training part; None if the model learns no choices."""
        model = self.model
        if model.lookahead is None:
            return None
        paths = self._context.corpus.lattices["train"].paths
        return Choices(
            paths,
            self.data.sentences,
            model.vocabularies,
            model.system,
            model.table,
            model.lookahead,
        )


class GoldPass(ExamplePass[GoldPlan]):
    """The first pass: the configurations of gold computations, the same in every epoch.

    If some heads are unknown, many computations keep all known ones. Then, from the second epoch
    on, the classifier chooses among the optimal transitions, with the weights that it has at the
    beginning of the epoch.
    """

    @cached_property
    def examples(self) -> Examples:
        """The examples of gold computations."""
        data, system = self.data, self.model.system
        with self._context.stopwatch("gold_computations"):
            if (choices := self._choices) is None:
                return gold_examples(data, self._oracle, system, self.model.table)
            choices.begin()
            return choices.joined(
                gold_examples(data, self._oracle, system, self.model.table, choices)
            )

    @cached_property
    def _oracle(self) -> BoundOracle:
        system, trees, name = self.model.system, self.data.trees, self.model.system.gold_oracle
        if not (trees.whole.all() or oracles.oracle_class(name).takes_partial_gold):
            name = system.oracles[0]
        return oracles.create(name, None, **system.gold_options).bind(trees)

    def fit_epoch(self, epoch: int) -> EpochLoss:
        self._objective.examples = self._examples_of(epoch)
        return super().fit_epoch(epoch)

    def _examples_of(self, epoch: int) -> Examples:
        if not (epoch == 0 or self.data.trees.whole.all()):
            return self._followed(epoch)
        if self._augmentation is None:
            return self.examples
        with self._context.stopwatch("gold_computations"):
            return gold_examples(
                self._data_of(epoch), self._oracle, self.model.system, self.model.table
            )

    def _followed(self, epoch: int) -> Examples:
        """Return the configurations of the gold computations in which the classifier chooses among
        optimal transitions.
        """
        model, data = self.model, self._data_of(epoch)
        with self._context.stopwatch("gold_computations"):
            generator = np.random.default_rng([self._context.seed, epoch])
            arguments = self._oracle, model.system, model.table, _scorer(model, data)
            return explore(
                data, *arguments, policy=Policy.mixed, probability=0.0, generator=generator
            )[0]


class ExplorationPass(ExamplePass[ExplorationPlan]):
    """The second pass: the parser follows its own predictions,
    and an oracle says which steps are optimal.

    Args:
        plan, classifier, context: see ClassifierPass.
        gold: the first pass, if its examples are learned as well; otherwise None.
    """

    def __init__(
        self,
        plan: ExplorationPlan,
        classifier: TrainedClassifier,
        context: RunContext,
        oracle: OraclePlan,
        gold: GoldPass | None,
    ) -> None:
        super().__init__(plan, classifier, context)
        self._oracle_plan = oracle
        self._gold = gold
        self._explored_with: dict[str, Tensor] = {}  # the weights of the last exploration
        self._explored: int | None = None  # the epoch that explored last

    @cached_property
    def _oracle(self) -> BoundOracle:
        return self._oracle_plan.create().bind(self.data.trees)

    def begin(self) -> None:
        if self._plan.settings.start_from_first_pass:
            super().begin()
        else:
            # explores with the trained weights, before they are replaced
            examples = self._new_examples(0)
            self._classifier.begin_anew()
            super().begin()
            self._objective.examples = examples

    def restore(self, saved: Saved, epochs_done: int) -> None:
        super().restore(saved, epochs_done)
        self._explored_with = saved["explored_with"]
        if epochs_done == self.epochs or self._is_due(epochs_done):
            return  # no epoch learns from these examples
        self._classifier.put_weights(self._explored_with)
        last = max(epoch for epoch in range(epochs_done) if self._is_due(epoch))
        self._objective.examples = self._joined(self._explore(last)[0])
        self._classifier.put_weights(saved["weights"])

    def fit_epoch(self, epoch: int) -> EpochLoss:
        """Explore first, if ``explore_every`` says so; then train for an epoch."""
        if self._is_due(epoch) and epoch != self._explored:
            self._objective.examples = NO_EXAMPLES  # in a big treebank, they take gigabytes
            self._objective.examples = self._new_examples(epoch)
        return super().fit_epoch(epoch)

    def state(self) -> Saved:
        """Return the state that is needed to resume:
        examples are made again with the weights that explored last.
        """
        return super().state() | {"explored_with": self._explored_with}

    def _is_due(self, epoch: int) -> bool:
        every = self._plan.settings.explore_every
        return epoch == 0 or (every > 0 and epoch % every == 0)

    def _new_examples(self, epoch: int) -> Examples:
        """Explore with the current weights; return the examples that the epoch learns from."""
        self._explored_with, self._explored = self._classifier.weights(), epoch
        examples, report = self._explore(epoch)
        seconds = self._context.stopwatch.last
        self._context.observers.on_exploration(ExplorationEnd(self.name, epoch, report, seconds))
        return self._joined(examples)

    def _explore(self, epoch: int) -> tuple[Examples, ExplorationReport]:
        how, model, data = self._plan.settings, self.model, self._data_of(epoch)
        # later epochs, with other sentences, also learn from these examples
        if how.explore_every != 1:
            data = replace(data, active=None)
        log.info(
            "%s: exploring with the current parser, and scoring with the oracle",
            self.name.replace("_", " "),
        )
        generator = np.random.default_rng([self._context.seed, epoch])
        with self._context.stopwatch(f"{self.name}_exploration"):
            scorer = _scorer(model, data)
            policy = how.policy, how.exploration_probability
            arguments = (
                self._oracle,
                model.system,
                model.table,
                scorer,
                how.target,
                *policy,
                generator,
            )
            if (choices := self._choices) is None:
                return explore(data, *arguments)
            choices.begin()
            examples, report = explore(data, *arguments, choices)
            return choices.joined(examples), report

    def _joined(self, examples: Examples) -> Examples:
        return (
            examples
            if self._gold is None
            else Examples.concatenate([self._gold.examples, examples])
        )


def _scorer(model: TrainedModel, data: TrainingSentences) -> Scorer:
    """Return a scorer of the sentences' features, with the current weights."""
    classifier, weights = model.classifier, model.frozen().weights
    if not classifier.tokens.contextual:
        return batch_scorer(weights, model.table, data.sentences)
    on_device = not classifier.output.weight.is_cpu and weights.arcs is None
    scorer = classifier.scorer if on_device else partial(batch_scorer, weights, model.table)
    return ContextualScorer(scorer, model.table, data.sentences)


class GlobalPass(ClassifierPass[GlobalPlan]):
    """The third pass: whole computations compete in a beam; see ClassifierPass."""

    _objective: BeamObjective

    @property
    def expected_examples(self) -> int:
        """Return the number of sentences, which are the examples here."""
        return len(self._context.corpus.train)

    def _new_trainer(self) -> Trainer:
        model, trained, plan, data = self.model, self._classifier, self._plan.optimizer, self.data
        model.beam = self._plan.search  # observers draw trees that are parsed with it
        if (embedded := model.classifier.embedded) is not None:
            # A resumed run has this memory layout; with another one, the last digits of products
            # may differ.
            embedded.weight.data = embedded.weight.data.contiguous()
        reader: BatchEncoder | BatchReader
        if model.classifier.tokens.contextual:
            reader = trained.encoder(data)
        else:
            reader = BatchReader(
                data.sentences, trained.word_dropout(model.vocabularies.attributes)
            )
        training = BeamTraining(
            self._plan.search.without_signatures(), self._plan.training.gold_size
        )
        self._objective = BeamObjective(model, data, reader, plan.batch_size, training)
        return Trainer(self._objective, trained.optimizer(plan), plan, self.name)

    def fit_epoch(self, epoch: int) -> EpochLoss:
        fitted = super().fit_epoch(epoch)
        self._context.observers.on_search(SearchEnd(self.name, epoch, self._objective.report()))
        return fitted
