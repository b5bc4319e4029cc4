"""Runs that die, or whose disk fails, at a moment of choice; what they leave;
and runs that go on from there.

Each training is a process forked from this one, which has compiled and loaded everything already. A
moment is a number of seconds of its processor's time, so that a busy machine changes nothing, or
one of its file operations in the run's folder.
"""

import errno
import os
import resource
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from ctypes import c_int
from pathlib import Path
from typing import Any

from tqdm import tqdm

from parser.settings.plan import Plan
from parser.training.run import train
from tests.toy import planned

# By model, settings of a run that takes about a second.
MODELS = {
    "mlp": ["recipe=paper", "classifier.hidden=16"],
    "bilstm": [
        "recipe=accurate",
        "model=bilstm",
        "classifier.hidden=16",
        "encoder.hidden=8",
        "encoder.layers=1",
    ],
    "linear": ["model=linear", "online.iterations=4"],
    "beam": ["recipe=accurate", "classifier.hidden=16", "beam=local", "beam.size=2"],
}
_SMALL = [
    "vectors.dimensions=8",
    "optimizer.batch_size=20",
    "first_pass.epochs=2",
    "second_pass.epochs=2",
    "tensorboard.trees=1",
]
_OF_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT

# Audit events: what adds to a folder, and what changes it.
_ADDITIONS = ("open", "os.rename", "os.mkdir")
_CHANGES = (*_ADDITIONS, "os.remove", "os.rmdir")

# exit statuses: of a finished run, of one that OSError ended, of any other exception
DONE, TOLD, FAULT = 0, 3, 4

Trap = Callable[[Path], None]


def run_of(model: str, treebank: Path) -> Plan:
    files = [f"treebank.{part}={treebank}" for part in ("train", "dev", "test")]
    return planned(
        "treebank.name=toy",
        *files,
        *(_SMALL if model != "linear" else ["tensorboard.trees=1"]),
        *MODELS[model],
    )


def ended(run: Plan, folder: Path, trap: Trap | None = None) -> int:
    """Trains in a process of its own, in which ``trap`` is set before; its exit status, or minus
    the signal that killed it.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        status = FAULT
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            # All that are forked share the lock of progress bars: one that is killed while it holds
            # it would stop the others.
            tqdm.set_lock(threading.RLock())
            if trap is not None:
                trap(folder)
            train(run, folder)
            status = DONE
        except OSError:
            status = TOLD
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed_after(seconds: float) -> Trap:
    """Return a trap by which the process dies, without a chance to clear up,
    when it has used so much of the processor's time.
    """

    def trap(folder: Path) -> None:
        signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)

    return trap


def counting(operations: c_int) -> Trap:
    """Return a trap that counts the file operations that killed_at_operation() knows."""

    def count(number: int) -> None:
        operations.value = number

    return _at_operations(_CHANGES, count)


def killed_at_operation(number: int) -> Trap:
    """Return a trap by which the process dies before its file operation of that number, from 1:
    opening to write, renaming, removing, ....
    """

    def die(seen: int) -> None:
        if seen == number:
            os.kill(os.getpid(), signal.SIGKILL)

    return _at_operations(_CHANGES, die)


def failing_from_operation(number: int, error: int = errno.ENOSPC) -> Trap:
    """From that number on, from 1, no file is opened to write, renamed or made a folder: the disk
    is full, or read-only.
    """

    def fail(seen: int) -> None:
        if seen >= number:
            raise OSError(error, os.strerror(error))

    return _at_operations(_ADDITIONS, fail)


def no_file_larger_than(size: int) -> Trap:
    """Return a trap by which writing beyond so many bytes of a file fails, in the middle of it."""

    def trap(folder: Path) -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return trap


def _at_operations(events: tuple[str, ...], act: Callable[[int], None]) -> Trap:
    """Return a trap that calls ``act`` before each of these operations in the folder,
    with its number, from 1.
    """

    def trap(folder: Path) -> None:
        seen = 0

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal seen
            if event not in events or not str(arguments[0]).startswith(str(folder)):
                return
            if event != "open" or arguments[2] & _OF_WRITING:
                seen += 1
                act(seen)

        sys.addaudithook(hook)

    return trap


def left_over(folder: Path) -> list[str]:
    """Return the names of temporary files and folders."""
    return [path.name for path in folder.iterdir() if path.name.endswith((".tmp", ".old"))]


def model_of(folder: Path) -> dict[str, bytes]:
    """Return the files of a run's model by name; none if there is no model."""
    return {path.name: path.read_bytes() for path in sorted((folder / "model").glob("*"))}
