"""Opening files by name: ``-`` for the standard streams, ``.gz`` and ``.xz`` compressed, anything else as it is."""

from __future__ import annotations

import gzip
import lzma
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedIOBase, BufferedReader
from pathlib import Path
from typing import BinaryIO, cast

from parser.conllu_checks import ConlluError

STANDARD_STREAM = "-"


@contextmanager
def open_input(path: str | Path) -> Iterator[BinaryIO]:
    """Opens a file for reading bytes, uncompressed on the way.

    Raises:
        ConlluError: no such file, no file, not readable, or not compressed as its name says (also while it is read).
    """
    name = str(path)
    try:
        if name == STANDARD_STREAM:
            yield sys.stdin.buffer
            return
        opener = gzip.open if name.endswith(".gz") else lzma.open if name.endswith(".xz") else open
        with cast(BufferedIOBase, opener(name, "rb")) as stream:
            yield cast(BinaryIO, stream if isinstance(stream, BufferedReader) else BufferedReader(stream))
    except FileNotFoundError as error:
        raise ConlluError(f"{name}: there is no such file; check the path") from error
    except IsADirectoryError as error:
        raise ConlluError(f"{name}: this is a folder; name a file in it") from error
    except PermissionError as error:
        raise ConlluError(f"{name}: this file may not be read; check its permissions") from error
    except (EOFError, gzip.BadGzipFile, lzma.LZMAError) as error:
        raise ConlluError(f"{name}: it cannot be uncompressed ({error}); is it damaged, or misnamed?") from error
