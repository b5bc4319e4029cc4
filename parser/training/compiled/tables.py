"""Tables of rows that the slots of an MLP look up, and their gradients; see gradients.py.

torch has an operator for each of these loops. But the network is small: a call costs as much as the
work, and most operators go through more memory than needed. The reference implementation is
autograd; the tests compare the two.

A batch uses few rows of a table (one-hot weights, word vectors), so its gradient is kept as
*values* and *used*: rows that ``used`` (bool[rows]) marks are in ``values``, and all other rows of
the gradient are zero, whatever ``values`` holds there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from parser.kernels import kernel
from parser.networks.representation import SetSums


@dataclass
class Gradient:
    """The gradient of a parameter, without the rows that were not used.

    Attributes:
        values: float32[rows, width], as matrix_of() has the parameter; a vector is one row.
        used: bool[rows]: the rows that count; the gradient of all other rows is zero.
        turned: whether the rows are the columns of the parameter.
    """

    values: np.ndarray
    used: np.ndarray
    turned: bool = False

    @classmethod
    def like(cls, parameter: Tensor) -> Gradient:
        """Allocate the gradient of a parameter, all rows in use."""
        matrix = matrix_of(parameter)
        return cls(np.empty_like(matrix), np.ones(len(matrix), np.bool_), _turned(parameter))

    def dense(self) -> np.ndarray:
        """Return float32[rows, width], shaped like the parameter, zeros included."""
        values = np.where(self.used[:, None], self.values, np.float32(0))
        return values.T if self.turned else values


def matrix_of(parameter: Tensor) -> np.ndarray:
    """Return float32[rows, width]: the parameter in the same memory,
    transposed if its columns are contiguous.
    """
    array = parameter.detach().numpy()
    return array.T if _turned(parameter) else array.reshape(1, -1) if array.ndim == 1 else array


def _turned(parameter: Tensor) -> bool:
    return not parameter.is_contiguous()


class Table:
    """Rows that slots look up.

    Args:
        matrix: float32[rows, width], the parameter.
        columns: the slots.
        starts: the first row of each slot.
        first: the column of the inputs where the row of the first slot is copied to.
        stride: the distance to the column of the next slot: the width if rows lie side by side,
            0 if they are added up.
        gradient: the gradient of the parameter; None if training does not change it.

    Attributes:
        matrix: the rows that slots look up: the parameter, or the sums of a SetTable.
        columns, starts, first, stride: as passed.
        gradient: the gradient of ``matrix``; None if training does not change it.
    """

    def __init__(
        self,
        matrix: np.ndarray,
        columns: list[int],
        starts: list[int],
        first: int,
        stride: int,
        gradient: Gradient | None,
    ) -> None:
        self.matrix = matrix
        self.columns, self.starts = np.array(columns, np.int64), np.array(starts, np.int64)
        self.first, self.stride = first, stride
        self.gradient = gradient

    def fill(self, features: np.ndarray) -> None:
        """Compute the rows of ``matrix`` that the slots look up, where they are sums."""

    def hand_on(self) -> None:
        """Pass ``gradient`` on to the parameter's gradient, where rows are sums."""

    def copy(self, features: np.ndarray, scale: np.ndarray, inputs: np.ndarray) -> None:
        """Copy the rows side by side into the inputs, each times its scale."""
        copy_rows(self.matrix, features, self.columns, scale, self.first, inputs)

    def add(self, features: np.ndarray, total: np.ndarray) -> None:
        """Add the rows up."""
        add_rows(self.matrix, features, self.columns, self.starts, total)

    def collect(self, by_input: np.ndarray, features: np.ndarray, scale: np.ndarray) -> None:
        """Fill in the gradient, if any, from the derivatives with respect to the inputs."""
        if self.gradient is not None:
            values, used = self.gradient.values, self.gradient.used
            collect_rows(
                by_input,
                features,
                self.columns,
                self.starts,
                scale,
                self.first,
                self.stride,
                values,
                used,
            )


