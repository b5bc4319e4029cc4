"""Files by name: ``-`` for the standard streams, ``.gz`` and ``.xz`` compressed, anything else as
it is; ``.bz2`` can be read.

Text that may be invalid UTF-8 is a ``str`` with ``errors="surrogateescape"``: every byte is written
as it was read. Errors of opening, reading, writing or closing become a ConlluError that names the
file. Only a closed pipe stays a BrokenPipeError, which commands do not report.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO, cast

from parser.conllu.checks import STANDARD_STREAM, ConlluError
from parser.conllu.formats import foreign_file
from parser.storage import replacing

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

# The function that opens a file for reading, by the ending of its name.
COMPRESSED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
# Names of descriptors that this process has open.
_DESCRIPTOR = re.compile("/dev/(stdout|stderr)|(?:/dev|/proc/self)/fd/([0-9]{1,9})")
_STREAMS = {"stdout": 1, "stderr": 2}
# Endings of compressions that are not written here.
_OTHER_COMPRESSIONS = (".bz2", ".zst", ".zip", ".lzma", ".7z", ".Z")


def ending_of(path: str | Path) -> str:
    """Return the ending of a file's name in lower case, such as ``.json``;
    an ending that names a compression is left out.
    """
    return Path(str(path).removesuffix(".gz").removesuffix(".xz")).suffix.lower()


@contextmanager
def open_input(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file for reading uncompressed bytes; standard input stays open afterwards.

    If a person types the input, standard error says how to end it.

    Raises:
        ConlluError: no such file, a folder, not readable,
            or not compressed as its name says (also while it is read).
    """
    name = str(path)
    if name == STANDARD_STREAM:
        if sys.stdin is None:
            raise ConlluError(
                "standard input is closed; name a file, or give the text through a pipe"
            )
        if is_terminal(sys.stdin):
            end = "Ctrl-Z and Enter" if os.name == "nt" else "Ctrl-D"
            print(
                f"reading from the terminal: type or paste the input; {end} on a new line ends it",
                file=sys.stderr,
                flush=True,
            )
        with io.BufferedReader(_Source(sys.stdin.buffer, "standard input")) as stream:
            yield stream
        return
    _check_name(name)
    opener = COMPRESSED.get(Path(name).suffix, open)
    try:
        opened = cast(BinaryIO, opener(name, "rb"))
        empty = Path(name).is_file() and Path(name).stat().st_size == 0
    except FileNotFoundError as error:
        raise ConlluError(f"{name}: there is no such file; check the path") from error
    except (IsADirectoryError, PermissionError) as error:
        if Path(name).is_dir():  # Windows gives no permission to read a folder
            raise ConlluError(f"{name}: this is a folder; name a file in it") from error
        raise ConlluError(
            f"{name}: permission to read this file is denied; check its permissions"
        ) from error
    except OSError as error:
        raise ConlluError(
            f"{name}: it cannot be opened ({error.strerror}); check the path"
        ) from error
    with opened:
        if opener in (gzip.open, bz2.open) and empty:  # these two accept an empty file
            raise ConlluError(f"{name}: it cannot be uncompressed (it is empty); is it damaged?")
        with io.BufferedReader(_Source(opened, name)) as stream:
            yield stream


def is_terminal(stream: TextIO | None) -> bool:
    """Return whether a standard stream is there, and is a terminal."""
    return stream is not None and stream.isatty()


def share_read(stream: BinaryIO) -> float | None:
    """Return the share of a file from open_input() that has been read, 0 to 1;
    None if its size is not known, as of a pipe.

    For a compressed file, it is the share of its compressed bytes.
    """
    source = getattr(stream, "raw", None)
    return source.share_read() if isinstance(source, _Source) else None


@contextmanager
def open_output(path: str | Path) -> Iterator[TextIO]:
    """Open a file for writing text with unchanged line ends; otherwise as open_binary_output()."""
    with open_binary_output(path) as stream:
        text = io.TextIOWrapper(stream, encoding="utf-8", errors="surrogateescape", newline="")
        try:
            yield text
        finally:
            text.detach()  # flushes, and leaves the stream open


def is_written_straight(path: str | Path) -> bool:
    """Return whether open_binary_output() writes to this place directly,
    rather than to a temporary file that it renames at the end.
    """
    name = str(path)
    is_open = name == STANDARD_STREAM or _DESCRIPTOR.fullmatch(name) is not None
    return is_open or (os.path.exists(name) and not os.path.isfile(name))


