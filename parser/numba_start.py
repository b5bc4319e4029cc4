"""Lets numba begin sooner, in a command that is over after a second.

Before its first kernel, numba imports scipy.linalg, if scipy is there, for the sake of matrix products inside kernels. No
kernel of this project has any, and the import takes a fifth of the time to the first sentence that is parsed.
"""

from __future__ import annotations

import sys

from numba import njit

_SCIPY = "scipy.linalg"


def start_numba_without_scipy() -> None:
    """Initializes numba for the whole process; its kernels cannot multiply matrices then. Other code imports scipy as ever."""
    if _SCIPY in sys.modules:
        return
    sys.modules[_SCIPY] = None  # type: ignore[assignment]  # how Python is told that there is no such module
    try:
        _first_kernel()
    finally:
        del sys.modules[_SCIPY]


@njit(cache=True)
def _first_kernel():
    return 0
