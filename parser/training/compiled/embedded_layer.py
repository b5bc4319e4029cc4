"""The hidden activations of embedded slots, and their gradients,
computed in two ways that differ only in rounding.

*Side by side*: the vectors of all slots, times the weights. *By value*: the contribution of each
slot, computed once for each value that the slot has in a batch. In a batch of 100 examples a slot
has some 20 values: tags and relations are few, and many nodes are absent. So the products have a
fifth of the rows; in return, contributions as wide as the hidden layer must be added up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from parser.kernels import kernel
from parser.kernels.processor import ROWS, WIDTH
from parser.kernels.tiles import strided_tile_of_one_row, strided_tile_of_rows
from parser.kernels.torch_products import product
from parser.training.compiled.tables import Gradient, Table, matrix_of

# The side of the square blocks in which products of rows are computed.
_SIDE = 4


class SideBySide:
    """The vectors of all slots side by side, times the weights.

    Args:
        weights: float32[hidden, width], a parameter.
        bias: float32[hidden].
        tables: the vectors, as the slots read them.

    Attributes:
        gradient: the gradient of the weights that collect() computed last.
    """

    def __init__(self, weights: Tensor, bias: Tensor, tables: Sequence[Table]) -> None:
        weights.data = weights.data.contiguous()
        self._weights, self._bias, self._tables = weights.detach(), bias, tables
        self._trains_vectors = any(table.gradient is not None for table in tables)
        self._inputs = torch.empty(0, weights.shape[1])
        self.gradient = Gradient.like(weights)

    def total(self, features: np.ndarray, scale: np.ndarray, kept: Tensor | None) -> Tensor:
        """Return float32[batch, hidden]: the bias plus the contributions of the slots.

        Args:
            features: int32[batch, slots].
            scale: float32[batch, embedded slots], the factor of each slot's vector.
            kept: float32[batch, width], the dropout factors of the vectors' components; None: no
                dropout.
        """
        if len(features) > len(self._inputs):  # allocating memory for every batch is slow
            self._inputs = torch.empty(len(features), self._inputs.shape[1])
        inputs = self._inputs[: len(features)]
        for table, table_scale in _with_scale(self._tables, scale):
            table.fill(features)
            table.copy(features, table_scale, inputs.numpy())
        if kept is not None:
            inputs *= kept
        return product(inputs, self._weights, self._bias)

    def collect(
        self, by_total: Tensor, features: np.ndarray, scale: np.ndarray, kept: Tensor | None
    ) -> None:
        """Fill in the gradients of weights and tables from the derivatives with respect to the
        total (float32[batch, hidden]).
        """
        self.gradient.values = product(by_total.t(), self._inputs[: len(features)].t()).numpy()
        if self._trains_vectors:
            by_input = product(by_total, self._weights.t())
            if kept is not None:
                by_input *= kept
            for table, table_scale in _with_scale(self._tables, scale):
                table.collect(by_input.numpy(), features, table_scale)
                table.hand_on()


class ByValue:
    """The contribution of each slot, computed once for each of its values in a batch.

    Args:
        weights: float32[hidden, width], a parameter with more than one column. It is copied to new
            memory, column by column: tensors that shared its memory no longer do.
        bias, tables: see SideBySide, which has the same attribute and methods.
    """

    def __init__(self, weights: Tensor, bias: Tensor, tables: Sequence[Table]) -> None:
        weights.data = weights.data.t().contiguous().t()
        self._weights, self._bias, self._tables = matrix_of(weights), bias, tables
        self.gradient = Gradient.like(weights)
        self._allocate(0)

    @staticmethod
    def serves(weights: Tensor, input_dropout: float, tables: Sequence[Table]) -> bool:
        """Return whether this way is possible and much faster. If training does not change the
        vectors, it would save a third less time.
        """
        hidden, width = weights.shape
        return (
            hidden >= WIDTH
            and width > 1
            and not input_dropout
            and any(table.gradient is not None for table in tables)
        )

    def _allocate(self, batch: int) -> None:
        self._batch = batch
        self._by_slot = [
            SlotValues.allocate(len(table.columns), batch, table.matrix) for table in self._tables
        ]
        self._sums = allocate_sums(batch, self._weights.shape[1])
        self._by_vectors = [allocate_sums(batch, table.matrix.shape[1]) for table in self._tables]

    def total(self, features: np.ndarray, scale: np.ndarray, kept: Tensor | None) -> Tensor:
        """Add up the contributions of the slots' values; ``kept`` is None."""
        assert kept is None
        if len(features) > self._batch:
            self._allocate(len(features))
        total = self._bias.repeat(len(features), 1)
        for (table, table_scale), by_slot in zip(
            _with_scale(self._tables, scale), self._by_slot, strict=True
        ):
            table.fill(features)
            find_values(table.matrix, features, table.columns, table_scale, by_slot)
            add_activations(
                by_slot, table_scale, self._weights, table.first, self._sums, total.numpy()
            )
        return total

    def collect(
        self, by_total: Tensor, features: np.ndarray, scale: np.ndarray, kept: Tensor | None
    ) -> None:
        """Collect the gradients; ``kept`` is None, and total() was called for the same batch."""
        slots = zip(_with_scale(self._tables, scale), self._by_slot, self._by_vectors, strict=True)
        for (table, table_scale), by_slot, by_vectors in slots:
            trained = table.gradient is not None
            to = table.gradient or _NOTHING
            arrays = (
                by_total.numpy(),
                self._sums,
                self.gradient.values,
                trained,
                by_vectors,
                to.values,
                to.used,
            )
            collect_gradients(by_slot, table_scale, self._weights, table.first, *arrays)
            table.hand_on()


