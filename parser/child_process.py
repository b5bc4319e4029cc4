"""Processes that this one starts to work for it, and that end with it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable


def work_for_parent(at_end: Callable[[], None]) -> None:
    """To be called first by a process of multiprocessing: the one that started it alone hears Ctrl-C, and it ends with that.

    Args:
        at_end: what is done before, where the other one has been killed and could end nothing.
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
    """To be called first by a process whose standard input its parent holds open: it ends when that does, however it ends."""
    # Under another number: what asks on Windows what standard input is, as libraries do when they are loaded, would wait for
    # the thread that reads it.
    held_open = os.dup(sys.stdin.fileno())
    os.dup2(os.open(os.devnull, os.O_RDONLY), sys.stdin.fileno())
    threading.Thread(target=_wait_for_parent, args=(held_open,), daemon=True).start()


def _wait_for_parent(held_open: int) -> None:
    os.read(held_open, 1)
    os._exit(1)
