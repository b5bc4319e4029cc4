"""Precomputed contributions to the hidden layer: what a slot that reads a certain number adds to the hidden units.

The hidden layer of a configuration is then a sum of contributions, one for each slot, whatever the length of the vectors (Chen
and Manning 2014). A one-hot slot has its contributions in the weights; for a slot that reads vectors they are the
vectors times its part of the weights. Contributions of all values of a large vocabulary would not fit into memory, so those of
attributes are computed for the values that occur in the given sentences, once per call, by one matrix product. Those of
values are the same, to the last bit, whatever other values they are computed together with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from parser.classifier.exact_products import Panels, panels_of_floats, product
from parser.classifier.weights import ClassifierWeights
from parser.data.sentences import Sentences
from parser.data.vocabulary import ABSENT
from parser.kernels import kernel
from parser.transitions.features import RELATION, TOKEN, FeatureTable

# Contributions that are computed at a time: with 256 hidden units, 16 kilobytes of sums, which stay in a processor's nearest
# cache.
_TILE = 16


@dataclass(frozen=True)
class HiddenContributions:
    """What slots add to the hidden layer, for the tokens that it was computed for.

    Attributes:
        rows: float32[total, hidden]; slot c that reads v adds row ``starts[c] + v``.
        starts: int64[slots].
        values: int32[attributes, tokens], what slots can read of the tokens, in the numbering of the rows.
        bias: float32[hidden].
    """

    rows: np.ndarray
    starts: np.ndarray
    values: np.ndarray
    bias: np.ndarray


class ContributionMaker:
    """Computes the contributions of the slots of a classifier; what does not depend on the sentences is computed once.

    Args:
        weights: the weights of the classifier.
        table: its features.
    """

    def __init__(self, weights: ClassifierWeights, table: FeatureTable) -> None:
        self._weights = weights
        self._table = table
        self._bias = weights.hidden_bias
        self._starts = np.zeros(len(table.slots), np.int64)
        self._starts[weights.layout.one_hot_columns] = weights.layout.one_hot_starts
        # Those that every configuration may need: of the one-hot slots, and of relations, which are given while parsing.
        self._always = weights.one_hot
        self._embedded: dict[str, _EmbeddedSlots] = {}
        for part in weights.embedded:
            name, columns = part.attribute, part.columns
            panels = panels_of_floats(part.weights.T) if name == TOKEN else None
            slots = _EmbeddedSlots(np.array(columns), part.weights, panels)
            if name == RELATION:
                vectors = weights.vectors[name]
                self._starts[columns] = len(self._always) + np.arange(len(columns)) * len(vectors)
                relations = np.empty((len(columns) * len(vectors), len(self._bias)), np.float32)
                slots.fill(vectors, relations)
                self._always = np.concatenate([self._always, relations])
            else:
                self._embedded[name] = slots

    def of_sentences(self, sentences: Sentences) -> HiddenContributions:
        """The contributions of all that occurs in the sentences."""
        return self._contributions(self._table.values(sentences), self._weights.vectors_in(sentences))

    def of_values(self, values: np.ndarray) -> HiddenContributions:
        """Those of int32[attributes, tokens] of a static representation; of a contextual one, all tokens must be ABSENT."""
        return self._contributions(values, self._weights.vectors)

    def _contributions(self, values: np.ndarray, vectors: Mapping[str, np.ndarray]) -> HiddenContributions:
        starts, values = self._starts.copy(), values.copy()
        filled = len(self._always)
        occurring = []
        for name, slots in self._embedded.items():
            row = self._table.attributes.index(name)
            used, renumbered = np.unique(np.append(values[row], np.int32(ABSENT)), return_inverse=True)
            values[row] = renumbered[:-1]  # ABSENT is the lowest number, so it stays what it is
            starts[slots.columns] = filled + np.arange(len(slots.columns)) * len(used)
            end = filled + len(slots.columns) * len(used)
            occurring.append((slots, vectors[name][used], slice(filled, end)))
            filled = end
        rows = np.empty((filled, len(self._bias)), np.float32)
        rows[: len(self._always)] = self._always
        for slots, used_vectors, places in occurring:
            slots.fill(used_vectors, rows[places])
        return HiddenContributions(rows, starts, values, self._bias)


@dataclass(frozen=True)
class _EmbeddedSlots:
    """The slots that read an embedded attribute.

    Attributes:
        columns: their numbers.
        weights: float32[size, slots * hidden], see SlotWeights.
        panels: the same weights as panels, of slots that read what an encoder has made of a token: there are many of these.
    """

    columns: np.ndarray
    weights: np.ndarray
    panels: Panels | None

    def fill(self, vectors: np.ndarray, rows: np.ndarray) -> None:
        """Fills in ``rows``, float32[slots * n, hidden]: what n vectors contribute in the first slot, in the second..."""
        by_slot = rows.reshape(len(self.columns), len(vectors), -1)
        if self.panels is not None:
            found = product(vectors, self.panels, self.weights.shape[1])
            by_slot[:] = found.reshape(len(vectors), len(self.columns), -1).transpose(1, 0, 2)
        else:
            _multiply(vectors, self.weights, by_slot)


@kernel(fastmath={"contract"})
def _multiply(vectors, weights, products):
    """float32[slots, n, hidden] = float32[n, size] @ float32[size, slots * hidden]; each sum is added up in one order.

    BLAS has an order that depends on n.
    """
    slots, n, hidden = products.shape
    size = vectors.shape[1]
    for slot in range(slots):
        first = slot * hidden
        # A few vectors at a time, so that the weights are read once for all of them.
        for first_vector in range(0, n, _TILE):
            last_vector = min(first_vector + _TILE, n)
            for i in range(first_vector, last_vector):
                products[slot, i, :] = 0
            # Four at a time, so that a sum is read and written a quarter as often.
            for k in range(0, size - 3, 4):
                w0 = weights[k, first : first + hidden]
                w1 = weights[k + 1, first : first + hidden]
                w2 = weights[k + 2, first : first + hidden]
                w3 = weights[k + 3, first : first + hidden]
                # Two vectors at a time, so that a weight is read half as often.
                for i in range(first_vector, last_vector - 1, 2):
                    x0, x1, x2, x3 = vectors[i, k], vectors[i, k + 1], vectors[i, k + 2], vectors[i, k + 3]
                    y0, y1, y2, y3 = vectors[i + 1, k], vectors[i + 1, k + 1], vectors[i + 1, k + 2], vectors[i + 1, k + 3]
                    total, following = products[slot, i], products[slot, i + 1]
                    for j in range(hidden):
                        v0, v1, v2, v3 = w0[j], w1[j], w2[j], w3[j]
                        total[j] += x0 * v0 + x1 * v1 + x2 * v2 + x3 * v3
                        following[j] += y0 * v0 + y1 * v1 + y2 * v2 + y3 * v3
                if (last_vector - first_vector) % 2:
                    last = vectors[last_vector - 1]
                    x0, x1, x2, x3 = last[k], last[k + 1], last[k + 2], last[k + 3]
                    total = products[slot, last_vector - 1]
                    for j in range(hidden):
                        total[j] += x0 * w0[j] + x1 * w1[j] + x2 * w2[j] + x3 * w3[j]
            for k in range(size - size % 4, size):
                for i in range(first_vector, last_vector):
                    for j in range(hidden):
                        products[slot, i, j] += vectors[i, k] * weights[k, first + j]
