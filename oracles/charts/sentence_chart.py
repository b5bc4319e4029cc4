"""The chart of a whole sentence, computed once, and the value of a configuration from it.

The constituents of Nederhof 2019, Table 2, inside the buffer do not depend on the stack. They are
the chart of the sentence under the grammar of Table 3 (for projectivization), computed here once
per sentence in O(n^3). Constituents that contain the stack top depend on the configuration. They
are computed from the chart in O(k m^2) for k stack elements and m buffer nodes, instead of O((k +
m)^3) from scratch.

Half constituents: ``half[h, e]`` = most gold edges in the part of a subtree headed by h that
reaches from h to e, to the right (h <= e) or to the left (e <= h). ``arc[h, d]`` = the same for the
span from h to its child d, with the edge, and without children of d on its far side (the complete
and incomplete items of Eisner 1996).

A sentence's chart is stored as three packed triangles with entries 0..y in row y: ``half[y, .]``,
its transpose ``half[., y]``, and ``arc[y, .]``. So all inner loops run over contiguous int16.
"""

from __future__ import annotations

import numpy as np

from oracles.edge_weights import negative_infinity
from oracles.interface import NOT_APPLICABLE
from oracles.kernel_cache import array_kernel, kernel

# No stored score is lower, so the sum of two of them fits in 16 bits.
NEGATIVE_INFINITY = NOT_APPLICABLE


@kernel()
def best_sum(a, b):
    """Return max(a + b) over two vectors, at least negative_infinity;
    the casts let LLVM vectorize in 16 bits.
    """
    best = negative_infinity(a)
    for x in range(len(a)):
        best = max(best, a.dtype.type(a[x] + b[x]))
    return best


@kernel()
def triangle(row):
    """Return where a row begins in a packed triangle; for ``row = n + 1``,
    the size of a triangle of n + 1 rows.
    """
    return row * (row + 1) // 2


@kernel()
def fill_sentence_chart(heads, packed, half, half_t, arc):
    """Fill in the chart of one sentence: Nederhof 2019, Tables 2 and 3, in max-plus; O(n^3).

    Args:
        heads: int32[n + 1], heads[0] = -1.
        packed: int16[3 * triangle(n + 1)], the result: half, its transpose, arc.
        half, half_t, arc: int16[>= n + 1, >= n + 1], working space; half_t is half transposed.
    """
    n = len(heads) - 1
    for j in range(n + 1):
        half[j, j] = 0
        half_t[j, j] = 0
        arc[j, j] = NEGATIVE_INFINITY
        for i in range(j - 1, -1, -1):
            join = best_sum(half[i, i:j], half[j, i + 1 : j + 1])
            arc[i, j] = join + (heads[j] == i)
            arc[j, i] = join + (heads[i] == j)
            half[i, j] = best_sum(arc[i, i + 1 : j + 1], half_t[j, i + 1 : j + 1])
            half_t[j, i] = half[i, j]
            half[j, i] = best_sum(arc[j, i:j], half_t[i, i:j])
            half_t[i, j] = half[j, i]
    size = triangle(n + 1)
    for y in range(n + 1):
        row = triangle(y)
        for x in range(y + 1):
            packed[row + x] = half[y, x]
            packed[size + row + x] = half_t[y, x]
            packed[2 * size + row + x] = arc[y, x]


