"""Exact optimal transitions of LR-spine parsing for any gold tree, by a chart: O(m^3) for m nodes
of the spines and the buffer.

We know of no such oracle in the literature: the exact oracle of Goldberg, Sartorio and Satta
(2014), Section 6, is for projective gold trees, and exponential at worst (lr_spine_tabular).

A tree can still be made from a configuration if and only if three things hold: it is projective; it
contains the edges made so far; and the root of every element below the top has its head to its
right, or dominates the root of the top. (Such a root gets a head to its left only by a transition
ra_k, as the root of the top. By then everything from it to the top is one element.) The most gold
edges in such a tree come from the chart of Eisner (1996) over the nodes of all spines and the
buffer's tokens, in order:

    R[i,j], L[i,j]    a part of a tree that covers i..j, headed by i, by j;  R[i,i] = L[i,i] = 0
    J[i,j]          = max over i <= k < j:  R[i,k] + L[k+1,j]
    IR[i,j]         = J[i,j] + w(i,j),  IL[i,j] = J[i,j] + w(j,i)
    L[i,j]          = max over i <= k < j:  L[i,k] + IL[k,j]
    R[i,j]          = max over i < k <= j:  IR[i,k] + R[k,j],
                      without k that are roots of elements below the top if j is before the
                      root of the top

where w(g,d) is the weight of the edge from g to d. It is minus infinity if d = 0. If d is a node of
a spine but not its root, it is 0 if g is the parent of d, else minus infinity. Otherwise it is 1 if
g is the gold head of d, else 0. The value of a configuration is R over all nodes; the score of a
transition is 1 if its edge is gold, plus the value of the configuration after it.

Constituents inside the buffer come from the chart of the sentence, which is filled once. For a
configuration, only rows that begin in the stack are computed. Nodes of spines whose gold children
are out of reach are left out (_add_element).

Complexity: for s nodes of spines that are not left out and m tokens in the buffer, O(s (s + m)^2)
per transition, in 16-bit vector operations; O(n^3) once per sentence.

Memory: 3 n^2 bytes per sentence (rows rounded up to blocks of 8), up to ``max_bytes`` for all
sentences together; beyond that, the oldest sentences are dropped, and computed again when they
return. Filling a chart takes 4 n^2 bytes more. Scoring a batch takes up to 16 bytes for each pair
of a spine node and a token, and 40 for each pair of spine nodes.

The compiled part: the nodes of a configuration are the nodes of its spines, in order, at positions
0..size-1, and the tokens of the buffer, which keep their numbers. The rows of the chart are
computed from the last position to the first. In a row, the columns of the stack come first. All
columns of the buffer then get the contributions of split points on the stack at once; then, token
after token, the contribution of a split point at this token to the columns after it. These loops
run over blocks of columns without a remainder, over rows of the sentence's chart
(oracles.charts.vector_chart).
"""

from __future__ import annotations

from threading import Lock
from typing import ClassVar

import numpy as np

from oracles.charts.sentence_chart import NEGATIVE_INFINITY
from oracles.charts.vector_chart import (
    Arena,
    block_start,
    fill_chart,
    place,
    row_start,
    row_width,
    triangle_size,
)
from oracles.interface import NOT_APPLICABLE, BoundOracle, Query, Strategy
from oracles.kernel_cache import array_kernel
from oracles.lr_spine.configuration import (
    LEFT_SPINE,
    RIGHT_SPINE,
    LRSpineOracle,
    count_transitions,
    spine,
)
from oracles.trees import GoldChildren, Trees

MAX_BYTES = 2**28
_NO_PARENT = -1


class LRSpineChart(LRSpineOracle):
    """The oracle to train LR-spine parsing with, on any trees.

    Args:
        strategy: ``any``; there is no other.
        max_bytes: the most memory for the charts of all bound sentences.
    """

    name: ClassVar[str] = "lr_spine_chart"
    needs_projective_gold: ClassVar[bool] = False
    takes_partial_gold: ClassVar[bool] = True
    complexity: ClassVar[str] = "O(n^3)"
    source: ClassVar[str] = "this project, from Eisner 1996 and Sartorio, Satta and Nivre 2013"

    def __init__(self, strategy: Strategy | str | None = None, max_bytes: int = MAX_BYTES) -> None:
        super().__init__(strategy)
        self.max_bytes = max_bytes

    def _bind(self, trees: Trees) -> BoundOracle:
        return _BoundLRSpineChart(trees, self.max_bytes)


