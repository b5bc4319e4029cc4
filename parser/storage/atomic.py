"""Writing so that a reader, or a run that was killed, never meets half a file: first a temporary name, then a rename.

Temporary names are ``.NAME.TOKEN.tmp`` and ``.NAME.TOKEN.old``. The token is random: two processes never meet in one name, even
where process ids repeat. What a killed process leaves behind, remove_leftovers() removes.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

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
