"""The gold children of every node, and how many gold edges lie inside the buffer: what several oracles look up."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit


class GoldChildren(NamedTuple):
    """Of all sentences, packed like the heads (see Trees).

    Attributes:
        last: int32[total], the last gold child of a node, 0 if none.
        previous: int32[total], the sibling before a node, 0 if none.
        edges_from: int32[total], at b the number of gold edges inside the buffer b..n.
    """

    last: np.ndarray
    previous: np.ndarray
    edges_from: np.ndarray


@njit(cache=True)
def gold_children(all_heads, offsets):
    """The GoldChildren of sentences; O(n) for each."""
    last = np.zeros(len(all_heads), np.int32)
    previous = np.zeros(len(all_heads), np.int32)
    edges_from = np.zeros(len(all_heads), np.int32)
    for s in range(len(offsets) - 1):
        start = offsets[s]
        n = offsets[s + 1] - start - 1
        for i in range(1, n + 1):
            head = all_heads[start + i]
            previous[start + i] = last[start + head]
            last[start + head] = i
            edges_from[start + min(i, head)] += 1
        for b in range(n - 1, -1, -1):
            edges_from[start + b] += edges_from[start + b + 1]
    return GoldChildren(last, previous, edges_from)
