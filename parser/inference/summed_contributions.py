"""What all slots at an address contribute for word types, added up: hidden_contributions.py without rows for single slots.

Rows for single slots would take several times the memory of the sums, and memory is what takes the time. So a few types go
along at a time, and addresses one by one: what a slot contributes is added up while it is in the second of a processor's
caches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from parser.inference.hidden_contributions import ContributionMaker
from parser.kernels.products import Panels, multiply, panels_of_floats, widened
from parser.kernels.tiles import WIDTH

# Types that go along: with 256 hidden units, half a megabyte of contributions.
_TYPES = 512

_ONE_HOT = -1


class _Vectors(NamedTuple):
    """What slots read of an attribute that is embedded.

    Attributes:
        used: float32[n, size], the vectors of the values that occur.
        panels: the weights of all slots, one after the other.
        numbers: int32[types], which of them a type has.
    """

    used: np.ndarray
    panels: Panels
    numbers: np.ndarray


class _Slots(NamedTuple):
    """The slots of all addresses.

    Attributes:
        ends: int64[addresses], where those of an address end in what follows.
        embedded: int64[slots], which of the embedded attributes a slot reads, or _ONE_HOT.
        numbers: int64[slots]: which of the attribute's slots it is; of a one-hot slot, the row of its value 0.
        attributes: int64[slots], the row of the attribute in the values.
    """

    ends: np.ndarray
    embedded: np.ndarray
    numbers: np.ndarray
    attributes: np.ndarray


class SummedContributions:
    """Adds up what slots contribute.

    Args:
        maker: of a static representation; has the weights.
        slots: of each address, the slots, in the order in which they are added up.
        absent: float32[addresses, hidden], what is subtracted from the sums of each.
    """

    def __init__(self, maker: ContributionMaker, slots: Sequence[Sequence[int]], absent: np.ndarray) -> None:
        self._maker = maker
        self._absent = absent
        names = list(maker.embedded)
        flat: list[tuple[int, int, int]] = []
        for column in (column for of_address in slots for column in of_address):
            embedded, number = maker.place_of(column)
            part = _ONE_HOT if embedded is None else names.index(embedded)
            flat.append((part, number, int(maker.table.columns[column, 1])))
        ends = np.cumsum([len(of_address) for of_address in slots], dtype=np.int64)
        self._slots = _Slots(ends, *np.array(flat, np.int64).reshape(-1, 3).T.copy())

    def __call__(self, values: np.ndarray, rows: np.ndarray) -> None:
        """Fills in the first of ``rows``, float32[types * addresses or more, hidden], of int32[attributes, types]."""
        for first in range(0, values.shape[1], _TYPES):
            some = np.ascontiguousarray(values[:, first : first + _TYPES])
            parts = [self._vectors(name, some) for name in self._maker.embedded] or [_NO_VECTORS]
            _fill(some, tuple(parts), self._maker.one_hot, self._slots, self._absent, rows[first * len(self._absent) :])

    def _vectors(self, name: str, values: np.ndarray) -> _Vectors:
        used, numbers = np.unique(values[self._maker.table.attributes.index(name)], return_inverse=True)
        panels = self._maker.embedded[name].panels
        return _Vectors(widened(self._maker.vectors[name][used], panels), panels, numbers.astype(np.int32))


_NO_VECTORS = _Vectors(np.zeros((0, 1), np.float32), panels_of_floats(np.zeros((0, 1))), np.zeros(0, np.int32))


@njit(cache=True, nogil=True)
def _fill(values, parts, one_hot, slots, absent, rows):
    """Fills in the first of ``rows``; the sums of a type take what its slots contribute in the order of the slots."""
    n_types, hidden = values.shape[1], absent.shape[1]
    width = hidden + (-hidden) % WIDTH  # as wide as the panels of a slot
    products = np.empty((n_types, width), np.float32)
    for p in range(len(absent)):
        for t in range(n_types):
            row = rows[t * len(absent) + p]
            for h in range(hidden):
                row[h] = -absent[p, h]
        for i in range(slots.ends[p - 1] if p else 0, slots.ends[p]):
            if slots.embedded[i] < 0:
                of_types, first = values[slots.attributes[i]], slots.numbers[i]
                for t in range(n_types):
                    row, contribution = rows[t * len(absent) + p], one_hot[first + of_types[t]]
                    for h in range(hidden):
                        row[h] += contribution[h]
                continue
            used, panels, numbers = parts[slots.embedded[i]]
            first, end = slots.numbers[i] * (width // WIDTH), (slots.numbers[i] + 1) * (width // WIDTH)
            of_slot = Panels(panels.weights[first:end], panels.start, panels.scale, panels.bias[:width])
            multiply(used, len(used), of_slot, products)
            for t in range(n_types):
                row, contribution = rows[t * len(absent) + p], products[numbers[t]]
                for h in range(hidden):
                    row[h] += contribution[h]
