"""Processes that this one starts to work for it, and that end with it."""

from __future__ import annotations

import os
import sys
import threading


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