class SetTable(Table):
    """Rows that are sums of the rows of a parameter.

    Args:
        matrix: float32[elements, width], the parameter.
        sets: which elements each set has.
        columns, first, gradient: see Table.
    """

    def __init__(
        self,
        matrix: np.ndarray,
        sets: SetSums,
        columns: list[int],
        first: int,
        gradient: Gradient | None,
    ) -> None:
        sums = np.empty((sets.n_values, matrix.shape[1]), np.float32)
        by_sum = (
            None
            if gradient is None
            else Gradient(np.empty_like(sums), np.ones(len(sums), np.bool_))
        )
        super().__init__(sums, columns, [0] * len(columns), first, matrix.shape[1], by_sum)
        self._vectors, self._vector_gradient = matrix, gradient
        order = sets.values.argsort(stable=True)
        self._elements = sets.elements[order].numpy()
        self._set_starts = np.searchsorted(sets.values[order].numpy(), np.arange(sets.n_values + 1))
        self._used = np.empty(len(sums), np.bool_)

    def fill(self, features: np.ndarray) -> None:
        sum_elements(
            self._vectors,
            features,
            self.columns,
            self._set_starts,
            self._elements,
            self.matrix,
            self._used,
        )

    def hand_on(self) -> None:
        if self.gradient is not None and (to := self._vector_gradient) is not None:
            arrays = self._set_starts, self._elements, to.values, to.used
            collect_elements(self.gradient.values, self.gradient.used, *arrays)


@kernel()
def copy_rows(table, features, columns, scale, first, inputs):
    """Copy the rows of slots side by side into ``inputs`` (float32[batch, width]),
    from column ``first`` on; see Table.

    ``features``: int32[batch, slots]; ``scale``: float32[batch, len(columns) or more],
    the factor of each slot's row.
    """
    width = table.shape[1]
    for r in range(len(features)):
        for c in range(len(columns)):
            row = features[r, columns[c]]
            if not 0 <= row < len(table):
                raise IndexError("a feature has a value that the classifier has no vector for")
            source, factor = table[row], scale[r, c]
            target = inputs[r, first + c * width : first + (c + 1) * width]
            for j in range(width):
                target[j] = factor * source[j]


@kernel()
def add_rows(table, features, columns, starts, total):
    """Add to each example's ``total`` (float32[batch, width]) the rows of its slots;
    slot c begins at row ``starts[c]``.
    """
    for r in range(len(features)):
        target = total[r]
        for c in range(len(columns)):
            value = features[r, columns[c]]
            row = starts[c] + value
            if value < 0 or row >= len(table):
                raise IndexError("a feature has a value that the classifier has no row for")
            source = table[row]
            for j in range(len(target)):
                target[j] += source[j]


@kernel()
def collect_rows(by_input, features, columns, starts, scale, first, stride, values, used):
    """Compute the gradient of a table from the derivatives with respect to the inputs: the reverse
    of copy_rows and of add_rows.

    Args:
        by_input: float32[batch, width], derivatives with respect to the inputs.
        features: int32[batch, slots].
        columns, starts, first, stride: see Table.
        scale: float32[batch, len(columns) or more], the factor of each row; 0 leaves it out.
        values, used: see Gradient; overwritten.
    """
    used[:] = False
    width = values.shape[1]
    for r in range(len(features)):
        for c in range(len(columns)):
            factor = scale[r, c]
            if factor == np.float32(0):
                continue
            row = starts[c] + features[r, columns[c]]
            source = by_input[r, first + c * stride : first + c * stride + width]
            target = values[row]
            if used[row]:
                for j in range(width):
                    target[j] += factor * source[j]
            else:
                used[row] = True
                for j in range(width):
                    target[j] = factor * source[j]


@kernel()
def sum_elements(vectors, features, columns, starts, elements, sums, used):
    """Fill in the vectors of the sets that occur in the slots,
    as sums of the vectors of their elements.

    Args:
        vectors: float32[elements, width].
        features, columns: int32[batch, slots], and the slots that hold sets.
        starts: int64[sets + 1], the ``elements`` of set s are from ``starts[s]`` to before
            ``starts[s + 1]``.
        sums, used: float32[sets, width], the vectors of the sets, and bool[sets],
            which are filled in.
    """
    used[:] = False
    for r in range(len(features)):
        for c in range(len(columns)):
            value = features[r, columns[c]]
            if not 0 <= value < len(sums):
                raise IndexError("a feature has a value that the classifier has no vector for")
            if used[value]:
                continue
            used[value] = True
            target = sums[value]
            target[:] = 0
            for i in range(starts[value], starts[value + 1]):
                source = vectors[elements[i]]
                for j in range(len(target)):
                    target[j] += source[j]


@kernel()
def collect_elements(by_sum, used_sums, starts, elements, values, used):
    """Compute the gradient of the elements' vectors (``values``, ``used``) from that of the sets:
    reverses sum_elements.
    """
    used[:] = False
    for value in range(len(by_sum)):
        if used_sums[value]:
            source = by_sum[value]
            for i in range(starts[value], starts[value + 1]):
                target = values[elements[i]]
                if used[elements[i]]:
                    for j in range(len(target)):
                        target[j] += source[j]
                else:
                    used[elements[i]] = True
                    for j in range(len(target)):
                        target[j] = source[j]
