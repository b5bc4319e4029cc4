"""The tiles of tiles.py in LLVM's vector instructions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from parser.kernels.llvm import (
    FLOATS,
    INT,
    INTS,
    SIZE,
    add_floats,
    arrays_of,
    broadcast,
    check_arrays,
    element,
    function,
    instructions,
    load,
    load_float,
    store,
    sums_of_products,
)
from parser.kernels.processor import WIDTH
from parser.kernels.tiles import GROUP

# How many sums of integers one VNNI instruction of the processor increases by the products of a
# group; 0: the processor has no VNNI.
_VNNI = (
    16 if {"avx512vnni", "avx512bw"} <= instructions() else 8 if "avxvnni" in instructions() else 0
)

_OF_FLOATS = (
    types.float32,
    types.float32,
    types.int32,
    types.float32,
    types.float32,
    types.float32,
)
_OF_INTEGERS = (types.uint8, types.int8, *_OF_FLOATS[2:])


def panel_tile(rows: int) -> Any:
    """Return the intrinsic for tiles of ``rows`` rows."""

    @intrinsic
    def tile(typing_context, vectors, row, weights, panel, start, scale, bias, products):
        """Multiply ``rows`` vectors by a panel and store their products.

        Args:
            vectors: float32 or uint8[n, size].
            row: the first of the vectors.
            weights: float32[panels, size, WIDTH], or float32[panels, size / GROUP, GROUP, WIDTH]
                for groups, or int8[panels, size / GROUP, WIDTH, GROUP] for integers.
            panel: the number of the panel.
            start: int32[outputs], the initial values of integer sums.
            scale: float32[outputs], the factors of integer sums.
            bias: float32[outputs].
            products: float32[n, outputs]; the tile is overwritten.
        """
        signature = types.void(
            vectors, types.intp, weights, types.intp, start, scale, bias, products
        )
        check_arrays((vectors, weights, start, scale, bias, products), _OF_FLOATS, _OF_INTEGERS)
        return signature, _code

    def _code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vectors, weights, start, scale, bias, products = arrays_of(
            context, builder, signature, arguments
        )
        row, panel = arguments[1], arguments[3]
        size, outputs = (builder.extract_value(array.shape, 1) for array in (vectors, products))
        column = builder.mul(panel, SIZE(WIDTH))
        tile_rows = [builder.add(row, SIZE(r)) for r in range(rows)]
        group = GROUP if signature.args[2].ndim == 4 else 1
        steps = builder.udiv(size, SIZE(group))
        if signature.args[0].dtype == types.float32:

            def inputs(step: Any) -> list[Any]:
                return [element(builder, step, SIZE(group), SIZE(i)) for i in range(group)]

            def left(places: list[Any], r: int) -> list[Any]:
                return [
                    load_float(builder, vectors, element(builder, tile_rows[r], size, place))
                    for place in places
                ]

            def right(places: list[Any], _: int) -> list[Any]:
                return [
                    _of_panel(builder, weights, element(builder, panel, size, place), FLOATS)
                    for place in places
                ]

            first = load(builder, bias, column, FLOATS)
            (sums,) = sums_of_products(
                builder, steps, [[first] * rows], inputs, left, right, partial(add_floats, builder)
            )
        else:
            byte_products = _ProductsOfBytes(builder)

            def group_of_vector(step: Any, r: int) -> Any:
                return load(
                    builder,
                    vectors,
                    element(builder, tile_rows[r], size, builder.mul(step, SIZE(GROUP))),
                    INT,
                )

            def group_of_weights(step: Any, _: int) -> list[Any]:
                return byte_products.factors(
                    _of_panel(builder, weights, element(builder, panel, steps, step), INTS)
                )

            first = load(builder, start, column, INTS)
            (sums,) = sums_of_products(
                builder,
                steps,
                [[first] * rows],
                lambda step: step,
                group_of_vector,
                group_of_weights,
                byte_products.added,
            )
            factor, term = (load(builder, array, column, FLOATS) for array in (scale, bias))
            sums = [
                add_floats(builder, term, [builder.sitofp(row_sums, FLOATS)], [factor])
                for row_sums in sums
            ]
        for at, row_sums in zip(tile_rows, sums, strict=True):
            store(builder, row_sums, products, element(builder, at, outputs, column))
        return context.get_dummy_value()

    return tile


def _of_panel(builder: Any, weights: Any, number: Any, kind: ir.Type) -> Any:
    """Load a vector of the panels of weights; ``number`` counts such vectors."""
    return builder.load(
        builder.gep(builder.bitcast(weights.data, kind.as_pointer()), [number]), align=1
    )


def strided_tile(rows: int) -> Any:
    """Return the intrinsic for tiles of ``rows`` rows from factors with any strides."""

    @intrinsic
    def tile(
        typing_context, a, a_start, a_row, a_step, b, b_start, b_step, steps, c, c_start, c_row
    ):
        """Store ``rows`` rows of WIDTH sums: row r is the sum of ``a[r, k] * b[k]`` over k,
        where b[k] is WIDTH numbers.

        Args:
            a: float32, contiguous, as are b and c;
                elements are counted from the start of the memory.
            a_start: the place of a[0, 0].
            a_row: the distance from a[r, k] to a[r + 1, k].
            a_step: the distance from a[r, k] to a[r, k + 1].
            b: the other factors.
            b_start: the place of b[0].
            b_step: the distance from b[k] to b[k + 1].
            steps: the number of k, at least 1.
            c: the result.
            c_start: the place of the first sum.
            c_row: the distance from a row to the next.
        """
        places = a_start, a_row, a_step, b_start, b_step, steps, c_start, c_row
        check_arrays((a, b, c), (types.float32,) * 3)
        if not all(isinstance(place, types.Integer) for place in places):
            raise TypingError(f"there is no tile at {places}")
        intp = types.intp
        return types.void(a, intp, intp, intp, b, intp, intp, intp, c, intp, intp), _code

    def _code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        a, b, c = arrays_of(context, builder, signature, arguments)
        a_start, a_row, a_step, b_start, b_step, steps, c_start, c_row = (
            arguments[i] for i in (1, 2, 3, 5, 6, 7, 9, 10)
        )
        tile_rows = [element(builder, SIZE(r), a_row, a_start) for r in range(rows)]

        def left(step: Any, r: int) -> list[Any]:
            return [load_float(builder, a, element(builder, step, a_step, tile_rows[r]))]

        def right(step: Any, _: int) -> list[Any]:
            return [load(builder, b, element(builder, step, b_step, b_start), FLOATS)]

        first = [FLOATS([0.0] * WIDTH)] * rows
        (sums,) = sums_of_products(
            builder, steps, [first], lambda step: step, left, right, partial(add_floats, builder)
        )
        for r, row_sums in enumerate(sums):
            store(builder, row_sums, c, element(builder, SIZE(r), c_row, c_start))
        return context.get_dummy_value()

    return tile


class _ProductsOfBytes:
    """Instructions that multiply four unsigned bytes of a vector by four signed bytes of each
    weight, and sum the products.

    With VNNI this is one instruction. Without it, the bytes at even places and the bytes at odd
    places are widened to 16 bits, and LLVM chooses the instructions: from SSE2 on, one multiplies
    pairs and adds the products. Sums of integers are exact, so all methods have the same result.
    """

    def __init__(self, builder: Any) -> None:
        self._builder = builder

    def factors(self, weights: Any) -> list[Any]:
        """Return the factors for added() from four signed bytes in each of WIDTH integers,
        for all rows of a tile.
        """
        return [weights] if _VNNI else self._widened(weights, self._builder.ashr)

    def added(self, sums: Any, vector: Any, weights: list[Any]) -> Any:
        """Return the sums plus the products of a vector's four unsigned bytes and the bytes of each
        weight.
        """
        builder = self._builder
        vector = broadcast(builder, vector, INTS)
        if _VNNI:
            return self._by_instruction(sums, vector, weights[0])
        for pair in zip(self._widened(vector, builder.lshr), weights, strict=True):
            wide = [builder.sext(bytes_, ir.VectorType(INT, 2 * WIDTH)) for bytes_ in pair]
            products = builder.mul(*wide)
            halves = (self._chosen(products, range(first, 2 * WIDTH, 2)) for first in (0, 1))
            sums = builder.add(sums, builder.add(*halves))
        return sums

    def _by_instruction(self, sums: Any, vector: Any, weights: Any) -> Any:
        builder = self._builder
        parts = []
        for first in range(0, WIDTH, _VNNI):
            operands = [
                self._chosen(operand, range(first, first + _VNNI))
                for operand in (sums, vector, weights)
            ]
            name = f"llvm.x86.avx512.vpdpbusd.{32 * _VNNI}"
            parts.append(builder.call(function(builder, name, operands[0].type), operands))
        return (
            parts[0] if len(parts) == 1 else builder.shuffle_vector(*parts, _places(range(WIDTH)))
        )

    def _widened(self, integers: Any, shift_right: Callable[[Any, Any], Any]) -> list[Any]:
        """Return the bytes at even and at odd places as 16-bit integers;
        the shift decides whether they are signed.
        """
        kind = ir.VectorType(ir.IntType(16), 2 * WIDTH)
        pairs, eight = self._builder.bitcast(integers, kind), ir.Constant(kind, [8] * 2 * WIDTH)
        return [shift_right(self._builder.shl(pairs, eight), eight), shift_right(pairs, eight)]

    def _chosen(self, numbers: Any, places: range) -> Any:
        return self._builder.shuffle_vector(
            numbers, ir.Constant(numbers.type, ir.Undefined), _places(places)
        )


def _places(places: range) -> ir.Constant:
    return ir.Constant(ir.VectorType(INT, len(places)), list(places))
