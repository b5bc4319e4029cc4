"""Download of a file, whole or not at all, with a check of its SHA-256."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from oracles.errors import OptimalStepError
from parser.storage import replacing, sha256_of

_BLOCK = 1 << 16
_TRIES = 5  # for connections that are cut
_SECONDS = 60  # without a byte


class DownloadError(OptimalStepError):
    """A file could not be fetched; the message says from where, why, and what to do.

    Attributes:
        status: the server's answer, such as 404; None if there was none.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


def download(
    url: str,
    path: Path,
    sha256: str | None = None,
    progress: Callable[[int, int | None], None] = lambda done, total: None,
) -> None:
    """Download a file; if the connection is cut, start again, a few times.

    Args:
        url: http or https.
        path: the target file.
        sha256: the sum that it must have, hexadecimal; None: any.
        progress: called with the bytes received and their total number,
            None if the server does not say.

    Raises:
        DownloadError: it cannot be fetched, or its sum differs.
        OSError: it cannot be written.
    """
    if not url.startswith(("http://", "https://")):
        raise DownloadError(f"{url}: not a URL; give one that begins with https://")
    path.parent.mkdir(parents=True, exist_ok=True)
    reason = ""
    for _ in range(_TRIES):
        try:
            with replacing(path) as temporary:
                _copy(url, temporary, progress)
                if sha256 is not None and (digest := sha256_of(temporary)) != sha256.lower():
                    raise DownloadError(
                        f"{url}: its SHA-256 is {digest}, but {sha256.lower()} was expected; "
                        "try again"
                    )
            return
        except urllib.error.HTTPError as error:
            message = f"{url}: the server says {error.code} {error.reason}; is the address right?"
            raise DownloadError(message, error.code) from error
        except DownloadError:
            raise
        except ValueError as error:  # in the address, or in what the server says
            raise DownloadError(
                f"{url}: it cannot be fetched ({error}); is the address right?"
            ) from error
        except (
            urllib.error.URLError,
            http.client.HTTPException,
            TimeoutError,
            ConnectionError,
        ) as error:
            reason = str(getattr(error, "reason", error)) or type(error).__name__
    raise DownloadError(f"{url}: {reason}; try again")


def _copy(url: str, path: Path, progress: Callable[[int, int | None], None]) -> None:
    with urllib.request.urlopen(url, timeout=_SECONDS) as answer, path.open("wb") as file:
        length, done = answer.headers.get("Content-Length"), 0
        total = None if length is None else int(length)
        while block := answer.read(_BLOCK):
            file.write(block)
            done += len(block)
            progress(done, total)
        if total is not None and done < total:
            raise http.client.HTTPException("the connection was cut")


def shown_in(bar: Any) -> Callable[[int, int | None], None]:
    """Return a function that shows progress in a bar of tqdm."""

    def show(done: int, total: int | None) -> None:
        bar.total = total
        bar.update(done - bar.n)

    return show
