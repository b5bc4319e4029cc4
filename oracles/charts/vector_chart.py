"""The chart of a sentence for context_rows, lr_spine_chart and stack_rows (R, L and IL by rows, in
whole blocks), and the memory for charts.

Context rows spend their time in loops over columns. These run over blocks of BLOCK columns, without
a remainder (which would take as long again): row i of a chart begins with the block of column i and
ends with a full block. Entries [i, j] with j < i or j > n hold a filler: sums with it stay below
negative_infinity and do not wrap around.

Charts and rows are kept in an arena, in the order in which sentences are first scored. The arena is
a ring: each sentence is put after the one before it, and if there is no space, the oldest sentences
are dropped. So the latest sentences are kept, and nothing is ever moved.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oracles.charts.sentence_chart import best_sum
from oracles.edge_weights import negative_infinity, weight
from oracles.errors import OptimalStepError
from oracles.kernel_cache import kernel
from oracles.trees import Trees

BLOCK = 8


@kernel()
def row_width(n):
    """Return the number of columns 0..n, rounded up to full blocks."""
    return (n + BLOCK) // BLOCK * BLOCK


@kernel()
def triangle_size(n):
    """Return the size of a packed triangle."""
    width = row_width(n)
    return width * (width + BLOCK) // 2


@kernel()
def row_start(i, width):
    """Return where column 0 of row i would be in a packed triangle: entry [i,
    j] is at row_start(i, width) + j.
    """
    block = i // BLOCK
    return (
        block * BLOCK * (width - (block - 1) * BLOCK // 2)
        + i % BLOCK * (width - block * BLOCK)
        - block * BLOCK
    )


@kernel()
def block_start(i):
    """Return the first column of the block of column i."""
    return i // BLOCK * BLOCK


@kernel()
def _column(j):
    """Return where [0, j] is in a packed triangle of columns 0..j: entry [i,
    j] is at _column(j) + i.
    """
    return j * (j + 1) // 2


@kernel()
def fill_chart(edges, right, left, left_arc, spare):
    """Fill in the chart of Eisner 1996 with weighted edges; O(n^3).

    Args:
        edges: the gold heads or a table of weights, see edge_weights.edges_of.
        right, left, left_arc: int16 or int32[triangle], R, L and IL by rows; the result.
        spare: the same type, [>= 2 (n + 1) (n + 2)], working space: R, L, IL by columns, and the
            mirror image of IL by rows.
    """
    n = len(edges) - 1
    width = row_width(n)
    filler = 2 * negative_infinity(right)
    right[:] = filler
    left[:] = filler
    left_arc[:] = filler
    size = _column(n + 1)
    right_by_column = spare[:size]
    left_by_column = spare[size : 2 * size]
    left_arc_by_column = spare[2 * size : 3 * size]
    right_arc = spare[3 * size : 4 * size]
    for j in range(n + 1):
        column = _column(j)
        for i in range(j, -1, -1):
            row = row_start(i, width)
            arc_row = i * n - i * (i - 1) // 2
            if i == j:
                to_right = to_left = 0
            else:
                join = best_sum(
                    right[row + i : row + j], left_by_column[column + i + 1 : column + j + 1]
                )
                arc_left = join + weight(edges, j, i)
                left_arc[row + j] = arc_left
                left_arc_by_column[column + i] = arc_left
                right_arc[arc_row + j] = join + weight(edges, i, j)
                right_arcs = right_arc[arc_row + i + 1 : arc_row + j + 1]
                to_right = best_sum(right_arcs, right_by_column[column + i + 1 : column + j + 1])
                to_left = best_sum(
                    left_arc_by_column[column + i : column + j], left[row + i : row + j]
                )
            right[row + j] = to_right
            right_by_column[column + i] = to_right
            left[row + j] = to_left
            left_by_column[column + i] = to_left


class Arena(NamedTuple):
    """The charts and rows of sentences.

    Attributes:
        entries: int16 or int32, all charts and rows.
        places: int64[sentences], where in ``entries`` a sentence begins; -1: it is not there.
        queue: int32[sentences], a ring: the sentences in ``entries`` in order of arrival.
        ring: int64[3], the first place of the queue, its length, the next free entry.
        depths: int32[sentences], how many rows are kept besides the chart;
            0 after the sentence is dropped.
    """

    entries: np.ndarray
    places: np.ndarray
    queue: np.ndarray
    ring: np.ndarray
    depths: np.ndarray

    @classmethod
    def reserve(
        cls, trees: Trees, sizes: np.ndarray, kind: np.dtype, max_bytes: int, advice: str
    ) -> Arena:
        """Reserve memory for sentences that take ``sizes`` entries each (int64[sentences]).

        Raises:
            OptimalStepError: a sentence does not fit even on its own; ``advice`` names a fix other
                than raising ``max_bytes``.
        """
        most = max_bytes // kind.itemsize
        if len(sizes) and sizes.max() > most:
            s = int(sizes.argmax())
            raise OptimalStepError(
                f"sentence {s} (counted from 0) has {trees.lengths[s]} tokens: its chart and rows "
                f"take {kind.itemsize * sizes[s]} bytes, and {max_bytes} are allowed; "
                f"raise max_bytes, {advice}"
            )
        # The entries are not touched here: the operating system provides pages when they are first
        # written.
        count = len(trees)
        entries = np.empty(min(int(sizes.sum()), most), kind)
        return cls(
            entries,
            np.full(count, -1, np.int64),
            np.empty(count, np.int32),
            np.zeros(3, np.int64),
            np.zeros(count, np.int32),
        )


@kernel()
def place(s, size, arena, places, queue, ring, depths):
    """Return where sentence s begins in an Arena, and whether it is new; if necessary,
    drop the oldest sentences.
    """
    if places[s] >= 0:
        return places[s], False
    begin = ring[2]
    if begin + size > len(arena):
        # Too little space at the end, where the oldest sentences are.
        while ring[1] > 0 and places[queue[ring[0]]] >= begin:
            _forget_first(places, queue, ring, depths)
        begin = 0
    while ring[1] > 0 and begin <= places[queue[ring[0]]] < begin + size:
        _forget_first(places, queue, ring, depths)
    queue[(ring[0] + ring[1]) % len(queue)] = s
    ring[1] += 1
    ring[2] = begin + size
    places[s] = begin
    return begin, True


@kernel()
def _forget_first(places, queue, ring, depths):
    forgotten = queue[ring[0]]
    places[forgotten] = -1
    depths[forgotten] = 0
    ring[0] = (ring[0] + 1) % len(queue)
    ring[1] -= 1
