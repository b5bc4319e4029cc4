"""The static-dynamic oracle of parsing with swap: the idea of de Lhoneux, Stymne and Nivre 2017,
transferred to arc-standard.

The paper is about arc-hybrid with swap: a static oracle decides whether to swap; otherwise the
other transitions have their costs in arc-hybrid, even off the gold path. Here arc-standard replaces
arc-hybrid, with its own exact costs.

Swap, static: if swap is applicable and the top comes before the element below it in the projective
order of the gold tree, swap is the only optimal transition. Otherwise it is never optimal.

The other transitions, dynamic: the static swaps alone, without any attachment, would bring the
nodes of the stack and the buffer into some final order p_0..p_q (p_0 = 0). Let p_0..p_s be the
stack elements that would never leave their places. If these are the whole stack, the value of a
configuration is the most gold edges that arc-standard can make from the stack p_0..p_s and the
buffer p_{s+1}..p_q without any swap. It comes from the chart of Nederhof 2019, Section 4, over
these nodes. If the stack has further elements above p_s, no edge can be made until they leave, and
they leave when p_{s+1} comes. So the value is then that of the stack p_0..p_{s+1}. The score of a
transition is 1 if its edge is gold, plus the value of the configuration after it. So, as in the
paper, a shift that only prepares a swap costs nothing.

What is exact and what is not:

* The value can always be reached: swap until p_{s+1} is the top, directly above p_s, and so on.
* If the gold tree is projective and nothing was swapped, the scores of shift, reduce_left and
  reduce_right are those of arc-standard under the strategy ``any``.
* On the gold path, the value is the number of missing gold edges,
  and optimal transitions lead to the gold tree.
* Off the gold path, the value is a lower bound. More may be possible with swaps against the
  projective order (enough of them repair almost anything), and by attaching two nodes before a
  third comes between them. So neither the costs nor the sets of optimal transitions are exact for
  the whole system. In 22% of all configurations of all trees of 4 tokens, some transition is
  optimal here but not in a search over all computations; no parser ever meets most of these
  configurations. If the configurations after a swap against the projective order are left out, the
  share is 11%.

A transition that the static part rules out scores at most the best score minus 1.

Complexity: O((k + m)^3) per configuration of k stack elements and m tokens in the buffer,
O(n) per sentence to bind.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from oracles.arc_standard.nederhof_cubic import best_derivation
from oracles.interface import NOT_APPLICABLE, REDUCE_LEFT, REDUCE_RIGHT, SHIFT, BoundOracle, Query
from oracles.kernel_cache import array_kernel
from oracles.swap.configuration import (
    N_TRANSITIONS,
    SWAP,
    SwapOracle,
    buffers_of,
    fill_applicable,
    projective_orders,
)
from oracles.trees import Trees


class SwapDynamic(SwapOracle):
    """Static swaps, and the costs of arc-standard in the order after them; for exploration,
    on any gold tree.
    """

    name: ClassVar[str] = "swap_dynamic"
    complexity: ClassVar[str] = "O(n^3)"
    source: ClassVar[str] = "after de Lhoneux, Stymne and Nivre 2017"

    def _bind(self, trees: Trees) -> BoundOracle:
        return _BoundSwapDynamic(trees)


class _BoundSwapDynamic(BoundOracle):
    def __init__(self, trees: Trees) -> None:
        super().__init__(trees)
        self.ranks = projective_orders(trees.heads, trees.offsets)

    def score_batch(self, query: Query) -> np.ndarray:
        trees = self.trees
        return _score_batch(
            trees.heads, trees.offsets, self.ranks, *query.arrays, buffers_of(query, trees)
        )


@array_kernel()
def _sort_by_swaps(ranks, stack, size, waiting, count):
    """Shift, and swap where the projective order says so, until the buffer is empty; in place.

    Args:
        ranks: int32[n + 1], the projective order.
        stack: int32[>= size + count], the stack; afterwards, the nodes in their final order.
        size: number of stack elements.
        waiting: int32[>= n], the buffer, its first token last.
        count: number of tokens in the buffer.

    Returns:
        The number of nodes, size + count.
    """
    while True:
        if (
            size >= 3
            and stack[size - 2] < stack[size - 1]
            and ranks[stack[size - 1]] < ranks[stack[size - 2]]
        ):
            waiting[count] = stack[size - 2]
            count += 1
            stack[size - 2] = stack[size - 1]
            size -= 1
        elif count:
            count -= 1
            stack[size] = waiting[count]
            size += 1
        else:
            return size


@array_kernel()
def _score_batch(
    all_heads, offsets, all_ranks, sentences, stacks, stack_sizes, buffer_fronts, buffers
):
    scores = np.full((len(sentences), N_TRANSITIONS), NOT_APPLICABLE, np.int16)
    longest = 0
    for s in sentences:
        longest = max(longest, offsets[s + 1] - offsets[s])
    # the stack after the transition, then the nodes in their final order
    after = np.empty(longest, np.int32)
    before = np.empty(longest, np.int32)  # the stack after the transition
    waiting = np.empty(longest, np.int32)
    position = np.full(longest, -1, np.int32)
    head_at = np.empty(longest, np.int32)
    takes_left = np.ones(longest, np.bool_)
    half = np.empty((longest, longest), np.int16)
    half_t = np.empty((longest, longest), np.int16)
    arc = np.empty((longest, longest), np.int16)
    for row in range(len(sentences)):
        start, end = offsets[sentences[row]], offsets[sentences[row] + 1]
        heads = all_heads[start:end]
        ranks = all_ranks[start:end]
        n = len(heads) - 1
        size = stack_sizes[row]
        stack = stacks[row]
        fill_applicable(stack, size, buffer_fronts[row] <= n, 0, scores[row])
        top = stack[size - 1]
        below = stack[size - 2] if size >= 2 else 0
        for transition in range(N_TRANSITIONS):
            if scores[row, transition] == NOT_APPLICABLE:
                continue
            front = buffer_fronts[row]
            new_size = size - 1
            edge = False
            for d in range(size):
                before[d] = stack[d]
            count = 0
            if transition == SHIFT:
                before[size] = buffers[row, front]
                new_size = size + 1
                front += 1
            elif transition == REDUCE_LEFT:
                edge = heads[top] == below
            else:
                edge = transition == REDUCE_RIGHT and heads[below] == top
                before[size - 2] = top
            for place in range(n, front - 1, -1):
                waiting[count] = buffers[row, place]
                count += 1
            if transition == SWAP:
                waiting[count] = below
                count += 1
            for d in range(new_size):
                after[d] = before[d]
            nodes = _sort_by_swaps(ranks, after, new_size, waiting, count)
            last = 0  # the last element of the stack that stays in its place
            while last + 1 < new_size and after[last + 1] == before[last + 1]:
                last += 1
            if last + 1 < new_size:
                last += 1  # the next node in the final order, which makes the elements above leave
            for place in range(nodes):
                position[after[place]] = place
            for place in range(nodes):
                head = heads[after[place]]
                head_at[place] = position[head] if head >= 0 else -1
            scores[row, transition] = edge + best_derivation(
                head_at[:nodes], last, takes_left, True, half, half_t, arc
            )
            for place in range(nodes):
                position[after[place]] = -1

        if scores[row, SWAP] != NOT_APPLICABLE:
            if ranks[top] < ranks[below]:
                for transition in (SHIFT, REDUCE_LEFT, REDUCE_RIGHT):
                    if scores[row, transition] != NOT_APPLICABLE:
                        scores[row, transition] = min(
                            scores[row, transition], scores[row, SWAP] - 1
                        )
            else:
                best = max(
                    scores[row, SHIFT], max(scores[row, REDUCE_LEFT], scores[row, REDUCE_RIGHT])
                )
                scores[row, SWAP] = min(scores[row, SWAP], best - 1)
    return scores
