"""Fitting the classifier to examples: the optimizer, its schedule, the loss, an epoch."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from parser.arc_standard import NO_NODE
from parser.classifier import Classifier
from parser.computations import Examples
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
        self.classifier.train()
        total = torch.zeros((), device=device)
        for batch, rate in zip(order.split(size), self._learning_rates(epoch, batches), strict=True):
            for group in self.optimizer.param_groups:
                group["lr"] = rate
            loss = set_loss(self.classifier(features[batch]), targets[batch])
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            self.optimizer.step()
            total += loss.detach() * len(batch)
        return float(total) / len(examples)

    def _learning_rates(self, epoch: int, batches: int) -> Iterator[float]:
        for batch in range(batches):
            done = (epoch + batch / batches) / self.epochs
            share = (1 + math.cos(math.pi * done)) / 2 if self.settings.schedule == "cosine" else 1.0
            yield share * self.settings.learning_rate


def set_loss(scores: Tensor, targets: Tensor) -> Tensor:
    """Minus the logarithm of the probability of the set of right actions, mean over the batch.

    Args:
        scores: float[batch, actions].
        targets: int64[batch, targets], right actions; NO_NODE fills up rows. With one target it is the cross entropy.
    """
    if targets.shape[1] == 1:
        return nn.functional.cross_entropy(scores, targets[:, 0])
    of_targets = scores.gather(1, targets.clamp(min=0)).masked_fill(targets == NO_NODE, -torch.inf)
    return (scores.logsumexp(1) - of_targets.logsumexp(1)).mean()


def _optimizer(parameters: list[nn.Parameter], settings: OptimizerSettings) -> torch.optim.Optimizer:
    decay, rate = settings.weight_decay, settings.learning_rate
    if settings.name == "sgd":
        return torch.optim.SGD(
            parameters, lr=rate, momentum=settings.momentum, nesterov=settings.momentum > 0, weight_decay=decay
        )
    if settings.name == "adam":
        return torch.optim.Adam(parameters, lr=rate, weight_decay=decay)
    return torch.optim.AdamW(parameters, lr=rate, weight_decay=decay)
