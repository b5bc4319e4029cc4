"""What kernels are made of that are written in the vector instructions of LLVM: numba's intrinsics with loops over sums.

Numba compiles loops over arrays well, but would read and write sums that are in an array at every turn; here they stay in the
processor's registers. LLVM divides vectors of WIDTH numbers into those that the processor has.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils
from numba.core.codegen import get_host_cpu_features

_CONFIG: Any = numba.config

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


def function(builder: Any, name: str, kind: ir.Type) -> Any:
    """An intrinsic function of LLVM, from three vectors to one of the same kind."""
    return cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind] * 3), name)


def multiply_add(builder: Any) -> Any:
    """The function that multiplies two vectors of floats and adds a third."""
    return function(builder, "llvm.fmuladd.v16f32", FLOATS)


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


def element(builder: Any, row: Any, width: Any, column: Any) -> Any:
    """Where an element is whose rows have this width."""
    return builder.add(builder.mul(row, width), column)


@contextmanager
def loop(builder: Any, count: Any, first: list[Any]) -> Iterator[tuple[Any, list[Any], list[Any]]]:
    """A loop over 0..count-1, count being at least 1.

    Args:
        builder: where its instructions go.
        count: how often.
        first: what sums begin with.

    Yields:
        The number of the iteration, the sums before it, and a list for those after it. The sums are those at the end when the
        loop is over.
    """
    before, within, after = builder.block, builder.append_basic_block("sum"), builder.append_basic_block("store")
    builder.branch(within)
    builder.position_at_end(within)
    number = builder.phi(SIZE)
    sums = [builder.phi(value.type) for value in first]
    following: list[Any] = []
    yield number, sums, following
    next_number = builder.add(number, SIZE(1))
    for phi, value, next_value in zip([number, *sums], [SIZE(0), *first], [next_number, *following], strict=True):
        phi.add_incoming(value, before)
        phi.add_incoming(next_value, within)
    builder.cbranch(builder.icmp_signed("<", next_number, count), within, after)
    builder.position_at_end(after)
    sums[:] = following