@contextmanager
def open_binary_output(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file for writing bytes, compressed if its name says so;
    standard output stays open afterwards.

    A file is written under a temporary name beside its own, and renamed when it is complete: after
    an error, the old file is unchanged. What is not a plain file (a terminal, a pipe, /dev/null),
    and what the shell has opened (/dev/stdout), is written directly. To read and write the same
    file, open it for reading inside this context, so that it is closed before the context ends:
    Windows does not rename a file over an open one.

    Raises:
        ConlluError: the file cannot be written (also while it is written).
    """
    name = str(path)
    if name == STANDARD_STREAM:
        if sys.stdout is None:
            raise ConlluError("standard output is closed; name a file with -o")
        with io.BufferedWriter(
            _Target(sys.stdout.buffer, "standard output", owned=False)
        ) as stream:
            yield cast(BinaryIO, stream)
        return
    _check_name(name)
    if name.endswith(_OTHER_COMPRESSIONS):
        raise ConlluError(
            f"{name}: the only compressed formats written are .gz and .xz; choose another name"
        )
    with _cannot_be_written(name):
        descriptor = _DESCRIPTOR.fullmatch(name)
        straight = is_written_straight(name)
        target = Path(os.path.realpath(name))
    if straight:
        # Copy a descriptor: opened by its name, a file would be written from its beginning,
        # even if the shell appends.
        with _cannot_be_written(name):
            opened = (
                name
                if descriptor is None
                else os.dup(_STREAMS.get(descriptor[1]) or int(descriptor[2]))
            )
        with _opened_for_writing(opened, name) as stream:
            yield stream
        return
    whole = False
    try:
        with replacing(target) as temporary:
            with _opened_for_writing(temporary, name) as stream:
                yield stream
            whole = True
            if target.exists():
                temporary.chmod(target.stat().st_mode)
    except OSError as error:
        if not whole:
            raise
        raise _not_written(name, error) from error


@contextmanager
def _opened_for_writing(path: str | Path | int, name: str) -> Iterator[BinaryIO]:
    with _cannot_be_written(name):
        opened = open(path, "wb", buffering=0)  # noqa: SIM115 - _Target closes it
    with (
        io.BufferedWriter(_Target(opened, name)) as plain,
        _compressed(cast(BinaryIO, plain), name) as stream,
    ):
        yield stream


def _compressed(plain: BinaryIO, name: str) -> BinaryIO:
    if name.endswith(".gz"):
        # No name and no time in the header: the same text gives the same bytes.
        return cast(BinaryIO, gzip.GzipFile(filename="", mode="wb", fileobj=plain, mtime=0))
    return cast(BinaryIO, lzma.open(plain, "wb")) if name.endswith(".xz") else plain


def _check_name(name: str) -> None:
    """Refuse a name that no file can have, for which Python raises another error than for a missing
    file.
    """
    try:
        os.fsencode(name)
    except UnicodeEncodeError as error:
        raise ConlluError(
            f"{name!r}: no file can have this name ({error.reason}); choose another name"
        ) from error
    if "\0" in name:
        raise ConlluError(
            f"{name!r}: no file can have this name (it has a null character); choose another name"
        )


class _Source(io.RawIOBase):
    """A file whose errors become ConlluErrors. Closing it leaves the file open."""

    def __init__(self, opened: BinaryIO, name: str) -> None:
        self._opened = opened
        self._name = name
        self._at_start, self._at_end = True, False

    def readable(self) -> bool:
        return True

    def share_read(self) -> float | None:
        try:
            status = os.fstat(self._opened.fileno())
            position = os.lseek(self._opened.fileno(), 0, os.SEEK_CUR)
        except (AttributeError, OSError):
            return None
        return (
            min(1.0, position / status.st_size)
            if stat.S_ISREG(status.st_mode) and status.st_size
            else None
        )

    def readinto(self, buffer: WriteableBuffer) -> int:
        if self._at_end:  # a terminal would continue to read until the end is typed again
            return 0
        view = memoryview(buffer).cast("B")
        try:
            content = cast(io.BufferedReader, self._opened).read1(len(view))
        except (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
            raise ConlluError(
                f"{self._name}: it cannot be uncompressed ({error}); is it damaged, or misnamed?"
            ) from error
        except OSError as error:
            if error.errno is None:  # from bz2, which has no exception class of its own
                raise ConlluError(
                    f"{self._name}: it cannot be uncompressed ({error}); is it damaged, "
                    "or misnamed?"
                ) from error
            raise ConlluError(
                f"{self._name}: it cannot be read ({error.strerror}); copy it to another place"
            ) from error
        if self._at_start:
            self._at_start = False
            if described := foreign_file(content):
                raise ConlluError(f"{self._name}: this is {described}")
        view[: len(content)] = content
        self._at_end = not content
        return len(content)


class _Target(io.RawIOBase):
    """A file whose errors become ConlluErrors. Closing it closes the file if it is ``owned``."""

    def __init__(self, opened: io.RawIOBase | BinaryIO, name: str, owned: bool = True) -> None:
        self._opened = opened
        self._name = name
        self._owned = owned

    def writable(self) -> bool:
        return True

    def write(self, content: ReadableBuffer) -> int | None:
        with _cannot_be_written(self._name):
            return self._opened.write(content)

    def flush(self) -> None:
        if not self.closed:
            with _cannot_be_written(self._name):
                self._opened.flush()

    def close(self) -> None:
        if not self.closed:
            try:
                self.flush()
            finally:
                super().close()
                if self._owned:
                    with _cannot_be_written(self._name):
                        self._opened.close()


@contextmanager
def _cannot_be_written(name: str) -> Iterator[None]:
    """Turn errors of writing into ConlluErrors, except a closed pipe."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise _not_written(name, error) from error


def _not_written(name: str, error: OSError) -> ConlluError:
    return ConlluError(
        f"{name}: it cannot be written ({error.strerror}); name a file in a writable folder, "
        "on a disk with free space"
    )
