"""Fitting a classifier to whole computations: batches of sentences, each searched with the weights of the moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from parser.classifier.classifier import Classifier
from parser.classifier.dropout import dropout_mask
from parser.data.vocabulary import Sentences
from parser.model import Model
from parser.settings import OptimizerSettings
from parser.training.beam_updates import BeamTraining, BeamUpdates, GoldTrees, Searched
from parser.training.examples import TrainingSentences
from parser.training.fitter import OnUpdate, Span, learning_rates, unobserved
from parser.training.updates import TorchOptimizer
from parser.training.word_dropout import WordDropout
from parser.transitions.attardi import Attardi
from parser.transitions.system import behaves_as


@dataclass(frozen=True)
class SearchReport:
    """How the searches of an epoch went.

    Attributes:
        updated_percent: share of the sentences whose loss asked for a change of the weights.
        step_percent: how far into the sentence the step was that was learned from, mean.
        lost_percent: share of the sentences where the beam lost all gold items on the way.
        configurations: those whose scores were asked to change, mean of a sentence.
    """

    updated_percent: float
    step_percent: float
    lost_percent: float
    configurations: float


class BeamFitter:
    """Fits the classifier of a model, in place, over the epochs of a pass with one optimizer.

    Dropout is of hidden units and of words (values taken for unknown ones), drawn once for a sentence, so that the search and
    the gradient see the same classifier; that of slots and of inputs has no place here.

    Args:
        model: whose classifier is fitted: with a static token representation, for arc-standard.
        data: the sentences, with any gold trees.
        training: how to search, and what to learn from a search.
        settings: optimizer, learning rate and its schedule; a batch has ``batch_size`` sentences.
        span: the epochs that the schedule spans.
        word_dropout: of the sentences' attributes; None for none.
    """

    def __init__(
        self,
        model: Model,
        data: TrainingSentences,
        training: BeamTraining,
        settings: OptimizerSettings,
        span: Span,
        word_dropout: WordDropout | None = None,
    ) -> None:
        assert behaves_as(model.system, Attardi), "see beam_check.py"
        self._system = model.system
        self._table = model.table
        self._classifier: Classifier = model.classifier
        self._sentences = data.sentences
        self._training = training
        self._trees = GoldTrees(data)
        self._settings = settings
        self._span = span
        self._word_dropout = word_dropout
        self._optimizer = TorchOptimizer([p for p in self._classifier.parameters() if p.requires_grad], settings)

    def fit_epoch(self, epoch: int, generator: torch.Generator, on_update: OnUpdate = unobserved) -> tuple[float, SearchReport]:
        """Goes once over the sentences in random order; the mean loss of a sentence, in nats, and how the searches went.

        Args:
            epoch: number of the epoch in the pass, from 0.
            generator: draws the order.
            on_update: told of each update; its examples are sentences.
        """
        batches = torch.randperm(len(self._sentences), generator=generator).split(self._settings.batch_size)
        rates = learning_rates(self._settings, self._span, epoch, len(batches))
        total, report = 0.0, _Sums()
        for numbers, rate in zip(batches, rates, strict=True):
            searched, kept = self.search(numbers.numpy())
            if len(searched.rows):
                self._classifier.zero_grad()
                self.surrogate(searched, kept).backward()
                self._optimizer.step(rate)
            report.add(searched)
            total += (loss := float(searched.losses.sum()))
            on_update(loss / len(numbers), len(numbers), rate)
        return total / len(self._sentences), report.report()

    def search(self, numbers: np.ndarray, dropping: bool = True) -> tuple[Searched, Tensor | None]:
        """Searches through some of the sentences (int[m]).

        Args:
            numbers: which of them.
            dropping: whether dropout is in force.

        Returns:
            What was found, and float32[m, units], the dropout masks of the hidden units; None if none is dropped.
        """
        classifier, places = self._classifier, self._sentences.places(numbers)
        lengths = np.diff(self._sentences.offsets)[numbers]
        values = torch.from_numpy(self._sentences.values[:, places].T.copy())
        kept = None
        if dropping:
            if self._word_dropout is not None:
                values = self._word_dropout(values)
            kept = dropout_mask(torch.empty(len(numbers), len(classifier.hidden_bias)), classifier.dropout)
        sentences = Sentences(np.ascontiguousarray(values.numpy().T), np.concatenate([[0], np.cumsum(lengths)]))
        updates = BeamUpdates(classifier.weights(), self._system, self._table, self._training, self._trees)
        return updates.search(sentences, numbers, None if kept is None else kept.numpy()), kept

    def surrogate(self, searched: Searched, kept: Tensor | None) -> Tensor:
        """A sum of scores that has the gradient of the mean loss of the sentences searched.

        Args:
            searched: what search() found with the weights as they are now.
            kept: the masks of search().
        """
        classifier = self._classifier
        features = torch.from_numpy(searched.features).to(torch.int64)
        matrices, vectors = classifier.tokens.fixed_vectors(), {}
        for name, columns in classifier.embedded_columns.items():
            # Contributions are computed of the values that occur alone.
            used, numbers = features[:, columns].unique(return_inverse=True)
            vectors[name] = matrices[name][used]
            features[:, columns] = numbers
        hidden = classifier.activation.apply(classifier.hidden_by_contributions(features, vectors))
        if kept is not None:
            hidden = hidden * kept[torch.from_numpy(searched.sentences)]
        scores = classifier.output(hidden)
        chosen = scores[torch.from_numpy(searched.rows), torch.from_numpy(searched.outputs)]
        return (chosen * torch.from_numpy(searched.slopes)).sum() / len(searched.losses)

    def state(self) -> dict[str, Tensor]:
        """What the next epoch depends on besides weights and random generators: named tensors on the CPU."""
        return self._optimizer.state()

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Puts back what state() of such a fitter gave."""
        self._optimizer.restore(tensors)


class _Sums:
    """Adds up what a SearchReport says."""

    def __init__(self) -> None:
        self._sentences = self._updated = self._lost = self._configurations = 0
        self._steps = 0.0

    def add(self, searched: Searched) -> None:
        """Those of a batch."""
        self._sentences += len(searched.losses)
        self._updated += len(np.unique(searched.sentences))
        self._lost += int(searched.lost.sum())
        self._configurations += len(searched.features)
        self._steps += float(searched.steps.sum())

    def report(self) -> SearchReport:
        """The means."""
        n = max(1, self._sentences)
        return SearchReport(100 * self._updated / n, 100 * self._steps / n, 100 * self._lost / n, self._configurations / n)
