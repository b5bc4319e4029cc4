"""Activations, and the output layer of a step, which adds up only the weights of active units.

Compiled loops identify activations by number; networks/layers.py has the same activations for
torch. Under relu half of the units are zero. The sums stay in the processor's registers
(parser/kernels/llvm.py).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from oracles.errors import OptimalStepError, did_you_mean
from parser.kernels import kernel
from parser.kernels.interpreted import instead_of
from parser.kernels.llvm import (
    FLOATS,
    INT,
    ROWS,
    SIZE,
    WIDTH,
    add_floats,
    add_in_numpy,
    arrays_of,
    check_arrays,
    element,
    interpretable,
    load,
    load_float,
    store,
    sums_of_products,
)
from parser.network_spec import ACTIVATIONS

# How many units' products are summed before they are added to a score.
_GROUP = 4

# How many vectors of scores fit in registers beside the products of a group.
_VECTORS = ROWS - 1


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
    for first in range(0, vectors, _VECTORS):
        some = min(_VECTORS, vectors - first)
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


def _adder(group: int) -> Callable[..., None]:
    """Return the intrinsic that adds to vectors of scores; with a function that does
    the same in plain Python.
    """

    @intrinsic
    def add(typing_context, vectors, hidden, weights, active, first_unit, groups, scores, column):
        """Add the products of some units to scores;
        the products of ``group`` units are summed first.

        Args:
            vectors: the number of vectors of WIDTH scores, from 1 to _VECTORS.
            hidden: float32[hidden].
            weights: float32[hidden, outputs].
            active: int32[hidden], the units.
            first_unit: the place of the first unit in ``active``.
            groups: the number of groups of ``group`` units, at least 1.
            scores: float32[outputs].
            column: the first of the scores.
        """
        check_arrays(
            (hidden, weights, active, scores),
            (types.float32, types.float32, types.int32, types.float32),
        )
        intp = types.intp
        return types.void(intp, hidden, weights, active, intp, intp, scores, intp), _code

    def plain(vectors, hidden, weights, active, first_unit, groups, scores, column):
        units = active[first_unit : first_unit + groups * group]
        scores[column : column + vectors * WIDTH] += (
            hidden[units] @ weights[units, column : column + vectors * WIDTH]
        )

    def _code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        for vectors in range(1, _VECTORS + 1):
            with builder.if_then(builder.icmp_signed("==", arguments[0], SIZE(vectors))):
                _add(context, builder, signature, arguments, vectors)
        return context.get_dummy_value()

    def _add(context: Any, builder: Any, signature: Any, arguments: Any, vectors: int) -> None:
        hidden, weights, active, scores = arrays_of(context, builder, signature, arguments)
        first_unit, groups, column = arguments[4], arguments[5], arguments[7]
        outputs = builder.extract_value(weights.shape, 1)
        columns = [builder.add(column, SIZE(v * WIDTH)) for v in range(vectors)]

        def inputs(step: Any) -> list[Any]:
            places = [
                builder.add(element(builder, step, SIZE(group), first_unit), SIZE(i))
                for i in range(group)
            ]
            return [builder.sext(load(builder, active, place, INT), SIZE) for place in places]

        def left(units: list[Any], _: int) -> list[Any]:
            return [load_float(builder, hidden, unit) for unit in units]

        def right(units: list[Any], v: int) -> list[Any]:
            return [
                load(builder, weights, element(builder, unit, outputs, columns[v]), FLOATS)
                for unit in units
            ]

        first = [[load(builder, scores, at, FLOATS)] for at in columns]
        sums = sums_of_products(
            builder, groups, first, inputs, left, right, partial(add_floats, builder)
        )
        for at, (total,) in zip(columns, sums, strict=True):
            store(builder, total, scores, at)

    return interpretable(add, plain)


_add_groups, _add_units = _adder(_GROUP), _adder(1)