class _BoundLRSpineChart(BoundOracle):
    """It keeps charts of sentences, so it answers one call at a time (threads wait for each
    other).
    """

    def __init__(self, trees: Trees, max_bytes: int) -> None:
        super().__init__(trees)
        sizes = np.array([entries_of_sentence(n) for n in trees.lengths.tolist()], np.int64)
        self.arena = Arena.reserve(
            trees, sizes, np.dtype(np.int16), max_bytes, "or leave the sentence out"
        )
        self.last_child = GoldChildren.of(trees).last
        self.lock = Lock()

    def score_batch(self, query: Query) -> np.ndarray:
        with self.lock:
            return score_batch(
                self.trees.heads,
                self.trees.offsets,
                self.last_child,
                self.arena,
                *query.arrays,
                query.children,
            )


@array_kernel()
def entries_of_sentence(n):
    """Return the number of int16 entries of a sentence of n tokens in the arena: R, L and IL."""
    return 3 * triangle_size(n)


@array_kernel()
def _raise_to(target, source, start, begin, end, gain):
    """Set target[y] = max(target[y], source[start + y] + gain) for begin <= y < end."""
    for y in range(np.uintp(begin), np.uintp(end)):
        target[y] = max(target[y], np.int16(source[np.uintp(start) + y] + gain))


@array_kernel()
def _value(
    heads, size, nodes, parents, below, top, front, right, left, left_arc, stack_space, rows
):
    """Return the most gold edges that can still be made from a configuration,
    given by the nodes of its spines.

    Args:
        heads: int32[n + 1], heads[0] = -1.
        size: number of positions.
        nodes: int32[>= size], the nodes of the spines in order, 0 first.
        parents: int32[>= size], the position of the parent, _NO_PARENT for roots of elements.
        below: bool[>= size], whether a position is the root of an element below the top.
        top: the position of the root of the top;
            ``size`` if this root is the first token of the buffer.
        front: b, the first token of the buffer, n + 1 if it is empty.
        right, left, left_arc: R, L and IL of the sentence by rows.
        stack_space: int16[5, >= size, >= size], working space: L, IL and R by columns,
            and two rows.
        rows: int16[4, >= size, width], working space: R, L and IL at the columns of the buffer,
            and J.
    """
    n = len(heads) - 1
    width = row_width(n)
    begin = block_start(front)
    infinity = np.int16(NEGATIVE_INFINITY)
    l_columns = stack_space[0]
    il_columns = stack_space[1]
    r_columns = stack_space[2]
    r_stack = stack_space[3, 0]
    l_stack = stack_space[3, 1]
    ir_stack = stack_space[4, 0]
    joined = rows[3, 0]
    for i in range(size - 1, -1, -1):
        node = nodes[i]
        head = heads[node]
        is_root = parents[i] == _NO_PARENT
        r_stack[i] = 0
        l_stack[i] = 0
        ir_stack[i] = infinity
        l_columns[i, i] = 0
        r_columns[i, i] = 0
        for j in range(i + 1, size):
            join = infinity
            best_left = infinity
            best_right = infinity
            for k in range(i, j):
                join = max(join, np.int16(r_stack[k] + l_columns[j, k + 1]))
            ir_stack[j] = infinity
            if parents[j] == _NO_PARENT:
                ir_stack[j] = join + (heads[nodes[j]] == node)
            elif parents[j] == i:
                ir_stack[j] = join
            il_columns[j, i] = infinity
            if is_root and i > 0:
                il_columns[j, i] = join + (head == nodes[j])
            elif parents[i] == j:
                il_columns[j, i] = join
            for k in range(i, j):
                best_left = max(best_left, np.int16(l_stack[k] + il_columns[j, k]))
            for k in range(i + 1, j + 1):
                if j >= top or not below[k]:
                    best_right = max(best_right, np.int16(ir_stack[k] + r_columns[j, k]))
            l_stack[j] = best_left
            r_stack[j] = best_right
            l_columns[j, i] = best_left
            r_columns[j, i] = best_right
        if front > n:
            continue

        r_row = rows[0, i]
        l_row = rows[1, i]
        il_row = rows[2, i]
        for y in range(begin, width):
            joined[y] = r_row[y] = l_row[y] = infinity
        for k in range(i, size):
            if r_stack[k] > infinity:
                if k + 1 < size:
                    _raise_to(joined, rows[1, k + 1], 0, begin, width, r_stack[k])
                else:
                    _raise_to(joined, left, row_start(front, width), begin, width, r_stack[k])
            if k > i:
                if l_stack[k] > infinity:
                    _raise_to(l_row, rows[2, k], 0, begin, width, l_stack[k])
                if ir_stack[k] > infinity:
                    _raise_to(r_row, rows[0, k], 0, begin, width, ir_stack[k])
        takes_head = is_root and i > 0
        for y in range(front, n + 1):
            join = joined[y]
            arc = np.int16(join + (heads[y] == node))
            to_right = max(r_row[y], arc)
            to_left = l_row[y]
            il_row[y] = infinity
            if takes_head:
                il_row[y] = join + (head == y)
                to_left = max(to_left, il_row[y])
            r_row[y] = to_right
            l_row[y] = to_left
            if y < n:
                start = np.uintp(row_start(y, width))
                next_start = np.uintp(row_start(y + 1, width))
                for x in range(np.uintp(block_start(y)), np.uintp(width)):
                    r_row[x] = max(r_row[x], np.int16(arc + right[start + x]))
                    l_row[x] = max(l_row[x], np.int16(to_left + left_arc[start + x]))
                for x in range(np.uintp(block_start(y + 1)), np.uintp(width)):
                    joined[x] = max(joined[x], np.int16(to_right + left[next_start + x]))
    return rows[0, 0, n] if front <= n else r_stack[size - 1]


