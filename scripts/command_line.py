"""What every command does around its work: bad input is one line on standard error, a closed pipe is no error."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

# What a shell reports of a process that a signal ended.
_BY_SIGNAL = 128


class Terminated(KeyboardInterrupt):
    """SIGTERM has come: what is under way ends as upon Ctrl-C."""


def run(main: Callable[[], object]) -> NoReturn:
    """Runs a command and exits: with 0, or with 1 and one line of text upon bad input.

    This project raises ValueError, with what is wrong and the fix, for all bad input; a traceback would bury it. Ctrl-C and
    SIGTERM end a command in order, with one line that has the notes of the exception, and the status of the signal.
    """
    signal.signal(signal.SIGTERM, _terminate)
    try:
        main()
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(_BY_SIGNAL + signal.SIGPIPE)
    except KeyboardInterrupt as stop:
        print("; ".join(["interrupted", *getattr(stop, "__notes__", [])]), file=sys.stderr)
        sys.exit(_BY_SIGNAL + (signal.SIGTERM if isinstance(stop, Terminated) else signal.SIGINT))
    except (ValueError, OSError) as error:
        sys.exit(f"error: {described(error)}")
    sys.exit(0)


def described(error: Exception) -> str:
    """The message of an error; of the system's, the file first."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror is not None:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    raise Terminated
