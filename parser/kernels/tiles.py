"""Tiles of matrix products, the innermost loops of exact_products.py, written in the vector instructions of LLVM.

A tile is a block of sums, rows of WIDTH columns each, which stay in a processor's registers while some vectors are multiplied
by a panel of weights (see parser/kernels/llvm.py).

Each sum begins with the bias and takes its products in one order, whatever the number of rows, so that it depends on nothing
else that is multiplied along: one by one in the order of the inputs, or in groups of four, which are added up before. (Groups
are for weights that another kernel once multiplied so: where vectors have a multiple of four numbers, as in all recipes, trees
are what they were to the last byte.)
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

from parser.kernels import llvm as vector_code
from parser.kernels.llvm import FLOAT, FLOATS, INT, INTS, ROWS, SIZE, WIDTH, instructions

_CONFIG: Any = numba.config

# Inputs of a group, whose products are added up before they are added to a sum; of integers of 8 bits one instruction does so.
GROUP = 4

# The sums of integers to which an instruction of the processor (VNNI) adds the products of a group; 0 without such an
# instruction.
_VNNI = 16 if {"avx512vnni", "avx512bw"} <= instructions() else 8 if "avxvnni" in instructions() else 0

# Whether products of integers take less time than those of floats.
INT8_IS_FASTER = _VNNI > 0

_OF_FLOATS = (types.float32, types.float32, types.int32, types.float32, types.float32, types.float32)
_OF_INTEGERS = (types.uint8, types.int8, *_OF_FLOATS[2:])


def _tile(rows: int) -> Callable[..., None]:
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
        arrays = vectors, weights, start, scale, bias, products
        numbers = tuple(array.dtype for array in arrays)
        if any(array.layout != "C" for array in arrays) or numbers not in (_OF_FLOATS, _OF_INTEGERS):
            raise TypingError(f"there is no tile of {arrays}")  # it would read and write beyond them
        if numbers == _OF_INTEGERS:
            return signature, _code_of_integers
        return signature, _code_of_groups if weights.ndim == 4 else _code_of_floats

    def plain(vectors, row, weights, panel, start, scale, bias, products):
        columns = slice(panel * WIDTH, (panel + 1) * WIDTH)
        some = vectors[row : row + rows]
        if vectors.dtype == np.uint8:
            by_input = weights[panel].transpose(0, 2, 1).reshape(-1, WIDTH).astype(np.int32)
            sums = start[columns] + some.astype(np.int32) @ by_input
            products[row : row + rows, columns] = sums.astype(np.float32) * scale[columns] + bias[columns]
        else:
            products[row : row + rows, columns] = some @ weights[panel].reshape(-1, WIDTH) + bias[columns]

    if _CONFIG.DISABLE_JIT:
        return plain

    def _code_of_floats(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        code = _Code(context, builder, signature, given)
        multiply_add = code.multiply_add()
        with code.loop(code.size, [code.of_outputs(code.bias, FLOATS)] * rows) as (k, sums, following):
            weights = code.of_panel(code.size, k, FLOATS)
            for r, of_row in enumerate(sums):
                vector = code.broadcast(code.load(code.vectors, code.element_of(r, k), FLOAT), FLOATS)
                following.append(builder.call(multiply_add, [vector, weights, of_row]))
        code.store(sums)
        return context.get_dummy_value()

    def _code_of_groups(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        code = _Code(context, builder, signature, given)
        multiply_add = code.multiply_add()
        groups = builder.udiv(code.size, SIZE(GROUP))
        with code.loop(groups, [code.of_outputs(code.bias, FLOATS)] * rows) as (k, sums, following):
            inputs = [builder.add(builder.mul(k, SIZE(GROUP)), SIZE(i)) for i in range(GROUP)]
            weights = [code.of_panel(code.size, place, FLOATS) for place in inputs]
            for r, of_row in enumerate(sums):
                elements = [code.load(code.vectors, code.element_of(r, place), FLOAT) for place in inputs]
                vectors = [code.broadcast(element, FLOATS) for element in elements]
                four = builder.fmul(vectors[1], weights[1])
                for i in (0, 2, 3):
                    four = builder.call(multiply_add, [vectors[i], weights[i], four])
                following.append(builder.fadd(of_row, four))
        code.store(sums)
        return context.get_dummy_value()

    def _code_of_integers(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        code = _Code(context, builder, signature, given)
        products = _ProductsOfBytes(builder)
        groups = builder.udiv(code.size, SIZE(GROUP))
        with code.loop(groups, [code.of_outputs(code.start, INTS)] * rows) as (k, sums, following):
            weights = products.of_weights(code.of_panel(groups, k, INTS))
            for r, of_row in enumerate(sums):
                vector = code.load(code.vectors, code.element_of(r, builder.mul(k, SIZE(GROUP))), INT)
                following.append(products.added(of_row, vector, weights))
        scale, bias = code.of_outputs(code.scale, FLOATS), code.of_outputs(code.bias, FLOATS)
        multiply_add = code.multiply_add()
        code.store([builder.call(multiply_add, [builder.sitofp(of_row, FLOATS), scale, bias]) for of_row in sums])
        return context.get_dummy_value()

    return tile


class _Code:
    """The instructions of a tile.

    Args:
        context, builder, signature, given: what numba hands to an intrinsic.
    """

    def __init__(self, context: Any, builder: Any, signature: Any, given: Any) -> None:
        self._builder = builder
        vectors, self._weights, self.start, self.scale, self.bias, products = (
            context.make_array(signature.args[place])(context, builder, given[place]) for place in (0, 2, 4, 5, 6, 7)
        )
        self._row, self._panel = given[1], given[3]
        self._column = builder.mul(self._panel, SIZE(WIDTH))
        self.vectors, self._products = vectors, products
        self.size, self._outputs = (cgutils.unpack_tuple(builder, array.shape, 2)[1] for array in (vectors, products))

    def function(self, name: str, kind: ir.Type) -> Any:
        """An intrinsic function of LLVM, from three vectors to one of the same kind."""
        return vector_code.function(self._builder, name, kind)

    def multiply_add(self) -> Any:
        """The function that multiplies two vectors of floats and adds a third."""
        return vector_code.multiply_add(self._builder)

    def element_of(self, row: int, place: Any) -> Any:
        """Where an element of a row of the tile is among the vectors."""
        return self._place(self._builder.add(self._row, SIZE(row)), self.size, place)

    def of_outputs(self, array: Any, kind: ir.Type) -> Any:
        """What an array holds for the outputs of the tile."""
        return self.load(array, self._column, kind)

    def of_panel(self, count: Any, number: Any, kind: ir.Type) -> Any:
        """The weights that an iteration of the loop, one of so many, multiplies by."""
        pointer = self._builder.bitcast(self._weights.data, kind.as_pointer())
        return self._builder.load(self._builder.gep(pointer, [self._place(self._panel, count, number)]), align=1)

    def load(self, array: Any, place: Any, kind: ir.Type) -> Any:
        """What begins at an element of an array."""
        return vector_code.load(self._builder, array, place, kind)

    def broadcast(self, number: Any, kind: ir.VectorType) -> Any:
        """A vector of one number."""
        return vector_code.broadcast(self._builder, number, kind)

    def store(self, sums: list[Any]) -> None:
        """Writes the products."""
        for row, of_row in enumerate(sums):
            place = self._place(self._builder.add(self._row, SIZE(row)), self._outputs, self._column)
            self._builder.store(of_row, vector_code.pointer(self._builder, self._products, place, of_row.type), align=1)

    def loop(self, count: Any, first: list[Any]) -> AbstractContextManager[tuple[Any, list[Any], list[Any]]]:
        """A loop over 0..count-1; see vector_code.loop()."""
        return vector_code.loop(self._builder, count, first)

    def _place(self, row: Any, width: Any, column: Any) -> Any:
        return vector_code.element(self._builder, row, width, column)


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
        vector = vector_code.broadcast(builder, vector, INTS)
        if _VNNI:
            return self._by_instruction(sums, vector, weights[0])
        for of_vector, of_weights in zip(self._widened(vector, builder.lshr), weights, strict=True):
            wide = [builder.sext(bytes_, ir.VectorType(INT, 2 * WIDTH)) for bytes_ in (of_vector, of_weights)]
            products = builder.mul(*wide)
            sums = builder.add(sums, builder.add(*(self._every_second(products, first) for first in (0, 1))))
        return sums

    def _by_instruction(self, sums: Any, vector: Any, weights: Any) -> Any:
        builder = self._builder
        parts = []
        for first in range(0, WIDTH, _VNNI):
            operands = [self._chosen(given, range(first, first + _VNNI)) for given in (sums, vector, weights)]
            name = f"llvm.x86.avx512.vpdpbusd.{32 * _VNNI}"
            parts.append(builder.call(vector_code.function(builder, name, operands[0].type), operands))
        return parts[0] if len(parts) == 1 else builder.shuffle_vector(*parts, _places(range(WIDTH)))

    def _widened(self, integers: Any, shift_right: Callable[[Any, Any], Any]) -> list[Any]:
        """The bytes at even places and those at odd ones, as integers of 16 bits; the shift tells whether they are signed."""
        kind = ir.VectorType(ir.IntType(16), 2 * WIDTH)
        pairs, eight = self._builder.bitcast(integers, kind), ir.Constant(kind, [8] * 2 * WIDTH)
        return [shift_right(self._builder.shl(pairs, eight), eight), shift_right(pairs, eight)]

    def _every_second(self, numbers: Any, first: int) -> Any:
        return self._chosen(numbers, range(first, 2 * WIDTH, 2))

    def _chosen(self, numbers: Any, places: range) -> Any:
        return self._builder.shuffle_vector(numbers, ir.Constant(numbers.type, ir.Undefined), _places(places))


def _places(places: range) -> ir.Constant:
    return ir.Constant(ir.VectorType(INT, len(places)), list(places))


tile_of_rows, tile_of_one_row = _tile(ROWS), _tile(1)

# What a kernel takes for start and scale where the numbers are no integers.
NO_START, NO_SCALE = np.zeros(0, np.int32), np.zeros(0, np.float32)
