"""Running kernels as plain Python for the first few words of a process.

Compiling the kernels of a model takes ten seconds; interpreting them for a sentence takes less than
one. So a ``Briefly`` lets the kernels of a small piece of work be interpreted, unless they were
compiled before: whoever tries a model on a sentence need not wait. A larger piece of work compiles
its kernels, and so does every piece after the first words.

Trees must not depend on which of the two happens. Kernels compute with integers, or with floats in
a fixed order, so Python computes the same numbers, with one exception: where a compiled kernel may
multiply and add in one operation (``contract``), the result is rounded once, in Python twice. Such
kernels have a function in NumPy that rounds as they do (``instead_of``), which is also faster than
their loops in Python. Kernels for the reranking of beams are left out: their sums have no fixed
order.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from weakref import WeakSet

import numpy as np
from numba.core.registry import CPUDispatcher

F = TypeVar("F", bound=Callable)

# How many words of a process are handled by interpreted kernels.
FIRST_WORDS = 200


class _ThreadState(threading.local):
    """What a thread is doing.

    Attributes:
        brief: whether it is within a small piece of work.
        interpreting: whether it is within an interpreted kernel.
    """

    brief = False
    interpreting = False


_state = _ThreadState()
_lock = threading.Lock()
_n_brief = 0  # threads within a small piece of work
_is_over = False
# kernels that are known not to be compiled
_not_compiled: WeakSet[Any] = WeakSet()


class Briefly:
    """The pieces of work of one kind. While all of them together are small, their kernels are
    interpreted, unless they are compiled already.

    Args:
        most: how much that is, in any unit.
    """

    def __init__(self, most: int) -> None:
        self._left = most

    @contextmanager
    def __call__(self, size: int) -> Iterator[None]:
        """Do a piece of work of this size within the ``with`` block."""
        is_brief = size <= self._left and not _is_over
        self._left -= size
        before, _state.brief = _state.brief, is_brief
        try:
            if is_brief:
                # compiled kernels do not warn, either
                with _calls_watched(), np.errstate(all="ignore"):
                    yield
            else:
                yield
        finally:
            _state.brief = before


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
    """Let calls of kernels go through _call(), in all threads. At other times they do not, as it
    takes longer than the call.
    """
    global _n_brief
    with _lock:
        _n_brief += 1
        CPUDispatcher.__call__ = _call
    try:
        yield
    finally:
        with _lock:
            _n_brief -= 1
            if not _n_brief:
                del CPUDispatcher.__call__


def _call(kernel: Any, *args: Any) -> Any:
    # Kernels that an interpreted kernel calls are interpreted, too: they would be compiled once
    # more, for the types that numbers have in Python.
    if _state.interpreting:
        return _plain(kernel)(*args)
    if not _state.brief or _is_compiled(kernel):
        return super(CPUDispatcher, kernel).__call__(*args)
    _state.interpreting = True
    try:
        return _plain(kernel)(*args)
    finally:
        _state.interpreting = False


def _plain(kernel: Any) -> Callable[..., Any]:
    return getattr(kernel, "in_numpy", None) or kernel.py_func


def _is_compiled(kernel: Any) -> bool:
    """Return whether a kernel has been compiled, in this process or on disk."""
    if kernel.overloads:
        return True
    if kernel in _not_compiled:
        return False
    file = getattr(kernel._cache, "_cache_file", None)  # None: nothing is stored
    if file is not None and file._load_index():
        return True
    _not_compiled.add(kernel)
    return False