@array_kernel()
def _add_element(
    nodes,
    parents,
    below,
    size,
    left_spine,
    n_left,
    right_spine,
    n_right,
    awaited,
    last_child,
    front,
):
    """Append the nodes of an element that matter; return the new size.

    Nodes of spines, except roots, are left out if all their gold children are out of reach: any
    node that could become their child can as well become a child of the node above them in the
    spine.

    Args:
        nodes, parents, below: see _value; written after ``size``.
        size: the number of positions before.
        left_spine, right_spine: int32[>= n_left], int32[>= n_right], the root first.
        awaited: bool[n + 1], nodes that have a gold child among the roots of the stack.
        last_child: int32[n + 1], the last gold child of each node, 0 if it has none.
        front: the first token of the buffer.
    """
    for x in range(n_left - 1, 0, -1):
        node = left_spine[x]
        if awaited[node]:
            nodes[size] = node
            parents[size] = size + 1
            below[size] = False
            size += 1
    nodes[size] = right_spine[0]
    parents[size] = _NO_PARENT
    below[size] = True
    size += 1
    for x in range(1, n_right):
        node = right_spine[x]
        if awaited[node] or last_child[node] >= front:
            nodes[size] = node
            parents[size] = size - 1
            below[size] = False
            size += 1
    return size


@array_kernel()
def _join_spines(upper, length, lower, n_lower, joined):
    """Write upper[:length] + lower[:n_lower] into ``joined``; return its length."""
    for x in range(length):
        joined[x] = upper[x]
    for x in range(n_lower):
        joined[length + x] = lower[x]
    return length + n_lower


