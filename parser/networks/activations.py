"""Activations of the hidden layer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Activation:
    """A function of the hidden units, and its derivative given what goes in and what comes out of it."""

    apply: Callable[[Tensor], Tensor]
    slope: Callable[[Tensor, Tensor], Tensor]


ACTIVATIONS = {
    "relu": Activation(torch.relu, lambda _, out: out.sign()),
    "tanh": Activation(torch.tanh, lambda _, out: 1 - out * out),
    "sigmoid": Activation(torch.sigmoid, lambda _, out: out * (1 - out)),
    "cube": Activation(lambda x: x * x * x, lambda x, _: 3 * x * x),  # Chen and Manning 2014
}
