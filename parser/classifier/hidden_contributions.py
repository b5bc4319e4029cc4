"""The hidden layer as a sum of rows, one for each slot: what a slot with a certain value adds to the hidden units.

Chen and Manning (2014) compute such rows in advance. A one-hot slot has them anyway; for an embedded slot they
are its vectors times its part of the weights. Rows for all values of a large vocabulary would not fit into memory, so those of
embedded slots are made for the values that occur in the sentences at hand, once per call, by one matrix product. A row is the
same, to the last bit, whatever other values it is made together with.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numba import njit

from parser.classifier.classifier import Classifier
from parser.classifier.context import CONTEXT
from parser.classifier.matrix_products import product
from parser.data.vocabulary import ABSENT, Sentences
from parser.transitions.features import RELATION, FeatureTable

# Rows that are made at a time: with 256 hidden units, 16 kilobytes of sums, which stay in a processor's nearest cache.
_TILE = 16


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
                    relations = np.empty((len(columns) * len(vectors), len(self._bias)), np.float32)
                    embedded.fill(np.arange(len(vectors)), relations)
                    self._always = np.concatenate([self._always, relations])
                else:
                    self._embedded[name] = embedded
            first += width

    def tables(self, sentences: Sentences) -> HiddenTables:
        """The rows for all values that occur in the sentences."""
        starts = self._starts.copy()
        values = sentences.values.copy()
        filled = len(self._always)
        occurring = []
        for name, embedded in self._embedded.items():
            row = self._attributes.index(name)
            used, renumbered = np.unique(np.append(values[row], np.int32(ABSENT)), return_inverse=True)
            values[row] = renumbered[:-1]  # ABSENT is the lowest number, so it stays what it is
            starts[embedded.columns] = filled + np.arange(len(embedded.columns)) * len(used)
            end = filled + len(embedded.columns) * len(used)
            occurring.append((embedded, used, slice(filled, end)))
            filled = end
        rows = np.empty((filled, len(self._bias)), np.float32)
        rows[: len(self._always)] = self._always
        for embedded, used, places in occurring:
            embedded.fill(used, rows[places])
        return HiddenTables(rows, starts, values, self._bias)


@dataclass(frozen=True)
class _Embedded:
    """An embedded attribute: its slots, the vectors of its values, and the weights, float32[size, slots * hidden].

    ``exact`` rows are the same together with any others. Vectors of contexts are not, so their rows need not be.
    """

    columns: np.ndarray
    vectors: np.ndarray
    weights: np.ndarray
    exact: bool

    def fill(self, used: np.ndarray, rows: np.ndarray) -> None:
        """Fills in ``rows``, float32[slots * used, hidden]: what the used values add in the first slot, in the second..."""
        by_slot = rows.reshape(len(self.columns), len(used), -1)
        vectors = self.vectors[used]
        if self.exact:
            _fill(vectors, self.weights, by_slot)
        else:
            found = product(torch.from_numpy(vectors), torch.from_numpy(self.weights).t()).numpy()
            by_slot[:] = found.reshape(len(used), len(self.columns), -1).transpose(1, 0, 2)


@njit(cache=True, nogil=True, fastmath={"contract"})
def _fill(vectors, weights, rows):
    """float32[slots, n, hidden] = float32[n, size] @ float32[size, slots * hidden]; each sum is added up in one order.

    BLAS has an order that depends on n.
    """
    slots, n, hidden = rows.shape
    size = vectors.shape[1]
    for slot in range(slots):
        first = slot * hidden
        # A few rows at a time, so that the weights are read once for all of them.
        for first_row in range(0, n, _TILE):
            last_row = min(first_row + _TILE, n)
            for i in range(first_row, last_row):
                rows[slot, i, :] = 0
            # Four at a time, so that a sum is read and written a quarter as often.
            for k in range(0, size - 3, 4):
                w0 = weights[k, first : first + hidden]
                w1 = weights[k + 1, first : first + hidden]
                w2 = weights[k + 2, first : first + hidden]
                w3 = weights[k + 3, first : first + hidden]
                for i in range(first_row, last_row):
                    x0, x1, x2, x3 = vectors[i, k], vectors[i, k + 1], vectors[i, k + 2], vectors[i, k + 3]
                    row = rows[slot, i]
                    for j in range(hidden):
                        row[j] += x0 * w0[j] + x1 * w1[j] + x2 * w2[j] + x3 * w3[j]
            for k in range(size - size % 4, size):
                for i in range(first_row, last_row):
                    for j in range(hidden):
                        rows[slot, i, j] += vectors[i, k] * weights[k, first + j]


def _numpy(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy()
