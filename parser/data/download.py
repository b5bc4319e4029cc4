"""A file from the network, whole or not at all: what a cut connection left is continued, and its SHA-256 is compared.

Beside NAME.part, NAME.part.version keeps the server's ETag or date of the file; of another version no part is continued.
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
_TRIES = 5  # connections that may be cut, one after the other, without a byte between
_SECONDS = 60  # without a byte


class DownloadError(ValueError):
    """A file could not be fetched; the message says from where, why, and what to do.

    Attributes:
        status: what the server said, such as 404; None where it said nothing.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


def download(
    url: str, path: Path, sha256: str | None = None, progress: Callable[[int, int | None], None] = lambda done, total: None
) -> None:
    """Downloads a file beside its place, NAME.part, and renames it when it is whole and its sum is right.

    Args:
        url: http or https.
        path: where to.
        sha256: the sum that it must have, hexadecimal; None: any.
        progress: called with the bytes that are there and those that there will be, None if the server does not say.

    Raises:
        DownloadError: it cannot be fetched, or its sum differs; what was fetched stays for the next time, unless the sum of
            the whole is wrong.
        OSError: it cannot be written.
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
                part.unlink()  # it is not a part of what is there now
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
    """The progress of a download in a bar of tqdm's."""

    def show(done: int, total: int | None) -> None:
        bar.total = total
        bar.update(done - bar.n)

    return show


def _continue(url: str, part: Path, version: Path, progress: Callable[[int, int | None], None]) -> bool:
    """Get what is missing of a file; return whether it is whole then."""
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
            version.write_text(_version(answer), encoding="utf-8", newline="\n")  # now that nothing of another version is left
            while block := answer.read(_BLOCK):
                file.write(block)
                done += len(block)
                progress(done, total)
        return total is None or done >= total


def _version(answer: http.client.HTTPResponse) -> str:
    """Return what tells a version of a file from others, for If-Range, which takes no weak ETag; empty if there is nothing."""
    tag = answer.headers.get("ETag", "W/")
    return (answer.headers.get("Last-Modified") or "") if tag.startswith("W/") else tag
