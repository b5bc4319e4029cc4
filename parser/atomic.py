"""Writing so that a reader, or a run that was killed, never meets half a file: first a temporary name, then a rename."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yields a temporary path beside ``path`` to write a file to; renames it at the end, removes it upon an error."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """The same for a folder. An older one at ``path`` stays in place until the new one is whole."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    older = path.with_name(f".{path.name}.{os.getpid()}.old")
    temporary.mkdir(parents=True)
    try:
        yield temporary
        if path.exists():
            os.replace(path, older)
        os.replace(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        shutil.rmtree(older, ignore_errors=True)


def write_json(path: Path, value: Any) -> None:
    """Writes a value as indented JSON, one line at the end, atomically."""
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
