"""Exact optimal transitions of arc-hybrid and arc-eager for any gold tree,
in amortised O(n^2) per transition: stack rows.

We know of no such algorithm in the literature. Popped tokens leave no trace in a configuration of
these systems. So its value, the most gold edges that can still be made, depends only on its stack
s_0..s_d and its buffer y+1..n: V_d[y]. After c is pushed on s_d and before it is popped, the front
moves from c + 1 to z + 1, and the tokens c+1..z become a right half of c and a left half of z + 1.
Both depend only on the sentence, and its chart joins them (w(h,d) = 1 if h is the gold head of d,
else 0):

    R[i,j]   most gold edges in a part of a tree headed by i that covers i..j
    IL[i,j]  the same, headed by j, with the edge from j to i, and i without left children

    G[c,z]   most gold edges within c..z+1, those below c and those below z+1:
             IL[c,z+1] - w(z+1,c); R[c,n] if z = n
    P[c,z]   the same with the edge from z + 1 to c: IL[c,z+1]; none if z = n

From V_d[y], either s_d is popped next (D), or c = y + 1 is pushed next,
and popped when the front is z + 1 (T):

    V_d[y] = max( D_d[y], max over z > y: T_d[y+1,z] + V_d[z] )
    D_0[n] = 0, D_0[y] = minus infinity for y < n
    T_d[c,z] = G[c,z] + max( w(s_d,c), w(z+1,c) )

and D_d[y] - V_{d-1}[y] by system, and by whether s_d is linked (already has a head,
which occurs in arc-eager):

                            not linked                         linked
    arc_hybrid              max(w(s_{d-1},s_d), w(y+1,s_d))    -
    arc_eager               w(y+1,s_d); y = n: w(s_{d-1},s_d)  0
    nonmonotonic arc_eager  as arc_hybrid                      max(0, w(y+1,s_d) - w(s_{d-1},s_d))

where terms with y + 1 count only if y < n. With ``single_root`` (one child of the artificial root):
T_0[c,z] = P[c,z] for z < n, and D_1[y] for y < n keeps only the term that makes s_1 a child of
y + 1.

V_d is a row. A transition changes only the top of the stack, so rows are kept by prefix. A shift
needs one new row, O(m^2) for m tokens in the buffer; a pop needs none. Since w(z+1,c) = 0 if s_d is
the gold head of c, T is IL (R at the end), plus 1 if s_d is c's head. So each column of a row is
one maximum of sums over contiguous 16-bit integers. The scores, with y = b - 1:

    M = max over z >= b: T_k[b,z] + V_k[z]
    arc_hybrid    shift M; left w(b,s_k) + V_{k-1}[y]; right w(s_{k-1},s_k) + V_{k-1}[y]
    arc_eager     shift max( max over z < n: P[b,z] + V_k[z], G[b,n] + w(s_k,b) + V_k[n] );
                  left as arc_hybrid;
                  right w(s_k,b) + max over z: G[b,z] + V_k[z] (single_root, k = 0: z = n alone);
                  reduce V_{k-1}[y]; attach w(s_{k-1},s_k) + V_{k-1}[n]
    nonmonotonic  shift and right M; left as before, less w(s_{k-1},s_k) if s_k is linked;
                  reduce V_{k-1}[y]; attach w(s_{k-1},s_k) + V_{k-1}[y]

Memory: about 3 n^2 bytes per sentence, with rows in blocks of 8, in an arena; see vector_chart.py.
The entry of V_d for y is in column j = y + 1 (1 to n + 1), so that rows align with the columns of
IL.
"""

from __future__ import annotations

from threading import Lock

import numpy as np

from oracles.charts.vector_chart import (
    Arena,
    block_start,
    fill_chart,
    place,
    row_start,
    row_width,
    triangle_size,
)
from oracles.edge_weights import negative_infinity
from oracles.interface import NO_NODE, NOT_APPLICABLE, BoundOracle, Query
from oracles.kernel_cache import kernel
from oracles.trees import Trees

MAX_BYTES = 2**30

ARC_HYBRID, ARC_EAGER, NONMONOTONIC = range(3)  # systems
_N_TRANSITIONS = (3, 5, 5)

# Arc-hybrid has only the first three. Its right does what arc-eager's attach does,
# but has the column of right.
SHIFT, LEFT, RIGHT, REDUCE, ATTACH = range(5)


