"""Files written whole or not at all; files locked by one process at a time; checksums and versions.

Readers and resumed runs never see half a file: a file is written under a temporary name, then
renamed. Temporary names are ``.NAME.TOKEN.tmp`` and ``.NAME.TOKEN.old``. The token is random, so
that two processes never use the same name, even if process ids repeat. remove_leftovers() removes
what killed processes leave behind.
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import platform
import re
import secrets
import shutil
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from oracles.errors import OptimalStepError

log = logging.getLogger(__name__)

_PACKAGE = Path(__file__).resolve().parent
# The folder of configs/, data/ and models/: the package itself if installed,
# the folder above it in a checkout.
HOME = _PACKAGE if (_PACKAGE / "configs").is_dir() else _PACKAGE.parent

_DISTRIBUTIONS = (
    *("optimal-step", "torch", "numpy", "numba", "gensim", "conllu"),
    *("hydra-core", "tensorboard", "safetensors"),
)
# How bytes of a file's name that are not UTF-8 are written in text: as escapes, such as \udcff.
ESCAPES = "backslashreplace"

_TOKEN_BYTES = 8
_DAY = 24 * 60 * 60
_LEFTOVER = re.compile(rf"\.(.+)\.[0-9a-f]{{{2 * _TOKEN_BYTES}}}\.(tmp|old)")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside ``path`` to write a file to; rename it at the end,
    remove it after an error.
    """
    temporary = _beside(path, "tmp")
    try:
        with naming(path):
            yield temporary
        os.replace(temporary, path)
    finally:
        with suppress(OSError):  # if it could not be written, report that error instead
            temporary.unlink()


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder, as replacing() does. An older one at ``path`` stays in place until
    the new one is complete.
    """
    temporary, older = _beside(path, "tmp"), _beside(path, "old")
    temporary.mkdir(parents=True)
    try:
        with naming(path):
            yield temporary
        try:
            if path.exists():
                os.replace(path, older)
            os.replace(temporary, path)
        except BaseException:
            if older.exists() and not path.exists():
                os.replace(older, path)
            raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if path.exists():  # else the older one could not be put back; remove_leftovers() will do it
            shutil.rmtree(older, ignore_errors=True)


def remove_temporaries(paths: Iterable[Path]) -> None:
    """Remove the temporary files of ``paths`` that processes left.
    Call it only when these processes are dead.
    """
    names: dict[Path, set[str]] = defaultdict(set)
    for path in paths:
        target = Path(os.path.realpath(path))
        names[target.parent].add(target.name)
    for folder, wanted in names.items():
        for path in folder.glob(".*.tmp"):
            match = _LEFTOVER.fullmatch(path.name)
            if match is not None and match[1] in wanted:
                path.unlink(missing_ok=True)


def remove_old_temporaries(folder: Path) -> None:
    """Remove temporary files that no process has written to for a day,
    from a folder that several processes write to.
    """
    for path in folder.glob(".*.tmp"):
        with suppress(OSError):  # another process has renamed or removed it
            if _LEFTOVER.fullmatch(path.name) and path.stat().st_mtime < time.time() - _DAY:
                path.unlink()


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files and folders of dead processes.
    Call it from the only process that writes to the folder.

    An older folder comes back if its process died between moving it away and moving the new one in.
    """
    for path in list(folder.iterdir()):
        match = _LEFTOVER.fullmatch(path.name)
        if match is None:
            continue
        if match[2] == "old" and not (folder / match[1]).exists():
            os.replace(path, folder / match[1])
        elif path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def write_json(path: Path, value: Any) -> None:
    """Write a value as indented JSON with a final newline, atomically.

    Lone surrogates, such as the bytes of a file's name that are not UTF-8, become escapes,
    which JSON reads back.
    """
    text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
    with replacing(path) as temporary:
        temporary.write_bytes(text.encode("utf-8", ESCAPES))


def from_json(text: str | bytes) -> Any:
    """Return the value of JSON.

    Raises:
        OptimalStepError: it is not JSON in UTF-8, or is nested too deeply.
    """
    try:
        return json.loads(text if isinstance(text, str) else text.decode())
    except RecursionError as error:
        raise OptimalStepError("it is nested too deeply") from error
    except ValueError as error:
        raise OptimalStepError(str(error)) from error


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add the file's name to errors that occur while writing; those of a full disk do not have
    it.
    """
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def _beside(path: Path, ending: str) -> Path:
    if not path.name:  # such as . or /
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    return path.with_name(f".{path.name}.{secrets.token_hex(_TOKEN_BYTES)}.{ending}")


class LockedError(Exception):
    """Another process has locked the file; ``holder`` is its process id, or empty."""

    def __init__(self, holder: str) -> None:
        super().__init__(holder)
        self.holder = holder


@contextmanager
def locked(path: Path, *, wait: bool) -> Iterator[None]:
    """Lock a file, which is created if needed, and stays.
    The system unlocks it when the process ends in any way.

    Args:
        path: the file; the process writes its id there.
        wait: whether to wait for another process that has locked it; a warning names that process.

    Raises:
        LockedError: another process has locked it, and ``wait`` is false.
    """
    # loads asyncio, which parsing does not need
    from filelock import lock_descriptor, unlock_descriptor

    with path.open("a+b") as file:
        if not lock_descriptor(file.fileno(), blocking=False):
            file.seek(1)  # on Windows the locked first byte cannot be read
            holder = file.read().decode(errors="replace").strip()
            if not wait:
                raise LockedError(holder)
            log.warning("%s: waiting for process %s", path, holder or "with an unknown id")
            lock_descriptor(file.fileno(), blocking=True)
        try:
            file.truncate(0)
            file.write(b"\n%d\n" % os.getpid())
            file.flush()
            yield
        finally:
            unlock_descriptor(file.fileno())


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file, hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def versions() -> dict[str, str]:
    """Return the versions of Python, this project and its libraries."""
    return {"python": platform.python_version()} | {name: version(name) for name in _DISTRIBUTIONS}
