"""Fitting a classifier with a static token representation: a batch is any examples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
import torch
from torch import Tensor

from parser.networks.classifier import Classifier
from parser.settings import DistillationSettings, OptimizerSettings
from parser.training.examples.examples import Examples
from parser.training.fitting.fitter import OnUpdate, Span, learning_rates, unobserved
from parser.training.fitting.loss import Groups, Taught
from parser.training.fitting.updates import updates_of
from parser.training.fitting.word_dropout import WordDropout


class ExampleFitter:
    """A Fitter that draws batches of examples.

    Args:
        classifier: what is fitted, in place.
        settings: optimizer, learning rate and its schedule, batch size.
        span: the epochs that the schedule spans.
        word_dropout: of the features; None for none.
        distillation: how soft targets are learned; None: there are none.
    """

    def __init__(
        self,
        classifier: Classifier,
        settings: OptimizerSettings,
        span: Span,
        word_dropout: WordDropout | None = None,
        distillation: DistillationSettings | None = None,
    ) -> None:
        self.settings = settings
        self.span = span
        self._device = classifier.output.weight.device
        self._word_dropout = word_dropout
        self._distillation = distillation
        self._n_outputs = len(classifier.output.weight)
        self._updates = updates_of(classifier, settings)

    def fit_epoch(self, examples: Examples, epoch: int, generator: torch.Generator, on_update: OnUpdate = unobserved) -> float:
        """See Fitter."""
        rates = learning_rates(self.settings, self.span, epoch, math.ceil(len(examples) / self.settings.batch_size))
        total: Tensor | float = 0.0
        order = torch.randperm(len(examples), generator=generator)
        batches = zip(self._batches(examples, order), self._taught(examples, order), rates, strict=True)
        for (size, values, right, groups), taught, rate in batches:
            if self._word_dropout is not None:
                values = self._word_dropout(values)
            loss = self._updates.update(values, right, rate, groups, taught)
            total = total + loss * size
            on_update(loss, size, rate)
        return float(total) / len(examples)

    def _batches(self, examples: Examples, order: Tensor) -> Iterator[tuple[int, Tensor, Tensor, Groups | None]]:
        """The examples in order: of each batch how many there are, features, targets, and which rows are one example."""
        size = self.settings.batch_size
        if examples.starts is None and self._device.type == "cpu":  # a copy of all examples would take gigabytes
            for numbers in order.split(size):
                features = torch.from_numpy(examples.features)[numbers]
                yield len(numbers), features, torch.from_numpy(examples.targets)[numbers].to(torch.int64), None
            return
        if examples.starts is None:
            order = order.to(self._device)
            features = torch.from_numpy(examples.features).to(self._device)[order]
            targets = torch.from_numpy(examples.targets).to(self._device, torch.int64)[order]
            for values, right in zip(features.split(size), targets.split(size), strict=True):
                yield len(values), values, right, None
            return
        for numbers in order.split(size):
            taken = examples.take(numbers.numpy())
            features = torch.from_numpy(taken.features).to(self._device)
            targets = torch.from_numpy(taken.targets).to(self._device, torch.int64)
            yield len(taken), features, targets, Groups.of(taken, self._device)

    def _taught(self, examples: Examples, order: Tensor) -> Iterator[Taught | None]:
        """For each batch, what distillation_loss() needs; None if there is no teacher."""
        for numbers in order.split(self.settings.batch_size):
            if examples.soft is None or self._distillation is None:
                yield None
            else:
                probabilities = examples.soft.take(numbers.numpy()).dense(self._n_outputs)
                weighted = torch.from_numpy(probabilities * np.float32(self._distillation.weight)).to(self._device)
                yield Taught(weighted, self._distillation.temperature)

    def state(self) -> dict[str, Tensor]:
        """See Fitter."""
        return self._updates.state()

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """See Fitter."""
        self._updates.restore(tensors)