@array_kernel()
def value_with_chart(heads, stack, k, front, packed, takes_left, top_takes_right, rights, work):
    """Return the most gold edges that can still be made from the configuration (stack[0..k],
    front..n); O(k m^2).

    From the top down, for each stack element s_i and each column y (the buffer is consumed up to y;
    y = front - 1: nothing):

    * rights[i, y]: constituents headed by s_i that contain s_i..s_k and the buffer up to y,
      without left children of s_i;
    * whole[y]: constituents that contain s_i..s_k and the buffer up to y,
      headed by any stack element;
    * lefts[y]: left halves of the buffer node y that contain s_i..s_k.

    A stack element below the top takes its first right child from the constituent that contains the
    top, and only then left children (Nederhof 2019, Table 4); a left child from the stack is
    childless. Only gold edges have a weight: they are visited one by one, and all others together,
    through ``whole``. There it does not matter whether s_j may take left children: if none of them
    is gold, s_i..s_j can also be a chain of right children, with the same weight.

    Args:
        heads: int32[n + 1], heads[0] = -1.
        stack: int32[> k].
        packed: int16[3 * triangle(n + 1)], the chart of the sentence.
        takes_left: bool[> k], which stack elements may take left children.
        top_takes_right: whether s_k may take right children.
        rights: int16[> k, > n - front + 1], working space.
        work: int16[5, > max(k, n - front + 1)], working space.
    """
    n = len(heads) - 1
    size = triangle(n + 1)
    base = front - 1  # column c of a row is y = base + c
    width = n - base + 1
    whole = work[0]
    lefts = work[1]
    arcs = work[2]  # from s_i to the buffer node y
    # for each s_j: the number of its gold edges to s_{i+1}..s_{j-1}, all of which are made
    bought = work[3]
    to_head = work[4]  # for each s_j: the best left half of its gold head that ends in s_j
    whole[:width] = NEGATIVE_INFINITY
    lefts[:width] = NEGATIVE_INFINITY

    for i in range(k, -1, -1):
        node = stack[i]
        head = heads[node]
        right = rights[i]
        bought[i] = 0

        # Right halves of s_i. The first right child may come from the stack: any element,
        # or a gold child.
        for c in range(width):
            right[c] = whole[c]
        if i == k:
            right[0] = 0
        for j in range(i + 1, k + 1):
            if heads[stack[j]] == node and (takes_left[j] or j == i + 1):
                add_max(right, rights[j], np.int16(bought[j] + 1), width)
        if i < k or top_takes_right:
            for c in range(1, width):
                y = base + c
                row = triangle(y) + front
                join = max(lefts[c], best_sum(right[:c], packed[row : row + c]))
                arcs[c] = join + (heads[y] == node)
                row += size
                right[c] = max(right[c], best_sum(arcs[1 : c + 1], packed[row : row + c]))
        if i == 0:
            break

        # Constituents of s_i..s_k: headed by an s_j that takes s_i as its last left child,
        # or by s_i.
        for j in range(i + 1, k + 1):
            if head == stack[j]:
                bought[j] += 1
                if takes_left[j]:
                    add_max(whole, rights[j], bought[j], width)
        add_max(whole, right, np.int16(0), width)

        # Left halves of buffer nodes down to s_i: with s_i as a childless left child; with a
        # constituent of s_i..s_k; and with a buffer node between them that has such a left half
        # itself.
        to_head[i] = 0
        if head >= front:
            c = head - base
            if i < k:
                lefts[c] += 1
            row = triangle(head) + front
            to_head[i] = best_sum(right[:c], packed[row : row + c]) + 1
        for j in range(i, k + 1):
            if to_head[j] > 0 and (takes_left[j] or j == i):
                c = heads[stack[j]] - base
                lefts[c] = max(lefts[c], np.int16(to_head[j] + bought[j]))
        for c in range(1, width):
            row = triangle(base + c) + front
            best = max(lefts[c], best_sum(whole[:c], packed[row : row + c]))
            row += 2 * size
            lefts[c] = max(best, best_sum(lefts[1:c], packed[row : row + c - 1]))
    return rights[0, width - 1]


@array_kernel()
def add_max(best, row, bonus, width):
    """Set best = max(best, row + bonus), elementwise;
    never below NEGATIVE_INFINITY if best is not.
    """
    for c in range(width):
        best[c] = max(best[c], np.int16(row[c] + bonus))


@array_kernel()
def pack_sentence_charts(all_heads, offsets, wanted, max_bytes):
    """Compute the charts of the wanted sentences, one after the other, skipping those that no
    longer fit into ``max_bytes``.

    Returns:
        The charts, int16[total], and where each sentence's begins, int64[sentences + 1]; a skipped
        sentence has an empty chart.
    """
    sentences = len(offsets) - 1
    chart_offsets = np.zeros(sentences + 1, np.int64)
    longest = 0
    for s in range(sentences):
        n = offsets[s + 1] - offsets[s] - 1
        size = 3 * triangle(n + 1) if wanted[s] else 0
        if 2 * (chart_offsets[s] + size) > max_bytes:
            size = 0
        elif size:
            longest = max(longest, n)
        chart_offsets[s + 1] = chart_offsets[s] + size
    charts = np.empty(chart_offsets[sentences], np.int16)
    half = np.empty((longest + 1, longest + 1), np.int16)
    half_t = np.empty((longest + 1, longest + 1), np.int16)
    arc = np.empty((longest + 1, longest + 1), np.int16)
    for s in range(sentences):
        if chart_offsets[s + 1] > chart_offsets[s]:
            chart = charts[chart_offsets[s] : chart_offsets[s + 1]]
            fill_sentence_chart(all_heads[offsets[s] : offsets[s + 1]], chart, half, half_t, arc)
    return charts, chart_offsets
