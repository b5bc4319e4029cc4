"""Sequences of different lengths side by side, padded at their ends, for networks that read a batch step by step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class Grid:
    """Where the elements of a batch of sequences lie when every sequence is a column.

    Attributes:
        elements: int64[longest, sequences], the element in each cell; of padding, any one.
        reversed: int64[longest, sequences], the row to read instead of each, to reverse the sequences.
        cells: int64[elements], the cell of each element.
    """

    elements: Tensor
    reversed: Tensor
    cells: Tensor

    @classmethod
    def of(cls, lengths: np.ndarray, device: torch.device) -> Grid:
        """That of sequences of these lengths (int[sequences], each at least 1), one after the other."""
        lengths = lengths.astype(np.int64)
        rows, columns = np.arange(lengths.max())[:, None], np.arange(len(lengths))
        inside = rows < lengths
        starts = np.cumsum(lengths) - lengths
        elements = np.where(inside, starts + rows, 0)
        from_end = np.where(inside, lengths - 1 - rows, rows)
        cells = np.empty(lengths.sum(), np.int64)
        cells[elements[inside]] = (rows * len(lengths) + columns)[inside]
        return cls(*(torch.from_numpy(array).to(device) for array in (elements, from_end, cells)))

    def reverse(self, read: Tensor) -> Tensor:
        """float32[longest, sequences, width] with every sequence reversed, the padding left at its end."""
        return read[self.reversed, torch.arange(self.reversed.shape[1], device=read.device)]
