"""How kernels are compiled and found on disk, and what is said while they are compiled; a few that others call.

This package alone knows what numba, LLVM and torch do not make public. The decorators themselves are in
oracles/kernel_cache.py, as the oracles need them, too.

The first run with each kind of model has to wait for its kernels. On a terminal a bar on standard error counts them and names
the one at hand, as long as any is being compiled; elsewhere one line says so, once. Where all are on disk, nothing is said.
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
_FORMAT = "compiling kernels for this and later runs: {n} done, {elapsed}{postfix}"


class Compilation(event.Listener):
    """Hears of every kernel that numba compiles: one at a time, and within it those that it calls.

    Meanwhile Python does not look for garbage in cycles: what a compiler holds is not garbage, but so much that looking through
    it again and again takes a tenth of the time.

    Attributes:
        seconds: that kernels of ours have taken.
    """

    def __init__(self) -> None:
        self._ours: list[bool] = []  # of the kernels that are being compiled, the innermost last, whether they are ours
        self._done = 0
        self._begun = 0.0
        self.seconds = 0.0
        self._said = False
        self._bar: Any = None
        self._collects = False

    def on_start(self, event: event.Event) -> None:
        """A kernel is begun."""
        kernel = event.data["dispatcher"].py_func
        self._ours.append(kernel.__module__.partition(".")[0] in _PACKAGES)
        if not self._ours[-1]:
            return
        if len(self._ours) == 1:
            self._begin()
        if self._bar is not None:
            self._bar.set_postfix_str(f"{kernel.__module__.rpartition('.')[2]}.{kernel.__name__}")

    def on_end(self, event: event.Event) -> None:
        """A kernel is done, or has failed."""
        if not self._ours.pop():
            return
        self._done += 1
        if self._bar is not None:
            self._bar.update()
        if not self._ours:
            self._end()

    def _begin(self) -> None:
        self._begun = time.perf_counter()
        self._collects = gc.isenabled()
        gc.disable()
        if sys.stderr is None:
            return
        if sys.stderr.isatty():
            from tqdm import tqdm  # where all is compiled, nobody waits for it to load

            # A bar for each kernel that Python has called, as in between other things are shown. Together they look like one.
            self._bar = tqdm(initial=self._done, bar_format=_FORMAT, leave=False, delay=1e-9)  # not drawn before it is right
            self._bar.start_t -= self.seconds
        elif not self._said:
            print(_LINE, file=sys.stderr, flush=True)
            self._said = True

    def _end(self) -> None:
        self.seconds += time.perf_counter() - self._begun
        if self._bar is not None:
            self._bar.close()
            self._bar = None
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
