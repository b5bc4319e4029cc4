"""Arc-eager with unshift (Nivre and Fernandez-Gonzalez 2014), and its optimal transitions for any gold tree.

As system.py has it, but for attach:

* unshift ("un"): a top that is not linked goes back to the buffer as its only token u, which cannot be shifted again.
  Applicable if the buffer is empty and the top is not 0.

So what is left over in the end can still take left children and a head. The values are those of stack rows
(oracles/charts/stack_rows.py; L[i,j] is IL[i,j] without the need for an edge from j to i), with E_d[u], that of the stack
s_0..s_d with u back in the buffer:

    E_d[u] = max( w(s_d,u) + V_d[n],  s_d linked: E_{d-1}[u],  not linked, d > 0: w(u,s_d) + E_{d-1}[u] )
    V_0[n] = 0, V_d[n] = V_{d-1}[n] if s_d is linked, else E_{d-1}[s_d]
    V_d[y] = max( D_d[y], max over z > y: T_d[y+1,z] + V_d[z], max over c > y: L[y+1,c] + R[c,n] + E_d[c] )
    D_d[y] = V_{d-1}[y] if s_d is linked, else w(y+1,s_d) + V_{d-1}[y]
    T_d[c,z] = max( P[c,z], G[c,z] + w(s_d,c) )

With ``single_root``, T_0[c,z] = P[c,z] for z < n, and while there is a buffer a linked s_1 is not popped. With b in the buffer,
shift is worth max( max over z < n: P[b,z] + V_k[z], R[b,n] + E_k[b] ), right w(s_k,b) + max over z: G[b,z] + V_k[z]
(single_root, k = 0: z = n alone); each of the others its edge and the V or E after it.

Complexity: O(n^3) per configuration, as nothing is kept between them: a variant to compare with.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from oracles.arc_eager.system import LEFT, N_TRANSITIONS, REDUCE, RIGHT, SHIFT, ArcEagerOracle
from oracles.charts.vector_chart import fill_chart, row_start, row_width, triangle_size
from oracles.edge_weights import negative_infinity
from oracles.interface import NO_NODE, NOT_APPLICABLE, BoundOracle, Query, Strategy, by_name, front_of, heads_made
from oracles.kernel_cache import array_kernel, kernel
from oracles.trees import Trees

UNSHIFT = 4


class UnshiftChart(ArcEagerOracle):
    """Exact for any gold tree.

    Args:
        strategy, single_root: see ArcEagerOracle.
    """

    name: ClassVar[str] = "arc_eager_unshift_chart"
    system: ClassVar[str] = "arc_eager_unshift"
    transition_names = ("sh", "la", "ra", "re", "un")
    needs_projective_gold: ClassVar[bool] = False
    takes_partial_gold: ClassVar[bool] = True
    complexity: ClassVar[str] = "O(n^3)"
    source: ClassVar[str] = "this project"

    def __init__(self, strategy: Strategy | str | None = None, single_root: bool = False) -> None:
        super().__init__(strategy, single_root)

    def step_scores(
        self,
        heads: Sequence[int],
        stack: Sequence[int],
        buffer: Sequence[int],
        made: Sequence[int | None] = (),
        unshifted: bool = False,
    ) -> dict[str, int]:
        """Return the scores; ``unshifted``: whether the buffer holds one token that was shifted before."""
        n = len(heads)
        buffers = np.arange(n + 1, dtype=np.int32)[None]
        front = n if unshifted else front_of(n, buffer)
        if unshifted:
            buffers[0, [0, n]] = True, buffer[0]
        scores = self.bind(Trees.from_heads([heads], partial=True)).score_batch(
            Query.single(stack, front, made=heads_made(n, made), buffers=buffers)
        )
        return by_name(self.transition_names, scores[0])

    def _bind(self, trees: Trees) -> BoundOracle:
        return _BoundUnshift(trees, self.single_root)


class _BoundUnshift(BoundOracle):
    def __init__(self, trees: Trees, single_root: bool) -> None:
        super().__init__(trees)
        self._single_root = single_root
        self._width = int(trees.lengths.max(initial=0)) + 1

    def score_batch(self, query: Query) -> np.ndarray:
        buffers = query.buffers
        if buffers is None:  # nothing was unshifted
            buffers = np.tile(np.arange(self._width, dtype=np.int32), (len(query), 1))
        return _score_batch(self.trees.heads, self.trees.offsets, self._single_root, query.made, buffers, *query.arrays)


@kernel()
def _gold(heads, head, child):
    return np.int16(heads[child] == head)


@kernel()
def _fill_rows(heads, stack, linked, k, single_root, right, left, left_arc, v, e):
    """V[d, j] for columns j = y + 1, from 1 to n + 1, and E[d, u], of depths 0..k; O(k n^2)."""
    n = len(heads) - 1
    width = row_width(n)
    lowest = negative_infinity(v)
    for d in range(k + 1):
        node = stack[d]
        stays = single_root and d == 1 and linked[d]  # while there is a buffer
        if d == 0:
            v[d, n + 1] = 0
        else:
            v[d, n + 1] = v[d - 1, n + 1] if linked[d] else e[d - 1, node]
        for u in range(1, n + 1):
            e[d, u] = _gold(heads, node, u) + v[d, n + 1]
            if d > 0 and not stays:
                e[d, u] = max(e[d, u], e[d - 1, u] + (np.int16(0) if linked[d] else _gold(heads, u, node)))
        for j in range(n, 0, -1):
            row = row_start(j, width)
            best = lowest
            if d > 0 and not stays:
                best = v[d - 1, j] + (np.int16(0) if linked[d] else _gold(heads, j, node))
            gold = _gold(heads, node, j)
            for z in range(j, n):
                push = left_arc[row + z + 1]
                if not (single_root and d == 0):
                    push = max(push, push - _gold(heads, z + 1, j) + gold)
                best = max(best, push + v[d, z + 1])
            best = max(best, right[row + n] + gold + v[d, n + 1])
            for c in range(j, n + 1):
                best = max(best, left[row + c] + right[row_start(c, width) + n] + e[d, c])
            v[d, j] = best


@array_kernel()
def _score_batch(all_heads, offsets, single_root, made, buffers, sentences, stacks, stack_sizes, fronts):
    scores = np.full((len(sentences), N_TRANSITIONS), NOT_APPLICABLE, np.int16)
    longest = 0
    for s in sentences:
        longest = max(longest, offsets[s + 1] - offsets[s] - 1)
    right = np.empty(triangle_size(longest), np.int16)
    left, left_arc = np.empty_like(right), np.empty_like(right)
    spare = np.empty(2 * (longest + 1) * (longest + 2), np.int16)
    v = np.empty((longest + 1, longest + 2), np.int16)
    e = np.empty_like(v)
    linked = np.zeros(longest + 1, np.bool_)
    for r in range(len(sentences)):
        s = sentences[r]
        heads = all_heads[offsets[s] : offsets[s + 1]]
        n = len(heads) - 1
        width = row_width(n)
        stack, k, front = stacks[r], stack_sizes[r] - 1, fronts[r]
        for d in range(1, k + 1):
            linked[d] = made[r, stack[d]] != NO_NODE
        size = triangle_size(n)
        fill_chart(heads, right[:size], left[:size], left_arc[:size], spare)
        _fill_rows(heads, stack, linked, k, single_root, right, left, left_arc, v, e)
        top = stack[k]
        buffered, unshifted = front <= n, buffers[r, 0] != 0
        b = buffers[r, front] if buffered else n + 1
        if buffered:
            gold = _gold(heads, top, b)
            if unshifted:
                scores[r, RIGHT] = gold + v[k, n + 1]
            else:
                row = row_start(b, width)
                shifted = right[row + n] + e[k, b]
                to_right = right[row + n] + v[k, n + 1]
                for z in range(b, n):
                    push = left_arc[row + z + 1] + v[k, z + 1]
                    shifted = max(shifted, push)
                    if not (single_root and k == 0):
                        to_right = max(to_right, push - _gold(heads, z + 1, b))
                scores[r, SHIFT], scores[r, RIGHT] = shifted, gold + to_right
        if k > 0:
            after = e[k - 1, b] if unshifted else v[k - 1, b]
            if linked[k]:
                if not (single_root and k == 1 and buffered):
                    scores[r, REDUCE] = after
            elif buffered:
                scores[r, LEFT] = _gold(heads, b, top) + after
            else:
                scores[r, UNSHIFT] = e[k - 1, top]
    return scores
