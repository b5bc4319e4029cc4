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
from parser.context import CONTEXT
from parser.features import RELATION, FeatureTable
from parser.matrix_products import product
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
        self._always = _numpy(classifier.one_hot.weight)
        self._starts = np.zeros(len(self._slots), np.int64)
        self._starts[classifier.one_hot_columns.numpy(force=True)] = classifier.one_hot_starts.numpy(force=True)
        self._embedded: dict[str, _Embedded] = {}
        first = 0
        for name, columns in classifier.embedded_columns.items():
            vectors = _numpy(classifier.matrix(name))
            width = len(columns) * vectors.shape[1]
            if columns:
                assert classifier.embedded is not None
                weights = _numpy(classifier.embedded.weight)[:, first : first + width]
                # [hidden, slots * size] -> [size, slots * hidden], so that one product serves all slots of the attribute
                by_slot = weights.reshape(len(weights), len(columns), -1).transpose(2, 1, 0)
                by_slot = np.ascontiguousarray(by_slot.reshape(vectors.shape[1], -1))
                embedded = _Embedded(np.array(columns), vectors, by_slot, exact=name != CONTEXT)
                if name == RELATION:  # relations are given while parsing, so all of them are needed
                    self._starts[columns] = len(self._always) + np.arange(len(columns)) * len(vectors)
                    self._always = np.concatenate([self._always, embedded.rows(np.arange(len(vectors)))])
                else:
                    self._embedded[name] = embedded
            first += width

    def tables(self, sentences: Sentences) -> HiddenTables:
        """The rows for all values that occur in the sentences."""
        parts, starts = [self._always], self._starts.copy()
        values = sentences.values.copy()
        filled = len(self._always)
        for name, embedded in self._embedded.items():
            row = self._attributes.index(name)
            used, renumbered = np.unique(np.append(values[row], np.int32(ABSENT)), return_inverse=True)
            values[row] = renumbered[:-1]  # ABSENT is the lowest number, so it stays what it is
            parts.append(embedded.rows(used))
            starts[embedded.columns] = filled + np.arange(len(embedded.columns)) * len(used)
            filled += len(parts[-1])
        return HiddenTables(np.concatenate(parts), starts, values, self._bias)


@dataclass(frozen=True)
class _Embedded:
    """An embedded attribute: its slots, the vectors of its values, and the weights, float32[size, slots * hidden].

    ``exact`` rows are the same together with any others. Vectors of contexts are not, so their rows need not be.
    """

    columns: np.ndarray
    vectors: np.ndarray
    weights: np.ndarray
    exact: bool

    def rows(self, used: np.ndarray) -> np.ndarray:
        """float32[slots * used, hidden]: what the used values add in the first slot, then in the second..."""
        slots = len(self.columns)
        vectors = self.vectors[used]
        if self.exact:
            rows = _product(vectors, self.weights).reshape(len(used), slots, -1)
        else:
            rows = product(torch.from_numpy(vectors), torch.from_numpy(self.weights).t()).numpy().reshape(len(used), slots, -1)
        return rows.transpose(1, 0, 2).reshape(len(used) * slots, -1)


@njit(cache=True, nogil=True, fastmath={"contract"})
def _product(vectors, weights):
    """float32[n, m] = float32[n, k] @ float32[k, m], row by row. BLAS adds up in an order that depends on n."""
    n, size = vectors.shape
    total = np.zeros((n, weights.shape[1]), np.float32)
    for i in range(n):
        # Four at a time, so that a sum is read and written a quarter as often.
        for k in range(0, size - 3, 4):
            x0, x1, x2, x3 = vectors[i, k], vectors[i, k + 1], vectors[i, k + 2], vectors[i, k + 3]
            for j in range(weights.shape[1]):
                total[i, j] += x0 * weights[k, j] + x1 * weights[k + 1, j] + x2 * weights[k + 2, j] + x3 * weights[k + 3, j]
        for k in range(size - size % 4, size):
            for j in range(weights.shape[1]):
                total[i, j] += vectors[i, k] * weights[k, j]
    return total


def _numpy(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy()
