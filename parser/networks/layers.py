"""Building blocks of the networks: layers of a spec's sizes, activations, dropout, and padding.

A dropout mask draws only one number from torch's generator: the seed of a hash, which is computed
for the place of each number of the mask. On a CPU, torch's generator is serial: drawing a mask with
it takes half as long as the matrix products.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from parser.kernels import kernel
from parser.network_spec import Shapes

# splitmix64: Steele, Lea and Flood (2014), Fast splittable pseudorandom number generators.
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_RANGE = 2**32


def to_device(values: np.ndarray, device: torch.device) -> Tensor:
    """Return values as a tensor on a device; a GPU copies them while the CPU goes on."""
    tensor = torch.from_numpy(values)
    return (
        tensor.pin_memory().to(device, non_blocking=True)
        if device.type == "cuda"
        else tensor.to(device)
    )


def linear(shapes: Shapes, name: str) -> nn.Linear:
    """Return a linear layer with parameters of the shapes under this name."""
    outputs, inputs = shapes[f"{name}.weight"]
    return nn.Linear(inputs, outputs)


def lstm(shapes: Shapes, name: str) -> nn.LSTM:
    """Return one direction of an LSTM layer with parameters of the shapes under this name."""
    width, hidden = shapes[f"{name}.weight_ih_l0"][1], shapes[f"{name}.weight_hh_l0"][1]
    return nn.LSTM(width, hidden)


def draw_vectors(vectors: Tensor) -> None:
    """Draw float32[n, size] in place, so that the expected square of a vector's length is 1."""
    nn.init.normal_(vectors, std=vectors.shape[1] ** -0.5)


@dataclass(frozen=True)
class Activation:
    """A function of the hidden units, and its derivative as a function of its input and output."""

    apply: Callable[[Tensor], Tensor]
    slope: Callable[[Tensor, Tensor], Tensor]


ACTIVATIONS = {
    "relu": Activation(torch.relu, lambda _, out: out.sign()),
    "tanh": Activation(torch.tanh, lambda _, out: 1 - out * out),
    "sigmoid": Activation(torch.sigmoid, lambda _, out: out * (1 - out)),
    "cube": Activation(lambda x: x * x * x, lambda x, _: 3 * x * x),  # Chen and Manning 2014
}


@dataclass(frozen=True)
class Grid:
    """The places of the elements of a batch of sequences, if every sequence is a column.

    Attributes:
        elements: int64[longest, sequences], the element in each cell; any element in padding.
        cells: int64[elements], the cell of each element.
    """

    elements: Tensor
    cells: Tensor

    @classmethod
    def of(cls, lengths: np.ndarray, device: torch.device) -> Grid:
        """Return the grid of sequences of these lengths (int[sequences], each at least 1),
        one after the other.
        """
        lengths = lengths.astype(np.int64)
        rows, columns = np.arange(lengths.max())[:, None], np.arange(len(lengths))
        inside = rows < lengths
        starts = np.cumsum(lengths) - lengths
        elements = np.where(inside, starts + rows, 0)
        cells = np.empty(lengths.sum(), np.int64)
        cells[elements[inside]] = (rows * len(lengths) + columns)[inside]
        return cls(*(to_device(array, device) for array in (elements, cells)))


def dropout_mask(values: Tensor, share: float) -> Tensor | None:
    """Return factors of values: 0 drops one, and the factor of kept ones preserves the mean;
    None if ``share`` is 0.

    Args:
        values: float32, contiguous.
        share: the share of values to drop, 0 <= share < 1.
    """
    if share == 0:
        return None
    if not values.is_cpu:
        return bernoulli_mask(values, share)
    mask = torch.empty_like(values)
    seed = int(torch.randint(2**63 - 1, ()))
    _fill(
        mask.numpy().reshape(-1),
        np.uint64(seed),
        np.uint64(round(share * _RANGE)),
        np.float32(1 / (1 - share)),
    )
    return mask


def bernoulli_mask(values: Tensor, share: float) -> Tensor:
    """Return such a mask for 0 < share < 1; torch's generator draws each of its numbers."""
    return torch.empty_like(values).bernoulli_(1 - share).div_(1 - share)


@kernel()
def _fill(mask, seed, dropped, factor):
    """Fill in two factors from each 64 bits: 0 if their 32 bits are less than ``dropped``."""
    half = len(mask) // 2
    zero = np.float32(0)
    for i in range(half):
        bits = _hash(seed, np.uint64(i))
        mask[i] = zero if (bits >> np.uint64(32)) < dropped else factor
        mask[half + i] = zero if (bits & np.uint64(0xFFFFFFFF)) < dropped else factor
    if len(mask) % 2:
        mask[-1] = zero if (_hash(seed, np.uint64(half)) >> np.uint64(32)) < dropped else factor


@kernel()
def _hash(seed, number):
    z = seed + (number + np.uint64(1)) * _STEP
    z = (z ^ (z >> np.uint64(30))) * _FIRST
    z = (z ^ (z >> np.uint64(27))) * _SECOND
    return z ^ (z >> np.uint64(31))
