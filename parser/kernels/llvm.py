"""Tiles of matrix products, written in the vector instructions of LLVM: what numba's intrinsics for them are made of.

A tile is a block of sums, some rows of some vectors of WIDTH columns each. Numba compiles loops over arrays well, but would
read and write sums that are in an array at every turn; here they stay in the processor's registers. LLVM divides vectors of
WIDTH numbers into those that the processor has.
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

_CONFIG: Any = numba.config

# Whether kernels run as plain Python, in which intrinsics are functions like others.
PLAIN = bool(_CONFIG.DISABLE_JIT)

# Numbers of a vector.
WIDTH = 16

INT, SIZE, FLOAT = ir.IntType(32), ir.IntType(64), ir.FloatType()
INTS, FLOATS = ir.VectorType(INT, WIDTH), ir.VectorType(FLOAT, WIDTH)

_FIRST_OF_ALL = ir.Constant(ir.VectorType(INT, WIDTH), [0] * WIDTH)


def instructions() -> set[str]:
    """The instructions that numba compiles for: those of this processor, unless the environment names another one."""
    if _CONFIG.CPU_FEATURES is not None:
        names = _CONFIG.CPU_FEATURES
    elif _CONFIG.CPU_NAME in (None, "host"):
        names = get_host_cpu_features()
    else:
        return set()
    return {name[1:] for name in names.split(",") if name.startswith("+")}


# Vectors of sums that leave room for others among the registers: AVX-512 has 32, each for a vector, and AVX2 16, two for each.
ROWS = 8 if "avx512f" in instructions() else 6


def check_arrays(arrays: Sequence[Any], *known: tuple[Any, ...]) -> None:
    """To be called by every intrinsic, with the types of its arrays and the numbers that they may hold, one tuple for each way.

    Raises:
        TypingError: they hold others, or are not contiguous: the intrinsic would read and write beyond them.
    """
    numbers = tuple(array.dtype for array in arrays)
    if any(array.layout != "C" for array in arrays) or numbers not in known:
        raise TypingError(f"there is no tile of {', '.join(map(str, arrays))}")


def arrays_of(context: Any, builder: Any, signature: Any, given: Any) -> list[Any]:
    """The arrays among what numba gives an intrinsic."""
    pairs = zip(signature.args, given, strict=True)
    return [context.make_array(kind)(context, builder, value) for kind, value in pairs if isinstance(kind, types.Array)]


def sums_of_products(
    builder: Any,
    count: Any,
    first: list[list[Any]],
    inputs: Callable[[Any], Any],
    left: Callable[[Any, int], Any],
    right: Callable[[Any, int], Any],
    add: Callable[[Any, Any, Any], Any],
) -> list[list[Any]]:
    """The sums of a tile; each takes its products in the order of the steps, so that it depends on nothing else in the tile.

    Args:
        builder: where the instructions go.
        count: how many steps there are, at least 1.
        first: what the sums begin with, of each vector of columns the rows.
        inputs: of the number of a step, the inputs that are multiplied there, as ``left`` and ``right`` take them.
        left: of the inputs and a row, its factors.
        right: of the inputs and a vector of columns, its factors; they serve all rows.
        add: of a sum and the factors on both sides, the sum with their products.

    Returns:
        Those at the end, like ``first``.
    """
    rows = len(first[0])
    before, within, after = builder.block, builder.append_basic_block("sum"), builder.append_basic_block("store")
    builder.branch(within)
    builder.position_at_end(within)
    step, *sums = [builder.phi(SIZE), *(builder.phi(value.type) for of_vector in first for value in of_vector)]
    here = inputs(step)
    of_rows: list[Any] = []
    following = []
    for v in range(len(first)):
        of_columns = right(here, v)
        for r in range(rows):
            if v == 0:
                of_rows.append(left(here, r))
            following.append(add(sums[v * rows + r], of_rows[r], of_columns))
    begun = [SIZE(0), *(value for of_vector in first for value in of_vector)]
    next_step = builder.add(step, SIZE(1))
    for phi, value, next_value in zip([step, *sums], begun, [next_step, *following], strict=True):
        phi.add_incoming(value, before)
        phi.add_incoming(next_value, within)
    builder.cbranch(builder.icmp_signed("<", next_step, count), within, after)
    builder.position_at_end(after)
    return [following[v * rows : (v + 1) * rows] for v in range(len(first))]


def add_floats(builder: Any, of_sum: Any, left: list[Any], right: list[Any]) -> Any:
    """A sum of floats and the products of some factors; the products of several are added up before they are added to it."""
    fused = function(builder, "llvm.fmuladd.v16f32", FLOATS)
    pairs = list(zip(left, right, strict=True))
    if len(pairs) == 1:
        return builder.call(fused, [*pairs[0], of_sum])
    products = builder.fmul(*pairs[1])
    for i in (0, *range(2, len(pairs))):
        products = builder.call(fused, [*pairs[i], products])
    return builder.fadd(of_sum, products)


def function(builder: Any, name: str, kind: ir.Type) -> Any:
    """An intrinsic function of LLVM, from three vectors to one of the same kind."""
    return cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind] * 3), name)


def broadcast(builder: Any, number: Any, kind: ir.VectorType) -> Any:
    """A vector of one number."""
    undefined = ir.Constant(kind, ir.Undefined)
    first = builder.insert_element(undefined, number, INT(0))
    return builder.shuffle_vector(first, undefined, _FIRST_OF_ALL)


def pointer(builder: Any, array: Any, place: Any, kind: ir.Type) -> Any:
    """To what begins at an element of an array, counted from the start of its memory."""
    return builder.bitcast(builder.gep(array.data, [place]), kind.as_pointer())


def load(builder: Any, array: Any, place: Any, kind: ir.Type) -> Any:
    """What begins at an element of an array."""
    return builder.load(pointer(builder, array, place, kind), align=1)


def load_float(builder: Any, array: Any, place: Any) -> Any:
    """A vector of one number of an array."""
    return broadcast(builder, load(builder, array, place, FLOAT), FLOATS)


def store(builder: Any, values: Any, array: Any, place: Any) -> None:
    """Writes a vector to where an element of an array begins."""
    builder.store(values, pointer(builder, array, place, values.type), align=1)


def element(builder: Any, row: Any, width: Any, column: Any) -> Any:
    """Where an element is whose rows have this width."""
    return builder.add(builder.mul(row, width), column)
