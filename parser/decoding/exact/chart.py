"""The chart of exact search for arc-hybrid parsing (Kuhlmann, Gómez-Rodríguez and Satta 2011; Shi, Huang and Lee 2017).

Where the scores of a configuration depend only on the top of the stack and the front of the buffer, all computations of a
sentence of n tokens fit into a chart of items [i, j]: from where token i was shifted (or, for i = 0, from the start) to where i
is on top and j is the front of the buffer (n + 1: it is empty). With the transitions scored in the state (i, j):

    [0, 1]                       at the start
    [i, j]          -> [j, j+1]  shift
    [k, i] + [i, j] -> [k, j]    left (i becomes a child of j) or right (of k): i is popped
    [0, n+1]                     at the end

An item's score leaves out the shift that began it, which is of the state (k, i) and added where the items are joined. So every
computation is one derivation of [0, n+1] and the other way round. O(n^2) items, O(n^3) time.

What lies below the top matters by one bit, ``b``: 1 if it is the artificial root. The child of the root bears a relation of its
own; and, with a single root, its arc is made last, when the buffer is empty, so that no item needs to know whether the root
has a child already. From the bit follow the relations that a transition may choose from, and, with local scores, what else
applies.

The chart is filled by one recursion in either of two semirings: with the maximum, an item has the score of its best computation
(Viterbi); with the sum of exponentials, the logarithm of the sum over all of its computations (inside; its derivatives are in
training/fitting/exact_objective.py). There, arcs may be given that every computation must make.

Numbers of states: (i, j) with i < j is number j(j-1)/2 + i, so that states with the same j are neighbours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parser.data.sentences import NO_NODE
from parser.decoding.beam.scores import finite_number
from parser.kernels import array_kernel, kernel
from parser.transitions.decisions import required_root_relation
from parser.transitions.system import TransitionSystem


class ChartRules(NamedTuple):
    """What of the transition system the chart needs.

    Attributes:
        n_relations: relations. Outputs are shift, left with each of them, right with each of them.
        root_relation: that of only the child of the root; NO_NODE where relations are free.
        single_root: whether the root has only one child.
    """

    n_relations: int
    root_relation: int
    single_root: bool

    @classmethod
    def of(cls, system: TransitionSystem, single_root: bool) -> ChartRules:
        """Those of arc-hybrid."""
        return cls(system.n_relations, required_root_relation(system, single_root), single_root)


class StateScores(NamedTuple):
    """What the transitions of a sentence's states score.

    Attributes:
        shifts: float64[2, states], by the bit b, of shift; minus infinity where it does not apply.
        pops: float64[2, states], of the best of left and right with any relation.
        outputs: int32[2, states], which one it is; NO_NODE where none applies.
    """

    shifts: np.ndarray
    pops: np.ndarray
    outputs: np.ndarray

    @classmethod
    def allocate(cls, states: int) -> StateScores:
        """For this many states."""
        return cls(np.empty((2, states)), np.empty((2, states)), np.empty((2, states), np.int32))


def n_states(n: int) -> int:
    """States (i, j) of a sentence of n tokens, 0 <= i < j <= n + 1."""
    return (n + 1) * (n + 2) // 2


def states(n: int) -> tuple[np.ndarray, np.ndarray]:
    """int32[states] i and int32[states] j, by number."""
    widths = np.arange(1, n + 2, dtype=np.int32)
    fronts = np.repeat(widths, widths)
    return np.arange(len(fronts), dtype=np.int32) - fronts * (fronts - 1) // 2, fronts


@kernel()
def can_be(below_root, i):
    """Whether what lies below i can be the artificial root (1), or something else (0), which for i = 0 is nothing."""
    return below_root == 0 if i == 0 else (below_root == 1 or i > 1)


@kernel()
def applies(output, i, j, n, below_root, rules):
    """Whether an output applies in the state (i, j), given what lies below i."""
    if output == 0:
        return j <= n
    if i == 0:
        return False
    is_left = output <= rules.n_relations
    if is_left and j > n:
        return False
    to_root = not is_left and below_root == 1
    if to_root and rules.single_root and j <= n:
        return False
    if rules.root_relation == NO_NODE:
        return True
    relation = output - 1 - (0 if is_left else rules.n_relations)
    return to_root == (relation == rules.root_relation)


@kernel()
def makes(output, i, j, n, below_root, rules, head, relation):
    """Whether an output pops i in the state (i, j) with the arc that i must get; fill_chart() sees to heads to the left.

    Args:
        output: left or right with a relation.
        i, j, n, below_root, rules: see applies().
        head, relation: of the arc that i must get; NO_NODE if any will do.
    """
    if not can_be(below_root, i) or not applies(output, i, j, n, below_root, rules):
        return False
    if head == NO_NODE:
        return True
    if output <= rules.n_relations:
        return head == j and relation == output - 1
    return head < i and relation == output - 1 - rules.n_relations


@kernel()
def score_pop(scores, i, j, n, below_root, rules, head, relation, sums):
    """What popping i in the state (i, j) scores, and the best output that does so; minus infinity and NO_NODE if none does.

    Args:
        scores: float32[outputs], of the classifier in this state.
        i, j, n, below_root, rules, head, relation: see makes().
        sums: whether it is the logarithm of the sum of exp(score) over these outputs, or the score of the best one.
    """
    total, best = -np.inf, NO_NODE
    for o in range(1, len(scores)):
        if makes(o, i, j, n, below_root, rules, head, relation):
            score = np.float64(finite_number(scores[o]))
            if score > total:
                total, best = score, o
    if sums and best != NO_NODE:
        highest, shares = total, 0.0
        for o in range(1, len(scores)):
            if makes(o, i, j, n, below_root, rules, head, relation):
                shares += np.exp(np.float64(finite_number(scores[o])) - highest)
        total = highest + np.log(shares)
    return total, best


@kernel()
def choose_outputs(scores, tops, fronts, n, rules, local, first, transitions):
    """Fills in ``transitions`` for some of the states of a sentence.

    Args:
        scores: float32[m, outputs], of the classifier.
        tops, fronts: int32[m], i and j of the states.
        n: tokens.
        rules: see ChartRules.
        local: whether the scores of the transitions that apply are made probabilities.
        first: the number of the first of the states.
        transitions: see StateScores.
    """
    for m in range(len(scores)):
        i, j = tops[m], fronts[m]
        for b in range(2):
            shift = score_shift(scores[m], i, j, n, b)
            pop, output = score_pop(scores[m], i, j, n, b, rules, NO_NODE, NO_NODE, False)
            highest = max(shift, pop)
            if local and highest > -np.inf:
                total = 0.0
                for o in range(scores.shape[1]):
                    if applies(o, i, j, n, b, rules):
                        total += np.exp(np.float64(finite_number(scores[m, o])) - highest)
                shift -= highest + np.log(total)
                pop -= highest + np.log(total)
            transitions.shifts[b, first + m], transitions.pops[b, first + m], transitions.outputs[b, first + m] = (
                shift,
                pop,
                output,
            )


@kernel()
def score_shift(scores, i, j, n, below_root):
    """What a shift scores in the state (i, j); minus infinity where it does not apply."""
    return np.float64(finite_number(scores[0])) if j <= n and can_be(below_root, i) else -np.inf


@kernel()
def _best_sum(left, right):
    """The highest of ``left + right`` (float64[m]), and where it is; minus infinity and NO_NODE if there is none."""
    best, place = -np.inf, NO_NODE
    for i in range(len(left)):
        both = left[i] + right[i]
        if both > best:
            best, place = both, i
    return best, place


@kernel()
def _log_sum(left, right, highest):
    """``log(sum(exp(left + right)))``, of which ``highest`` is the highest."""
    shares = 0.0
    for i in range(len(left)):
        if left[i] > -np.inf:
            shares += np.exp(left[i] + right[i] - highest)
    return highest + np.log(shares)


@array_kernel()
def fill_chart(n, shifts, pops, heads, sums):
    """The scores of all items.

    Args:
        n: tokens.
        shifts, pops: float64[2, states], see StateScores.
        heads: int32[n + 1], the heads that tokens must get, as ``pops`` allows no others; NO_NODE for a token that is free.
        sums: whether an item's score is the logarithm of the sum of exp(score) over its computations, or that of the best one.

    Returns:
        shifted: float64[2, n + 1, n + 2], by the bit, k and i: [k, i] and the shift of i after it; minus infinity where i must
            have its head to the left, and k is not its head.
        popped: float64[2, states]: [i, j] and the pop of i.
        items: float64[2, states].
        splits: int32[2, states], the i of the best way to join [k, i] and [i, j], if there is one.
    """
    shifted = np.full((2, n + 1, n + 2), -np.inf)
    popped = np.full(pops.shape, -np.inf)
    items = popped.copy()
    splits = np.full(pops.shape, NO_NODE, np.int32)
    for j in range(1, n + 2):
        column = j * (j - 1) // 2
        for k in range(j - 1, -1, -1):
            over_root = 1 if k == 0 else 0
            for b in range(2):
                if not can_be(b, k):
                    continue
                total, split = 0.0, NO_NODE
                if k < j - 1:
                    left, right = shifted[b, k, k + 1 : j], popped[over_root, column + k + 1 : column + j]
                    total, split = _best_sum(left, right)
                    if sums and split != NO_NODE:
                        total = _log_sum(left, right, total)
                    split += k + 1
                items[b, column + k], splits[b, column + k] = total, split
                popped[b, column + k] = total + pops[b, column + k]
                if j <= n and (heads[j] == NO_NODE or heads[j] > j or heads[j] == k):
                    shifted[b, k, j] = total + shifts[b, column + k]
    return shifted, popped, items, splits


@array_kernel()
def best_tree(n, n_relations, transitions, heads, relations):
    """Fills in the tree of the best computation of n tokens, and returns its score.

    Args:
        n: tokens.
        n_relations: relations.
        transitions: see StateScores.
        heads, relations: int32[n + 1], the result; of the root, they stay.
    """
    _, _, items, splits = fill_chart(n, transitions.shifts, transitions.pops, np.full(n + 1, NO_NODE, np.int32), False)
    _read_tree(n, n_relations, transitions.outputs, splits, heads, relations)
    return items[0, n * (n + 1) // 2]


@array_kernel()
def _read_tree(n, n_relations, outputs, splits, heads, relations):
    """Follows the splits from the last item down."""
    waiting = np.empty((n + 2, 3), np.int64)
    waiting[0, :] = (0, 0, n + 1)
    count = 1
    while count:
        count -= 1
        b, k, j = waiting[count, 0], waiting[count, 1], waiting[count, 2]
        split = np.int64(splits[b, j * (j - 1) // 2 + k])
        if k == j - 1:
            continue
        over_root = 1 if k == 0 else 0
        output = outputs[over_root, j * (j - 1) // 2 + split]
        if output <= n_relations:
            heads[split], relations[split] = j, output - 1
        else:
            heads[split], relations[split] = k, output - 1 - n_relations
        waiting[count, :] = (b, k, split)
        waiting[count + 1, :] = (over_root, split, j)
        count += 2
