"""Fitting the classifier to examples: the optimizer, its schedule, an epoch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from parser.classifier.classifier import Classifier
from parser.settings import OptimizerSettings
from parser.training.examples import Examples
from parser.training.updates import updates_of
from parser.training.word_dropout import WordDropout

# The share of the learning rate, given the share of the epochs that is done.
_SCHEDULES = {
    "constant": lambda done: 1.0,
    "cosine": lambda done: (1 + math.cos(math.pi * done)) / 2,
    "linear": lambda done: 1 - done,
}

OnUpdate = Callable[[Tensor | float, int, float], None]
"""Told of each update: the mean loss of its batch in nats (a tensor where it lies on a device), its examples, its rate."""


def unobserved(loss: Tensor | float, examples: int, rate: float) -> None:
    """An OnUpdate that does nothing."""


@dataclass(frozen=True)
class Span:
    """The epochs that a schedule spans: ``epochs`` in all, of which ``done`` lie behind when fitting begins."""

    done: int
    epochs: int


class Fitter:
    """Fits a classifier over a number of epochs with one optimizer.

    Args:
        classifier: what is fitted, in place.
        settings: optimizer, learning rate and its schedule, batch size.
        span: over it the learning rate falls to zero, along half a cosine (``cosine``) or a line (``linear``).
        dropout_rates: by slot, how likely each value is taken for unknown (word_dropout.py); None for never.

    Attributes:
        updates: how a batch changes the classifier.
    """

    def __init__(
        self,
        classifier: Classifier,
        settings: OptimizerSettings,
        span: Span,
        dropout_rates: Sequence[np.ndarray] | None = None,
    ) -> None:
        self.settings = settings
        self.span = span
        self._device = classifier.output.weight.device
        self._word_dropout = WordDropout(dropout_rates, self._device) if dropout_rates is not None else None
        self.updates = updates_of(classifier, settings)

    def fit_epoch(self, examples: Examples, epoch: int, generator: torch.Generator, on_update: OnUpdate = unobserved) -> float:
        """Goes once over the examples in random order; returns the mean loss of an example, in nats.

        Args:
            examples: the examples.
            epoch: number of the epoch in the pass, from 0.
            generator: draws the order.
            on_update: told of each update.
        """
        order = torch.randperm(len(examples), generator=generator).to(self._device)
        features = torch.from_numpy(examples.features).to(self._device)[order]
        targets = torch.from_numpy(examples.targets).to(self._device, torch.int64)[order]
        size = self.settings.batch_size
        rates = self._learning_rates(epoch, math.ceil(len(examples) / size))
        total: Tensor | float = 0.0
        for values, right, rate in zip(features.split(size), targets.split(size), rates, strict=True):
            if self._word_dropout is not None:
                values = self._word_dropout(values)
            loss = self.updates.update(values, right, rate)
            total = total + loss * len(values)
            on_update(loss, len(values), rate)
        return float(total) / len(examples)

    def _learning_rates(self, epoch: int, batches: int) -> Iterator[float]:
        return learning_rates(self.settings, self.span, epoch, batches)


def learning_rates(settings: OptimizerSettings, span: Span, epoch: int, batches: int) -> Iterator[float]:
    """The learning rate of each of the ``batches`` of an epoch, which is counted from 0 in its pass."""
    # Settings and schedule are looked up once: hydra's settings are slow to read.
    schedule, highest = _SCHEDULES[settings.schedule], settings.learning_rate
    for batch in range(batches):
        yield schedule((span.done + epoch + batch / batches) / span.epochs) * highest
