"""The frame of every command: bad input gives one line on standard error,
and a closed pipe is not an error.

A fault of this project keeps its traceback; see parser/failures.py.
"""

from __future__ import annotations

import codecs
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

from oracles.errors import OptimalStepError, did_you_mean
from parser import failures
from parser.conllu.files import STANDARD_STREAM
from parser.kernels import show_compilation

Kind = TypeVar("Kind", bound=StrEnum)

# Exit statuses that a shell reports after SIGPIPE, Ctrl-C and SIGTERM.
_CLOSED_PIPE, _INTERRUPTED, _TERMINATED = 141, 130, 143

# The name of the handler of characters that a stream cannot encode.
_AS_IT_WAS = "optimal_step_as_it_was"

# More threads than any machine can use; each costs memory.
_MAX_THREADS = 256

# Signals received that end a command.
_received: list[int] = []


class Terminated(KeyboardInterrupt):
    """SIGTERM was received."""


def run(main: Callable[[], object]) -> NoReturn:
    """Run a command and exit: with the status that it returns, or after an error with 1,
    as fail() does.

    SIGTERM ends a command like Ctrl-C: temporary files are removed,
    and the notes of the exception are printed.
    """
    _occupy_closed_streams()
    _write_utf8()
    show_compilation()
    signal.signal(signal.SIGTERM, _terminate)
    threading.excepthook = _print_failed_thread
    try:
        status = main() or 0
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as head, has seen enough
        _drop_output()
        sys.exit(_CLOSED_PIPE)
    except KeyboardInterrupt as stop:
        # a second one, as timeout sends, would interrupt Python's own exit
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        _drop_output()
        for note in getattr(stop, "__notes__", []):
            print(note, file=sys.stderr)
        sys.exit(_TERMINATED if isinstance(stop, Terminated) else _INTERRUPTED)
    except Exception as error:
        fail(error)
    sys.exit(status if isinstance(status, int) else 0)


def fail(error: Exception) -> NoReturn:
    """Print one line about bad input or an error of the machine (such as a full disk), or the
    traceback of a fault, and exit with status 1.
    """
    _drop_output()
    failures.show_traceback(error)
    sys.exit(f"error: {failures.told(error)}")


def check_output(output: str | Path, *inputs: str | Path | None) -> None:
    """Refuse an output that is one of the input files, since writing would destroy the input.

    Raises:
        OptimalStepError: the output is one of the inputs.
    """
    files = {Path(name).resolve() for name in inputs if name is not None}
    if str(output) not in (STANDARD_STREAM, os.devnull) and Path(output).resolve() in files:
        raise OptimalStepError(
            f"{output}: this input file would be overwritten; choose another --output"
        )


def positive(text: str, most: int = 10**9, what: str = "number") -> int:
    """Read an argument that is a number from 1 to ``most``."""
    if not (text.isascii() and text.isdigit() and len(text) < 11 and 1 <= int(text) <= most):
        raise ArgumentTypeError(f"{text} is not possible; give a {what} from 1 to {most:,}")
    return int(text)


def number_of_threads(text: str) -> int:
    """Read an argument ``--threads`` or ``--workers``."""
    return positive(text, _MAX_THREADS, "number of processes or threads")


def member_of(kind: type[Kind]) -> Callable[[str], Kind]:
    """Return a reader of arguments that are members of an enumeration;
    its error lists the members.
    """

    def convert(text: str) -> Kind:
        try:
            return kind(text)
        except ValueError:
            raise ArgumentTypeError(
                f"{text!r} is unknown{did_you_mean(text, kind)}; known: {', '.join(kind)}"
            ) from None

    return convert


def _print_failed_thread(failed: threading.ExceptHookArgs) -> None:
    """Print errors, but no OSError: TensorBoard's thread passes it on to the main thread, which
    prints it in one line.
    """
    if not issubclass(failed.exc_type, OSError):
        threading.__excepthook__(failed)


def raise_again() -> None:
    """Raise Terminated if SIGTERM was received but the command still runs; long loops call this.

    An exception raised in a signal handler is lost if the handler runs within C code that clears
    errors, as torch does where it asks whether an object has an attribute.
    """
    if _received:
        raise Terminated


def _terminate(number: int, frame: FrameType | None) -> None:
    """Raise Terminated, unless the command is already cleaning up after an interruption."""
    _received.append(number)
    handled = sys.exception()
    while handled is not None:
        if isinstance(handled, KeyboardInterrupt):
            return
        handled = handled.__context__
    raise Terminated


def _occupy_closed_streams() -> None:
    """Open the null device in place of closed standard streams (``2>&-`` in a shell).

    Otherwise a file that is opened later would get the stream's number,
    and receive what is printed to it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8", newline="\n")  # noqa: SIM115 - as long as the process


def _write_utf8() -> None:
    """Write UTF-8 with line feeds to files and pipes, as CoNLL-U needs, on every system;
    terminals keep their encoding.

    Windows would write its own code page and line ends. Characters that cannot be encoded are
    written as _as_it_was() says.
    """
    codecs.register_error(_AS_IT_WAS, _as_it_was)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            if stream.isatty():
                stream.reconfigure(errors=_AS_IT_WAS)
            else:
                stream.reconfigure(encoding="utf-8", errors=_AS_IT_WAS, newline="\n")


def _as_it_was(error: UnicodeError) -> tuple[str | bytes, int]:
    """Handle characters that cannot be encoded: bytes of a file's name that are not UTF-8 stay;
    others become escapes.
    """
    assert isinstance(error, UnicodeEncodeError)
    character = error.object[error.start]
    if "\udc80" <= character <= "\udcff":
        return bytes([ord(character) - 0xDC00]), error.start + 1
    return character.encode("ascii", "backslashreplace"), error.start + 1


def _drop_output() -> None:
    """Discard buffered output that cannot be written; otherwise Python would try again at exit and
    print a traceback.
    """
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
