"""Tiles of matrix products in LLVM's vector instructions, the building blocks of numba intrinsics.

A tile is a block of sums: several rows, each of one or more vectors of WIDTH columns. numba
compiles loops over arrays well, but reads and writes sums in an array at every step; here they stay
in the processor's registers. LLVM divides vectors of WIDTH numbers into vectors of the processor's
size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.codegen import get_host_cpu_features
from numba.core.errors import TypingError

from parser.kernels.processor import WIDTH

_CONFIG: Any = numba.config

INT, SIZE, FLOAT = ir.IntType(32), ir.IntType(64), ir.FloatType()
INTS, FLOATS = ir.VectorType(INT, WIDTH), ir.VectorType(FLOAT, WIDTH)

_FIRST_OF_ALL = ir.Constant(ir.VectorType(INT, WIDTH), [0] * WIDTH)


def instructions() -> set[str]:
    """Return the instruction sets that numba compiles for: this processor's,
    unless the environment names another one.
    """
    if _CONFIG.CPU_FEATURES is not None:
        names = _CONFIG.CPU_FEATURES
    elif _CONFIG.CPU_NAME in (None, "host"):
        names = get_host_cpu_features()
    else:
        return set()
    return {name[1:] for name in names.split(",") if name.startswith("+")}


def check_arrays(arrays: Sequence[Any], *element_types: tuple[Any, ...]) -> None:
    """Refuse arrays that an intrinsic cannot use. Every intrinsic calls this.

    Args:
        arrays: numba's types of the arrays.
        element_types: the allowed combinations, each a tuple of one element type for each array.

    Raises:
        TypingError: other element types, or not contiguous:
            the intrinsic would read and write outside of the arrays.
    """
    numbers = tuple(array.dtype for array in arrays)
    if any(array.layout != "C" for array in arrays) or numbers not in element_types:
        raise TypingError(f"there is no tile of {', '.join(map(str, arrays))}")


def arrays_of(context: Any, builder: Any, signature: Any, arguments: Any) -> list[Any]:
    """Return the arrays among the arguments that numba gives an intrinsic."""
    pairs = zip(signature.args, arguments, strict=True)
    return [
        context.make_array(kind)(context, builder, value)
        for kind, value in pairs
        if isinstance(kind, types.Array)
    ]


def sums_of_products(
    builder: Any,
    count: Any,
    first: list[list[Any]],
    inputs: Callable[[Any], Any],
    left: Callable[[Any, int], Any],
    right: Callable[[Any, int], Any],
    add: Callable[[Any, Any, Any], Any],
) -> list[list[Any]]:
    """Return the sums of a tile; each adds its products in the order of the steps,
    independently of the rest of the tile.

    Args:
        builder: receives the instructions.
        count: the number of steps, at least 1.
        first: the initial sums: for each vector of columns, one for each row.
        inputs: maps the number of a step to its inputs, the argument of ``left`` and ``right``.
        left: maps inputs and a row to the row's factors.
        right: maps inputs and a vector of columns to factors for all rows.
        add: maps a sum, left factors and right factors to the sum plus their products.

    Returns:
        The final sums, arranged like ``first``.
    """
    rows = len(first[0])
    before = builder.block
    within = builder.append_basic_block("sum")
    after = builder.append_basic_block("store")
    builder.branch(within)
    builder.position_at_end(within)
    step, *sums = [
        builder.phi(SIZE),
        *(builder.phi(value.type) for column in first for value in column),
    ]
    here = inputs(step)
    row_factors: list[Any] = []
    following = []
    for v in range(len(first)):
        column_factors = right(here, v)
        for r in range(rows):
            if v == 0:
                row_factors.append(left(here, r))
            following.append(add(sums[v * rows + r], row_factors[r], column_factors))
    begun = [SIZE(0), *(value for column in first for value in column)]
    next_step = builder.add(step, SIZE(1))
    for phi, value, next_value in zip([step, *sums], begun, [next_step, *following], strict=True):
        phi.add_incoming(value, before)
        phi.add_incoming(next_value, within)
    builder.cbranch(builder.icmp_signed("<", next_step, count), within, after)
    builder.position_at_end(after)
    return [following[v * rows : (v + 1) * rows] for v in range(len(first))]


def add_floats(builder: Any, total: Any, left: list[Any], right: list[Any]) -> Any:
    """Return a sum of floats plus the products of factors;
    several products are summed before they are added.
    """
    fused = function(builder, "llvm.fmuladd.v16f32", FLOATS)
    pairs = list(zip(left, right, strict=True))
    if len(pairs) == 1:
        return builder.call(fused, [*pairs[0], total])
    products = builder.fmul(*pairs[1])
    for i in (0, *range(2, len(pairs))):
        products = builder.call(fused, [*pairs[i], products])
    return builder.fadd(total, products)


def function(builder: Any, name: str, kind: ir.Type) -> Any:
    """Return an intrinsic function of LLVM, from three vectors to one of the same type."""
    return cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind] * 3), name)


def broadcast(builder: Any, number: Any, kind: ir.VectorType) -> Any:
    """Return a vector filled with one number."""
    undefined = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(undefined, number, INT(0))
    return builder.shuffle_vector(first, undefined, _FIRST_OF_ALL)


def pointer(builder: Any, array: Any, place: Any, kind: ir.Type) -> Any:
    """Return a pointer to an element of an array, counted from the start of its memory."""
    return builder.bitcast(builder.gep(array.data, [place]), kind.as_pointer())


def load(builder: Any, array: Any, place: Any, kind: ir.Type) -> Any:
    """Load a value of type ``kind`` that begins at an element of an array."""
    return builder.load(pointer(builder, array, place, kind), align=1)


def load_float(builder: Any, array: Any, place: Any) -> Any:
    """Return a vector filled with one number of an array."""
    return broadcast(builder, load(builder, array, place, FLOAT), FLOATS)


def store(builder: Any, values: Any, array: Any, place: Any) -> None:
    """Store a vector at an element of an array."""
    builder.store(values, pointer(builder, array, place, values.type), align=1)


def element(builder: Any, row: Any, width: Any, column: Any) -> Any:
    """Return the place of an element in rows of this width."""
    return builder.add(builder.mul(row, width), column)
