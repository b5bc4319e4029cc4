"""The loss of a classifier whose examples may have several right actions."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from parser.data.parses import NO_NODE


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
