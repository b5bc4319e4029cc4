"""How commands that parse set up their process, so that they begin soon and their threads do not wait for each other."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from compileall import compile_dir
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from numba.core.caching import Cache
from numba.core.runtime import rtsys

import oracles

_PACKAGES = (Path(__file__).parent, Path(oracles.__file__).parent)

# Seconds after which a thread that runs Python code lets another one go on; 0.005 unless told otherwise.
_SWITCH_INTERVAL = 0.0001

_USED = ("_load_overload", "_guard_against_spurious_io_errors")  # of numba's own; another version may not have them


def write_bytecode() -> None:
    """Compiles all sources to bytecode and keeps it, even where Python is told not to (PYTHONDONTWRITEBYTECODE)."""
    for package in _PACKAGES:
        compile_dir(package, quiet=2)


@contextmanager
def short_switch_interval() -> Iterator[None]:
    """Meanwhile, in the whole process, threads that come back from compiled code go on soon.

    They wait for one that runs Python code, which numbers the new words of a chunk; meanwhile they could parse hundreds.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_INTERVAL)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def load_kernels_directly() -> None:
    """Lets numba ready itself to compile only where a kernel is not found on disk, in the whole process.

    It would do so before it looks there: for the types and the code of all that Python and NumPy offer, and for scipy.linalg,
    a fifth of the time to the first sentence that is parsed.
    """
    if all(hasattr(Cache, name) for name in _USED):
        Cache.load_overload = _load_overload  # type: ignore[method-assign]


def _load_overload(cache: Any, signature: Any, context: Any) -> Any:
    """Cache.load_overload() without ``context.refresh()``, with which the compiler itself begins where this finds nothing."""
    rtsys.initialize(context)  # how kernels count references to arrays
    with cache._guard_against_spurious_io_errors():
        return cache._load_overload(signature, context)
