"""Processes that this one starts to work for it, and that end with it."""

from __future__ import annotations

import os
import sys
import threading


def end_with_parent() -> None:
    """To be called first by a process whose standard input its parent holds open: it ends when that does, however it ends."""
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)
