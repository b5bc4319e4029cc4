"""What vectors contribute to the hidden layer, and its gradients, in two ways that differ in rounding alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from parser.kernels.llvm import WIDTH
from parser.kernels.torch_products import product
from parser.training.compiled import contributions
from parser.training.compiled.contributions import SlotValues, room_for_sums
from parser.training.compiled.tables import Gradient, Table, matrix_of


class EmbeddedLayer(Protocol):
    """What vectors contribute to the hidden layer.

    Attributes:
        gradient: of the weights; what collect() found last.
    """

    gradient: Gradient

    def total(self, features: np.ndarray, scale: np.ndarray, kept: Tensor | None) -> Tensor:
        """float32[batch, hidden]: the sum of the bias and of what the slots contribute.

        Args:
            features: int32[batch, slots].
            scale: float32[batch, embedded slots], what the vector of each is multiplied by.
            kept: float32[batch, width], what the numbers of the vectors are multiplied by; None for ones.
        """

    def collect(self, by_total: Tensor, features: np.ndarray, scale: np.ndarray, kept: Tensor | None) -> None:
        """Fills in the gradients of weights and tables, given the derivatives by the total (float32[batch, hidden])."""


class SideBySide:
    """The vectors of all slots side by side, times the weights.

    Args:
        weights: float32[hidden, width], a parameter.
        bias: float32[hidden].
        tables: the vectors, as the slots read them.
    """

    def __init__(self, weights: Tensor, bias: Tensor, tables: Sequence[Table]) -> None:
        weights.data = weights.data.contiguous()
        self._weights, self._bias, self._tables = weights.detach(), bias, tables
        self._trains_vectors = any(table.gradient is not None for table in tables)
        self._inputs = torch.empty(0, weights.shape[1])
        self.gradient = Gradient.like(weights)

    def total(self, features: np.ndarray, scale: np.ndarray, kept: Tensor | None) -> Tensor:
        """See EmbeddedLayer."""
        if len(features) > len(self._inputs):  # asking for new memory in every batch is slow
            self._inputs = torch.empty(len(features), self._inputs.shape[1])
        inputs = self._inputs[: len(features)]
        for table, of_table in _with_scale(self._tables, scale):
            table.fill(features)
            table.copy(features, of_table, inputs.numpy())
        if kept is not None:
            inputs *= kept
        return product(inputs, self._weights, self._bias)

    def collect(self, by_total: Tensor, features: np.ndarray, scale: np.ndarray, kept: Tensor | None) -> None:
        """See EmbeddedLayer."""
        self.gradient.values = product(by_total.t(), self._inputs[: len(features)].t()).numpy()
        if self._trains_vectors:
            by_input = product(by_total, self._weights.t())
            if kept is not None:
                by_input *= kept
            for table, of_table in _with_scale(self._tables, scale):
                table.collect(by_input.numpy(), features, of_table)
                table.hand_on()


class ByValue:
    """What each slot contributes, computed once for each of its values in a batch; see contributions.py.

    Args:
        weights: float32[hidden, width], a parameter with more than one column. It is laid out anew, column by column: what
            shared its memory does so no longer.
        bias, tables: see SideBySide.
    """

    def __init__(self, weights: Tensor, bias: Tensor, tables: Sequence[Table]) -> None:
        weights.data = weights.data.t().contiguous().t()
        self._weights, self._bias, self._tables = matrix_of(weights), bias, tables
        self.gradient = Gradient.like(weights)
        self._make_room(0)

    @staticmethod
    def serves(weights: Tensor, input_dropout: float, tables: Sequence[Table]) -> bool:
        """Whether it can be, and is worth it: for vectors that are not trained there is a third less to gain."""
        hidden, width = weights.shape
        return hidden >= WIDTH and width > 1 and not input_dropout and any(table.gradient is not None for table in tables)

    def _make_room(self, batch: int) -> None:
        self._batch = batch
        self._found = [SlotValues.room(len(table.columns), batch, table.matrix) for table in self._tables]
        self._sums = room_for_sums(batch, self._weights.shape[1])
        self._by_vectors = [room_for_sums(batch, table.matrix.shape[1]) for table in self._tables]

    def total(self, features: np.ndarray, scale: np.ndarray, kept: Tensor | None) -> Tensor:
        """See EmbeddedLayer; ``kept`` is None."""
        assert kept is None
        if len(features) > self._batch:
            self._make_room(len(features))
        total = self._bias.repeat(len(features), 1)
        for (table, of_table), found in zip(_with_scale(self._tables, scale), self._found, strict=True):
            table.fill(features)
            contributions.find_values(table.matrix, features, table.columns, of_table, found)
            contributions.add_contributions(found, of_table, self._weights, table.first, self._sums, total.numpy())
        return total

    def collect(self, by_total: Tensor, features: np.ndarray, scale: np.ndarray, kept: Tensor | None) -> None:
        """See EmbeddedLayer; ``kept`` is None, and total() was called for the same batch."""
        rooms = zip(_with_scale(self._tables, scale), self._found, self._by_vectors, strict=True)
        for (table, of_table), found, by_vectors in rooms:
            trained = table.gradient is not None
            to = table.gradient or _NOTHING
            arrays = by_total.numpy(), self._sums, self.gradient.values, trained, by_vectors, to.values, to.used
            contributions.collect_gradients(found, of_table, self._weights, table.first, *arrays)
            table.hand_on()


def _with_scale(tables: Sequence[Table], scale: np.ndarray) -> Iterator[tuple[Table, np.ndarray]]:
    """Each table, and its slots' part of float32[batch, embedded slots]."""
    first = 0
    for table in tables:
        yield table, scale[:, first : first + len(table.columns)]
        first += len(table.columns)


_NOTHING = Gradient(np.empty((0, 0), np.float32), np.empty(0, np.bool_))
