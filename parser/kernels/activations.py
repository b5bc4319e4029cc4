"""Activations for compiled loops, which know them by number; networks/layers.py has those of torch."""

from __future__ import annotations

import numpy as np

from parser.kernels import kernel
from parser.network_spec import ACTIVATIONS

RELU, TANH, SIGMOID, CUBE = range(4)


def activation_number(name: str) -> int:
    """The number of an activation.

    Raises:
        ValueError: unknown name.
    """
    if name not in ACTIVATIONS:
        raise ValueError(f"unknown activation {name!r}; known: {', '.join(ACTIVATIONS)}")
    return ACTIVATIONS.index(name)


@kernel()
def activate(x, activation):
    """The activation of a float32."""
    if activation == RELU:
        return max(x, np.float32(0))
    if activation == TANH:
        return np.tanh(x)
    if activation == SIGMOID:
        return np.float32(1) / (np.float32(1) + np.exp(-x))
    return x * x * x
