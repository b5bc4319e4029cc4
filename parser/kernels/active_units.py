"""The output layer of a step: the weights of the units that are active, added up.

Under relu half of the units are zero. The sums stay in the processor's registers (parser/kernels/llvm.py).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba import types
from numba.core.errors import TypingError
from numba.extending import intrinsic

from parser.kernels import kernel
from parser.kernels.activations import activate
from parser.kernels.llvm import FLOAT, FLOATS, INT, ROWS, SIZE, WIDTH, broadcast, element, load, loop, multiply_add, pointer

_CONFIG: Any = numba.config

# Units whose products are added up before they are added to a score.
_GROUP = 4

# Vectors of scores that leave room in the registers for products of a group.
_VECTORS = ROWS - 1


@kernel()
def activate_units(hidden, activation, active):
    """Applies the activation to ``hidden``, and fills in ``active``: the units that are not zero; how many there are."""
    count = 0
    for h in range(len(hidden)):
        hidden[h] = activate(hidden[h], activation)
    for h in range(len(hidden)):
        active[count] = h
        count += hidden[h] != 0  # no branch: which units are active cannot be foreseen
    return count


@kernel()
def scores_of_units(hidden, weights, bias, active, count, scores):
    """Fills in ``scores`` (float32[outputs], a multiple of WIDTH) for what activate_units() gave.

    Args:
        hidden: float32[hidden].
        weights: float32[hidden, outputs], contiguous, as are active and scores.
        bias: float32[outputs].
        active: int32[hidden], the units that count.
        count: how many do.
        scores: what is filled in.
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
            _add_units(some, hidden, weights, active, groups * _GROUP, count % _GROUP, scores, first * WIDTH)


def _adder(group: int) -> Callable[..., None]:
    """The intrinsic that adds to vectors of scores; where kernels run as plain Python (NUMBA_DISABLE_JIT), a function."""

    @intrinsic
    def add(typing_context, vectors, hidden, weights, active, first_unit, groups, scores, column):
        """Adds the products of some units to scores; those of ``group`` units are added up before.

        Args:
            vectors: how many times WIDTH scores, from 1 to _VECTORS.
            hidden: float32[hidden].
            weights: float32[hidden, outputs].
            active: int32[hidden], the units.
            first_unit: the place of the first one there.
            groups: how many times ``group`` of them, at least 1.
            scores: float32[outputs].
            column: the first of the scores.
        """
        arrays = hidden, weights, active, scores
        numbers = tuple(array.dtype for array in arrays)
        if any(array.layout != "C" for array in arrays) or numbers != (*[types.float32] * 2, types.int32, types.float32):
            raise TypingError(f"there are no products of {arrays}")  # it would read and write beyond them
        intp = types.intp
        return types.void(intp, hidden, weights, active, intp, intp, scores, intp), _code

    def plain(vectors, hidden, weights, active, first_unit, groups, scores, column):
        units = active[first_unit : first_unit + groups * group]
        scores[column : column + vectors * WIDTH] += hidden[units] @ weights[units, column : column + vectors * WIDTH]

    if _CONFIG.DISABLE_JIT:
        return plain

    def _code(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        for vectors in range(1, _VECTORS + 1):
            with builder.if_then(builder.icmp_signed("==", given[0], SIZE(vectors))):
                _add(context, builder, signature, given, vectors)
        return context.get_dummy_value()

    def _add(context: Any, builder: Any, signature: Any, given: Any, vectors: int) -> None:
        hidden, weights, active, scores = (
            context.make_array(signature.args[i])(context, builder, given[i]) for i in (1, 2, 3, 6)
        )
        first_unit, groups, column = given[4], given[5], given[7]
        outputs = builder.extract_value(weights.shape, 1)
        fused = multiply_add(builder)
        columns = [builder.add(column, SIZE(v * WIDTH)) for v in range(vectors)]
        with loop(builder, groups, [load(builder, scores, at, FLOATS) for at in columns]) as (k, sums, following):
            units = []
            for i in range(group):
                at = builder.add(element(builder, k, SIZE(group), first_unit), SIZE(i))
                unit = builder.sext(load(builder, active, at, INT), SIZE)
                units.append((unit, broadcast(builder, load(builder, hidden, unit, FLOAT), FLOATS)))
            for at, of_scores in zip(columns, sums, strict=True):
                pairs = [(x, load(builder, weights, element(builder, unit, outputs, at), FLOATS)) for unit, x in units]
                if group == 1:
                    following.append(builder.call(fused, [*pairs[0], of_scores]))
                    continue
                product = builder.fmul(*pairs[1])
                for i in (0, *range(2, group)):
                    product = builder.call(fused, [*pairs[i], product])
                following.append(builder.fadd(of_scores, product))
        for at, of_scores in zip(columns, sums, strict=True):
            builder.store(of_scores, pointer(builder, scores, at, FLOATS), align=1)

    return add


_add_groups, _add_units = _adder(_GROUP), _adder(1)
