"""Child processes that end with their parent."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable


def work_for_parent(at_end: Callable[[], None]) -> None:
    """Let this process of multiprocessing ignore Ctrl-C and end with its parent. Call this function
    first in the process.

    Args:
        at_end: called if the parent ends first, because a killed parent cannot clean up.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_after_parent, args=(at_end,), daemon=True).start()


def _end_after_parent(at_end: Callable[[], None]) -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    at_end()
    os._exit(1)


def end_with_parent() -> None:
    """End this process when its parent ends in any way. The parent holds the standard input of this
    process open. Call this function first in the process.
    """
    # Under another number: on Windows, libraries that inspect standard input when they are loaded
    # would wait for the thread that reads it.
    held_open = os.dup(sys.stdin.fileno())
    os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
    threading.Thread(target=_wait_for_parent, args=(held_open,), daemon=True).start()


def _wait_for_parent(held_open: int) -> None:
    os.read(held_open, 1)
    os._exit(1)
