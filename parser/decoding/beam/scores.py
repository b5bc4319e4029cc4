"""Scores of the transitions of one configuration, for the compiled beam searches,
and their normalization.

A configuration is given by the nodes at the top of its stack, ``tops`` (int32[elements], see
tree_stacks.top_nodes), and the first tokens of its buffer, ``ahead``
(int32[at least as many as features read], NO_NODE after the last).

Functions that are called for each configuration or position are inlined: passing tuples of arrays
took as long as the work. finite() and normalizer() are the references for mask_scores() and
log_partition(). log_partition() computes the exponential of the Cephes library in single precision,
many numbers at a time. With numba, the C library's exponential takes one number at a time, which
takes longer than a step of greedy parsing.
"""

from __future__ import annotations

import numpy as np

from parser.beam_settings import Scores
from parser.data.sentences import NO_NODE
from parser.decoding.beam.tree_stacks import find
from parser.kernels import kernel
from parser.kernels.active_units import activate_units, scores_of_units
from parser.transitions.attardi import applicable
from parser.transitions.features import BUFFER

LOWEST, HIGHEST = np.float32(np.finfo(np.float32).min), np.float32(np.finfo(np.float32).max)


def finite(scores: np.ndarray) -> np.ndarray:
    """Return scores (float32[outputs]) as float64 without infinities;
    NaN becomes the lowest number.
    """
    lowest = float(LOWEST)
    return np.nan_to_num(
        scores.astype(np.float64), nan=lowest, posinf=float(HIGHEST), neginf=lowest
    )


def normalizer(scores: np.ndarray, scored: Scores) -> float:
    """Return the number to subtract from each of these scores, float64[applicable outputs];
    see Scores.
    """
    if scored is Scores.GLOBAL:
        return 0.0
    return float(scores.max() + np.log(np.exp(scores - scores.max()).sum()))


_LOG2_E = np.float32(1.44269504)
# The logarithm of 2 as a sum. The first part has few digits,
# so that its product with a whole number is exact.
_LN2_HIGH, _LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
_ROUNDING = np.float32(1.5 * 2**23)  # adding it rounds to a whole number
_LOWEST = np.float32(-87)  # below, exp(x) would be denormal
_P0 = np.float32(1.9875691500e-4)
_P1 = np.float32(1.3981999507e-3)
_P2 = np.float32(8.3334519073e-3)
_P3, _P4, _P5 = np.float32(4.1665795894e-2), np.float32(1.6666665459e-1), np.float32(0.5)
_ONE = np.float32(1)
_BIAS, _MANTISSA = np.int32(127), np.int32(23)


@kernel()
def log_partition(scores, highest, shares, powers):
    """Return log(sum(exp(scores))); the relative error of the sum is about 1e-7.

    Args:
        scores: float32[outputs]; minus infinity adds nothing.
        highest: the highest score.
        shares, powers: float32[outputs], workspace.
    """
    _exponentials(scores, highest, shares, powers)
    bits = powers.view(np.int32)
    for o in range(len(bits)):
        bits[o] = (bits[o] + _BIAS) << _MANTISSA  # 2 to the power of the whole number
    return np.float64(highest) + np.log(_products(shares, powers))


@kernel(fastmath={"contract", "nnan", "nsz"})
def _exponentials(scores, highest, shares, powers):
    """Fill in ``shares`` and ``powers``: exp(scores - highest) = shares * 2^k,
    with k in the last bits of ``powers``.
    """
    for o in range(len(scores)):
        x = scores[o] - highest
        x = x if x > _LOWEST else _LOWEST
        shifted = x * _LOG2_E + _ROUNDING
        whole = shifted - _ROUNDING
        x = x - whole * _LN2_HIGH
        x = x - whole * _LN2_LOW
        y = _P0 * x + _P1
        y = y * x + _P2
        y = y * x + _P3
        y = y * x + _P4
        y = y * x + _P5
        shares[o] = y * x * x + x + _ONE
        powers[o] = shifted


@kernel(fastmath={"contract", "nnan", "nsz", "reassoc"})
def _products(shares, powers):
    total = 0.0
    for o in range(len(shares)):
        total += np.float64(shares[o] * powers[o])
    return total