def _with_scale(tables: Sequence[Table], scale: np.ndarray) -> Iterator[tuple[Table, np.ndarray]]:
    """Yield each table, and the part of ``scale`` (float32[batch,
    embedded slots]) for its slots.
    """
    first = 0
    for table in tables:
        yield table, scale[:, first : first + len(table.columns)]
        first += len(table.columns)


_NOTHING = Gradient(np.empty((0, 0), np.float32), np.empty(0, np.bool_))


class SlotValues(NamedTuple):
    """The values that the slots of a table have in a batch, and their vectors.

    Attributes:
        counts: int64[slots], how many values each slot has; a dropped slot has none.
        values: int32[slots, batch], the first ``counts[c]`` of slot c are its values.
        numbers: int32[slots, batch], the place in ``values`` of each example's value; -1 where the
            slot is dropped.
        places: int32[values of the table], the place in ``values`` where a value was found last.
        starts: int64[slots], the row of ``vectors`` where the vectors of a slot begin.
        vectors: float32[slots * batch and ROWS more, table's width].
    """

    counts: np.ndarray
    values: np.ndarray
    numbers: np.ndarray
    places: np.ndarray
    starts: np.ndarray
    vectors: np.ndarray

    @classmethod
    def allocate(cls, slots: int, batch: int, table: np.ndarray) -> SlotValues:
        """Allocate arrays for batches of at most this size."""
        return cls(
            counts=np.zeros(slots, np.int64),
            values=np.zeros((slots, batch), np.int32),
            numbers=np.zeros((slots, batch), np.int32),
            places=np.zeros(len(table), np.int32),
            starts=np.zeros(slots, np.int64),
            vectors=np.zeros((slots * batch + ROWS, table.shape[1]), np.float32),
        )


def allocate_sums(batch: int, width: int) -> np.ndarray:
    """Return float32[rows, width], room for the contributions of a slot's values,
    in batches of at most this size.
    """
    return np.zeros((batch + ROWS, width), np.float32)


