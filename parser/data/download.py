"""Downloads of files, whole or not at all: a cut download is continued, and the SHA-256 is compared.

Beside NAME.part, NAME.part.version keeps the server's ETag or date of the file; only a part of the same version is continued.
"""

from __future__ import annotations

import http.client
import os
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from parser.storage import sha256_of

_BLOCK = 1 << 16
_TRIES = 5  # connections in a row that may be cut without a new byte
_SECONDS = 60  # how long to wait for a byte


class DownloadError(ValueError):
    """A file could not be fetched; the message says from where, why, and what to do.

    Attributes:
        status: the server's status, such as 404; None if it did not answer.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


def download(
    url: str, path: Path, sha256: str | None = None, progress: Callable[[int, int | None], None] = lambda done, total: None
) -> None:
    """Download a file as NAME.part, and rename it when it is complete and its checksum is right.

    Args:
        url: http or https.
        path: the target.
        sha256: the SHA-256 that the file must have, hexadecimal; None: any.
        progress: called with the number of bytes so far and in all; None if the server does not say.

    Raises:
        DownloadError: the file cannot be fetched, or its checksum differs. The part is kept for the next time, unless the
            checksum of the complete file is wrong.
        OSError: the file cannot be written.
    """
    if not url.startswith(("http://", "https://")):
        raise DownloadError(f"{url}: not a URL; give one that begins with https://")
    part, version = (path.with_name(f"{path.name}{ending}") for ending in (".part", ".part.version"))
    path.parent.mkdir(parents=True, exist_ok=True)
    tries = 0
    while True:
        before = part.stat().st_size if part.exists() else 0
        try:
            if _continue(url, part, version, progress):
                break
            reason = "the connection was cut"
        except urllib.error.HTTPError as error:
            if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE and before:
                part.unlink()  # the file on the server has changed
                continue
            message = f"{url}: the server says {error.code} {error.reason}; is the address right?"
            raise DownloadError(message, error.code) from error
        except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
            reason = str(getattr(error, "reason", error)) or type(error).__name__
        tries = 0 if part.exists() and part.stat().st_size > before else tries + 1
        if tries == _TRIES:
            raise DownloadError(f"{url}: {reason}; what was fetched is in {part}; start again to continue")
    version.unlink(missing_ok=True)
    found = sha256_of(part)
    if sha256 is not None and found != sha256.lower():
        part.unlink()
        raise DownloadError(
            f"{url}: its SHA-256 is {found}, but {sha256.lower()} was expected; the file was not kept, try again"
        )
    os.replace(part, path)


def shown_in(bar: Any) -> Callable[[int, int | None], None]:
    """Return a function that shows the progress of a download in a bar of tqdm."""

    def show(done: int, total: int | None) -> None:
        bar.total = total
        bar.update(done - bar.n)

    return show


def _continue(url: str, part: Path, version: Path, progress: Callable[[int, int | None], None]) -> bool:
    """Fetch the missing bytes of a file; return whether it is complete."""
    known = version.read_text(encoding="utf-8") if version.exists() else ""
    done = part.stat().st_size if part.exists() and known else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={done}-", "If-Range": known} if done else {})
    with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
        continued = answer.status == http.client.PARTIAL_CONTENT
        if continued and _version(answer) != known:  # a server that does not know If-Range
            part.unlink()
            return False
        done = done if continued else 0
        length = answer.headers.get("Content-Length")
        total = None if length is None else done + int(length)
        with part.open("ab" if continued else "wb") as file:
            version.write_text(_version(answer), encoding="utf-8", newline="\n")  # now the part has only bytes of this version
            while block := answer.read(_BLOCK):
                file.write(block)
                done += len(block)
                progress(done, total)
        return total is None or done >= total


def _version(answer: http.client.HTTPResponse) -> str:
    """Return the version of a file for If-Range, which takes no weak ETag; empty if the server gives none."""
    tag = answer.headers.get("ETag", "W/")
    return (answer.headers.get("Last-Modified") or "") if tag.startswith("W/") else tag
