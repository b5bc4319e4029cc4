"""Compiled kernels that no longer fit their source.

numba keeps a compiled kernel on disk until the file that defines it changes. It does not see that a kernel or a constant which
it took from another file has changed, after an edit or a git pull, and would go on running the old code.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path


def forget_stale_kernels(package: Path) -> None:
    """Removes the compiled kernels of a package that are older than any of its sources; they are compiled again.

    Args:
        package: its folder; packages inside it belong to it.
    """
    with suppress(OSError):  # a folder that may not be written: its files do not change either
        newest = max(source.stat().st_mtime for source in package.rglob("*.py"))
        for index in package.rglob("__pycache__/*.nbi"):
            if index.stat().st_mtime < newest:
                index.unlink(missing_ok=True)
