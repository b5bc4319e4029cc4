"""Fitting a classifier to examples: what training asks of it, and the schedule of the learning rate."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from parser.settings import OptimizerSettings
from parser.training.examples.examples import Examples

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


class Fitter(Protocol):
    """Fits a classifier, in place, over the epochs of a pass with one optimizer."""

    def fit_epoch(self, examples: Examples, epoch: int, generator: torch.Generator, on_update: OnUpdate = unobserved) -> float:
        """Goes once over the examples in random order; returns the mean loss of an example, in nats.

        Args:
            examples: the examples.
            epoch: number of the epoch in the pass, from 0.
            generator: draws the order.
            on_update: called for each update.
        """

    def state(self) -> dict[str, Tensor]:
        """What the next epoch depends on besides weights and random generators: named tensors on the CPU."""

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Puts back what state() of such a fitter gave."""


@dataclass(frozen=True)
class Span:
    """The epochs that a schedule spans: ``epochs`` in all, of which ``done`` lie behind when fitting begins."""

    done: int
    epochs: int


def learning_rates(settings: OptimizerSettings, span: Span, epoch: int, batches: int) -> Iterator[float]:
    """The learning rate of each of the ``batches`` of an epoch, which is counted from 0 in its pass.

    Over the span, it falls to zero along half a cosine (``cosine``) or a line (``linear``), or stays (``constant``).
    """
    # Settings and schedule are looked up once: hydra's settings are slow to read.
    schedule, highest = _SCHEDULES[settings.schedule], settings.learning_rate
    for batch in range(batches):
        yield schedule((span.done + epoch + batch / batches) / span.epochs) * highest
