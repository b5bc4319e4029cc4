"""The compiled part of context_rows: see there for what the rows mean.

A sentence of n tokens takes entries_of_sentence(n) entries of the arena: the chart, R, L, IL, each a packed triangle whose row
i holds the entries [i, i..n]; and for each depth d of the stack a slot of _SLOT rows of n + 1 columns: OR_d, OL_{d+1} and the
maxima of these over all depths up to this one. With the maxima a new row looks at the gold children on the stack alone,
not at all elements of the stack: between two gold children LS is constant, and below them it is larger.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from oracles.oracle import N_STEPS, NOT_APPLICABLE, REDUCE_LEFT, REDUCE_RIGHT, SHIFT
from oracles.sentence_chart import NEGATIVE_INFINITY, best_sum

LEFT_BEFORE_RIGHT, STRICT, RIGHT_BEFORE_LEFT, ANY = range(4)

_OR, _OL, _BEST_OR, _BEST_OL = range(4)
_SLOT = 4


@njit(cache=True, nogil=True)
def entries_of_sentence(n):
    """int16 entries that a sentence of n tokens takes in the arena."""
    return 3 * _triangle(n) + _SLOT * (n + 1) * (n + 1)


@njit(cache=True, nogil=True)
def _triangle(n):
    return (n + 1) * (n + 2) // 2


@njit(cache=True, nogil=True)
def _row(i, n):
    """Where [i, 0] would be in a packed triangle of rows i..n: entry [i, j] is at _row(i, n) + j."""
    return i * n - i * (i - 1) // 2


@njit(cache=True, nogil=True)
def _column(j):
    """Where [0, j] is in a packed triangle of columns 0..j: entry [i, j] is at _column(j) + i."""
    return j * (j + 1) // 2


@njit(cache=True, nogil=True)
def _fill_chart(heads, right, left, left_arc, spare):
    """The chart of Eisner 1996, the edges counted: O(n^3).

    Args:
        heads: int32[n + 1].
        right, left, left_arc: int16[triangle], R, L and IL by rows; the result.
        spare: int16[>= 4 triangles], working space: R, L, IL by columns, and the counterpart of IL for right children by rows.
    """
    n = len(heads) - 1
    size = _triangle(n)
    right_by_column = spare[:size]
    left_by_column = spare[size : 2 * size]
    left_arc_by_column = spare[2 * size : 3 * size]
    right_arc = spare[3 * size : 4 * size]
    for j in range(n + 1):
        column = _column(j)
        for i in range(j, -1, -1):
            row = _row(i, n)
            if i == j:
                to_right = to_left = 0
                arc_left = NEGATIVE_INFINITY
            else:
                join = best_sum(right[row + i : row + j], left_by_column[column + i + 1 : column + j + 1])
                arc_left = join + (heads[i] == j)
                right_arc[row + j] = join + (heads[j] == i)
                left_arc_by_column[column + i] = arc_left
                to_right = best_sum(right_arc[row + i + 1 : row + j + 1], right_by_column[column + i + 1 : column + j + 1])
                to_left = best_sum(left_arc_by_column[column + i : column + j], left[row + i : row + j])
            right[row + j] = to_right
            right_by_column[column + i] = to_right
            left[row + j] = to_left
            left_by_column[column + i] = to_left
            left_arc[row + j] = arc_left


@njit(cache=True, nogil=True)
def _raise_to(target, source, gain):
    """target = max(target, source + gain), entry by entry."""
    for x in range(len(target)):
        target[x] = max(target[x], np.int16(source[x] + gain))


@njit(cache=True, nogil=True)
def _fill_row(heads, stack, d, first, takes_left, takes_right, keep, chart, slots, below, slot, work):
    """Computes the row of s_d above s_0..s_{d-1}, columns first..n; O(n^2).

    Args:
        heads: int32[n + 1].
        stack: int32[> d].
        d: the depth, from 0.
        first: the first column, front - 1.
        takes_left, takes_right: whether s_d may take left, right children.
        keep: whether other rows will be built on this one; if not, only OR_d is filled.
        chart: R, L, IL.
        slots: int16[_SLOT * depths, n + 1], the kept rows; those of depths below d - 1 are read.
        below: int16[_SLOT, n + 1], the rows of depth d - 1; not read if d = 0.
        slot: int16[_SLOT, n + 1], the result.
        work: int16[3, >= n + 1], working space.
    """
    right, left, left_arc = chart
    n = len(heads) - 1
    node = stack[d]
    head = heads[node]
    outside = slot[_OR]
    outside_left = slot[_OL]
    half = work[0]  # H
    buffer = work[1]  # B
    whole = work[2]  # Z
    if d == 0:
        outside[first : n + 1] = NEGATIVE_INFINITY
        half[first : n + 1] = NEGATIVE_INFINITY
        outside[n] = 0
    else:
        gain = np.int16(heads[node] == stack[d - 1])
        if takes_left:
            for y in range(first, n + 1):
                outside[y] = max(below[_BEST_OR, y], np.int16(below[_OR, y] + gain))
                half[y] = below[_BEST_OL, y]
            gain = np.int16(0)
            for i in range(d - 1, -1, -1):
                if i < d - 1 and stack[i] == head:
                    _raise_to(outside[first : n + 1], slots[_SLOT * i + _OR, first : n + 1], np.int16(gain + 1))
                if heads[stack[i]] == node:
                    gain += np.int16(1)
                    # s_i is a left child now, so i >= 1 and there is a row below it.
                    _raise_to(outside[first : n + 1], slots[_SLOT * (i - 1) + _BEST_OR, first : n + 1], gain)
                    _raise_to(half[first : n + 1], slots[_SLOT * (i - 1) + _BEST_OL, first : n + 1], gain)
        else:
            for y in range(first, n + 1):
                outside[y] = below[_OR, y] + gain
                half[y] = below[_OL, y]

    for y in range(n, first, -1):
        row = _row(y, n)
        row_above = _row(y + 1, n)
        outside[y] = max(outside[y], best_sum(left[row_above + y + 1 : row_above + n + 1], buffer[y + 1 : n + 1]))
        best = np.int16(half[y] + (head == y))
        if takes_right:
            whole[y] = best_sum(right[row + y : row + n + 1], outside[y : n + 1]) + (heads[y] == node)
            best = max(best, whole[y])
        buffer[y] = best
        if keep:
            outer = whole[y]
            if d > 0:
                outer = max(outer, np.int16(below[_OL, y] + (head == y)))
            outside_left[y] = max(
                outer, best_sum(left_arc[row + y + 1 : row + n + 1], outside_left[y + 1 : n + 1])
            )
    row_above = _row(first + 1, n)
    outside[first] = max(
        outside[first], best_sum(left[row_above + first + 1 : row_above + n + 1], buffer[first + 1 : n + 1])
    )
    if keep:
        outside_left[first] = NEGATIVE_INFINITY
        slot[_BEST_OR, first : n + 1] = outside[first : n + 1]
        slot[_BEST_OL, first : n + 1] = outside_left[first : n + 1]
        if d > 0:
            _raise_to(slot[_BEST_OR, first : n + 1], below[_BEST_OR, first : n + 1], np.int16(0))
            _raise_to(slot[_BEST_OL, first : n + 1], below[_BEST_OL, first : n + 1], np.int16(0))


@njit(cache=True, nogil=True)
def _slot(slots, d):
    return slots[_SLOT * d : _SLOT * (d + 1)]


@njit(cache=True, nogil=True)
def _place(s, size, arena, places, queue, ring, depths):
    """Where sentence s begins in the arena; makes room at the cost of those who came first. Returns (place, whether new)."""
    if places[s] >= 0:
        return places[s], False
    count = len(queue)
    begin = ring[2]
    if begin + size > len(arena):
        # Too little room at the end: whoever is there came before all others.
        while ring[1] > 0 and places[queue[ring[0]]] >= begin:
            _forget_first(places, queue, ring, depths)
        begin = 0
    while ring[1] > 0 and begin <= places[queue[ring[0]]] < begin + size:
        _forget_first(places, queue, ring, depths)
    queue[(ring[0] + ring[1]) % count] = s
    ring[1] += 1
    ring[2] = begin + size
    places[s] = begin
    return begin, True


@njit(cache=True, nogil=True)
def _forget_first(places, queue, ring, depths):
    forgotten = queue[ring[0]]
    places[forgotten] = -1
    depths[forgotten] = 0
    ring[0] = (ring[0] + 1) % len(queue)
    ring[1] -= 1


@njit(cache=True, nogil=True)
def score_batch(all_heads, offsets, memory, strategy, sentences, stacks, stack_sizes, buffer_fronts):
    """Scores a batch of configurations; see BoundOracle.score_batch.

    Args:
        all_heads, offsets: the trees, see Trees.
        memory: what _BoundContextRows keeps: arena, places, queue, ring, nodes, columns, depths.
        strategy: one of the codes above.
        sentences, stacks, stack_sizes, buffer_fronts: the batch.

    Returns:
        int16[batch, 3].
    """
    arena, places, queue, ring, all_nodes, all_columns, depths = memory
    scores = np.full((len(sentences), N_STEPS), NOT_APPLICABLE, np.int16)
    longest = 0
    for s in sentences:
        longest = max(longest, offsets[s + 1] - offsets[s])
    work = np.empty((3, longest), np.int16)
    spare_slots = np.empty((2, _SLOT * longest), np.int16)
    stack = np.empty(stacks.shape[1] + 1, np.int32)
    for row in range(len(sentences)):
        s = sentences[row]
        start, end = offsets[s], offsets[s + 1]
        heads = all_heads[start:end]
        n = end - start - 1
        k = stack_sizes[row] - 1
        front = buffer_fronts[row]
        for i in range(k + 1):
            stack[i] = stacks[row, i]

        place, new = _place(s, entries_of_sentence(n), arena, places, queue, ring, depths)
        size = _triangle(n)
        right = arena[place : place + size]
        left = arena[place + size : place + 2 * size]
        left_arc = arena[place + 2 * size : place + 3 * size]
        chart = (right, left, left_arc)
        rows = arena[place + 3 * size : place + entries_of_sentence(n)]
        if new:
            _fill_chart(heads, right, left, left_arc, rows)
        slots = rows.reshape((_SLOT * (n + 1), n + 1))
        slot = spare_slots[0, : _SLOT * (n + 1)].reshape((_SLOT, n + 1))
        slot_of_shifted = spare_slots[1, : _SLOT * (n + 1)].reshape((_SLOT, n + 1))

        # Kept rows are needed for all elements below the top; for the top itself if something may be shifted onto it as it is.
        nodes = all_nodes[start:end]
        columns = all_columns[start:end]
        shifts = front <= n
        closes_top = strategy == LEFT_BEFORE_RIGHT and k >= 1
        needed = k + 1 if shifts and not closes_top else k
        d = 0
        while d < min(needed, depths[s]) and nodes[d] == stack[d] and columns[d] < front:
            d += 1
        while d < needed:
            below = _slot(slots, max(d - 1, 0))
            open_left = strategy != STRICT
            _fill_row(heads, stack, d, front - 1, open_left, True, True, chart, slots, below, _slot(slots, d), work)
            nodes[d] = stack[d]
            columns[d] = front - 1
            d += 1
            depths[s] = d  # rows above this one were built on another one

        if shifts:
            below = _slot(slots, k)
            if closes_top:
                _fill_row(heads, stack, k, front, False, True, True, chart, slots, _slot(slots, k - 1), slot, work)
                below = slot
            stack[k + 1] = front
            _fill_row(heads, stack, k + 1, front, True, True, False, chart, slots, below, slot_of_shifted, work)
            scores[row, SHIFT] = slot_of_shifted[_OR, front]
        if k >= 1:
            scores[row, REDUCE_LEFT] = slots[_SLOT * (k - 1) + _OR, front - 1] + (heads[stack[k]] == stack[k - 1])
        if k >= 2:
            gold = heads[stack[k - 1]] == stack[k]
            stack[k - 1] = stack[k]
            takes_right = strategy != RIGHT_BEFORE_LEFT
            below = _slot(slots, k - 2)
            _fill_row(heads, stack, k - 1, front - 1, True, takes_right, False, chart, slots, below, slot, work)
            scores[row, REDUCE_RIGHT] = slot[_OR, front - 1] + gold
    return scores
