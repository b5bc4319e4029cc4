"""Dropout masks: one draw of torch's generator for a batch, and a hash of it and the place for each number.

torch's own generator is serial, and on a CPU drawing a mask takes it as long as half of the matrix products.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from parser.kernels import kernel

# Steele, Lea and Flood (2014), Fast splittable pseudorandom number generators: splitmix64, as it is commonly written.
_STEP, _FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_RANGE = 2**32


def dropout_mask(values: Tensor, share: float) -> Tensor | None:
    """What to multiply values by: 0 for dropped ones, and as much for the others as keeps the mean; None if none is dropped.

    Args:
        values: float32, contiguous.
        share: how many are dropped, 0 <= share < 1.
    """
    if share == 0:
        return None
    if not values.is_cpu:
        return bernoulli_mask(values, share)
    mask = torch.empty_like(values)
    seed = int(torch.randint(2**63 - 1, ()))
    _fill(mask.numpy().reshape(-1), np.uint64(seed), np.uint64(round(share * _RANGE)), np.float32(1 / (1 - share)))
    return mask


def bernoulli_mask(values: Tensor, share: float) -> Tensor:
    """The same for 0 < share < 1, drawn number by number by torch's generator."""
    return torch.empty_like(values).bernoulli_(1 - share).div_(1 - share)


@kernel()
def _fill(mask, seed, dropped, factor):
    """Two numbers from each 64 bits: dropped if their 32 bits are less than ``dropped``."""
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
