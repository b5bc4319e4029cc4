"""How files are written, whole or not at all; files that one process at a time holds; what tells one version from another.

A reader, or a run that was killed, never meets half a file: first there is a temporary name, then a rename. Temporary names are
``.NAME.TOKEN.tmp`` and ``.NAME.TOKEN.old``. The token is random: two processes never meet in one name, even where process ids
repeat. What a killed process leaves behind, remove_leftovers() removes.
"""

from __future__ import annotations

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

log = logging.getLogger(__name__)

_PACKAGE = Path(__file__).resolve().parent
# Where configs/, data/ and models/ lie: in a package that is installed, or in a checkout beside it.
HOME = _PACKAGE if (_PACKAGE / "configs").is_dir() else _PACKAGE.parent

_DISTRIBUTIONS = ("optimal-step", "torch", "numpy", "numba", "gensim", "conllu", "hydra-core", "tensorboard", "safetensors")
_TOKEN_BYTES = 8
_DAY = 24 * 60 * 60
_LEFTOVER = re.compile(rf"\.(.+)\.[0-9a-f]{{{2 * _TOKEN_BYTES}}}\.(tmp|old)")


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yields a temporary path beside ``path`` to write a file to; renames it at the end, removes it on an error."""
    temporary = _beside(path, "tmp")
    try:
        with naming(path):
            yield temporary
        os.replace(temporary, path)
    finally:
        with suppress(OSError):  # where it could not be written, that is the error to tell
            temporary.unlink()


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """The same for a folder. An older one at ``path`` stays in place until the new one is whole."""
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
        if path.exists():  # otherwise the older one could not be put back, and remove_leftovers() will
            shutil.rmtree(older, ignore_errors=True)


def remove_temporaries(paths: Iterable[Path]) -> None:
    """Removes the temporary files of dead processes that were to take the places of files. To be called when they are dead."""
    names: dict[Path, set[str]] = defaultdict(set)
    for path in paths:
        target = Path(os.path.realpath(path))
        names[target.parent].add(target.name)
    for folder, wanted in names.items():
        for path in folder.glob(".*.tmp"):
            found = _LEFTOVER.fullmatch(path.name)
            if found is not None and found[1] in wanted:
                path.unlink(missing_ok=True)


def remove_old_temporaries(folder: Path) -> None:
    """Removes the temporary files to which nobody has written for a day, of a folder that several processes write to."""
    for path in folder.glob(".*.tmp"):
        with suppress(OSError):  # another process has renamed or removed it
            if _LEFTOVER.fullmatch(path.name) and path.stat().st_mtime < time.time() - _DAY:
                path.unlink()


def remove_leftovers(folder: Path) -> None:
    """Removes the temporary files and folders of dead processes. To be called by the one process that writes to the folder.

    An older folder comes back if its process died between moving it away and moving the new one in.
    """
    for path in list(folder.iterdir()):
        found = _LEFTOVER.fullmatch(path.name)
        if found is None:
            continue
        if found[2] == "old" and not (folder / found[1]).exists():
            os.replace(path, folder / found[1])
        elif path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def write_json(path: Path, value: Any) -> None:
    """Writes a value as indented JSON, one line at the end, atomically."""
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Lets an error of writing name the file, which those of a full disk do not."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(_TOKEN_BYTES)}.{ending}")


class LockedError(Exception):
    """Another process holds the file; ``holder`` is its number, as it wrote it, or empty."""

    def __init__(self, holder: str) -> None:
        super().__init__(holder)
        self.holder = holder


@contextmanager
def locked(path: Path, *, wait: bool) -> Iterator[None]:
    """Holds a file, which is made if it is not there, and stays. The system frees it when the process ends, however it ends.

    Args:
        path: the file; it then says which process holds it.
        wait: for another process that holds it, with a warning that names it.

    Raises:
        LockedError: another process holds it, and this one is not to wait.
    """
    from filelock import lock_descriptor, unlock_descriptor  # loads asyncio, which parsing does not need

    with path.open("a+b") as file:
        if not lock_descriptor(file.fileno(), blocking=False):
            file.seek(1)  # Windows lets nobody else read the first byte, which is what is locked
            holder = file.read().decode(errors="replace").strip()
            if not wait:
                raise LockedError(holder)
            log.warning("%s: waiting for process %s", path, holder or "of unknown number")
            lock_descriptor(file.fileno(), blocking=True)
        try:
            file.truncate(0)
            file.write(b"\n%d\n" % os.getpid())
            file.flush()
            yield
        finally:
            unlock_descriptor(file.fileno())


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def versions() -> dict[str, str]:
    """Of Python, this project and the libraries under it."""
    return {"python": platform.python_version()} | {name: version(name) for name in _DISTRIBUTIONS}
