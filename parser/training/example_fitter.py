"""Fitting a classifier with a static token representation: a batch is any examples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from parser.classifier.classifier import Classifier
from parser.settings import OptimizerSettings
from parser.training.examples import Examples
from parser.training.fitter import OnUpdate, Span, learning_rates, unobserved
from parser.training.loss import Groups
from parser.training.updates import updates_of
from parser.training.word_dropout import WordDropout


class ExampleFitter:
    """A Fitter that draws batches of examples.

    Args:
        classifier: what is fitted, in place.
        settings: optimizer, learning rate and its schedule, batch size.
        span: the epochs that the schedule spans.
        word_dropout: of the features; None for none.
    """

    def __init__(
        self, classifier: Classifier, settings: OptimizerSettings, span: Span, word_dropout: WordDropout | None = None
    ) -> None:
        self.settings = settings
        self.span = span
        self._device = classifier.output.weight.device
        self._word_dropout = word_dropout
        self._updates = updates_of(classifier, settings)

    def fit_epoch(self, examples: Examples, epoch: int, generator: torch.Generator, on_update: OnUpdate = unobserved) -> float:
        """See Fitter."""
        rates = learning_rates(self.settings, self.span, epoch, math.ceil(len(examples) / self.settings.batch_size))
        total: Tensor | float = 0.0
        for (size, values, right, groups), rate in zip(self._batches(examples, generator), rates, strict=True):
            if self._word_dropout is not None:
                values = self._word_dropout(values)
            loss = self._updates.update(values, right, rate, groups)
            total = total + loss * size
            on_update(loss, size, rate)
        return float(total) / len(examples)

    def _batches(self, examples: Examples, generator: torch.Generator) -> Iterator[tuple[int, Tensor, Tensor, Groups | None]]:
        """The examples in random order: of each batch how many there are, features, targets, and which rows are one example."""
        order, size = torch.randperm(len(examples), generator=generator), self.settings.batch_size
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

    def state(self) -> dict[str, Tensor]:
        """See Fitter."""
        return self._updates.state()

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """See Fitter."""
        self._updates.restore(tensors)
