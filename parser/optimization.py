"""Fitting the classifier to examples: the optimizer, its schedule, an epoch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from parser.classifier import Classifier
from parser.computations import Examples
from parser.gradients import loss_and_gradients
from parser.settings import OptimizerSettings
from parser.word_dropout import WordDropout

# The share of the learning rate, given the share of the epochs that is done.
_SCHEDULES = {
    "constant": lambda done: 1.0,
    "cosine": lambda done: (1 + math.cos(math.pi * done)) / 2,
    "linear": lambda done: 1 - done,
}


@dataclass(frozen=True)
class Span:
    """The epochs that a schedule of the learning rate spans: ``done`` ones lie behind when fitting begins, of ``epochs`` in all."""

    done: int
    epochs: int


class Fitter:
    """Fits a classifier over a number of epochs with one optimizer.

    Args:
        classifier: what is fitted, in place.
        settings: optimizer, learning rate and its schedule, batch size.
        span: over it the learning rate falls to zero, along half a cosine (``cosine``) or a line (``linear``).
        dropout_rates: by slot, how likely each value is taken for unknown (word_dropout.py); None for never.
    """

    def __init__(
        self,
        classifier: Classifier,
        settings: OptimizerSettings,
        span: Span,
        dropout_rates: Sequence[np.ndarray] | None = None,
    ) -> None:
        self.classifier = classifier
        self.settings = settings
        self.span = span
        device = classifier.output.weight.device
        self.word_dropout = WordDropout(dropout_rates, device) if dropout_rates is not None else None
        self.optimizer = _optimizer([p for p in classifier.parameters() if p.requires_grad], settings)

    def fit_epoch(self, examples: Examples, epoch: int, generator: torch.Generator) -> float:
        """Goes once over the examples in random order; returns the mean loss of an example, in nats.

        Args:
            examples: the examples.
            epoch: number of the epoch in the pass, from 0.
            generator: draws the order.
        """
        device = self.classifier.output.weight.device
        features = torch.from_numpy(examples.features).to(device)
        targets = torch.from_numpy(examples.targets).to(device, torch.int64)
        size = self.settings.batch_size
        batches = math.ceil(len(examples) / size)
        order = torch.randperm(len(examples), generator=generator).to(device)
        total = torch.zeros((), device=device)
        for batch, rate in zip(order.split(size), self._learning_rates(epoch, batches), strict=True):
            for group in self.optimizer.param_groups:
                group["lr"] = rate
            values = features[batch] if self.word_dropout is None else self.word_dropout(features[batch])
            loss = loss_and_gradients(self.classifier, values, targets[batch])
            self.optimizer.step()
            total += loss * len(batch)
        return float(total) / len(examples)

    def _learning_rates(self, epoch: int, batches: int) -> Iterator[float]:
        for batch in range(batches):
            done = (self.span.done + epoch + batch / batches) / self.span.epochs
            yield _SCHEDULES[self.settings.schedule](done) * self.settings.learning_rate


def _optimizer(parameters: list[nn.Parameter], settings: OptimizerSettings) -> torch.optim.Optimizer:
    decay, rate = settings.weight_decay, settings.learning_rate
    if settings.name == "sgd":
        return torch.optim.SGD(
            parameters, lr=rate, momentum=settings.momentum, nesterov=settings.momentum > 0, weight_decay=decay, fused=True
        )
    if settings.name == "adam":
        return torch.optim.Adam(parameters, lr=rate, weight_decay=decay, fused=True)
    return torch.optim.AdamW(parameters, lr=rate, weight_decay=decay, fused=True)