@kernel(inline="always")
def look_ahead(front, length, ahead):
    """Fill in ``ahead`` for a sentence of ``length`` tokens whose buffer begins with token
    ``front``.
    """
    for i in range(len(ahead)):
        ahead[i] = front + i if front + i <= length else NO_NODE


@kernel(inline="always")
def read_position(stacks, tops, ahead, program):
    """Return the token at a position (int32[9], see FeatureTable) and its relation;
    NO_NODE where there is none.
    """
    token, relation = np.int64(NO_NODE), np.int64(NO_NODE)
    if program[0] != BUFFER:
        node, relation = find(stacks, tops, program)
        if node != NO_NODE:
            token = np.int64(stacks.nodes.keys[node, 0])
    elif program[2] == NO_NODE:  # tokens of the buffer have no children
        token = np.int64(ahead[program[1]])
    return token, relation


@kernel(inline="always")
def pick_rows(start, stacks, tops, ahead, positions, words, picked, count):
    """Append to ``picked`` the rows of activations that the positions read; return the new count.

    Args:
        start: where the sentence begins in ``words``.
        stacks, tops, ahead: the configuration.
        positions: some Positions; they may read the word, the relation, or both.
        picked: int64[>= 2 * positions].
        count: how many rows ``picked`` holds before.
    """
    for a in range(len(positions.programs)):
        token, relation = read_position(stacks, tops, ahead, positions.programs[a])
        if token != NO_NODE:
            if positions.places[a] != NO_NODE:
                picked[count] = (
                    words.first + words.types[start + token] * words.per_type + positions.places[a]
                )
                count += 1
            if positions.relation_rows[a] != NO_NODE and relation != NO_NODE:
                picked[count] = positions.relation_rows[a] + relation
                count += 1
    return count


@kernel(inline="always")
def score_outputs(layers, rules, size, buffered, local, scratch, row):
    """Fill in ``row`` from ``scratch.hidden``; return the best output,
    and the number to subtract from every score.

    Args:
        layers: the classifier's.
        rules: an AttardiRules.
        size: the number of elements on the stack.
        buffered: whether there are tokens in the buffer.
        local: whether scores are local.
        scratch: a Scratch, with the hidden layer before its activation.
        row: float32[outputs]; minus infinity for outputs that are not applicable.
    """
    active = activate_units(scratch.hidden, layers.activation, scratch.active)
    scores_of_units(scratch.hidden, layers.weights, layers.bias, scratch.active, active, row)
    mask_scores(row, 1 + 2 * rules.degree * rules.n_relations, rules, size, buffered)
    best = highest_output(row)
    return best, log_partition(row, row[best], scratch.shares, scratch.powers) if local else 0.0


@kernel(inline="always")
def finite_number(score):
    """Return a score without infinities; NaN becomes the lowest number."""
    score = score if score >= LOWEST else LOWEST  # False for NaN
    return score if score <= HIGHEST else HIGHEST


@kernel()
def mask_scores(row, outputs, rules, size, buffered):
    """Set the scores of outputs that are not applicable to minus infinity,
    and make all others finite.
    """
    for o in range(outputs):
        row[o] = finite_number(row[o])
    row[outputs:] = -np.inf
    for column in range(1 + 2 * rules.degree):
        first = 0 if column == 0 else 1 + (column - 1) * rules.n_relations
        last = 1 if column == 0 else first + rules.n_relations
        if not applicable(column, size, buffered, rules.single_root):
            row[first:last] = -np.inf
        elif column > 0 and rules.single_root and rules.root_relation >= 0:
            root_score = row[first + rules.root_relation]
            if column % 2 == 1 and size == (column + 1) // 2 + 1:
                row[first:last] = -np.inf
                row[first + rules.root_relation] = root_score
            else:
                row[first + rules.root_relation] = -np.inf


@kernel()
def highest_output(row):
    """Return the output with the highest score; among equal scores,
    the one with the lowest number.
    """
    best = 0
    highest = row[0]
    for o in range(1, len(row)):
        if row[o] > highest:
            highest = row[o]
            best = o
    return best
