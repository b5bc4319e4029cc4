"""Optimal transitions in cubic time, for any gold tree: Nederhof 2019, Section 4.

The score of a transition is its own edge plus the value of the configuration after it. This value
is the best weight of a derivation of p^k s^(m+1) under the grammar of Table 4, found by the tabular
algorithm of Table 2. Terminals: p = a stack element below the top, s = the top or a buffer node.
While a node is a bare p it has no children; it takes its first right child from the constituent
that contains the top, and only then left children. The weight of an edge is 1 if it is gold. The
slow reference implementation, a grammar written as in the paper, is oracles.tabular;
docs/oracles_and_systems.md fills in a chart by hand.

Three methods give the same numbers; the first that applies is used (under ``ties`` only the last
one, see edge_weights.py):

1. Projective gold tree, ``drop_non_critical``: only the buffer nodes found by critical_nodes.py
   enter the chart. O(n^3) in the nodes kept. For other trees nodes must not be removed (see also
   Section 8.2): with heads 3 4 0 0, stack (0) and buffer 1..4, shift would score 4 instead of 3.
2. ``share_chart``: constituents inside the buffer come from a chart of the sentence, filled once by
   bind(); oracles.charts.sentence_chart. O(k m^2) per configuration.
3. From scratch: O((k + m)^3).

The strategies, as restrictions on the configuration after the transition:

* left_before_right: after a shift the old top takes no left child.
* strict_left_before_right: in addition, no a_i below the top of the old configuration takes a left
  child.
* right_before_left: after reduce_right the top takes no right child.

Departure from the paper: under right_before_left the forbidden edges are those from index k - 1,
the top after the reduction, not from k.

Names: ``half`` and ``arc`` are the W with one and with two nonterminals of Table 2 (see
sentence_chart.py); positions 0..top are the stack, the rest buffer nodes.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from oracles.arc_standard.critical_nodes import critical_nodes
from oracles.arc_standard.transitions import CODES, after_transition
from oracles.charts.sentence_chart import best_sum, pack_sentence_charts, value_with_chart
from oracles.edge_weights import GOLD_WEIGHT, edges_of, levels_of, negative_infinity, weight
from oracles.interface import (
    N_TRANSITIONS,
    NOT_APPLICABLE,
    SHIFT,
    BoundOracle,
    Oracle,
    Query,
    Strategy,
)
from oracles.kernel_cache import array_kernel
from oracles.trees import GoldChildren, Trees

# Sentence charts take 3 n^2 bytes; sentences that do not fit are scored from scratch.
MAX_CHART_BYTES = 256 * 2**20


class NederhofCubic(Oracle):
    """The cubic algorithm, exact for any gold tree under every strategy.

    Args:
        strategy: which computations count.
        ties: "nearest_ancestor", or None (the same as "none"); see edge_weights.py.
        drop_non_critical: for projective gold trees, leave out the buffer nodes that
            critical_nodes.py does not keep.
        share_chart: for other trees, compute the constituents inside the buffer once per sentence.
            Without both: from scratch.
    """

    name: ClassVar[str] = "nederhof_cubic"
    needs_projective_gold: ClassVar[bool] = False
    takes_partial_gold: ClassVar[bool] = True
    complexity: ClassVar[str] = "O(n^3)"
    source: ClassVar[str] = "Nederhof 2019, Section 4"

    def __init__(
        self,
        strategy: Strategy | str = Strategy.LEFT_BEFORE_RIGHT,
        ties: str | None = None,
        drop_non_critical: bool = True,
        share_chart: bool = True,
    ) -> None:
        super().__init__(strategy)
        self.levels = levels_of(ties)
        self.drop_non_critical = drop_non_critical
        self.share_chart = share_chart

    def _bind(self, trees: Trees) -> BoundOracle:
        return _BoundCubic(
            trees, CODES[self.strategy], self.levels, self.drop_non_critical, self.share_chart
        )


class _BoundCubic(BoundOracle):
    def __init__(
        self,
        trees: Trees,
        strategy: int,
        levels: tuple[int, ...],
        drop_non_critical: bool,
        share_chart: bool,
    ) -> None:
        super().__init__(trees)
        self.strategy = strategy
        self.levels = levels
        self.gold_weight = GOLD_WEIGHT if levels else 1
        if levels:
            # Both methods assume that edges which are not gold weigh 0.
            drop_non_critical = share_chart = False
        self.drops = (
            trees.projective & trees.whole if drop_non_critical else np.zeros(len(trees), np.bool_)
        )
        self.children = GoldChildren.of(trees)
        wanted = ~self.drops if share_chart else np.zeros(len(trees), np.bool_)
        self.charts, self.chart_offsets = pack_sentence_charts(
            trees.heads, trees.offsets, wanted, MAX_CHART_BYTES
        )

    def score_batch(self, query: Query) -> np.ndarray:
        scores = np.full(
            (len(query), N_TRANSITIONS), NOT_APPLICABLE, np.int32 if self.levels else np.int16
        )
        _score_batch(
            self.trees.heads,
            self.trees.offsets,
            self.drops,
            self.children,
            self.charts,
            self.chart_offsets,
            self.strategy,
            self.levels,
            *query.arrays,
            scores,
        )
        return scores


@array_kernel()
def _score_batch(
    all_heads,
    offsets,
    drops,
    children,
    charts,
    chart_offsets,
    strategy,
    levels,
    sentences,
    stacks,
    stack_sizes,
    buffer_fronts,
    scores,
):
    """Score each applicable transition by the value of the configuration after it."""
    space = np.empty((3, 32, 32), scores.dtype)
    work = np.empty((5, 32), np.int16)
    table = np.empty(0, np.int32)
    position = np.full(32, -1, np.int32)
    after = np.empty(32, np.int32)  # the stack after the transition
    takes_left = np.ones(32, np.bool_)
    for row in range(len(sentences)):
        sentence = sentences[row]
        start = offsets[sentence]
        heads = all_heads[start : offsets[sentence + 1]]
        n = len(heads) - 1
        if len(levels) > 0 and len(heads) ** 2 > len(table):
            table = np.empty(len(heads) ** 2, np.int32)
        if n + 2 > len(after):
            size = max(n + 2, min(2 * len(after), 10000))
            space = np.empty((3, size, size), scores.dtype)
            work = np.empty((5, size), np.int16)
            position = np.full(size, -1, np.int32)
            after = np.empty(size, np.int32)
            takes_left = np.ones(size, np.bool_)
        edges = edges_of(heads, levels, table, True)
        chart = charts[chart_offsets[sentence] : chart_offsets[sentence + 1]]
        stack = stacks[row]
        k = stack_sizes[row] - 1
        front = buffer_fronts[row]
        for d in range(k + 1):
            after[d] = stack[d]
        for transition in range(N_TRANSITIONS):
            new = after_transition(transition, strategy, after, k, front, n)
            if not new.applicable:
                continue
            takes_left[: new.k + 1] = True
            takes_left[new.closed_from : new.closed_to + 1] = False
            right = new.top_takes_right
            if len(chart):
                value = value_with_chart(
                    heads, after, new.k, new.front, chart, takes_left, right, space[0], work
                )
            else:
                drop = drops[sentence]
                value = _value_from_scratch(
                    heads,
                    edges,
                    start,
                    after,
                    new.k,
                    new.front,
                    drop,
                    children,
                    takes_left,
                    right,
                    position,
                    space,
                )
            scores[row, transition] = (
                value if transition == SHIFT else value + weight(edges, new.head, new.child)
            )


@array_kernel()
def _value_from_scratch(
    heads,
    edges,
    start,
    stack,
    k,
    front,
    drop,
    children,
    takes_left,
    top_takes_right,
    position,
    space,
):
    """Return the value of a configuration from a chart over the stack and the buffer; with
    ``drop``, the chart has only the critical nodes of the buffer.

    ``edges``: see edge_weights.edges_of. ``position`` (int32[> n], all -1) maps a token to its
    position in the chart during the call.
    """
    n = len(heads) - 1
    for p in range(k + 1):
        position[stack[p]] = p
    if drop:
        buffer = critical_nodes(heads, start, stack, k, front, children, position)
    else:
        buffer = np.arange(front, n + 1).astype(np.int32)
    for x in range(len(buffer)):
        position[buffer[x]] = k + 1 + x
    among = _edges_between(edges, np.concatenate((stack[: k + 1], buffer)), position)
    value = best_derivation(among, k, takes_left, top_takes_right, space[0], space[1], space[2])
    if drop:
        # The chart counts the gold edges between the nodes kept;
        # all others inside the buffer can be made in any case.
        value += children.edges_from[start + front] if front <= n else 0
        for x in range(len(buffer)):
            value -= position[heads[buffer[x]]] > k
    for p in range(k + 1):
        position[stack[p]] = -1
    for x in range(len(buffer)):
        position[buffer[x]] = -1
    return value


@array_kernel()
def _edges_between(edges, nodes, position):
    """Return the edges between the positions of a chart, for weight(); ``nodes``: int32[size], the
    token at each position.
    """
    size = len(nodes)
    if edges.ndim == 1:  # decided when numba compiles
        head_at = np.full(size, -1, np.int32)  # -1: not in the chart
        for p in range(size):
            if edges[nodes[p]] >= 0:
                head_at[p] = position[edges[nodes[p]]]
        return head_at
    weights = np.empty((size, size), np.int32)
    for p in range(size):
        for q in range(size):
            weights[p, q] = edges[nodes[p], nodes[q]]
    return weights


@array_kernel()
def best_derivation(edges, top, takes_left, top_takes_right, half, half_t, arc):
    """Return the best weight by Tables 2 and 4 over positions 0..len(edges)-1,
    of which 0..top are the stack; cubic.

    A position below ``top`` is in state P or S. P is childless and needs no table: its right half
    is the node alone. So the entries of ``half`` to the right are for state S, and exist only from
    ``top`` on.

    Args:
        edges: the gold heads or a table of weights, by positions.
        top: position of the stack top.
        takes_left: bool[> top], which stack elements may take left children.
        top_takes_right: whether the top may take right children.
        half, half_t, arc: [>= size, >= size], working space; half_t is half transposed.
    """
    size = len(edges)
    lowest = negative_infinity(half)
    for j in range(top):
        half[j, j] = 0
        half_t[j, j] = 0
        for i in range(j - 1, -1, -1):
            arc[i, j] = half[j, i + 1] + weight(edges, i, j)
            # (S,_) -> P (P,_) and (S,_) -> P (S,_):
            # from the stack a P takes childless left children only.
            half[j, i] = half[j, i + 1] + weight(edges, j, i) if takes_left[j] else lowest
            half_t[i, j] = half[j, i]
    for j in range(top, size):
        half[j, j] = 0
        half_t[j, j] = 0
        for i in range(j - 1, -1, -1):
            left_arc = weight(edges, j, i)
            right_arc = weight(edges, i, j)
            if i >= top:
                join = best_sum(half[i, i:j], half[j, i + 1 : j + 1])
                arc[i, j] = join + right_arc
                arc[j, i] = join + left_arc
                best_left = lowest
            else:
                as_p = half[j, i + 1]  # i is a P, and its neighbour reaches down to it
                as_s = best_sum(half[i, top:j], half[j, top + 1 : j + 1])
                arc[i, j] = max(as_p, as_s) + right_arc
                arc[j, i] = as_s + left_arc
                best_left = as_p + left_arc
            if i == top and not top_takes_right:
                half[i, j] = lowest
            else:
                half[i, j] = best_sum(arc[i, i + 1 : j + 1], half_t[j, i + 1 : j + 1])
            half_t[j, i] = half[i, j]
            if i > 0:
                if j == top and not takes_left[top]:
                    half[j, i] = lowest
                else:
                    half[j, i] = max(best_left, best_sum(arc[j, i:j], half_t[i, i:j]))
                half_t[i, j] = half[j, i]
    return np.int64(half[0, size - 1])
