"""Messages about errors.

Bad input, an error of the operating system, a missing package and a full memory are one line, which
says what to do. Any other error is a fault of this project: it keeps its traceback, and people are
asked to report it.
"""

from __future__ import annotations

import os
import sys
import traceback

from oracles.errors import OptimalStepError

# The environment variable that shows the traceback of any error.
_TRACEBACK = "OPTIMAL_STEP_TRACEBACK"

# Packages of this project: a missing module of these is a fault.
_OURS = ("oracles", "parser", "scripts", "experiments")

# Beginnings of the messages of the RuntimeErrors that torch raises if the machine's memory is full.
_FULL = ("DefaultCPUAllocator", "[enforce fail at alloc_cpu.cpp")


_REPORT = "please report it, with the traceback and the command"


def refusal(error: BaseException) -> str | None:
    """Return one line about an error for the user; None for a fault of this project."""
    if isinstance(error, OptimalStepError):
        return str(error)
    if _is_full_memory(error):
        said = " ".join(str(error).split())
        return (
            f"there is not enough memory{f' ({said[:200]})' if said else ''}; end other programs, "
            "or give this command less at a time: smaller files, fewer --workers or --threads, "
            "a smaller batch, beam or model"
        )
    if isinstance(error, OSError):
        place = "" if error.filename is None else f"{error.filename}: "
        return f"{place}{error.strerror or error}"
    if (
        isinstance(error, ModuleNotFoundError)
        and (package := str(error.name).partition(".")[0]) not in _OURS
    ):
        return (
            f"this command needs {package}, which is not installed; run pip install . "
            "in a checkout of the source"
        )
    return None


def _is_full_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError):
        return True
    # torch has an error of its own for the memory of a device; where torch is not loaded,
    # it has raised nothing.
    of_device = getattr(sys.modules.get("torch"), "OutOfMemoryError", ())
    return isinstance(error, of_device) or (
        isinstance(error, RuntimeError) and str(error).startswith(_FULL)
    )


def told(error: BaseException) -> str:
    """Return a line about any error; show_traceback() goes with it."""
    return (
        refusal(error)
        or f"this is a fault of optimal-step, not of your input ({named(error)}); {_REPORT}"
    )


def named(error: BaseException) -> str:
    """Return the class and the message of an error."""
    return f"{type(error).__name__}: {error}"


def has_traceback(error: BaseException) -> bool:
    """Return whether the traceback is shown: of any fault, and of any error if
    OPTIMAL_STEP_TRACEBACK is set.
    """
    return os.environ.get(_TRACEBACK, "0") not in ("", "0") or refusal(error) is None


def show_traceback(error: BaseException) -> None:
    """Print the traceback of an error to standard error, where has_traceback()."""
    if has_traceback(error) and sys.stderr is not None:
        traceback.print_exception(error)
