"""The sums of active_units.py in LLVM's vector instructions."""

from __future__ import annotations

from functools import partial
from typing import Any

from numba import types
from numba.extending import intrinsic

from parser.kernels.active_units import VECTORS
from parser.kernels.llvm import (
    FLOATS,
    INT,
    SIZE,
    add_floats,
    arrays_of,
    check_arrays,
    element,
    load,
    load_float,
    store,
    sums_of_products,
)
from parser.kernels.processor import WIDTH


def adder(group: int) -> Any:
    """Return the intrinsic that adds to vectors of scores."""

    @intrinsic
    def add(typing_context, vectors, hidden, weights, active, first_unit, groups, scores, column):
        """Add the products of some units to scores;
        the products of ``group`` units are summed first.

        Args:
            vectors: the number of vectors of WIDTH scores, from 1 to VECTORS.
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

    def _code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        for vectors in range(1, VECTORS + 1):
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

    return add
