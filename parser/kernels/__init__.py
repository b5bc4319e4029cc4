"""How kernels are compiled that make no arrays: without counting the references to those they are given.

Numba counts references to every array that a kernel reads out of a tuple or hands on, with an atomic operation each, and our
kernels hand on dozens: with a beam of 8 that was two thirds of the time. What has called the kernel holds the arrays meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit
from numba.core.options import DefaultOptions

F = TypeVar("F", bound=Callable)

# Numba's own kernels are compiled so; a version that does not know the option counts, and all is as it was but slower.
_UNCOUNTED: dict[str, Any] = {"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}


def kernel(**options: Any) -> Callable[[F], F]:
    """Compiles a function that makes no arrays (no ``np.empty``, no copies of slices); see numba.njit for the options.

    Compiled once and kept on disk; other threads run meanwhile.
    """
    return njit(cache=True, nogil=True, **_UNCOUNTED, **options)


@kernel()
def assign(target, source):
    """``target[:] = source`` in a kernel, of vectors that do not overlap; numba would make room for a copy."""
    for i in range(len(target)):
        target[i] = source[i]


@kernel()
def highest(values):
    """``values.max()`` in a kernel, of a vector that holds some."""
    found = values[0]
    for i in range(1, len(values)):
        found = max(found, values[i])
    return found


@kernel()
def lowest(values):
    """``values.min()`` in a kernel, of a vector that holds some."""
    found = values[0]
    for i in range(1, len(values)):
        found = min(found, values[i])
    return found
