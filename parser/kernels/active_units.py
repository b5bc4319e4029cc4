"""Activations, and the output layer of a step, which adds up only the weights of active units.

Compiled loops identify activations by number; networks/layers.py has the same activations for
torch. Under relu half of the units are zero. The sums stay in the processor's registers
(parser/kernels/llvm.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from oracles.errors import OptimalStepError, did_you_mean
from parser.kernels import kernel
from parser.kernels.interpreted import instead_of
from parser.kernels.intrinsics import Intrinsic
from parser.kernels.processor import ROWS, WIDTH, add_in_numpy
from parser.network_spec import ACTIVATIONS

# How many units' products are summed before they are added to a score.
_GROUP = 4

# How many vectors of scores fit in registers beside the products of a group.
VECTORS = ROWS - 1


RELU, TANH, SIGMOID, CUBE = range(4)


def activation_number(name: str) -> int:
    """Return the number of an activation.

    Raises:
        OptimalStepError: unknown name.
    """
    if name not in ACTIVATIONS:
        near = did_you_mean(name, ACTIVATIONS)
        raise OptimalStepError(
            f"unknown activation {name!r}{near}; known: {', '.join(ACTIVATIONS)}"
        )
    return ACTIVATIONS.index(name)


@kernel()
def activate(x, activation):
    """Return the activation of a float32."""
    if activation == RELU:
        return max(x, np.float32(0))
    if activation == TANH:
        return np.tanh(x)
    if activation == SIGMOID:
        return np.float32(1) / (np.float32(1) + np.exp(-x))
    return x * x * x


@kernel()
def activate_units(hidden, activation, active):
    """Apply the activation to ``hidden``, and fill in ``active``,
    the units that are not zero; return how many.
    """
    count = 0
    for h in range(len(hidden)):
        hidden[h] = activate(hidden[h], activation)
    for h in range(len(hidden)):
        active[count] = h
        count += hidden[h] != 0  # no branch: a processor cannot predict which units are active
    return count


@kernel()
def scores_of_units(hidden, weights, bias, active, count, scores):
    """Fill in ``scores`` from the results of activate_units(). Arrays are contiguous.

    Args:
        hidden: float32[hidden].
        weights: float32[hidden, outputs].
        bias: float32[outputs].
        active: int32[hidden], the active units.
        count: how many units are active.
        scores: float32[outputs], a multiple of WIDTH; the result.
    """
    for a in range(len(bias)):
        scores[a] = bias[a]
    if count == 0:
        return
    groups, vectors = count // _GROUP, len(bias) // WIDTH
    for first in range(0, vectors, VECTORS):
        some = min(VECTORS, vectors - first)
        if groups:
            _add_groups(some, hidden, weights, active, 0, groups, scores, first * WIDTH)
        if count % _GROUP:
            _add_units(
                some,
                hidden,
                weights,
                active,
                groups * _GROUP,
                count % _GROUP,
                scores,
                first * WIDTH,
            )


@instead_of(scores_of_units)
def _scores_in_numpy(
    hidden: np.ndarray,
    weights: np.ndarray,
    bias: np.ndarray,
    active: np.ndarray,
    count: int,
    scores: np.ndarray,
) -> None:
    sums = bias
    whole = count - count % _GROUP
    pieces = [(a, _GROUP) for a in range(0, whole, _GROUP)]
    pieces += [(a, 1) for a in range(whole, count)]
    for start, size in pieces:
        units = active[start : start + size]
        sums = add_in_numpy(sums, hidden[units], weights[units])
    scores[:] = sums


def _adder(group: int) -> Intrinsic:
    """Return the function that adds to vectors of scores."""

    def plain(vectors, hidden, weights, active, first_unit, groups, scores, column):
        units = active[first_unit : first_unit + groups * group]
        scores[column : column + vectors * WIDTH] += (
            hidden[units] @ weights[units, column : column + vectors * WIDTH]
        )

    def made() -> Any:
        from parser.kernels.active_units_in_llvm import adder

        return adder(group)

    return Intrinsic(plain, made)


_add_groups, _add_units = _adder(_GROUP), _adder(1)
