"""Tiles of matrix products whose factors lie in memory in any direction; see parser/kernels/llvm.py.

The weights change with every batch, so that rearranging them, as parser/kernels/tiles.py has them, would take as long as
multiplying by them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from parser.kernels.llvm import FLOAT, FLOATS, ROWS, SIZE, WIDTH, broadcast, element, load, loop, multiply_add, pointer

_CONFIG: Any = numba.config


def _tile(rows: int) -> Callable[..., None]:
    """The intrinsic for tiles of this many rows; where kernels run as plain Python (NUMBA_DISABLE_JIT), a function like it."""

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
        if any(array.layout != "C" or array.dtype != types.float32 for array in (a, b, c)):
            raise TypingError(f"there is no tile of {a}, {b}, {c}")  # it would read and write beyond them
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

    if _CONFIG.DISABLE_JIT:
        return plain

    def _code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        a, b, c = (context.make_array(signature.args[i])(context, builder, given[i]) for i in (0, 4, 8))
        a_start, a_row, a_step, b_start, b_step, steps, c_start, c_row = (given[i] for i in (1, 2, 3, 5, 6, 7, 9, 10))
        fused = multiply_add(builder)
        firsts = [element(builder, SIZE(r), a_row, a_start) for r in range(rows)]
        with loop(builder, steps, [FLOATS([0.0] * WIDTH)] * rows) as (k, sums, following):
            of_b = load(builder, b, element(builder, k, b_step, b_start), FLOATS)
            for first, of_row in zip(firsts, sums, strict=True):
                of_a = load(builder, a, element(builder, k, a_step, first), FLOAT)
                following.append(builder.call(fused, [broadcast(builder, of_a, FLOATS), of_b, of_row]))
        for r, of_row in enumerate(sums):
            builder.store(of_row, pointer(builder, c, element(builder, SIZE(r), c_row, c_start), FLOATS), align=1)
        return context.get_dummy_value()

    return tile


tile_of_rows, tile_of_one_row = _tile(ROWS), _tile(1)