@array_kernel()
def score_batch(
    all_heads,
    offsets,
    last_child,
    memory,
    sentences,
    stacks,
    stack_sizes,
    buffer_fronts,
    all_children,
):
    """Score a batch of configurations; see BoundOracle.score_batch.

    Args:
        all_heads, offsets: the trees, see Trees.
        last_child: int32[total], the last gold child of each node.
        memory: an Arena.
        sentences, stacks, stack_sizes, buffer_fronts, all_children: the batch.

    Returns:
        int16[batch, width].
    """
    arena, places, queue, ring, depths = memory
    scores = np.full(
        (len(sentences), count_transitions(stacks, stack_sizes, all_children)),
        NOT_APPLICABLE,
        np.int16,
    )
    longest = 0
    for s in sentences:
        longest = max(longest, offsets[s + 1] - offsets[s] - 1)
    nodes = np.empty(longest + 2, np.int32)
    parents = np.empty(longest + 2, np.int32)
    below = np.empty(longest + 2, np.bool_)
    awaited = np.zeros(longest + 1, np.bool_)
    spines = np.empty((5, longest + 2), np.int32)
    top_left, top_right, second_left, second_right, joined = (
        spines[0],
        spines[1],
        spines[2],
        spines[3],
        spines[4],
    )
    spare = np.empty(0, np.int16)
    stack_space = np.empty((5, 16, 16), np.int16)
    rows = np.full((4, 16, row_width(longest)), NEGATIVE_INFINITY, np.int16)
    for row in range(len(sentences)):
        s = sentences[row]
        start, end = offsets[s], offsets[s + 1]
        heads = all_heads[start:end]
        last = last_child[start:end]
        n = len(heads) - 1
        k = stack_sizes[row] - 1
        front = buffer_fronts[row]
        children = all_children[row]
        begin, new = place(s, entries_of_sentence(n), arena, places, queue, ring, depths)
        triangle = triangle_size(n)
        right = arena[begin : begin + triangle]
        left = arena[begin + triangle : begin + 2 * triangle]
        left_arc = arena[begin + 2 * triangle : begin + 3 * triangle]
        if new:
            if len(spare) < 2 * (n + 1) * (n + 2):
                spare = np.empty(2 * (n + 1) * (n + 2), np.int16)
            fill_chart(heads, right, left, left_arc, spare)

        for e in range(1, k + 1):
            awaited[max(heads[stacks[row, e]], 0)] = True  # whether 0 is awaited does not matter
        # positions of the elements below the second, which are the same after all transitions
        size = 0
        for e in range(k - 1):
            n_left = spine(children, stacks[row, e], LEFT_SPINE, top_left)
            n_right = spine(children, stacks[row, e], RIGHT_SPINE, top_right)
            size = _add_element(
                nodes,
                parents,
                below,
                size,
                top_left,
                n_left,
                top_right,
                n_right,
                awaited,
                last,
                front,
            )
        n_top_left = spine(children, stacks[row, k], LEFT_SPINE, top_left)
        n_top_right = spine(children, stacks[row, k], RIGHT_SPINE, top_right)
        second = n_second_left = n_second_right = 0
        if k > 0:
            second = stacks[row, k - 1]
            n_second_left = spine(children, second, LEFT_SPINE, second_left)
            n_second_right = spine(children, second, RIGHT_SPINE, second_right)
        most = size + n_top_left + n_top_right + n_second_left + n_second_right
        if most > rows.shape[1]:
            stack_space = np.empty((5, 2 * most, 2 * most), np.int16)
            rows = np.full((4, 2 * most, row_width(longest)), NEGATIVE_INFINITY, np.int16)

        count = 1 + n_top_left + n_second_right if k > 0 else 1
        for transition in range(count):
            edge = False
            after = size
            if transition == 0:
                if front > n:
                    continue
                if k > 0:
                    after = _add_element(
                        nodes,
                        parents,
                        below,
                        after,
                        second_left,
                        n_second_left,
                        second_right,
                        n_second_right,
                        awaited,
                        last,
                        front,
                    )
                after = _add_element(
                    nodes,
                    parents,
                    below,
                    after,
                    top_left,
                    n_top_left,
                    top_right,
                    n_top_right,
                    awaited,
                    last,
                    front,
                )
                top = after
            elif transition <= n_top_left:
                if second == 0:
                    continue
                edge = heads[second] == top_left[transition - 1]
                n_joined = _join_spines(top_left, transition, second_left, n_second_left, joined)
                after = _add_element(
                    nodes,
                    parents,
                    below,
                    after,
                    joined,
                    n_joined,
                    top_right,
                    n_top_right,
                    awaited,
                    last,
                    front,
                )
            else:
                length = transition - n_top_left
                edge = heads[stacks[row, k]] == second_right[length - 1]
                n_joined = _join_spines(second_right, length, top_right, n_top_right, joined)
                after = _add_element(
                    nodes,
                    parents,
                    below,
                    after,
                    second_left,
                    n_second_left,
                    joined,
                    n_joined,
                    awaited,
                    last,
                    front,
                )
            if transition > 0:
                top = after - 1
                while parents[top] != _NO_PARENT:
                    top -= 1
                below[top] = False
            value = _value(
                heads,
                after,
                nodes,
                parents,
                below,
                top,
                front,
                right,
                left,
                left_arc,
                stack_space,
                rows,
            )
            scores[row, transition] = edge + value
        for e in range(1, k + 1):
            awaited[max(heads[stacks[row, e]], 0)] = False
    return scores
