"""The static-dynamic oracle of parsing with swap: the idea of de Lhoneux, Stymne and Nivre 2017, for arc-standard.

The print is about arc-hybrid with swap: whether to swap is decided as by a static oracle, and where it is not swapped, the
other transitions cost what they cost in arc-hybrid, also off the gold path. Here arc-standard takes its place, with its own
exact costs instead of the sums that are exact only for arc-hybrid.

Swap, static: where swap is applicable and the top comes before the element below it in the projective order of the gold
tree, swap is the only optimal transition; elsewhere it never is.

The other transitions, dynamic: the static swaps alone, without any attachment, would take the stack and the buffer to some
final order of their nodes, p_0..p_q (p_0 = 0), and the elements of the stack that would never leave their places are p_0..p_s.
If these are the whole stack, the value of a configuration is the most gold edges that arc-standard can make from the stack
p_0..p_s and the buffer p_{s+1}..p_q without any swap: the chart of Nederhof 2019, Section 4, over these nodes, for the gold
edges between them. If they are not, those above them have to go before anything can be made, and they go when p_{s+1}
comes: then it is the same from the stack p_0..p_{s+1}. The score of a transition is 1 if its edge is gold, and the value of the
configuration after it. So a shift that only brings a token nearer to a swap costs nothing, as in the print.

What is exact and what is not:

* The value can always be reached, by swapping until p_{s+1} is the top, above p_s, and so on.
* If the gold tree is projective and nothing was swapped, the scores of shift, reduce_left and reduce_right are those of
  arc-standard under the strategy ``any``.
* On the gold path it is the number of all gold edges that are missing, and optimal transitions lead to the gold tree.
* Off the gold path it is a lower bound on what the system can do. More can be possible with swaps that the projective order
  does not ask for (almost anything can be repaired by enough of them), and by attaching two nodes before a third
  comes between them. So neither the costs nor the sets of optimal transitions are exact for the system as a whole: of all
  configurations of all trees of 4 tokens, most of which no parser ever meets, 22% have a transition that is optimal here and
  not in a search over all computations, and 11% of those without a swap against the projective order.

The score of a transition that the static part rules out is at most the best score less 1.

Complexity: O((k + m)^3) per configuration of k stack elements and m tokens in the buffer, O(n) per sentence to bind.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from oracles.arc_standard.nederhof_cubic import best_derivation
from oracles.interface import NOT_APPLICABLE, REDUCE_LEFT, REDUCE_RIGHT, SHIFT, BoundOracle, Query
from oracles.kernel_cache import array_kernel
from oracles.swap.configuration import N_TRANSITIONS, SWAP, SwapOracle, buffers_of, fill_applicable, projective_orders
from oracles.trees import Trees


class SwapDynamic(SwapOracle):
    """Static swaps, and the costs of arc-standard in the order that these lead to; to explore with, on any trees."""

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
        return _score_batch(trees.heads, trees.offsets, self.ranks, *query.arrays, buffers_of(query, trees))


@array_kernel()
def _sort_by_swaps(ranks, stack, size, waiting, count):
    """Shifts, and swaps where the projective order says so, until the buffer is empty; in place.

    Args:
        ranks: int32[n + 1], the projective order.
        stack: int32[>= size + count], the stack; on return the nodes in their final order.
        size: number of stack elements.
        waiting: int32[>= n], the buffer, its first token last.
        count: number of tokens in the buffer.

    Returns:
        The number of nodes, size + count.
    """
    while True:
        if size >= 3 and stack[size - 2] < stack[size - 1] and ranks[stack[size - 1]] < ranks[stack[size - 2]]:
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
def _score_batch(all_heads, offsets, all_ranks, sentences, stacks, stack_sizes, buffer_fronts, buffers):
    scores = np.full((len(sentences), N_TRANSITIONS), NOT_APPLICABLE, np.int16)
    longest = 0
    for s in sentences:
        longest = max(longest, offsets[s + 1] - offsets[s])
    after = np.empty(longest, np.int32)  # the stack after the transition, then the nodes in their final order
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
                last += 1  # the next in the final order, which drives out those above
            for place in range(nodes):
                position[after[place]] = place
            for place in range(nodes):
                head = heads[after[place]]
                head_at[place] = position[head] if head >= 0 else -1
            scores[row, transition] = edge + best_derivation(head_at[:nodes], last, takes_left, True, half, half_t, arc)
            for place in range(nodes):
                position[after[place]] = -1

        if scores[row, SWAP] != NOT_APPLICABLE:
            if ranks[top] < ranks[below]:
                for transition in (SHIFT, REDUCE_LEFT, REDUCE_RIGHT):
                    if scores[row, transition] != NOT_APPLICABLE:
                        scores[row, transition] = min(scores[row, transition], scores[row, SWAP] - 1)
            else:
                best = max(scores[row, SHIFT], max(scores[row, REDUCE_LEFT], scores[row, REDUCE_RIGHT]))
                scores[row, SWAP] = min(scores[row, SWAP], best - 1)
    return scores
