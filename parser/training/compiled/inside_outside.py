"""The inside and the outside algorithm on the chart of exact search (decoding/exact/chart.py has the chart).

Inside: the logarithm of the sum of exp(score) over all computations of a sentence, whose scores are the sums of those of their
moves. Outside: its derivatives by the scores, which are the posteriors of the moves: how probable it is that a computation
makes a move in a state. They are taken backwards through the sums of the inside algorithm, so that they are sums of
probabilities, and no logarithm of a small difference is needed. O(n^3) for a sentence of n tokens, both.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from parser.data.parses import NO_NODE
from parser.decoding.beam.scores import finite_number
from parser.decoding.exact.chart import applies, can_be
from parser.kernels import kernel


@njit(cache=True, nogil=True)
def add_posteriors(scores, n, rules, heads, relations, factor, slopes):
    """The logarithm of the sum over computations; adds ``factor`` times its derivatives to ``slopes``.

    Args:
        scores: float32[states, outputs], of the classifier in the states of a sentence, by number.
        n: tokens.
        rules: see ChartRules.
        heads, relations: int32[n + 1], arcs that a computation must make to count; NO_NODE for a token whose arc is free.
        factor: what the derivatives are multiplied by.
        slopes: float32[states, outputs].

    Returns:
        The logarithm; minus infinity if no computation makes all the arcs, and then nothing is added.
    """
    pops = np.empty((2, len(scores)))
    for j in range(1, n + 2):
        for i in range(j):
            row = j * (j - 1) // 2 + i
            for b in range(2):
                pops[b, row] = _log_sum_of_pops(scores[row], i, j, n, b, rules, heads[i], relations[i])
    shifted, popped, items = _inside(scores, n, heads, pops)
    log_partition = items[0, n * (n + 1) // 2]
    if log_partition == -np.inf:
        return log_partition
    of_shifts, of_pops = _outside(n, heads, shifted, popped, items)
    for j in range(1, n + 2):
        for i in range(j):
            row = j * (j - 1) // 2 + i
            slopes[row, 0] += factor * (of_shifts[0, i, j] + of_shifts[1, i, j])
            for b in range(2):
                if of_pops[b, row] == 0:
                    continue
                for o in range(1, scores.shape[1]):
                    if _counts(o, i, j, n, b, rules, heads[i], relations[i]):
                        slopes[row, o] += (
                            factor * of_pops[b, row] * np.exp(np.float64(finite_number(scores[row, o])) - pops[b, row])
                        )
    return log_partition


@kernel()
def _counts(output, i, j, n, below_root, rules, head, relation):
    """Whether an output pops i in the state (i, j) with the arc that it must have; _joins() sees to heads to the left."""
    if not can_be(below_root, i) or not applies(output, i, j, n, below_root, rules):
        return False
    if head == NO_NODE:
        return True
    if output <= rules.n_relations:
        return head == j and relation == output - 1
    return head < i and relation == output - 1 - rules.n_relations


@kernel()
def _log_sum_of_pops(scores, i, j, n, below_root, rules, head, relation):
    highest, total = -np.inf, 0.0
    for o in range(1, len(scores)):
        if _counts(o, i, j, n, below_root, rules, head, relation):
            highest = max(highest, np.float64(finite_number(scores[o])))
    if highest == -np.inf:
        return highest
    for o in range(1, len(scores)):
        if _counts(o, i, j, n, below_root, rules, head, relation):
            total += np.exp(np.float64(finite_number(scores[o])) - highest)
    return highest + np.log(total)


@kernel()
def _joins(heads, k, i):
    """Whether [k, i] and [i, j] may be joined: if i must have its head to the left, that is k."""
    return heads[i] == NO_NODE or heads[i] > i or heads[i] == k


@njit(cache=True, nogil=True)
def _inside(scores, n, heads, pops):
    """The logarithms of the sums over the computations of items, and of items with a shift or a pop after.

    Returns:
        shifted: float64[2, n + 1, n + 2], by bit, k and i: [k, i] and the shift of i.
        popped: float64[2, states]: [i, j] and the pop of i.
        items: float64[2, states].
    """
    shifted, popped, items = np.full((2, n + 1, n + 2), -np.inf), np.full(pops.shape, -np.inf), np.full(pops.shape, -np.inf)
    for j in range(1, n + 2):
        column = j * (j - 1) // 2
        for k in range(j - 1, -1, -1):
            over_root = 1 if k == 0 else 0
            for b in range(2):
                if not can_be(b, k):
                    continue
                total = 0.0
                if k < j - 1:
                    total = -np.inf
                    highest = -np.inf
                    for i in range(k + 1, j):
                        if _joins(heads, k, i):
                            highest = max(highest, shifted[b, k, i] + popped[over_root, column + i])
                    if highest > -np.inf:
                        share = 0.0
                        for i in range(k + 1, j):
                            if _joins(heads, k, i):
                                share += np.exp(shifted[b, k, i] + popped[over_root, column + i] - highest)
                        total = highest + np.log(share)
                items[b, column + k] = total
                if j <= n:
                    shifted[b, k, j] = total + np.float64(finite_number(scores[column + k, 0]))
                popped[b, column + k] = total + pops[b, column + k]
    return shifted, popped, items


@njit(cache=True, nogil=True)
def _outside(n, heads, shifted, popped, items):
    """The posteriors of shifts, float64[2, n + 1, n + 2], and of pops, float64[2, states]."""
    of_shifts, of_pops = np.zeros(shifted.shape), np.zeros(popped.shape)
    for j in range(n + 1, 0, -1):
        column = j * (j - 1) // 2
        for k in range(j - 1):
            over_root = 1 if k == 0 else 0
            for b in range(2):
                if not can_be(b, k):
                    continue
                # An item goes on with a shift or with a pop of its top; both lead to larger items, which have been seen.
                of_item = of_shifts[b, k, j] + of_pops[b, column + k]
                if k == 0 and j == n + 1:
                    of_item = 1.0
                if of_item == 0:
                    continue
                for i in range(k + 1, j):
                    if _joins(heads, k, i):
                        share = of_item * np.exp(shifted[b, k, i] + popped[over_root, column + i] - items[b, column + k])
                        of_shifts[b, k, i] += share
                        of_pops[over_root, column + i] += share
    return of_shifts, of_pops
