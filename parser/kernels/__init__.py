"""Loading kernels from disk, the message while they are compiled, and a few small kernels.

Only this package uses what numba, LLVM and torch do not make public. The decorators are in
oracles/kernel_cache.py, since the oracles need them.

The first run with each kind of model that parses more than a few words (interpreted.py) must wait
until its kernels are compiled: one line on standard error says so, once. If all kernels are on
disk, nothing is printed.
"""

from __future__ import annotations

import gc
import sys
import time
from functools import cache
from typing import Any

from oracles.kernel_cache import array_kernel, kernel, when_numba_is_there

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

# numba's internal functions that load kernels from disk; other versions may not have them.
_OF_CACHE = ("_load_overload", "_guard_against_spurious_io_errors")


@kernel()
def assign(target, source):
    """Do ``target[:] = source`` in a kernel, for vectors that do not overlap;
    numba would allocate a copy.
    """
    for i in range(len(target)):
        target[i] = source[i]


@kernel()
def highest(values):
    """Return ``values.max()`` in a kernel; the vector must not be empty."""
    maximum = values[0]
    for i in range(1, len(values)):
        maximum = max(maximum, values[i])
    return maximum


@kernel()
def lowest(values):
    """Return ``values.min()`` in a kernel; the vector must not be empty."""
    minimum = values[0]
    for i in range(1, len(values)):
        minimum = min(minimum, values[i])
    return minimum


def load_kernels_directly() -> None:
    """Let numba, in the whole process, prepare its compiler only if a kernel is not found on disk.

    By default it first prepares all types and functions of Python and NumPy, and scipy.linalg,
    which takes a fifth of the time to the first parsed sentence.
    """
    when_numba_is_there(_replace_loading)


def _replace_loading() -> None:
    from numba.core.caching import Cache

    if all(hasattr(Cache, name) for name in _OF_CACHE):
        Cache.load_overload = _load_overload  # type: ignore[method-assign]


def _load_overload(cache: Any, signature: Any, context: Any) -> Any:
    """Do what Cache.load_overload() does, without ``context.refresh()``; the compiler calls
    refresh() itself when it starts.
    """
    from numba.core.runtime import rtsys

    rtsys.initialize(context)  # reference counting of arrays in kernels
    with cache._guard_against_spurious_io_errors():
        return cache._load_overload(signature, context)


_PACKAGES = ("oracles", "parser")

_LINE = "compiling kernels: this happens once for each kind of model, and takes about ten seconds"


class Compilation:
    """What numba says about its compilation of kernels. Kernels are compiled one at a time; the
    compilation of a kernel contains those of the kernels that it calls.

    Meanwhile Python's cyclic garbage collector is off: a compiler's objects are not garbage, and
    they are so many that searching them takes a tenth of the time.

    Attributes:
        seconds: the time spent on compiling this project's kernels.
    """

    def __init__(self) -> None:
        # for each kernel being compiled, the innermost last: whether it is this project's
        self._ours: list[bool] = []
        self._begun = 0.0
        self.seconds = 0.0
        self._said = False
        self._collects = False

    def on_start(self, event: Any) -> None:
        """Handle the start of a compilation."""
        self._ours.append(
            event.data["dispatcher"].py_func.__module__.partition(".")[0] in _PACKAGES
        )
        if self._ours == [True]:
            self._begun = time.perf_counter()
            self._collects = gc.isenabled()
            gc.disable()
            if not self._said and sys.stderr is not None:
                print(_LINE, file=sys.stderr, flush=True)
                self._said = True

    def on_end(self, event: Any) -> None:
        """Handle the end of a compilation, successful or not."""
        if self._ours.pop() and not self._ours:
            self.seconds += time.perf_counter() - self._begun
            if self._collects:
                gc.enable()


_compilation = Compilation()


@cache
def show_compilation() -> None:
    """Print a line, from now on and in the whole process, when kernels are being compiled."""
    when_numba_is_there(_listen)


def _listen() -> None:
    from numba.core import event

    class Listener(event.Listener):
        def on_start(self, event: Any) -> None:
            _compilation.on_start(event)

        def on_end(self, event: Any) -> None:
            _compilation.on_end(event)

    event.register("numba:compile", Listener())


def time_without_compiling() -> float:
    """Return a clock in seconds that stops during compilation (after show_compilation()), so that
    rates hold for later runs.
    """
    return time.perf_counter() - _compilation.seconds
