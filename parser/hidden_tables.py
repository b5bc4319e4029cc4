"""The hidden layer as a sum of rows, one for each slot: what a slot with a certain value adds to the hidden units.

Chen and Manning (2014), Section 3.2, compute such rows in advance. A one-hot slot has them anyway; for an embedded slot they
are its vectors times its part of the weights. Rows for all values of a large vocabulary would not fit into memory, so those of
embedded slots are made for the values that occur in the sentences at hand, once per call, by one matrix product. A row is the
same, to the last bit, whatever other values it is made together with.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numba import njit

from parser.classifier import Classifier
from parser.features import RELATION, FeatureTable
from parser.vocabulary import ABSENT, Sentences


@dataclass(frozen=True)
class HiddenTables:
    """Rows to add up, for the sentences that they were made for.

    Attributes:
        rows: float32[total, hidden]; slot c with value v adds row ``starts[c] + v``.
        starts: int64[slots].
        values: int32[attributes, tokens], the values of the sentences in the numbering of the rows.
        bias: float32[hidden].
    """

    rows: np.ndarray
    starts: np.ndarray
    values: np.ndarray
    bias: np.ndarray


class TableMaker:
    """Makes the rows of a classifier; what does not depend on the sentences is made once.

    Args:
        classifier: a trained classifier, on any device.
        table: its features.
        attributes: the order of the rows of ``Sentences.values``.
    """

    def __init__(self, classifier: Classifier, table: FeatureTable, attributes: list[str]) -> None:
        self._slots = table.slots
        self._attributes = attributes
        self._bias = _numpy(classifier.hidden_bias)
        self._one_hot = _numpy(classifier.one_hot.weight)
        self._one_hot_starts = dict(zip(classifier.one_hot_columns.tolist(), classifier.one_hot_starts.tolist(), strict=True))
        self._embedded: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        first = 0
        for name, columns in classifier.embedded_columns.items():
            vectors = _numpy(classifier.matrix(name))
            width = len(columns) * vectors.shape[1]
            if columns:
                assert classifier.embedded is not None
                weights = _numpy(classifier.embedded.weight)[:, first : first + width]
                # [hidden, slots * size] -> [size, slots * hidden], so that one product serves all slots of the attribute
                by_slot = weights.reshape(len(weights), len(columns), -1).transpose(2, 1, 0)
                self._embedded[name] = vectors, np.ascontiguousarray(by_slot.reshape(vectors.shape[1], -1))
            first += width

    def tables(self, sentences: Sentences) -> HiddenTables:
        """The rows for all values that occur in the sentences."""
        hidden = len(self._bias)
        parts, starts = [self._one_hot], np.zeros(len(self._slots), np.int64)
        for column, start in self._one_hot_starts.items():
            starts[column] = start
        values = sentences.values
        filled = len(self._one_hot)
        for name, (vectors, weights) in self._embedded.items():
            columns = [c for c, slot in enumerate(self._slots) if slot.attribute == name]
            used = np.arange(len(vectors), dtype=np.int32)
            if name != RELATION:  # relations are given while parsing, so all of them are needed
                row = self._attributes.index(name)
                used, renumbered = np.unique(np.append(values[row], np.int32(ABSENT)), return_inverse=True)
                values = values.copy()
                values[row] = renumbered[:-1]  # ABSENT is the lowest number, so it stays what it is
            rows = _product(vectors[used], weights).reshape(len(used), len(columns), hidden)
            parts.append(rows.transpose(1, 0, 2).reshape(-1, hidden))
            for c, column in enumerate(columns):
                starts[column] = filled + c * len(used)
            filled += len(columns) * len(used)
        return HiddenTables(np.concatenate(parts), starts, values, self._bias)


@njit(cache=True, nogil=True, fastmath={"contract"})
def _product(vectors, weights):
    """float32[n, m] = float32[n, k] @ float32[k, m], row by row. BLAS adds up in an order that depends on n."""
    n, size = vectors.shape
    product = np.zeros((n, weights.shape[1]), np.float32)
    for i in range(n):
        # Four at a time, so that a sum is read and written a quarter as often.
        for k in range(0, size - 3, 4):
            x0, x1, x2, x3 = vectors[i, k], vectors[i, k + 1], vectors[i, k + 2], vectors[i, k + 3]
            for j in range(weights.shape[1]):
                product[i, j] += x0 * weights[k, j] + x1 * weights[k + 1, j] + x2 * weights[k + 2, j] + x3 * weights[k + 3, j]
        for k in range(size - size % 4, size):
            for j in range(weights.shape[1]):
                product[i, j] += vectors[i, k] * weights[k, j]
    return product


def _numpy(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy()
