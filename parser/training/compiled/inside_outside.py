"""The derivatives of the sum over all computations, by the outside algorithm on the chart of exact search (exact/chart.py).

Inside: the logarithm of the sum of exp(score) over all computations of a sentence, whose scores are the sums of those of their
transitions. Outside: its derivatives by the scores, which are the posteriors of the transitions: how probable it is that a
computation makes a transition in a state. They are taken backwards through the sums of the inside algorithm, so that they are
sums of probabilities, and no logarithm of a small difference is needed. O(n^3) for a sentence of n tokens, both.
"""

from __future__ import annotations

import numpy as np

from parser.decoding.beam.scores import finite_number
from parser.decoding.exact.chart import can_be, fill_chart, makes, score_pop, score_shift
from parser.kernels import array_kernel


@array_kernel()
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
    shifts, pops = np.empty((2, len(scores))), np.empty((2, len(scores)))
    for j in range(1, n + 2):
        for i in range(j):
            row = j * (j - 1) // 2 + i
            for b in range(2):
                shifts[b, row] = score_shift(scores[row], i, j, n, b)
                pops[b, row], _ = score_pop(scores[row], i, j, n, b, rules, heads[i], relations[i], True)
    shifted, popped, items, _ = fill_chart(n, shifts, pops, heads, True)
    log_partition = items[0, n * (n + 1) // 2]
    if log_partition == -np.inf:
        return log_partition
    of_shifts, of_pops = _outside(n, shifted, popped, items)
    for j in range(1, n + 2):
        for i in range(j):
            row = j * (j - 1) // 2 + i
            slopes[row, 0] += factor * (of_shifts[0, i, j] + of_shifts[1, i, j])
            for b in range(2):
                if of_pops[b, row] == 0:
                    continue
                for o in range(1, scores.shape[1]):
                    if makes(o, i, j, n, b, rules, heads[i], relations[i]):
                        slopes[row, o] += (
                            factor * of_pops[b, row] * np.exp(np.float64(finite_number(scores[row, o])) - pops[b, row])
                        )
    return log_partition


@array_kernel()
def _outside(n, shifted, popped, items):
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
                    if shifted[b, k, i] > -np.inf:
                        share = of_item * np.exp(shifted[b, k, i] + popped[over_root, column + i] - items[b, column + k])
                        of_shifts[b, k, i] += share
                        of_pops[over_root, column + i] += share
    return of_shifts, of_pops
