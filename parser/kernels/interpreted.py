"""Running kernels as plain Python for the first few words of a process.

Compiling the kernels of a model takes ten seconds; interpreting them for a sentence takes less than
one. So a ``Briefly`` lets the kernels of a small piece of work be interpreted, unless they were
compiled before: whoever tries a model on a sentence need not wait. The very first words are
interpreted in any case, as loading numba and compiled kernels takes longer. A larger piece of work
compiles its kernels, and so does every piece after the first words.

Trees must not depend on which of the two happens. Kernels compute with integers, or with floats in
a fixed order, so Python computes the same numbers, with one exception: where a compiled kernel may
multiply and add in one operation (``contract``), the result is rounded once, in Python twice. Such
kernels have a function in NumPy that rounds as they do (``instead_of``), which is also faster than
their loops in Python. Kernels that score the items of a beam have none: compilers may reorder their
sums, so the last digits of these scores may differ.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from oracles.kernel_cache import COMPILES, Kernel

F = TypeVar("F", bound=Callable)

# How many words of a process are handled by interpreted kernels; and how many, if compiled kernels
# are on disk.
FIRST_WORDS, FEW_WORDS = 200, 20


class _ThreadState(threading.local):
    """What a thread is doing.

    Attributes:
        brief: whether it is within a small piece of work.
        very_brief: whether so small that its kernels are interpreted even if they are on disk.
        interpreting: whether it is within an interpreted kernel.
    """

    brief = very_brief = False
    interpreting = False


_state = _ThreadState()
_lock = threading.Lock()
_n_brief = 0  # threads within a small piece of work
_call_compiled = Kernel.__call__
_is_over = not COMPILES


class Briefly:
    """The pieces of work of one kind. While all of them together are small, their kernels are
    interpreted, unless they are compiled already.

    Args:
        per_word: the size of a word, in the unit in which pieces of work are measured.
    """

    def __init__(self, per_word: int = 1) -> None:
        self._per_word = per_word
        self._done = 0

    @contextmanager
    def __call__(self, size: int) -> Iterator[None]:
        """Do a piece of work of this size within the ``with`` block."""
        self._done += size
        is_brief = self._done <= FIRST_WORDS * self._per_word and not _is_over
        before = _state.brief, _state.very_brief
        _state.brief = is_brief
        _state.very_brief = is_brief and self._done <= FEW_WORDS * self._per_word
        try:
            if is_brief:
                # compiled kernels do not warn, either
                with _calls_watched(), np.errstate(all="ignore"):
                    yield
            elif not COMPILES:
                with np.errstate(all="ignore"):
                    yield
            else:
                yield
        finally:
            _state.brief, _state.very_brief = before


def compile_from_now_on() -> None:
    """Let no kernel be interpreted any more, in the whole process."""
    global _is_over
    _is_over = True


def instead_of(kernel: Any) -> Callable[[F], F]:
    """Let the decorated function, which does the same in NumPy, run where a kernel would be
    interpreted.
    """

    def decorated(function: F) -> F:
        kernel.in_numpy = function
        return function

    return decorated


@contextmanager
def _calls_watched() -> Iterator[None]:
    """Let calls of kernels go through _call(), in all threads. At other times they do not, because
    _call() takes longer than the kernel.
    """
    global _n_brief
    with _lock:
        _n_brief += 1
        Kernel.__call__ = _call  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        with _lock:
            _n_brief -= 1
            if not _n_brief:
                Kernel.__call__ = _call_compiled  # type: ignore[method-assign]


def _call(kernel: Kernel, *arguments: Any) -> Any:
    # Kernels that an interpreted kernel calls are interpreted, too: they would be compiled once
    # more, for the types that numbers have in Python.
    if _state.interpreting:
        return (kernel.in_numpy or kernel.py_func)(*arguments)
    if not _state.brief or _is_compiled(kernel):
        return kernel.dispatcher(*arguments)
    _state.interpreting = True
    try:
        return (kernel.in_numpy or kernel.py_func)(*arguments)
    finally:
        _state.interpreting = False


def _is_compiled(kernel: Kernel) -> bool:
    """Return whether a kernel has been compiled in this process, or is on disk and this is a piece
    of work for which it is worth loading.
    """
    if "dispatcher" in vars(kernel) and kernel.dispatcher.overloads:
        return True
    return not _state.very_brief and _is_on_disk(kernel)


@cache
def _is_on_disk(kernel: Kernel) -> bool:
    """Return whether numba seems to have stored a kernel. If its files have other names than those
    of the tested versions, kernels are interpreted, which takes longer, or compiled.
    """
    code = kernel.py_func.__code__
    module = kernel.py_func.__module__.rpartition(".")[2]
    name = kernel.py_func.__qualname__.replace("<", "").replace(">", "")
    flags = getattr(sys, "abiflags", "")  # Windows has none
    version = f"py{sys.version_info.major}{sys.version_info.minor}{flags}"
    index = f"{module}.{name}-{code.co_firstlineno}.{version}.nbi"
    return index in _names_on_disk(os.environ.get("NUMBA_CACHE_DIR") or code.co_filename)


@cache
def _names_on_disk(place: str) -> frozenset[str]:
    """Return the names of the indices of kernels in a folder of NUMBA_CACHE_DIR, or beside a
    source file.
    """
    path = Path(place)
    indices = path.glob("*/*.nbi") if path.is_dir() else path.parent.glob("__pycache__/*.nbi")
    return frozenset(index.name for index in indices)