class BoundStackRows(BoundOracle):
    """It keeps rows, so it answers one call at a time (threads wait for each other).

    Args:
        system: ARC_HYBRID, ARC_EAGER or NONMONOTONIC.
        single_root: whether the artificial root must get exactly one child.
        max_bytes: the most memory for the rows and charts of all sentences.
    """

    def __init__(
        self, trees: Trees, system: int, single_root: bool, max_bytes: int = MAX_BYTES
    ) -> None:
        super().__init__(trees)
        self.system = system
        self.single_root = single_root
        sizes = np.array([entries_of_sentence(n) for n in trees.lengths.tolist()], np.int64)
        self.arena = Arena.reserve(
            trees, sizes, np.dtype(np.int16), max_bytes, "or leave the sentence out"
        )
        # the stack element of each kept row, and whether it is linked
        self.keys = np.empty(len(trees.heads), np.int32)
        self.columns = np.empty(len(trees.heads), np.int32)  # the first column of each kept row
        longest = int(trees.lengths.max(initial=0))
        triangle = triangle_size(longest)
        # Working space of fill_chart.
        self.spare = tuple(
            np.empty(size, np.int16)
            for size in (triangle, triangle, 2 * (longest + 1) * (longest + 2))
        )
        self.lock = Lock()

    def score_batch(self, query: Query) -> np.ndarray:
        made_heads = np.empty((0, 0), np.int32) if self.system == ARC_HYBRID else query.made
        scores = np.full((len(query), _N_TRANSITIONS[self.system]), NOT_APPLICABLE, np.int16)
        with self.lock:
            memory = *self.arena, self.keys, self.columns, *self.spare
            _score_batch(
                self.trees.heads,
                self.trees.offsets,
                memory,
                self.system,
                self.single_root,
                made_heads,
                *query.arrays,
                scores,
            )
        return scores


@kernel()
def _row_of_stack(n):
    """Return the number of entries of a row of V: columns 0..n+1 in full blocks."""
    return row_width(n + 1)


@kernel()
def entries_of_sentence(n):
    """Return the number of entries of a sentence of n tokens in the arena: IL, R[c, n],
    and a row for each depth.
    """
    return triangle_size(n) + (n + 2) * row_width(n + 1)


@kernel()
def _fill_row(
    heads, left_arc, to_end, system, single_root, depth, below, node, linked, first, under, row
):
    """Compute V_d from the last column down to the first; O(n^2).

    Unsigned indices and 16-bit sums let LLVM vectorize the inner loop. A vector load soon after a
    write to its memory is slow, so the last column stays in a variable until the vector has been
    read.

    Args:
        heads: int32[n + 1], the gold heads.
        left_arc: IL.
        to_end: int16[n + 1], R[c, n].
        system, single_root: see BoundStackRows.
        depth: d.
        below, node: s_{d-1} (not read if d = 0) and s_d.
        linked: whether s_d has a head.
        first: the first column, y + 1.
        under: int16[width], the row V_{d-1}; not read if d = 0.
        row: int16[width], the result.
    """
    n = len(heads) - 1
    width = row_width(n)
    end = np.uintp(width)
    kind = row.dtype.type
    lowest = negative_infinity(row)
    for x in range(block_start(first), len(row)):
        row[x] = lowest
    gold_below = kind(depth > 0 and heads[node] == below)
    last = kind(0)
    if depth > 0:
        last = under[n + 1] if linked else kind(under[n + 1] + gold_below)
    row[n + 1] = last
    for j in range(n, first - 1, -1):
        # Column j is y = j - 1: the buffer j..n.
        is_child = kind(heads[j] == node)
        start = np.uintp(row_start(j, width))
        best = lowest
        for x in range(np.uintp(block_start(j)), end):
            best = max(best, kind(left_arc[start + x] + row[x]))
        if j < n:
            best = max(best, kind(left_arc[start + np.uintp(j + 1)] + last))
            row[j + 1] = last
        if not (single_root and depth == 0):
            best = kind(best + is_child)
        best = max(best, kind(to_end[j] + row[n + 1] + is_child))
        if depth > 0:
            popped = kind(heads[node] == j)  # the edge from the first token of the buffer
            if linked:
                popped = kind(popped - gold_below) if system == NONMONOTONIC else lowest
            if not (single_root and depth == 1):
                if linked:
                    popped = max(popped, kind(0))
                elif system != ARC_EAGER:
                    popped = max(popped, gold_below)
            best = max(best, kind(popped + under[j]))
        last = best
    row[first] = last