@kernel()
def find_values(table, features, columns, scale, by_slot):
    """Fill in the values of slots, and their vectors.

    Args:
        table: float32[values, width], the vectors.
        features: int32[batch, slots].
        columns: the slots that the table serves.
        scale: float32[batch, len(columns) or more], the factor of each slot's vector;
            0 drops the slot.
        by_slot: SlotValues.
    """
    counts, values, numbers, places, starts, vectors = by_slot
    start = 0
    for c in range(len(columns)):
        n = 0
        for r in range(len(features)):
            if scale[r, c] == np.float32(0):
                numbers[c, r] = -1
                continue
            value = features[r, columns[c]]
            if not 0 <= value < len(table):
                raise IndexError("a feature has a value that the classifier has no vector for")
            place = places[value]
            if place >= n or values[c, place] != value:
                place = places[value] = n
                values[c, n] = value
                source, target = table[value], vectors[start + n]
                for j in range(len(target)):
                    target[j] = source[j]
                n += 1
            numbers[c, r] = place
        counts[c], starts[c] = n, start
        start += n


@kernel()
def add_activations(by_slot, scale, weights, first, sums, total):
    """Add the contributions of slots to ``total`` (float32[batch, hidden]).

    Args:
        by_slot: SlotValues, filled in.
        scale: see find_values().
        weights: float32[inputs, hidden], contiguous.
        first: the row where the weights of the first slot begin;
            each slot has as many rows as a vector is wide.
        sums: allocate_sums(); overwritten.
        total: changed in place.
    """
    counts, _, numbers, _, starts, vectors = by_slot
    size, hidden = vectors.shape[1], weights.shape[1]
    for c in range(len(counts)):
        if counts[c] == 0:
            continue
        rows = max(counts[c], ROWS)  # rows beyond the last vector are not read
        block = (first + c * size) * hidden
        _multiply(
            vectors, starts[c] * size, size, 1, rows, weights, block, hidden, size, sums, 0, hidden
        )
        for r in range(len(total)):
            if numbers[c, r] >= 0:
                factor, source, target = scale[r, c], sums[numbers[c, r]], total[r]
                for j in range(hidden):
                    target[j] += factor * source[j]


@kernel()
def collect_gradients(
    by_slot, scale, weights, first, by_total, sums, by_weights, trained, by_vectors, values, used
):
    """Compute the gradients of weights and vectors: the reverse of add_activations.

    Args:
        by_slot, scale, weights, first, sums: see add_activations().
        by_total: float32[batch, hidden], derivatives with respect to the total.
        by_weights: float32[inputs, hidden], the gradient of the weights;
            overwritten in the rows of these slots.
        trained: whether the table has a gradient, which goes to ``values`` and ``used``;
            see Gradient.
        by_vectors: float32[batch and ROWS more, table's width]; overwritten.
    """
    counts, slot_values, numbers, _, starts, vectors = by_slot
    size, hidden = vectors.shape[1], weights.shape[1]
    used[:] = False
    for c in range(len(counts)):
        block = first + c * size
        if counts[c] == 0:
            by_weights[block : block + size] = 0
            continue
        _add_up(numbers[c], scale, c, by_total, sums)
        _multiply(
            vectors,
            starts[c] * size,
            1,
            size,
            size,
            sums,
            0,
            hidden,
            counts[c],
            by_weights,
            block * hidden,
            hidden,
        )
        if trained:
            _products_of_rows(sums, counts[c], weights, block, size, by_vectors)
            for i in range(counts[c]):
                row = slot_values[c, i]
                source, target = by_vectors[i], values[row]
                if used[row]:
                    for j in range(size):
                        target[j] += source[j]
                else:
                    used[row] = True
                    for j in range(size):
                        target[j] = source[j]


