"""Word dropout: in training, values are replaced by UNKNOWN at random, so that its vector is trained.

A value seen n times is dropped with probability w / (w + n) (Kiperwasser and Goldberg 2016, Section 4, with w = 0.25). They
drop words; here the values of every attribute that is counted are dropped, UPOS and FEATS among them.

Who applies it: ExampleObjective to the features of examples, drawn for each slot, so that a word may be known at s0 and unknown
at s1; BatchReader (sentence_batches.py) to the attributes of sentences, drawn once for each token. TrainedClassifier
(passes/classifier_passes.py) makes it for them. The segmenter has a rate of its own (text/segmenter_training.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from parser.data.vocabulary import N_RESERVED, UNKNOWN


def unknown_rates(counts: np.ndarray, weight: float) -> np.ndarray:
    """float32[values]: the probability that a value is replaced by UNKNOWN, given its count; 0 for reserved values."""
    rates = weight / np.maximum(weight + counts, 1e-9)
    rates[:N_RESERVED] = 0.0
    return rates.astype(np.float32)


class WordDropout:
    """Drops values of a batch of examples or of tokens.

    Args:
        rates: by column, float32[values], as from unknown_rates(); an empty one for columns that nothing is dropped from.
        device: where the values will be.
    """

    def __init__(self, rates: Sequence[np.ndarray], device: torch.device) -> None:
        self.columns = torch.tensor(
            [i for i, of_column in enumerate(rates) if len(of_column)], dtype=torch.int64, device=device
        )
        sizes = [len(of_column) for of_column in rates if len(of_column)]
        self._starts = torch.tensor(np.cumsum([0, *sizes[:-1]]), dtype=torch.int32, device=device)
        self._rates = torch.from_numpy(np.concatenate([np.zeros(0, np.float32), *rates])).to(device)

    @classmethod
    def of(cls, counts: Mapping[str, np.ndarray], weight: float, columns: Sequence[str], device: torch.device) -> WordDropout:
        """Of a matrix whose columns hold values of these attributes.

        Args:
            counts: by attribute, int64[values], how often each was seen; nothing is dropped from those that are not there.
            weight: see unknown_rates().
            columns: the attribute of each column.
            device: where the values will be.
        """
        nothing = np.zeros(0, np.int64)
        return cls([unknown_rates(counts.get(attribute, nothing), weight) for attribute in columns], device)

    def __call__(self, values: Tensor) -> Tensor:
        """int32[batch, columns]: the values, some of them UNKNOWN; drawn from torch's global generator."""
        read = values[:, self.columns]
        rates = self._rates[read + self._starts]
        dropped = torch.where(torch.rand_like(rates) < rates, UNKNOWN, read)
        return values.index_copy(1, self.columns, dropped)
