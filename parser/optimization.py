"""Fitting the classifier to examples: the optimizer, its schedule, an epoch."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import nn

from parser.classifier import Classifier
from parser.computations import Examples
from parser.gradients import loss_and_gradients
from parser.settings import OptimizerSettings


class Fitter:
    """Fits a classifier over a number of epochs with one optimizer.

    Args:
        classifier: what is fitted, in place.
        settings: optimizer, learning rate and its schedule, batch size.
        epochs: how many epochs there will be; over them the schedule ``cosine`` lets the learning rate fall to zero along
            half a cosine.
    """

    def __init__(self, classifier: Classifier, settings: OptimizerSettings, epochs: int) -> None:
        self.classifier = classifier
        self.settings = settings
        self.epochs = epochs
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
            loss = loss_and_gradients(self.classifier, features[batch], targets[batch])
            self.optimizer.step()
            total += loss * len(batch)
        return float(total) / len(examples)

    def _learning_rates(self, epoch: int, batches: int) -> Iterator[float]:
        for batch in range(batches):
            done = (epoch + batch / batches) / self.epochs
            share = (1 + math.cos(math.pi * done)) / 2 if self.settings.schedule == "cosine" else 1.0
            yield share * self.settings.learning_rate


def _optimizer(parameters: list[nn.Parameter], settings: OptimizerSettings) -> torch.optim.Optimizer:
    decay, rate = settings.weight_decay, settings.learning_rate
    if settings.name == "sgd":
        return torch.optim.SGD(
            parameters, lr=rate, momentum=settings.momentum, nesterov=settings.momentum > 0, weight_decay=decay, fused=True
        )
    if settings.name == "adam":
        return torch.optim.Adam(parameters, lr=rate, weight_decay=decay, fused=True)
    return torch.optim.AdamW(parameters, lr=rate, weight_decay=decay, fused=True)
