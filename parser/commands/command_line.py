"""What every command does around its work: bad input gives one line on standard error, and a closed pipe is not an error."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from argparse import ArgumentTypeError
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import NoReturn, TypeVar

from parser.conllu.files import STANDARD_STREAM
from parser.kernels import show_compilation

Kind = TypeVar("Kind", bound=StrEnum)

# What a shell reports of a process that SIGPIPE, Ctrl-C or SIGTERM ended.
_CLOSED_PIPE, _INTERRUPTED, _TERMINATED = 141, 130, 143

# More threads than any machine has use for; each costs memory.
_MAX_THREADS = 256


# Packages of this project: where a module of theirs is not found, that is a fault to be seen whole.
_OURS = ("oracles", "parser", "scripts")

# The signals that have come, of those that end a command.
_received: list[int] = []


class Terminated(KeyboardInterrupt):
    """SIGTERM has come."""


def run(main: Callable[[], object]) -> NoReturn:
    """Runs a command and exits: with the status that it returns, if any, or with 1 and one line of text on bad input.

    This project raises ValueError, with what is wrong and the fix, for all bad input; a traceback would bury it. What the
    system refuses is one line, too. SIGTERM ends a command as Ctrl-C does, in order: temporary files are removed, and the
    notes of the exception printed.
    """
    _occupy_closed_streams()
    _write_utf8()
    show_compilation()
    signal.signal(signal.SIGTERM, _terminate)
    threading.excepthook = _unless_told_here
    try:
        status = main() or 0
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as head, has seen enough
        _drop_output()
        sys.exit(_CLOSED_PIPE)
    except KeyboardInterrupt as stop:
        _drop_output()
        for note in getattr(stop, "__notes__", []):
            print(note, file=sys.stderr)
        sys.exit(_TERMINATED if isinstance(stop, Terminated) else _INTERRUPTED)
    except (ValueError, OSError) as error:
        _drop_output()
        sys.exit(f"error: {described(error)}")
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        if package in _OURS:
            raise
        _drop_output()
        adds = "pip install . in a checkout of the source adds what is missing"
        sys.exit(f"error: {package} is not installed, which is needed for more than parsing; {adds}")
    sys.exit(status if isinstance(status, int) else 0)


def described(error: Exception) -> str:
    """The message of an error; of one of the system's, the file first."""
    if not isinstance(error, OSError):
        return str(error)
    place = "" if error.filename is None else f"{error.filename}: "
    return f"{place}{error.strerror or error}"


def check_output(output: str | Path, *read: str | Path | None) -> None:
    """Refuses an output that is a file which is read: what was in it would be lost.

    Raises:
        ValueError: it is.
    """
    files = {Path(name).resolve() for name in read if name is not None}
    if str(output) not in (STANDARD_STREAM, os.devnull) and Path(output).resolve() in files:
        raise ValueError(f"{output}: this is what is read, and it would be overwritten; choose another --output")


def positive(text: str, most: int = 10**9, what: str = "number") -> int:
    """The type of an argument that is a number from 1 on."""
    if not (text.isascii() and text.isdigit() and len(text) < 11 and 1 <= int(text) <= most):
        raise ArgumentTypeError(f"{text} is not possible; give a {what} of at least 1, and at most {most:,}")
    return int(text)


def number_of_threads(text: str) -> int:
    """The type of an argument ``--threads`` or ``--workers``."""
    return positive(text, _MAX_THREADS, "number of processes or threads")


def member_of(kind: type[Kind]) -> Callable[[str], Kind]:
    """The type of an argument that is one of the members of an enumeration; another one is answered with those."""

    def read(text: str) -> Kind:
        try:
            return kind(text)
        except ValueError:
            raise ArgumentTypeError(f"{text!r} is unknown; known: {', '.join(kind)}") from None

    return read


def _unless_told_here(failed: threading.ExceptHookArgs) -> None:
    """Says nothing of a disk that a thread found full: TensorBoard's hands it over to this one, which tells it in one line."""
    if not issubclass(failed.exc_type, OSError):
        threading.__excepthook__(failed)


def raise_again() -> None:
    """Raises Terminated if SIGTERM has come and the command goes on nevertheless, for loops that take long.

    What a signal's handler raises is lost where Python code is called by C code that forgets its errors, as much of torch asks
    whether objects have attributes.
    """
    if _received:
        raise Terminated


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    _received.append(number)
    raise Terminated


def _occupy_closed_streams() -> None:
    """Lets no file that is opened later take the number of a standard stream that was closed, as by ``2>&-`` in a shell.

    What is then printed to standard error, Python would print to standard output.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8", newline="\n")  # noqa: SIM115 - as long as the process


def _write_utf8() -> None:
    """Lets files and pipes get the same bytes on every system: UTF-8 with line feeds, as CoNLL-U has them.

    Windows would write the characters of its own code page alone, and end lines otherwise. A terminal knows best.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and not stream.isatty():
            stream.reconfigure(encoding="utf-8", newline="\n")


def _drop_output() -> None:
    """Forgets what standard output still holds if it cannot be written: Python would try again at the end, with a traceback."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