@kernel()
def _add_up(numbers, scale, c, by_total, sums):
    """Fill in the derivatives with respect to the contribution of each value of slot c."""
    n = 0
    hidden = by_total.shape[1]
    for r in range(len(by_total)):
        if numbers[r] < 0:
            continue
        factor, source, target = scale[r, c], by_total[r], sums[numbers[r]]
        if numbers[r] == n:  # values are numbered in the order of their first examples
            n += 1
            for j in range(hidden):
                target[j] = factor * source[j]
        else:
            for j in range(hidden):
                target[j] += factor * source[j]


@kernel()
def _multiply(a, a_start, a_row, a_step, rows, b, b_start, b_step, steps, c, c_start, c_row):
    """Compute in tiles a matrix product with ``rows`` rows and ``c_row`` columns (at least WIDTH);
    for the arguments see tiles.py.

    The last tile may overlap the one before it; fewer than ROWS rows are multiplied one by one.
    """
    for first_column in range(0, c_row, WIDTH):
        j = min(first_column, c_row - WIDTH)
        if rows < ROWS:
            for r in range(rows):
                to = c_start + r * c_row + j
                strided_tile_of_one_row(
                    a,
                    a_start + r * a_row,
                    a_row,
                    a_step,
                    b,
                    b_start + j,
                    b_step,
                    steps,
                    c,
                    to,
                    c_row,
                )
            continue
        for first_row in range(0, rows, ROWS):
            r = min(first_row, rows - ROWS)
            to = c_start + r * c_row + j
            strided_tile_of_rows(
                a, a_start + r * a_row, a_row, a_step, b, b_start + j, b_step, steps, c, to, c_row
            )


@kernel(fastmath={"reassoc", "contract"})
def _products_of_rows(a, rows, b, first, columns, products):
    """Fill in float32[rows, columns]: the products of the first rows of a with the rows of b from
    ``first``.
    """
    if columns < _SIDE:
        for i in range(rows):
            for j in range(columns):
                total = np.float32(0)
                for k in range(a.shape[1]):
                    total += a[i, k] * b[first + j, k]
                products[i, j] = total
        return
    for i in range(0, rows, _SIDE):  # the arrays have room beyond the last row
        a0, a1, a2, a3 = a[i], a[i + 1], a[i + 2], a[i + 3]
        for first_column in range(0, columns, _SIDE):
            j = min(first_column, columns - _SIDE)
            b0, b1, b2, b3 = b[first + j], b[first + j + 1], b[first + j + 2], b[first + j + 3]
            s00 = s01 = s02 = s03 = s10 = s11 = s12 = s13 = np.float32(0)
            s20 = s21 = s22 = s23 = s30 = s31 = s32 = s33 = np.float32(0)
            for k in range(a.shape[1]):
                s00 += a0[k] * b0[k]
                s01 += a0[k] * b1[k]
                s02 += a0[k] * b2[k]
                s03 += a0[k] * b3[k]
                s10 += a1[k] * b0[k]
                s11 += a1[k] * b1[k]
                s12 += a1[k] * b2[k]
                s13 += a1[k] * b3[k]
                s20 += a2[k] * b0[k]
                s21 += a2[k] * b1[k]
                s22 += a2[k] * b2[k]
                s23 += a2[k] * b3[k]
                s30 += a3[k] * b0[k]
                s31 += a3[k] * b1[k]
                s32 += a3[k] * b2[k]
                s33 += a3[k] * b3[k]
            products[i, j] = s00
            products[i, j + 1] = s01
            products[i, j + 2] = s02
            products[i, j + 3] = s03
            products[i + 1, j] = s10
            products[i + 1, j + 1] = s11
            products[i + 1, j + 2] = s12
            products[i + 1, j + 3] = s13
            products[i + 2, j] = s20
            products[i + 2, j + 1] = s21
            products[i + 2, j + 2] = s22
            products[i + 2, j + 3] = s23
            products[i + 3, j] = s30
            products[i + 3, j + 1] = s31
            products[i + 3, j + 2] = s32
            products[i + 3, j + 3] = s33
