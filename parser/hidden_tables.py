"""The hidden layer as a sum of rows, one for each slot: what a slot with a certain value adds to the hidden units.

Chen and Manning (2014), Section 3.2, compute such rows in advance. A one-hot slot has them anyway; for an embedded slot they
are its vectors times its part of the weights. Rows for all values of a large vocabulary would not fit into memory, so those of
embedded slots are made for the values that occur in the sentences at hand, once per call, by one matrix product.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

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
            rows = (vectors[used] @ weights).reshape(len(used), len(columns), hidden)
            parts.append(rows.transpose(1, 0, 2).reshape(-1, hidden))
            for c, column in enumerate(columns):
                starts[column] = filled + c * len(used)
            filled += len(columns) * len(used)
        return HiddenTables(np.concatenate(parts), starts, values, self._bias)


def _numpy(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy()
