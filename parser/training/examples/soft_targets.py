"""Soft targets: the distribution over outputs that a teacher gives an example, beside the outputs that are right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from parser.data.parses import NO_NODE


@dataclass(frozen=True)
class SoftTargets:
    """A distribution for each example; or none, for one that no teacher has seen: its probabilities are all 0.

    Attributes:
        probabilities: float32[examples, width].
        outputs: int32[examples, width], the outputs that the probabilities are of; NO_NODE, with probability 0, fills up rows
            that have fewer. None: column a is output a, and the width is that of all outputs.
    """

    probabilities: np.ndarray
    outputs: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.probabilities)

    @classmethod
    def of_scores(cls, scores: np.ndarray, outputs: np.ndarray | None = None) -> SoftTargets:
        """The softmax of scores.

        Args:
            scores: float32[examples, outputs].
            outputs: int32[examples, width], the outputs that share the probability, one at least; NO_NODE fills up. None: all.
        """
        if outputs is not None:
            own = np.take_along_axis(scores, np.maximum(outputs, 0), axis=1)
            scores = np.where(outputs == NO_NODE, np.float32(-np.inf), own)
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        return cls((shares / shares.sum(axis=1, keepdims=True)).astype(np.float32), outputs)

    def take(self, numbers: np.ndarray) -> SoftTargets:
        """Those of the examples with these numbers (int[m])."""
        return SoftTargets(self.probabilities[numbers], None if self.outputs is None else self.outputs[numbers])

    def dense(self, n_outputs: int) -> np.ndarray:
        """float32[examples, outputs]: the probability of each output."""
        if self.outputs is None:
            return self.probabilities
        room = np.zeros((len(self), n_outputs + 1), np.float32)  # one column more, for what fills up
        np.put_along_axis(room, np.where(self.outputs == NO_NODE, n_outputs, self.outputs), self.probabilities, axis=1)
        return room[:, :n_outputs]


def concatenate(parts: Sequence[SoftTargets | None], lengths: Sequence[int]) -> SoftTargets | None:
    """Those of all parts, in order; None if no part has any.

    Args:
        parts: all over optimal outputs of one width, or all over all outputs; None where no teacher has seen the examples.
        lengths: examples of each part.
    """
    there = next((part for part in parts if part is not None), None)
    if there is None:
        return None
    width = there.probabilities.shape[1]
    probabilities = [
        np.zeros((n, width), np.float32) if part is None else part.probabilities for part, n in zip(parts, lengths, strict=True)
    ]
    if there.outputs is None:
        return SoftTargets(np.concatenate(probabilities))
    outputs = [
        np.full((n, width), NO_NODE, np.int32) if part is None or part.outputs is None else part.outputs
        for part, n in zip(parts, lengths, strict=True)
    ]
    return SoftTargets(np.concatenate(probabilities), np.concatenate(outputs))
