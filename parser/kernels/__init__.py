"""How kernels are compiled and found on disk; this package alone knows what numba, LLVM and torch do not make public.

Kernels that make no arrays are compiled without counting the references to those they are given. Numba counts references to
every array that a kernel reads out of a tuple or hands on, with an atomic operation each, and our kernels hand on dozens: with
a beam of 8 that was two thirds of the time. What has called the kernel holds the arrays meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit
from numba.core.caching import Cache
from numba.core.options import DefaultOptions
from numba.core.runtime import rtsys

F = TypeVar("F", bound=Callable)

# Numba's own kernels are compiled so; a version that does not know the option counts, and all is as it was but slower.
_UNCOUNTED: dict[str, Any] = {"_nrt": False} if hasattr(DefaultOptions, "_nrt") else {}

# What loads kernels from disk in numba; another version may not have them.
_OF_CACHE = ("_load_overload", "_guard_against_spurious_io_errors")


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


def load_kernels_directly() -> None:
    """Lets numba ready itself to compile only where a kernel is not found on disk, in the whole process.

    It would do so before it looks there: for the types and the code of all that Python and NumPy offer, and for scipy.linalg,
    a fifth of the time to the first sentence that is parsed.
    """
    if all(hasattr(Cache, name) for name in _OF_CACHE):
        Cache.load_overload = _load_overload  # type: ignore[method-assign]


def _load_overload(cache: Any, signature: Any, context: Any) -> Any:
    """Cache.load_overload() without ``context.refresh()``, with which the compiler itself begins where this finds nothing."""
    rtsys.initialize(context)  # how kernels count references to arrays
    with cache._guard_against_spurious_io_errors():
        return cache._load_overload(signature, context)
