"""Fitting a classifier to whole computations: batches of sentences, each searched with the weights of the moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from parser.model.model import Model
from parser.networks.classifier import Classifier
from parser.networks.layers import dropout_mask
from parser.settings import OptimizerSettings
from parser.training.examples.examples import TrainingSentences
from parser.training.fitting.beam_reading import EncoderReading, ReadBatch, Reading, StaticReading
from parser.training.fitting.beam_updates import BeamTraining, BeamUpdates, GoldTrees, SearchResults
from parser.training.fitting.fitter import OnUpdate, Span, learning_rates, unobserved
from parser.training.fitting.sentence_encoding import TaskWeights
from parser.training.fitting.updates import TorchOptimizer
from parser.training.fitting.word_dropout import WordDropout
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


@dataclass(frozen=True)
class SearchedBatch:
    """A batch, what the searches through it found, and float32[m, units], masks of hidden units; None if none is dropped."""

    batch: ReadBatch
    searched: SearchResults
    kept: Tensor | None


class BeamFitter:
    """Fits the classifier of a model, in place, over the epochs of a pass with one optimizer.

    Dropout is drawn once for a batch (beam_reading.py), that of hidden units once for a sentence: the search and the gradient
    see the same classifier.

    Args:
        model: whose classifier is fitted; for arc-standard.
        data: the sentences, with any gold trees, and their tags if there are any to predict.
        training: how to search, and what to learn from a search.
        settings: optimizer, learning rate and its schedule; a batch has ``batch_size`` sentences.
        span: the epochs that the schedule spans.
        word_dropout: of the sentences' attributes; None for none.
        max_grad_norm, weights: see SentenceFitter; only for a contextual token representation.
    """

    def __init__(
        self,
        model: Model,
        data: TrainingSentences,
        training: BeamTraining,
        settings: OptimizerSettings,
        span: Span,
        word_dropout: WordDropout | None = None,
        max_grad_norm: float | None = None,
        weights: TaskWeights | None = None,
    ) -> None:
        assert behaves_as(model.system, Attardi), "see beam_check.py"
        self._system = model.system
        self._table = model.table
        self._classifier: Classifier = model.classifier
        self._n_sentences = len(data)
        self._training = training
        self._trees = GoldTrees(data)
        self._settings = settings
        self._span = span
        self._max_grad_norm = max_grad_norm
        self._reading: Reading
        if self._classifier.tokens.contextual:
            self._reading = EncoderReading(self._classifier, data, word_dropout, weights)
        else:
            self._reading = StaticReading(self._classifier, data, word_dropout)
        self._parameters = [p for p in self._classifier.parameters() if p.requires_grad]
        self._optimizer = TorchOptimizer(self._parameters, settings)

    def fit_epoch(self, epoch: int, generator: torch.Generator, on_update: OnUpdate = unobserved) -> tuple[float, SearchReport]:
        """Goes once over the sentences in random order; the mean loss of a sentence, in nats, and how the searches went.

        Args:
            epoch: number of the epoch in the pass, from 0.
            generator: draws the order.
            on_update: called for each update; its examples are sentences.
        """
        batches = self._reading.batches(self._settings.batch_size, generator)
        rates = learning_rates(self._settings, self._span, epoch, len(batches))
        total, report = 0.0, _Sums()
        for numbers, rate in zip(batches, rates, strict=True):
            found = self.search(numbers)
            searched, of_tasks = found.searched, found.batch.task_loss()
            if len(searched.rows) or of_tasks is not None:
                surrogate = self.surrogate(found)
                self._classifier.zero_grad()
                (surrogate if of_tasks is None else surrogate + of_tasks).backward()
                if self._max_grad_norm is not None:
                    nn.utils.clip_grad_norm_(self._parameters, self._max_grad_norm)
                self._optimizer.step(rate)
            report.add(searched)
            total += (loss := float(searched.losses.sum()))
            on_update(loss / len(numbers), len(numbers), rate)
        return total / self._n_sentences, report.report()

    def search(self, numbers: np.ndarray, dropping: bool = True) -> SearchedBatch:
        """Searches through some of the sentences (int[m]); ``dropping``: whether dropout is in force."""
        batch, classifier = self._reading.read(numbers, dropping), self._classifier
        kept = dropout_mask(torch.empty(len(numbers), len(classifier.hidden_bias)), classifier.dropout) if dropping else None
        updates = BeamUpdates(batch.weights, self._system, self._table, self._training, self._trees)
        return SearchedBatch(batch, updates.search(batch.sentences, numbers, None if kept is None else kept.numpy()), kept)

    def surrogate(self, found: SearchedBatch) -> Tensor:
        """A sum of scores that has the gradient of the loss of the sentences that search() has gone through."""
        classifier, searched = self._classifier, found.searched
        device = classifier.output.weight.device
        hidden = classifier.activation.apply(found.batch.hidden(searched.features))
        if found.kept is not None:
            hidden = hidden * found.kept[torch.from_numpy(searched.sentences)].to(device)
        scores = classifier.output(hidden)
        chosen = scores[torch.from_numpy(searched.rows).to(device), torch.from_numpy(searched.outputs).to(device)]
        return (chosen * torch.from_numpy(searched.slopes).to(device)).sum() / found.batch.scale

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

    def add(self, searched: SearchResults) -> None:
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
