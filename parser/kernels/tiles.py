"""Tiles of matrix products, the innermost loops of products.py and of training: some rows of WIDTH columns (see llvm.py).

Each sum begins with the bias and takes its products in one order, whatever the number of rows, so that it depends on nothing
else that is multiplied along: one by one in the order of the inputs, or in groups of four, which are added up before. (Groups
are for weights that another kernel once multiplied so: where vectors have a multiple of four numbers, as in all recipes, trees
are what they were to the last byte.)
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from parser.kernels.llvm import (
    FLOATS,
    INT,
    INTS,
    PLAIN,
    ROWS,
    SIZE,
    WIDTH,
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

# Inputs of a group, whose products are added up before they are added to a sum; of integers of 8 bits one instruction does so.
GROUP = 4

# The sums of integers to which an instruction of the processor (VNNI) adds the products of a group; 0 without such an
# instruction.
_VNNI = 16 if {"avx512vnni", "avx512bw"} <= instructions() else 8 if "avxvnni" in instructions() else 0

_OF_FLOATS = (types.float32, types.float32, types.int32, types.float32, types.float32, types.float32)
_OF_INTEGERS = (types.uint8, types.int8, *_OF_FLOATS[2:])


def _panel_tile(rows: int) -> Callable[..., None]:
    """The intrinsic for tiles of this many rows; where kernels run as plain Python (NUMBA_DISABLE_JIT), a function like it."""

    @intrinsic
    def tile(typing_context, vectors, row, weights, panel, start, scale, bias, products):
        """Multiplies ``rows`` vectors by a panel and stores their products.

        Args:
            vectors: float32 or uint8[n, size].
            row: the first of the vectors.
            weights: float32[panels, size, WIDTH], or float32[panels, size / GROUP, GROUP, WIDTH] for groups, or
                int8[panels, size / GROUP, WIDTH, GROUP] for integers.
            panel: which of them.
            start: int32[outputs], what the sums of integers begin with.
            scale: float32[outputs], what these sums are multiplied by.
            bias: float32[outputs].
            products: float32[n, outputs], overwritten there.
        """
        signature = types.void(vectors, types.intp, weights, types.intp, start, scale, bias, products)
        check_arrays((vectors, weights, start, scale, bias, products), _OF_FLOATS, _OF_INTEGERS)
        return signature, _code

    def plain(vectors, row, weights, panel, start, scale, bias, products):
        columns = slice(panel * WIDTH, (panel + 1) * WIDTH)
        some = vectors[row : row + rows]
        if vectors.dtype == np.uint8:
            by_input = weights[panel].transpose(0, 2, 1).reshape(-1, WIDTH).astype(np.int32)
            sums = start[columns] + some.astype(np.int32) @ by_input
            products[row : row + rows, columns] = sums.astype(np.float32) * scale[columns] + bias[columns]
        else:
            products[row : row + rows, columns] = some @ weights[panel].reshape(-1, WIDTH) + bias[columns]

    def _code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        vectors, weights, start, scale, bias, products = arrays_of(context, builder, signature, given)
        row, panel = given[1], given[3]
        size, outputs = (builder.extract_value(array.shape, 1) for array in (vectors, products))
        column = builder.mul(panel, SIZE(WIDTH))
        of_rows = [builder.add(row, SIZE(r)) for r in range(rows)]
        group = GROUP if signature.args[2].ndim == 4 else 1
        steps = builder.udiv(size, SIZE(group))
        if signature.args[0].dtype == types.float32:

            def inputs(step: Any) -> list[Any]:
                return [element(builder, step, SIZE(group), SIZE(i)) for i in range(group)]

            def left(places: list[Any], r: int) -> list[Any]:
                return [load_float(builder, vectors, element(builder, of_rows[r], size, place)) for place in places]

            def right(places: list[Any], _: int) -> list[Any]:
                return [_of_panel(builder, weights, element(builder, panel, size, place), FLOATS) for place in places]

            first = load(builder, bias, column, FLOATS)
            (sums,) = sums_of_products(builder, steps, [[first] * rows], inputs, left, right, partial(add_floats, builder))
        else:
            of_bytes = _ProductsOfBytes(builder)

            def group_of_vector(step: Any, r: int) -> Any:
                return load(builder, vectors, element(builder, of_rows[r], size, builder.mul(step, SIZE(GROUP))), INT)

            def group_of_weights(step: Any, _: int) -> list[Any]:
                return of_bytes.of_weights(_of_panel(builder, weights, element(builder, panel, steps, step), INTS))

            first = load(builder, start, column, INTS)
            (sums,) = sums_of_products(
                builder, steps, [[first] * rows], lambda step: step, group_of_vector, group_of_weights, of_bytes.added
            )
            factor, term = (load(builder, array, column, FLOATS) for array in (scale, bias))
            sums = [add_floats(builder, term, [builder.sitofp(of_row, FLOATS)], [factor]) for of_row in sums]
        for at, of_row in zip(of_rows, sums, strict=True):
            store(builder, of_row, products, element(builder, at, outputs, column))
        return context.get_dummy_value()

    return plain if PLAIN else tile


def _of_panel(builder: Any, weights: Any, number: Any, kind: ir.Type) -> Any:
    """A vector of the panels of weights, which are counted by such vectors."""
    return builder.load(builder.gep(builder.bitcast(weights.data, kind.as_pointer()), [number]), align=1)


def _strided_tile(rows: int) -> Callable[..., None]:
    """The same for factors that lie in memory in any direction.

    The weights change with every batch of training: rearranging them as panels would take as long as multiplying by them.
    """

    @intrinsic
    def tile(typing_context, a, a_start, a_row, a_step, b, b_start, b_step, steps, c, c_start, c_row):
        """Stores ``rows`` rows of WIDTH sums: of ``a[r, k] * b[k]`` over k, b[k] being WIDTH numbers.

        Args:
            a: float32, contiguous, as are b and c; elements are counted from the start of its memory.
            a_start: the element a[0, 0].
            a_row: how far a[r + 1, k] is from a[r, k].
            a_step: how far a[r, k + 1] is.
            b: what is multiplied.
            b_start: the first element of b[0].
            b_step: how far b[k + 1] is from b[k].
            steps: how many k there are, at least 1.
            c: what is overwritten.
            c_start: where the first sum goes.
            c_row: how far the next row is.
        """
        places = a_start, a_row, a_step, b_start, b_step, steps, c_start, c_row
        check_arrays((a, b, c), (types.float32,) * 3)
        if not all(isinstance(given, types.Integer) for given in places):
            raise TypingError(f"there is no tile at {places}")
        intp = types.intp
        return types.void(a, intp, intp, intp, b, intp, intp, intp, c, intp, intp), _code

    def plain(a, a_start, a_row, a_step, b, b_start, b_step, steps, c, c_start, c_row):
        a, b, c = a.reshape(-1), b.reshape(-1), c.reshape(-1)
        for r in range(rows):
            for j in range(WIDTH):
                pairs = ((a[a_start + r * a_row + k * a_step], b[b_start + k * b_step + j]) for k in range(steps))
                c[c_start + r * c_row + j] = sum(x * y for x, y in pairs)

    def _code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        a, b, c = arrays_of(context, builder, signature, given)
        a_start, a_row, a_step, b_start, b_step, steps, c_start, c_row = (given[i] for i in (1, 2, 3, 5, 6, 7, 9, 10))
        of_rows = [element(builder, SIZE(r), a_row, a_start) for r in range(rows)]

        def left(step: Any, r: int) -> list[Any]:
            return [load_float(builder, a, element(builder, step, a_step, of_rows[r]))]

        def right(step: Any, _: int) -> list[Any]:
            return [load(builder, b, element(builder, step, b_step, b_start), FLOATS)]

        first = [FLOATS([0.0] * WIDTH)] * rows
        (sums,) = sums_of_products(builder, steps, [first], lambda step: step, left, right, partial(add_floats, builder))
        for r, of_row in enumerate(sums):
            store(builder, of_row, c, element(builder, SIZE(r), c_row, c_start))
        return context.get_dummy_value()

    return plain if PLAIN else tile


class _ProductsOfBytes:
    """Instructions that multiply four unsigned bytes of a vector by four signed ones of each weight, and add up the products.

    With VNNI that is one instruction. Without it, bytes at even places and those at odd ones are widened to 16 bits, and LLVM
    chooses the instructions: with SSE2 or more, one multiplies pairs and adds the products. Sums of integers are exact, so all
    ways have the same result.
    """

    def __init__(self, builder: Any) -> None:
        self._builder = builder

    def of_weights(self, weights: Any) -> list[Any]:
        """What added() takes, of four signed bytes in each of WIDTH integers; it serves all rows of a tile."""
        return [weights] if _VNNI else self._widened(weights, self._builder.ashr)

    def added(self, sums: Any, vector: Any, weights: list[Any]) -> Any:
        """The sums, and the products of a vector's four unsigned bytes by those of each weight."""
        builder = self._builder
        vector = broadcast(builder, vector, INTS)
        if _VNNI:
            return self._by_instruction(sums, vector, weights[0])
        for of_vector, of_weights in zip(self._widened(vector, builder.lshr), weights, strict=True):
            wide = [builder.sext(bytes_, ir.VectorType(INT, 2 * WIDTH)) for bytes_ in (of_vector, of_weights)]
            products = builder.mul(*wide)
            of_pairs = (self._chosen(products, range(first, 2 * WIDTH, 2)) for first in (0, 1))
            sums = builder.add(sums, builder.add(*of_pairs))
        return sums

    def _by_instruction(self, sums: Any, vector: Any, weights: Any) -> Any:
        builder = self._builder
        parts = []
        for first in range(0, WIDTH, _VNNI):
            operands = [self._chosen(given, range(first, first + _VNNI)) for given in (sums, vector, weights)]
            name = f"llvm.x86.avx512.vpdpbusd.{32 * _VNNI}"
            parts.append(builder.call(function(builder, name, operands[0].type), operands))
        return parts[0] if len(parts) == 1 else builder.shuffle_vector(*parts, _places(range(WIDTH)))

    def _widened(self, integers: Any, shift_right: Callable[[Any, Any], Any]) -> list[Any]:
        """The bytes at even places and those at odd ones, as integers of 16 bits; the shift tells whether they are signed."""
        kind = ir.VectorType(ir.IntType(16), 2 * WIDTH)
        pairs, eight = self._builder.bitcast(integers, kind), ir.Constant(kind, [8] * 2 * WIDTH)
        return [shift_right(self._builder.shl(pairs, eight), eight), shift_right(pairs, eight)]

    def _chosen(self, numbers: Any, places: range) -> Any:
        return self._builder.shuffle_vector(numbers, ir.Constant(numbers.type, ir.Undefined), _places(places))


def _places(places: range) -> ir.Constant:
    return ir.Constant(ir.VectorType(INT, len(places)), list(places))


tile_of_rows, tile_of_one_row = _panel_tile(ROWS), _panel_tile(1)
strided_tile_of_rows, strided_tile_of_one_row = _strided_tile(ROWS), _strided_tile(1)

# What a kernel takes for start and scale where the numbers are no integers.
NO_START, NO_SCALE = np.zeros(0, np.int32), np.zeros(0, np.float32)
