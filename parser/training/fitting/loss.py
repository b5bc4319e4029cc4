"""The loss of a classifier whose examples may have several correct outputs, and several rows of features."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from parser.data.sentences import NO_NODE
from parser.training.examples.examples import Examples


@dataclass(frozen=True)
class Groups:
    """The rows of a batch that belong to one example, where each scores the outputs of a block of its own.

    Attributes:
        starts: int64[examples + 1], the rows of example e are ``starts[e]`` to ``starts[e + 1] - 1``.
        blocks: int64[rows, 2], the first output that a row scores, and the one after the last.
    """

    starts: Tensor
    blocks: Tensor

    @classmethod
    def of(cls, examples: Examples, device: torch.device) -> Groups | None:
        """Those of all the examples; None if each has one row, which scores all outputs."""
        if examples.starts is None or examples.blocks is None:
            return None
        return cls(*(torch.from_numpy(array).to(device, torch.int64) for array in (examples.starts, examples.blocks)))


def set_loss(scores: Tensor, targets: Tensor, groups: Groups | None = None) -> Tensor:
    """Minus the logarithm of the probability of the set of correct outputs, mean over the examples of a batch.

    Args:
        scores: float[rows, outputs].
        targets: int64[rows, targets], right outputs; NO_NODE fills up rows. With one target it is the cross entropy.
        groups: which rows are one example: the probabilities are over what all of them score. None: each is one of its own.
    """
    if groups is not None:
        return _loss_of_groups(scores, targets, groups)
    if targets.shape[1] == 1:
        return nn.functional.cross_entropy(scores, targets[:, 0])
    of_targets = scores.gather(1, targets.clamp(min=0)).masked_fill(targets == NO_NODE, -torch.inf)
    return (scores.logsumexp(1) - of_targets.logsumexp(1)).mean()


def distillation_loss(scores: Tensor, taught: Tensor) -> Tensor:
    """Return the cross entropy with a teacher's distributions, mean over the examples of a batch.

    Args:
        scores: float[examples, outputs].
        taught: float[examples, outputs], the distributions; 0 for an example that no teacher has seen.
    """
    return -(taught * scores.log_softmax(1)).sum() * (1 / len(scores))


def _loss_of_groups(scores: Tensor, targets: Tensor, groups: Groups) -> Tensor:
    outputs = torch.arange(scores.shape[1], device=scores.device)
    first, end = groups.blocks[:, :1], groups.blocks[:, 1:]
    of_rows = scores.masked_fill((outputs < first) | (outputs >= end), -torch.inf).logsumexp(1, keepdim=True)
    of_targets = scores.gather(1, targets.clamp(min=0)).masked_fill(targets == NO_NODE, -torch.inf)
    return (_side_by_side(of_rows, groups).logsumexp(1) - _side_by_side(of_targets, groups).logsumexp(1)).mean()


def _side_by_side(values: Tensor, groups: Groups) -> Tensor:
    """float[examples, widest]: float[rows, n], the rows of an example side by side; minus infinity fills up."""
    counts = groups.starts.diff()
    examples = torch.arange(len(counts), device=values.device).repeat_interleave(counts)
    places = torch.arange(len(values), device=values.device) - groups.starts[examples]
    padded = values.new_full((len(counts), int(counts.max()), values.shape[1]), -torch.inf)
    return padded.index_put((examples, places), values).flatten(1)
