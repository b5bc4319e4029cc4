"""Files by name: ``-`` for the standard streams, ``.gz`` and ``.xz`` compressed, anything else as it is.

Text that need not be valid UTF-8 travels as ``str`` with ``errors="surrogateescape"``: every byte comes out as it went in.
"""

from __future__ import annotations

import gzip
import lzma
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from pathlib import Path
from typing import BinaryIO, TextIO, cast

from parser.conllu.checks import ConlluError

STANDARD_STREAM = "-"


@contextmanager
def open_input(path: str | Path) -> Iterator[BinaryIO]:
    """Opens a file for reading bytes, uncompressed on the way; standard input stays open afterwards.

    Raises:
        ConlluError: no such file, no file, not readable, or not compressed as its name says (also while it is read).
    """
    name = str(path)
    if name == STANDARD_STREAM:
        yield sys.stdin.buffer
        return
    opener = gzip.open if name.endswith(".gz") else lzma.open if name.endswith(".xz") else open
    try:
        opened = opener(name, "rb")
    except FileNotFoundError as error:
        raise ConlluError(f"{name}: there is no such file; check the path") from error
    except IsADirectoryError as error:
        raise ConlluError(f"{name}: this is a folder; name a file in it") from error
    except PermissionError as error:
        raise ConlluError(f"{name}: this file may not be read; check its permissions") from error
    try:
        with opened as stream:
            yield cast(BinaryIO, stream)
    except (EOFError, gzip.BadGzipFile, lzma.LZMAError) as error:
        raise ConlluError(f"{name}: it cannot be uncompressed ({error}); is it damaged, or misnamed?") from error


@contextmanager
def open_output(path: str | Path) -> Iterator[TextIO]:
    """Opens a file for writing text as it is, line ends included; otherwise as open_binary_output()."""
    with open_binary_output(path) as stream:
        text = TextIOWrapper(stream, encoding="utf-8", errors="surrogateescape", newline="")
        try:
            yield text
        finally:
            text.detach()  # flushes, and leaves the stream open


@contextmanager
def open_binary_output(path: str | Path) -> Iterator[BinaryIO]:
    """Opens a file for writing bytes, compressed on the way; standard output stays open afterwards.

    A file is written under a temporary name beside its own and takes its own name when all is written: after an error there is
    the file that was there before, or none. What is not a plain file (a terminal, a pipe, /dev/null) is written straight.

    Raises:
        ConlluError: the folder does not exist or may not be written.
    """
    name = str(path)
    if name == STANDARD_STREAM:
        try:
            yield sys.stdout.buffer
        finally:
            sys.stdout.buffer.flush()
        return
    target = Path(os.path.realpath(name))
    straight = target.exists() and not target.is_file()
    written = target if straight else target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        raw: BinaryIO = open(written, "wb")  # noqa: SIM115 - closed below, where an error is not one of opening
    except OSError as error:
        raise ConlluError(f"{name}: it cannot be written ({error.strerror}); name a file in a folder that may be") from error
    try:
        with raw, _compressed(raw, name) as stream:
            yield stream
        if not straight:
            if target.exists():
                written.chmod(target.stat().st_mode)
            os.replace(written, target)
    except BaseException:
        if not straight:
            with suppress(OSError):
                written.unlink()
        raise


def _compressed(raw: BinaryIO, name: str) -> BinaryIO:
    if name.endswith(".gz"):
        # No name and no time in the header: the same text gives the same bytes.
        return cast(BinaryIO, gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0))
    return cast(BinaryIO, lzma.open(raw, "wb")) if name.endswith(".xz") else raw
