"""Tables of rows that the slots of an MLP look up, and gradients; see gradients.py."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from parser.networks.representation import SetSums
from parser.training.compiled import kernels


@dataclass
class Gradient:
    """The gradient of a parameter, with rows that were not used left out.

    Attributes:
        values: float32[rows, width], as matrix_of() has the parameter; a vector is one row.
        used: bool[rows]: the rows that hold numbers; the others are zero, whatever stands there.
        turned: whether the rows are the columns of the parameter.
    """

    values: np.ndarray
    used: np.ndarray
    turned: bool = False

    @classmethod
    def like(cls, parameter: Tensor) -> Gradient:
        """Room for the gradient of a parameter, all rows of it in use."""
        matrix = matrix_of(parameter)
        return cls(np.empty_like(matrix), np.ones(len(matrix), np.bool_), _turned(parameter))

    def dense(self) -> np.ndarray:
        """float32[rows, width] of the parameter, zeros included."""
        values = np.where(self.used[:, None], self.values, np.float32(0))
        return values.T if self.turned else values


def matrix_of(parameter: Tensor) -> np.ndarray:
    """float32[rows, width]: the parameter itself, in the same memory; transposed if it is laid out column by column."""
    array = parameter.detach().numpy()
    return array.T if _turned(parameter) else array.reshape(1, -1) if array.ndim == 1 else array


def _turned(parameter: Tensor) -> bool:
    return not parameter.is_contiguous()


class Table:
    """Rows that slots look up.

    Args:
        matrix: float32[rows, width], the parameter.
        columns: which slots.
        starts: the row that each of them begins at.
        first: the column of the inputs that the row of the first slot goes into.
        stride: how far from there that of the next slot goes: the width if they lie side by side, 0 if they are added up.
        gradient: of the parameter; None if training does not change it.

    Attributes:
        matrix: the rows that slots look up: as given, or the sums of a SetTable.
        columns, starts, first, stride: as given.
        gradient: that of ``matrix``; None if training does not change it.
    """

    def __init__(
        self, matrix: np.ndarray, columns: list[int], starts: list[int], first: int, stride: int, gradient: Gradient | None
    ) -> None:
        self.matrix = matrix
        self.columns, self.starts = np.array(columns, np.int64), np.array(starts, np.int64)
        self.first, self.stride = first, stride
        self.gradient = gradient

    def fill(self, features: np.ndarray) -> None:
        """Makes sure that ``matrix`` has what the slots look up."""

    def hand_on(self) -> None:
        """Passes ``gradient`` on to the parameter's."""

    def copy(self, features: np.ndarray, scale: np.ndarray, inputs: np.ndarray) -> None:
        """Puts the rows side by side into the inputs, each times its scale."""
        kernels.copy_rows(self.matrix, features, self.columns, scale, self.first, inputs)

    def add(self, features: np.ndarray, total: np.ndarray) -> None:
        """Adds the rows up."""
        kernels.add_rows(self.matrix, features, self.columns, self.starts, total)

    def collect(self, by_input: np.ndarray, features: np.ndarray, scale: np.ndarray) -> None:
        """Fills in the gradient, if there is one, given the derivatives by what the rows went into."""
        if self.gradient is not None:
            values, used = self.gradient.values, self.gradient.used
            kernels.collect_rows(by_input, features, self.columns, self.starts, scale, self.first, self.stride, values, used)


class SetTable(Table):
    """Rows that are sums of the rows of a parameter.

    Args:
        matrix: float32[elements, width], the parameter.
        sets: which elements each set has.
        columns, first, gradient: see Table.
    """

    def __init__(self, matrix: np.ndarray, sets: SetSums, columns: list[int], first: int, gradient: Gradient | None) -> None:
        sums = np.empty((sets.n_values, matrix.shape[1]), np.float32)
        by_sum = None if gradient is None else Gradient(np.empty_like(sums), np.ones(len(sums), np.bool_))
        super().__init__(sums, columns, [0] * len(columns), first, matrix.shape[1], by_sum)
        self._vectors, self._of_vectors = matrix, gradient
        order = sets.values.argsort(stable=True)
        self._elements = sets.elements[order].numpy()
        self._set_starts = np.searchsorted(sets.values[order].numpy(), np.arange(sets.n_values + 1))
        self._used = np.empty(len(sums), np.bool_)

    def fill(self, features: np.ndarray) -> None:
        """See Table."""
        kernels.sum_elements(self._vectors, features, self.columns, self._set_starts, self._elements, self.matrix, self._used)

    def hand_on(self) -> None:
        """See Table."""
        if self.gradient is not None and self._of_vectors is not None:
            of_sums, of_vectors = self.gradient, self._of_vectors
            arrays = self._set_starts, self._elements, of_vectors.values, of_vectors.used
            kernels.collect_elements(of_sums.values, of_sums.used, *arrays)
