"""Files that one process at a time holds, on every system."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import lock_descriptor, unlock_descriptor

log = logging.getLogger(__name__)


class LockedError(Exception):
    """Another process holds the file; ``holder`` is its number, as it wrote it, or empty."""

    def __init__(self, holder: str) -> None:
        super().__init__(holder)
        self.holder = holder


@contextmanager
def locked(path: Path, *, wait: bool) -> Iterator[None]:
    """Holds a file, which is made if it is not there, and stays. The system frees it when the process ends, however it ends.

    Args:
        path: the file; it then says which process holds it.
        wait: for another process that holds it, with a warning that names it.

    Raises:
        LockedError: another process holds it, and this one is not to wait.
    """
    with path.open("a+b") as file:
        if not lock_descriptor(file.fileno(), blocking=False):
            file.seek(1)  # Windows lets nobody else read the first byte, which is what is locked
            holder = file.read().decode(errors="replace").strip()
            if not wait:
                raise LockedError(holder)
            log.warning("%s: waiting for process %s", path, holder or "of unknown number")
            lock_descriptor(file.fileno(), blocking=True)
        try:
            file.truncate(0)
            file.write(b"\n%d\n" % os.getpid())
            file.flush()
            yield
        finally:
            unlock_descriptor(file.fileno())
