"""Exact optimal transitions for any gold tree, in amortised O(n^2) per transition: context rows.

We know of no such algorithm in the literature. Nederhof 2019 (N19), Section 7, suggests reusing
values between the configurations of one computation, in the linear algorithm, but does not pursue
it. Here they are reused for any gold tree. The starting point is N19, Section 4: the value of a
configuration is the best weight of a derivation of p^k s^(m+1) under the grammar of Table 4 (p =
stack element below the top, s = the top or a buffer node).

All constituents of a derivation that contain the stack top lie on one path from the root of the
derivation down to the top. They combine with constituents inside the buffer, which depend on the
sentence alone (its chart), or with stack elements. Stack elements below the top are bare until a
constituent that contains the top meets them. So the dynamic program is a longest path. It is
followed from the root down, with outside values instead of inside values. Then the part of the
stack seen so far is a prefix s_0..s_d, and the part of the buffer still to be seen is given by one
column y: everything up to y belongs to the open constituent. The values for prefix s_0..s_d, one
for each y, are a row. When the parser shifts or reduces, only rows at the top of the stack change;
all others are kept from step to step.

Once per sentence, the chart is computed (w(i,j) = 1 if token i is the gold head of j, else 0; under
``ties`` the weights of edge_weights.py, and "most gold edges" means the greatest weight; i <= j):

    R[i,j]   most gold edges in a part of a tree headed by i that covers i..j
    L[i,j]   the same, headed by j
    IL[i,j]  the same, headed by j, with the edge from j to i, and i without left children

For each stack prefix s_0..s_d, rows are computed for columns y from n down to front - 1. LS(i,d) is
the sum of w(s_d, s_x) over i <= x < d, the gain of making all of these left children of s_d; minus
infinity if i < d and s_d may take no left child:

    OR_d[y]      outside a constituent headed by s_d, without its left children,
                 that covers the buffer up to y
    OL_d[y]      outside the left half of buffer node y that begins with s_d
    H_d[y]       = max over 1 <= i <= d: LS(i,d) + OL_i[y]
    OR_d[y]      = max( max over i < d: LS(i+1,d) + w(s_i,s_d) + OR_i[y],
                        max over y2 > y: L[y+1,y2] + B_d[y2] )
    B_d[y]       = max( w(y,s_d) + H_d[y],  w(s_d,y) + Z_d[y] )
    Z_d[y]       = max over y2 >= y: R[y,y2] + OR_d[y2]
    OL_{d+1}[y]  = max( w(y,s_d) + OL_d[y],  w(s_d,y) + Z_d[y],
                        max over y2 > y: IL[y,y2] + OL_{d+1}[y2] )

with OR_0[n] = 0, OL_0 = minus infinity. The value of (s_0..s_t, front..n) is OR_t[front - 1].

    reduce_left   from a kept row: OR of a_{k-1}
    reduce_right  from a temporary row: a_k above a_0..a_{k-2};
                  under right_before_left without the term with Z
    shift         from a temporary row: a_k above a_0..a_{k-1}; then the second term of OR_k at
                  front - 1, with OL_k for H_k, since left children that a_k takes before the shift
                  do not count. Under left_before_right and strict_left_before_right, a_k takes no
                  left child in this row; under the latter, nor do the elements of kept rows

Only rows of elements below the top are kept, so a transition of a computation adds at most one.

Complexity: a row costs O(n^2), in 16-bit vector operations; a transition of a computation needs at
most three. A configuration that shares no rows with earlier ones of its sentence costs O(k n^2).
The chart costs O(n^3) once per sentence.

Memory: 11 n^2 bytes per sentence, 26 n^2 under ``ties``, with rows rounded up to blocks of 8.
Memory is reserved by bind(), and taken when a sentence is first scored, up to ``max_bytes`` for all
sentences together. Beyond that, the sentences that came first are dropped, and computed again when
they return. So score only as many sentences at a time as fit (a gigabyte holds 150,000 sentences of
20 tokens). A sentence that does not fit even on its own is refused.

The compiled part: a sentence of n tokens takes entries_of_sentence(n, ties) entries of the arena:
its chart (R, L and IL, see vector_chart.py); for each depth d of the stack a slot of _SLOT rows of
n + 1 columns (OR_d, OL_{d+1}, and their maxima over all depths up to d); and under ``ties`` the
weights of its edges. Thanks to the maxima, a new row reads earlier rows only where a weighted edge
joins a stack element to s_d: LS is constant between two such edges, and larger below them. The
kernels are compiled once for an arena of int16, where ``edges`` are the gold heads, and once for an
arena of int32, where ``edges`` are a table of weights (edge_weights.py). Arrays of kernels have the
arena's type unless another is named.
"""

