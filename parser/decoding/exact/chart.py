"""The chart of exact search for arc-hybrid parsing (Kuhlmann, Gómez-Rodríguez and Satta 2011; Shi, Huang and Lee 2017).

Where the scores of a configuration depend only on the top of the stack and the front of the buffer, all computations of a
sentence of n tokens fit into a chart of items [i, j]: from where token i was shifted (or, for i = 0, from the start) to where i
is on top and j is the front of the buffer (n + 1: it is empty). With the moves scored in the state (i, j):

    [0, 1]                       at the start
    [i, j]          -> [j, j+1]  shift
    [k, i] + [i, j] -> [k, j]    left (i becomes a child of j) or right (of k): i is popped
    [0, n+1]                     at the end

An item's score leaves out the shift that began it, which is of the state (k, i) and added where the items are joined. So every
computation is one derivation of [0, n+1] and the other way round. O(n^2) items, O(n^3) time.

What lies below the top matters by one bit, ``b``: 1 if it is the artificial root. The child of the root bears a relation of its
own; and, with a single root, its arc is made last, when the buffer is empty, so that no item needs to know whether the root
has a child already. From the bit follow the relations that a move may choose from, and, with local scores, what else applies.

Numbers of states: (i, j) with i < j is number j(j-1)/2 + i, so that states with the same j are neighbours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from parser.data.parses import NO_NODE
from parser.decoding.beam.scores import finite_number
from parser.kernels import kernel
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
    """What the moves of a sentence's states score.

    Attributes:
        shifts: float64[2, states], by the bit b, of shift; minus infinity where it does not apply.
        pops: float64[2, states], of the best of left and right with any relation.
        outputs: int32[2, states], which one it is; NO_NODE where none applies.
    """

    shifts: np.ndarray
    pops: np.ndarray
    outputs: np.ndarray

    @classmethod
    def room(cls, states: int) -> StateScores:
        """Room for this many states."""
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
def choose_outputs(scores, tops, fronts, n, rules, local, first, moves):
    """Fills in ``moves`` for some of the states of a sentence.

    Args:
        scores: float32[m, outputs], of the classifier.
        tops, fronts: int32[m], i and j of the states.
        n: tokens.
        rules: see Rules.
        local: whether the scores of the moves that apply are made probabilities.
        first: the number of the first of the states.
        moves: see Moves.
    """
    for m in range(len(scores)):
        i, j = tops[m], fronts[m]
        for b in range(2):
            shift, pop, output = -np.inf, -np.inf, NO_NODE
            if can_be(b, i):
                for o in range(scores.shape[1]):
                    if not applies(o, i, j, n, b, rules):
                        continue
                    score = np.float64(finite_number(scores[m, o]))
                    if o == 0:
                        shift = score
                    elif score > pop:
                        pop, output = score, o
            highest = max(shift, pop)
            if local and highest > -np.inf:
                total = 0.0
                for o in range(scores.shape[1]):
                    if applies(o, i, j, n, b, rules):
                        total += np.exp(np.float64(finite_number(scores[m, o])) - highest)
                shift -= highest + np.log(total)
                pop -= highest + np.log(total)
            moves.shifts[b, first + m], moves.pops[b, first + m], moves.outputs[b, first + m] = shift, pop, output


@njit(cache=True, nogil=True)
def best_tree(n, n_relations, moves, heads, relations):
    """Fills in the tree of the best computation of n tokens, and returns its score.

    Args:
        n: tokens.
        n_relations: relations.
        moves: see Moves.
        heads, relations: int32[n + 1], the result; of the root, they stay.
    """
    # shifted[b, k, i]: [k, i], and the shift of i after it; popped[b, number of (i, j)]: [i, j], and the pop of i.
    shifted = np.full((2, n + 1, n + 2), -np.inf)
    popped = np.full(moves.pops.shape, -np.inf)
    splits = np.empty(moves.pops.shape, np.int32)
    best = 0.0
    for j in range(1, n + 2):
        column = j * (j - 1) // 2
        for k in range(j - 1, -1, -1):
            over_root = 1 if k == 0 else 0
            for b in range(2):
                if not can_be(b, k):
                    continue
                best, split = 0.0, NO_NODE
                if k < j - 1:
                    best = -np.inf
                    for i in range(k + 1, j):
                        total = shifted[b, k, i] + popped[over_root, column + i]
                        if total > best:
                            best, split = total, i
                splits[b, column + k] = split
                shifted[b, k, j] = best + moves.shifts[b, column + k]
                popped[b, column + k] = best + moves.pops[b, column + k]
    _read_tree(n, n_relations, moves.outputs, splits, heads, relations)
    return best


@njit(cache=True, nogil=True)
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
