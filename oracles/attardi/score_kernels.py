"""The scores of attardi_search, compiled: a search, or a look into the memo, for the configuration after each move."""

from __future__ import annotations

import numpy as np
from numba import njit

from oracles.attardi.search_kernels import least_loss
from oracles.attardi.search_space import new_space
from oracles.attardi.states import count_alive_children, flip, is_present, words_of
from oracles.interface import NOT_APPLICABLE


@njit(cache=True, nogil=True)
def _alive_edges(heads, words, stack, k, front):
    """How many gold edges have both ends on the stack or in the buffer; O(n)."""
    alive = 0
    for d in range(1, k + 1):
        alive += is_present(words, 0, front, heads[stack[d]])
    for token in range(front, len(heads)):
        alive += is_present(words, 0, front, heads[token])
    return alive


@njit(cache=True, nogil=True)
def _cost_of_front(tree, degree, words, stack, k, front):
    """How many alive gold edges are lost if the front of the buffer is shifted and sacrificed at once."""
    heads, last_child, sibling = tree
    cost = count_alive_children(last_child, sibling, words, 0, front, front)
    if is_present(words, 0, front, heads[front]):
        cost += 1
        for d in range(min(degree, k + 1)):
            if stack[k - d] == heads[front]:
                cost -= 1
    return cost


@njit(cache=True, nogil=True)
def score_batch(all_heads, offsets, lists, degree, memo, unguided, max_states, sentences, stacks, stack_sizes, buffer_fronts):
    """Scores a batch of configurations; see BoundOracle.score_batch.

    Args:
        all_heads, offsets: the trees, see Trees.
        lists: ``last`` and ``previous`` of oracles.gold_children.
        degree: D.
        memo: see oracles.attardi.memo.
        unguided, max_states: see least_loss.
        sentences, stacks, stack_sizes, buffer_fronts: the batch.

    Returns:
        int16[batch, 1 + 2 * degree]; the row of the first configuration of which a search found more than max_states, or -1;
        and how often a state was expanded.
    """
    scores = np.full((len(sentences), 1 + 2 * degree), NOT_APPLICABLE, np.int16)
    longest = 0
    for s in sentences:
        longest = max(longest, offsets[s + 1] - offsets[s] - 1)
    spaces = new_space(words_of(longest), longest, degree), new_space(words_of(longest), longest, degree)
    here = np.empty(words_of(longest), np.int64)
    expanded = 0
    for row in range(len(sentences)):
        s = sentences[row]
        start, end = offsets[s], offsets[s + 1]
        n = end - start - 1
        heads = all_heads[start:end]
        tree = heads, lists[0][start:end], lists[1][start:end]
        width = words_of(n)
        k = stack_sizes[row] - 1
        front = buffer_fronts[row]
        stack = stacks[row]
        here[:width] = 0
        flip(here, 0, front)
        for d in range(k + 1):
            flip(here, 0, stack[d])
        alive = _alive_edges(heads, here, stack, k, front)

        # First the configuration itself, whose loss bounds the others: -2. Then the shift: -1. Then the removal of the node at
        # each depth; that of the top, depth 0, is what all ra_d do.
        own = np.int64(0)
        for move in range(-2, min(degree, k - 1) + 1):
            if (move == -1 and front > n) or (move == 0 and k == 0):
                continue
            words = spaces[0][0]
            words[:width] = here[:width]
            node = np.int64(0)
            front_after, after = front, alive
            lower, upper = np.int64(0), np.int64(n + 1)
            if move == -1:
                front_after = front + 1
                flip(words, 0, front_after)
                lower = own
                upper = own + _cost_of_front(tree, degree, here, stack, k, front)
            elif move >= 0:
                node = np.int64(stack[k - move])
                flip(words, 0, node)
                after -= is_present(here, 0, front, heads[node])
                after -= count_alive_children(tree[1], tree[2], here, 0, front, node)
                lower = max(np.int64(0), own - (alive - after))
                upper = own
            loss, spaces, taken = least_loss(
                *(tree, degree, memo, s, width, spaces, front_after, lower, upper, unguided, max_states)
            )
            expanded += taken
            if loss < 0:
                return scores, row, expanded
            if move == -2:
                own = loss
            elif move == -1:
                scores[row, 0] = after - loss
            elif move == 0:
                for d in range(1, min(degree, k) + 1):
                    scores[row, 2 * d - 1] = after - loss + (heads[node] == stack[k - d])
            else:
                scores[row, 2 * move] = after - loss + (heads[node] == stack[k])
    return scores, -1, expanded
