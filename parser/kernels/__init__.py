"""How kernels are compiled and found on disk; this package alone knows what numba, LLVM and torch do not make public.

The decorators themselves are in oracles/kernel_cache.py, as the oracles need them, too.
"""

from __future__ import annotations

from typing import Any

from numba.core.caching import Cache
from numba.core.runtime import rtsys

from oracles.kernel_cache import array_kernel, kernel

__all__ = ["array_kernel", "assign", "highest", "kernel", "load_kernels_directly", "lowest"]

# What loads kernels from disk in numba; another version may not have them.
_OF_CACHE = ("_load_overload", "_guard_against_spurious_io_errors")


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
