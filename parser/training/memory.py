"""How the C library handles memory in training.

Each update allocates hundreds of megabytes and frees them again. By default glibc returns such
memory to the system, which fills it with zeros, page by page, when the next update asks for it.
experiments/speed.md says what that costs.
"""

from __future__ import annotations

import ctypes
import os

# Parameters of mallopt(3), and their values. Memory is never returned; allocations of up to a
# gigabyte come from the heap, which grows by 64 MiB at a time.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD = -1, -2, -3
_OPTIONS = {_TRIM_THRESHOLD: -1, _TOP_PAD: 64 << 20, _MMAP_THRESHOLD: 1 << 30}
# With one of these variables, users set an option themselves.
_VARIABLES = "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES"


def keep_freed_memory() -> bool:
    """Let this process keep freed memory for later allocations.

    Return whether it does: only glibc can, and environment variables that set its options take
    precedence.
    """
    if any(variable in os.environ for variable in _VARIABLES):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):  # another C library, or Windows
        return False
    results = [mallopt(option, value) for option, value in _OPTIONS.items()]
    return all(results)
