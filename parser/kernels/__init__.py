"""How kernels are compiled and found on disk, and what is said while they are compiled; a few that others call.

This package alone knows what numba, LLVM and torch do not make public. The decorators themselves are in
oracles/kernel_cache.py, as the oracles need them, too.

The first run with each kind of model has to wait for its kernels: one line on standard error says so, once. Where all are on
disk, nothing is said.
"""

from __future__ import annotations

import gc
import sys
import time
from functools import cache
from typing import Any

from numba.core import event
from numba.core.caching import Cache
from numba.core.runtime import rtsys

from oracles.kernel_cache import array_kernel, kernel

__all__ = [
    "array_kernel",
    "assign",
    "highest",
    "kernel",
    "load_kernels_directly",
    "lowest",
    "show_compilation",
    "time_without_compiling",
]

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


_PACKAGES = ("oracles", "parser")

_LINE = "compiling kernels, which the first run with each kind of model does; it takes about ten seconds"


class Compilation(event.Listener):
    """Hears of every kernel that numba compiles: one at a time, and within it those that it calls.

    Meanwhile Python does not look for garbage in cycles: what a compiler holds is not garbage, but so much that looking through
    it again and again takes a tenth of the time.

    Attributes:
        seconds: that kernels of ours have taken.
    """

    def __init__(self) -> None:
        self._ours: list[bool] = []  # of the kernels that are being compiled, the innermost last, whether they are ours
        self._begun = 0.0
        self.seconds = 0.0
        self._said = False
        self._collects = False

    def on_start(self, event: event.Event) -> None:
        """A kernel is begun."""
        self._ours.append(event.data["dispatcher"].py_func.__module__.partition(".")[0] in _PACKAGES)
        if self._ours == [True]:
            self._begun = time.perf_counter()
            self._collects = gc.isenabled()
            gc.disable()
            if not self._said and sys.stderr is not None:
                print(_LINE, file=sys.stderr, flush=True)
                self._said = True

    def on_end(self, event: event.Event) -> None:
        """A kernel is done, or has failed."""
        if self._ours.pop() and not self._ours:
            self.seconds += time.perf_counter() - self._begun
            if self._collects:
                gc.enable()


_of_process = Compilation()


@cache
def show_compilation() -> None:
    """Says from now on, in the whole process, that kernels are being compiled."""
    event.register("numba:compile", _of_process)


def time_without_compiling() -> float:
    """A clock in seconds that stands while kernels are compiled and that is shown: a rate is that of later runs, too."""
    return time.perf_counter() - _of_process.seconds