@kernel()
def _best_pushes(heads, left_arc, to_end, front, row):
    """Return the best values after b is pushed: with its head in the buffer, with its head on the
    stack, or if it stays to the end.

    Returns:
        max over z < n of P[b,z] + V_k[z]; max over z < n of G[b,z] + V_k[z]; G[b,n] + V_k[n].
    """
    n = len(heads) - 1
    width = row_width(n)
    kind = row.dtype.type
    start, end = np.uintp(row_start(front, width)), np.uintp(width)
    to_buffer = negative_infinity(row)
    for x in range(np.uintp(block_start(front + 1)), end):
        to_buffer = max(to_buffer, kind(left_arc[start + x] + row[x]))
    to_stack = to_buffer
    head = heads[front]
    if head > front and kind(left_arc[start + np.uintp(head)] + row[head]) == to_buffer:
        to_stack = kind(to_buffer - 1)
        for x in range(front + 1, n + 1):
            if x != head:
                to_stack = max(to_stack, kind(left_arc[start + np.uintp(x)] + row[x]))
    return to_buffer, to_stack, kind(to_end[front] + row[n + 1])


@kernel()
def _score_batch(
    all_heads,
    offsets,
    memory,
    system,
    single_root,
    made_heads,
    sentences,
    stacks,
    stack_sizes,
    buffer_fronts,
    scores,
):
    """Score a batch of configurations; see BoundOracle.score_batch.
    ``made_heads`` is not read for arc-hybrid.
    """
    arena, places, queue, ring, depths, all_keys, all_columns, right, left, spare = memory
    for r in range(len(sentences)):
        s = sentences[r]
        start, end = offsets[s], offsets[s + 1]
        heads = all_heads[start:end]
        n = end - start - 1
        width = _row_of_stack(n)
        k = stack_sizes[r] - 1
        front = buffer_fronts[r]
        begin, new = place(s, entries_of_sentence(n), arena, places, queue, ring, depths)
        triangle = triangle_size(n)
        left_arc = arena[begin : begin + triangle]
        to_end = arena[begin + triangle : begin + triangle + width]
        rows = begin + triangle + width  # where they begin
        if new:
            fill_chart(heads, right[:triangle], left[:triangle], left_arc, spare)
            for c in range(n + 1):
                to_end[c] = right[row_start(c, row_width(n)) + n]

        # Rows below the top are read from column b on, the top's row from b + 1 on.
        keys = all_keys[start:end]
        columns = all_columns[start:end]
        valid = True
        under = row = to_end  # V_{d-1} and V_d; at first placeholders
        for d in range(k + 1):
            under, row = row, arena[rows + d * width : rows + (d + 1) * width]
            node = stacks[r, d]
            linked = system != ARC_HYBRID and d > 0 and made_heads[r, node] != NO_NODE
            first = front if d < k else front + 1
            valid = valid and d < depths[s] and keys[d] == 2 * node + linked and columns[d] <= first
            if not valid and first <= n + 1:
                below = stacks[r, max(d - 1, 0)]
                _fill_row(
                    heads,
                    left_arc,
                    to_end,
                    system,
                    single_root,
                    d,
                    below,
                    node,
                    linked,
                    first,
                    under,
                    row,
                )
                keys[d] = 2 * node + linked
                columns[d] = first
                depths[s] = d + 1

        top = stacks[r, k]
        linked = system != ARC_HYBRID and k > 0 and made_heads[r, top] != NO_NODE
        # the child of the artificial root must not be popped yet
        alone = single_root and k == 1 and front <= n
        if front <= n:
            gold = np.int16(heads[front] == top)
            to_buffer, to_stack, kept = _best_pushes(heads, left_arc, to_end, front, row)
            kept = np.int16(kept + gold)
            shifted = max(to_buffer, kept)
            to_right = kept if single_root and k == 0 else max(kept, np.int16(to_stack + gold))
            if system == ARC_EAGER:
                scores[r, SHIFT], scores[r, RIGHT] = shifted, to_right
            else:
                scores[r, SHIFT] = max(shifted, to_right)
                if system == NONMONOTONIC:
                    scores[r, RIGHT] = scores[r, SHIFT]
        if k > 0:
            value = under[front]
            gold = np.int16(heads[top] == stacks[r, k - 1])
            if front <= n and (system == NONMONOTONIC or not linked):
                scores[r, LEFT] = np.int16(
                    value + np.int16(heads[top] == front) - np.int16(linked and gold)
                )
            if system == ARC_HYBRID:
                if not alone:
                    scores[r, RIGHT] = np.int16(value + gold)
            else:
                if linked and not alone:
                    scores[r, REDUCE] = value
                if not linked and not alone and (system == NONMONOTONIC or front > n):
                    scores[r, ATTACH] = np.int16(value + gold)
