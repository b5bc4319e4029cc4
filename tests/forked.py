"""Scripts run in a process forked from the test's,
which has loaded torch and the kernels already: a new one takes seconds.

What a script does to its process is lost with it. A few tests of every room start a new process all
the same, as a shell would. On Windows, where nothing can be forked, all do.
"""

import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import NoReturn

import pytest

import parser.training.run  # noqa: F401 - with all that takes seconds to load
from tests.toy import ROOT


def works(
    path: str, *arguments: str | Path, folder: Path = ROOT, given: bytes = b""
) -> CompletedProcess[str]:
    """Return what a script prints, which must end well; see ``script``."""
    done = script(path, *arguments, folder=folder, given=given)
    assert done.returncode == 0, done.stderr
    return done


def new_python(code: str, *arguments: str | Path, **variables: str) -> str:
    """Return what a new process prints that runs a program of Python; the program must end well."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, env=os.environ | variables, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def script(
    path: str,
    *arguments: str | Path,
    folder: Path = ROOT,
    given: bytes = b"",
    first: Callable[[], object] | None = None,
) -> CompletedProcess[str]:
    """Return what a script prints that is started in a folder, and its exit status.

    Args:
        given: what it finds on standard input.
        first: called in its process before it is started.
    """
    if not hasattr(os, "fork"):
        if first is not None:
            pytest.skip(
                "something is to be done first in a process of the script's, "
                "which cannot be forked here"
            )
        command = [sys.executable, str(ROOT / path), *map(str, arguments)]
        done = subprocess.run(command, cwd=folder, input=given, capture_output=True)
        return CompletedProcess(
            [path, *arguments], done.returncode, done.stdout.decode(), done.stderr.decode()
        )
    with (
        tempfile.TemporaryFile() as read,
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as errors,
    ):
        read.write(given)
        read.seek(0)
        streams = read.fileno(), output.fileno(), errors.fileno()
        child = started(path, *arguments, folder=folder, streams=streams, first=first)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        printed = []
        for stream in (output, errors):
            stream.seek(0)
            printed.append(os.fsdecode(stream.read()))
    return CompletedProcess([path, *arguments], status, *printed)


def started(
    path: str,
    *arguments: str | Path,
    folder: Path = ROOT,
    streams: tuple[int, int, int],
    first: Callable[[], object] | None = None,
) -> int:
    """Start a process that runs a script, as ``script`` does, and return its number;
    its standard streams are these files.

    A test that asks for it is skipped where no process can be forked.
    """
    if not hasattr(os, "fork"):
        pytest.skip("processes cannot be forked here")
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        try:
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
            if first is not None:
                first()
            _become(path, [*map(str, arguments)], folder)
        finally:
            os._exit(1)  # whatever happens, the tests go on in one process alone
    return child


def _become(path: str, arguments: list[str], folder: Path) -> NoReturn:
    """End this process with the status of the script."""
    status = 1
    try:
        sys.stdin, sys.stdout, sys.stderr = map(open, range(3), "rww")
        sys.argv = [str(ROOT / path), *arguments]
        if "torch" in sys.modules:
            # the threads of a process that was forked would wait forever
            sys.modules["torch"].set_num_threads(1)
        forking = multiprocessing.get_context("fork")
        multiprocessing.get_context = lambda method=None: forking  # type: ignore[assignment]
        os.chdir(folder)
        runpy.run_path(sys.argv[0], run_name="__main__")
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 1 if ended.code else 0
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
