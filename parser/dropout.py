"""Dropout masks."""

from __future__ import annotations

import torch
from torch import Tensor


def dropout_mask(values: Tensor, share: float) -> Tensor | None:
    """What to multiply values by: 0 for dropped ones, and as much for the others as keeps the mean; None if none is dropped.

    Args:
        values: float32.
        share: how many are dropped, 0 <= share < 1.
    """
    return None if share == 0 else torch.empty_like(values).bernoulli_(1 - share).div_(1 - share)