from __future__ import annotations

from threading import Lock
from typing import ClassVar

import numpy as np

from oracles.arc_standard.lossless import ArcStandardLossless
from oracles.arc_standard.transitions import ANY, CODES, RIGHT_BEFORE_LEFT, STRICT
from oracles.charts.vector_chart import (
    Arena,
    block_start,
    fill_chart,
    place,
    row_start,
    row_width,
    triangle_size,
)
from oracles.edge_weights import GOLD_WEIGHT, edges_of, levels_of, negative_infinity, weight
from oracles.interface import (
    N_TRANSITIONS,
    NOT_APPLICABLE,
    REDUCE_LEFT,
    REDUCE_RIGHT,
    SHIFT,
    BoundLossless,
    BoundOracle,
    Oracle,
    Query,
    Strategy,
)
from oracles.kernel_cache import array_kernel, kernel
from oracles.trees import Trees

MAX_BYTES = 2**30

_OR, _OL, _BEST_OR, _BEST_OL = range(4)
_SLOT = 4

# For numba, a literal True and a bool have different types. A kernel that takes both would be
# compiled twice.
_TAKES_LEFT = np.bool_(True)


class ContextRows(Oracle):
    """The oracle to train with on any trees: exact, and fast along the computation of a parser.

    Args:
        strategy: any of the four.
        ties: "nearest_ancestor", or None (the same as "none"), see edge_weights.py.
        max_bytes: the most memory for the rows and charts of all bound sentences.
    """

    name: ClassVar[str] = "context_rows"
    needs_projective_gold: ClassVar[bool] = False
    takes_partial_gold: ClassVar[bool] = True
    complexity: ClassVar[str] = "O(n^2), amortised over a computation"
    source: ClassVar[str] = "this project, from Nederhof 2019, Section 4"

    def __init__(
        self,
        strategy: Strategy | str | None = None,
        ties: str | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        super().__init__(strategy)
        self.levels = levels_of(ties)
        self.max_bytes = max_bytes

    def _bind(self, trees: Trees) -> BoundOracle:
        return BoundContextRows(trees, self.strategy, self.levels, self.max_bytes)

    def bind_lossless(self, trees: Trees) -> BoundLossless | None:
        return ArcStandardLossless(trees) if self.strategy is Strategy.ANY else None


class BoundContextRows(BoundOracle):
    """It keeps rows, so it answers one call at a time (threads wait for each other).

    Attributes:
        lock: held during a call.
    """

    def __init__(
        self, trees: Trees, strategy: Strategy, levels: tuple[int, ...], max_bytes: int
    ) -> None:
        super().__init__(trees)
        self.strategy = CODES[strategy]
        self.levels = levels
        self.gold_weight = GOLD_WEIGHT if levels else 1
        sizes = np.array(
            [entries_of_sentence(n, bool(levels)) for n in trees.lengths.tolist()], np.int64
        )
        kind = np.dtype(np.int32 if levels else np.int16)
        self.arena = Arena.reserve(
            trees, sizes, kind, max_bytes, "leave the sentence out, or use nederhof_cubic for it"
        )
        self.nodes = np.empty(len(trees.heads), np.int32)  # the stack element of each kept row
        self.columns = np.empty(len(trees.heads), np.int32)  # the first column of each kept row
        self.lock = Lock()

    @property
    def memory(self) -> tuple[np.ndarray, ...]:
        """The argument ``memory`` of the kernel score_batch(), for other compiled code; hold
        ``lock`` while using it.
        """
        return *self.arena, self.nodes, self.columns

    def score_batch(self, query: Query) -> np.ndarray:
        with self.lock:
            return score_batch(
                self.trees.heads,
                self.trees.offsets,
                self.memory,
                self.strategy,
                self.levels,
                *query.arrays,
            )


@kernel()
def entries_of_sentence(n, ties=False):
    """Return the number of entries of a sentence of n tokens in the arena,
    with its weights under ``ties``.
    """
    return 3 * triangle_size(n) + _SLOT * (n + 1) * row_width(n) + ties * (n + 1) ** 2


@kernel()
def _raise_to(target, source, gain):
    """Set target = max(target, source + gain), elementwise."""
    for x in range(len(target)):
        target[x] = max(target[x], target.dtype.type(source[x] + gain))


@kernel()
def _begin_row(edges, stack, d, first, takes_left, slots, below, outside, half):
    """Compute the part of the row of s_d that depends on earlier rows: H_d, and the part of OR_d
    where s_d is reduced at once.

    Args:
        edges: the gold heads or a table of weights, see edge_weights.edges_of.
        stack: int32[> d].
        d: the depth, from 0.
        first: the first column, front - 1.
        takes_left: whether s_d may take left children.
        slots: [_SLOT * depths, width], the kept rows; depths below d - 1 are read.
        below: [_SLOT, width], the rows of depth d - 1; not read if d = 0.
        outside, half: [>= width], the results OR_d (in part) and H_d.
    """
    n = len(edges) - 1
    width = row_width(n)
    begin = block_start(first)
    if d == 0:
        outside[begin:width] = negative_infinity(outside)
        half[begin:width] = negative_infinity(half)
        outside[n] = 0
        return
    kind = outside.dtype.type
    node = stack[d]
    gain = weight(edges, stack[d - 1], node)
    if not takes_left:
        for y in range(begin, width):
            outside[y] = kind(below[_OR, y] + gain)
            half[y] = below[_OL, y]
        return
    for y in range(begin, width):
        outside[y] = max(below[_BEST_OR, y], kind(below[_OR, y] + gain))
        half[y] = below[_BEST_OL, y]
    gain = kind(0)
    for i in range(d - 1, -1, -1):
        as_child = weight(edges, stack[i], node)
        if i < d - 1 and as_child > 0:
            _raise_to(
                outside[begin:width], slots[_SLOT * i + _OR, begin:width], kind(gain + as_child)
            )
        as_head = weight(edges, node, stack[i])
        if as_head > 0:
            gain = kind(gain + as_head)
            # s_i is now a left child, so i >= 1, and there is a row below it.
            _raise_to(outside[begin:width], slots[_SLOT * (i - 1) + _BEST_OR, begin:width], gain)
            _raise_to(half[begin:width], slots[_SLOT * (i - 1) + _BEST_OL, begin:width], gain)


@kernel()
def _finish_two_rows(edges, node, first, takes_right, right, left, outside, half, whole, buffer):
    """Compute the rest of OR for two rows of one stack element,
    from the last column to the first; O(n^2).

    The inner loops are written out, over both rows at once: reference counting of slices and array
    arguments is slower than short loops. Unsigned indices and 16-bit sums let LLVM vectorize them.
    A vector load soon after a write to its memory is slow, so B of the last column stays in a
    variable until the vector has been read. R and L of one token are 0: this B needs no addition.

    Args:
        edges: the gold heads or a table of weights, see edge_weights.edges_of.
        node: the stack element.
        first: the first column.
        takes_right: whether it may take right children in the second row.
        right, left: R and L.
        outside: [2, >= width], the part of OR from _begin_row(), then the result OR.
        half: [2, >= width], H.
        whole: [2, >= width], the result Z, from column first + 1 on.
        buffer: [2, >= width], working space for B.
    """
    n = len(edges) - 1
    width = row_width(n)
    end = np.uintp(width)
    kind = outside.dtype.type
    lowest = negative_infinity(outside)
    for x in range(block_start(first), width):
        buffer[0, x] = buffer[1, x] = lowest
    last_0 = last_1 = lowest
    row_after = after = np.uintp(0)  # row and block of column y + 1
    for y in range(n, first - 1, -1):
        here_0 = max(outside[0, y], last_0)
        here_1 = max(outside[1, y], last_1)
        if y < n:
            for x in range(after, end):
                part = left[row_after + x]
                here_0 = max(here_0, kind(part + buffer[0, x]))
                here_1 = max(here_1, kind(part + buffer[1, x]))
            buffer[0, y + 1] = last_0
            buffer[1, y + 1] = last_1
        if y > first:
            row = np.uintp(row_start(y, width))
            begin = np.uintp(block_start(y))
            z_0 = here_0
            z_1 = here_1
            for x in range(begin, end):
                part = right[row + x]
                z_0 = max(z_0, kind(part + outside[0, x]))
                z_1 = max(z_1, kind(part + outside[1, x]))
            gold = weight(edges, node, y)
            whole[0, y] = z_0 + gold
            whole[1, y] = z_1 + gold if takes_right else lowest
            gold = weight(edges, y, node)
            last_0 = max(whole[0, y], kind(half[0, y] + gold))
            last_1 = max(whole[1, y], kind(half[1, y] + gold))
            row_after = row
            after = begin
        outside[0, y] = here_0
        outside[1, y] = here_1


@kernel()
def _finish_slot(edges, node, first, right, left, left_arc, half, buffer, below, slot):
    """Fill in a kept slot after _begin_row(), as _finish_two_rows() does, for one row,
    and with OL; O(n^2).

    Args:
        edges: the gold heads or a table of weights, see edge_weights.edges_of.
        node: the stack element s_d that the slot belongs to.
        first: the first column.
        right, left, left_arc: R, L and IL.
        half: [>= width], H.
        buffer: [>= width], working space for B.
        below: [_SLOT, width], the slot below; ``slot`` itself if there is none.
        slot: [_SLOT, width], the result.
    """
    n = len(edges) - 1
    width = row_width(n)
    end = np.uintp(width)
    kind = slot.dtype.type
    lowest = negative_infinity(slot)
    is_lowest = node == 0
    for x in range(block_start(first), width):
        buffer[x] = slot[_OL, x] = lowest
    last = last_left = lowest
    row_after = after = np.uintp(0)
    for y in range(n, first - 1, -1):
        here = max(slot[_OR, y], last)
        if y < n:
            for x in range(after, end):
                here = max(here, kind(left[row_after + x] + buffer[x]))
            buffer[y + 1] = last
        if y > first:
            row = np.uintp(row_start(y, width))
            begin = np.uintp(block_start(y))
            z = here
            outer = lowest
            for x in range(begin, end):
                z = max(z, kind(right[row + x] + slot[_OR, x]))
                outer = max(outer, kind(left_arc[row + x] + slot[_OL, x]))
            z = kind(z + weight(edges, node, y))
            gold = weight(edges, y, node)
            last = max(z, kind(half[y] + gold))
            outer = max(outer, z)
            if not is_lowest:
                outer = max(outer, kind(below[_OL, y] + gold))
            if y < n:
                outer = max(outer, kind(left_arc[row + np.uintp(y + 1)] + last_left))
                slot[_OL, y + 1] = last_left
            last_left = outer
            row_after = row
            after = begin
        elif y < n:
            slot[_OL, y + 1] = last_left
        slot[_OR, y] = here
    for x in range(block_start(first), width):
        slot[_BEST_OR, x] = slot[_OR, x]
        slot[_BEST_OL, x] = slot[_OL, x]
    if not is_lowest:
        for x in range(block_start(first), width):
            slot[_BEST_OR, x] = max(slot[_OR, x], below[_BEST_OR, x])
            slot[_BEST_OL, x] = max(slot[_OL, x], below[_BEST_OL, x])


@kernel()
def _value_of_shift(edges, node, front, left, outside_left, whole):
    """Return the second term of OR of the stack top,
    without left children that it would take before the shift.

    Args:
        edges: the gold heads or a table of weights, see edge_weights.edges_of.
        node: the stack top s_k.
        front: the first node of the buffer, which is not empty.
        left: L.
        outside_left, whole: [>= n + 1], OL_k and Z_k.
    """
    n = len(edges) - 1
    row = row_start(front, row_width(n))
    kind = whole.dtype.type
    best = negative_infinity(whole)
    for y in range(front, n + 1):
        outer = max(whole[y], kind(outside_left[y] + weight(edges, y, node)))
        best = max(best, kind(left[row + y] + outer))
    return best


@array_kernel()
def _slot(slots, d):
    return slots[_SLOT * d : _SLOT * (d + 1)]


@array_kernel()
def score_batch(
    all_heads, offsets, memory, strategy, levels, sentences, stacks, stack_sizes, buffer_fronts
):
    """Score a batch of configurations; see BoundOracle.score_batch.

    Args:
        all_heads, offsets: the trees, see Trees.
        memory: see BoundContextRows.memory.
        strategy: one of the codes of transitions.py.
        levels: () for plain weights, else (levels,), see edge_weights.fill_weights.
        sentences, stacks, stack_sizes, buffer_fronts: the batch.

    Returns:
        [batch, 3].
    """
    arena, places, queue, ring, depths, all_nodes, all_columns = memory
    scores = np.full((len(sentences), N_TRANSITIONS), NOT_APPLICABLE, arena.dtype)
    longest = 0
    for s in sentences:
        longest = max(longest, offsets[s + 1] - offsets[s] - 1)
    # Row 0 is for shift: the top above all other elements. Row 1 is for reduce_right:
    # the top without its neighbour.
    lowest = negative_infinity(arena)
    outside = np.full((2, row_width(longest)), lowest, arena.dtype)
    half = outside.copy()
    whole = outside.copy()
    buffer = outside.copy()
    nothing = outside[0].copy()
    takes_right = strategy != RIGHT_BEFORE_LEFT
    stack = np.empty(stacks.shape[1], np.int32)
    for row in range(len(sentences)):
        s = sentences[row]
        start, end = offsets[s], offsets[s + 1]
        heads = all_heads[start:end]
        n = end - start - 1
        width = row_width(n)
        k = stack_sizes[row] - 1
        front = buffer_fronts[row]
        for d in range(k + 1):
            stack[d] = stacks[row, d]

        entries = entries_of_sentence(n, len(levels) > 0)
        begin, new = place(s, entries, arena, places, queue, ring, depths)
        size = triangle_size(n)
        right = arena[begin : begin + size]
        left = arena[begin + size : begin + 2 * size]
        left_arc = arena[begin + 2 * size : begin + 3 * size]
        rows = arena[begin + 3 * size : begin + 3 * size + _SLOT * (n + 1) * width]
        edges = edges_of(heads, levels, arena[begin + 3 * size + len(rows) : begin + entries], new)
        if new:
            fill_chart(edges, right, left, left_arc, rows)
        slots = rows.reshape((_SLOT * (n + 1), width))

        # Rows are kept for the elements below the top.
        nodes = all_nodes[start:end]
        columns = all_columns[start:end]
        d = 0
        while d < min(k, depths[s]) and nodes[d] == stack[d] and columns[d] < front:
            d += 1
        while d < k:
            slot = _slot(slots, d)
            below = _slot(slots, max(d - 1, 0))
            _begin_row(
                edges, stack, d, front - 1, strategy != STRICT, slots, below, slot[_OR], half[0]
            )
            _finish_slot(
                edges, stack[d], front - 1, right, left, left_arc, half[0], buffer[0], below, slot
            )
            nodes[d] = stack[d]
            columns[d] = front - 1
            d += 1
            depths[s] = d  # the rows above it were built on the old one

        top = stack[k]
        below = _slot(slots, max(k - 1, 0))
        takes_left = strategy in (RIGHT_BEFORE_LEFT, ANY)
        _begin_row(edges, stack, k, front - 1, takes_left, slots, below, outside[0], half[0])
        if k >= 1:
            scores[row, REDUCE_LEFT] = below[_OR, front - 1] + weight(edges, stack[k - 1], top)
        if k >= 2:
            gold = weight(edges, top, stack[k - 1])
            stack[k - 1] = top
            _begin_row(
                edges,
                stack,
                k - 1,
                front - 1,
                _TAKES_LEFT,
                slots,
                _slot(slots, k - 2),
                outside[1],
                half[1],
            )
        else:
            outside[1, :width] = lowest
            half[1, :width] = lowest
        _finish_two_rows(
            edges, top, front - 1, takes_right, right, left, outside, half, whole, buffer
        )
        if k >= 2:
            scores[row, REDUCE_RIGHT] = outside[1, front - 1] + gold
        if front <= n:
            outside_left = below[_OL] if k > 0 else nothing
            scores[row, SHIFT] = _value_of_shift(edges, top, front, left, outside_left, whole[0])
    return scores
