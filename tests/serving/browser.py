"""Chromium, used as a person would: through pipes, by its protocol
(https://chromedevtools.github.io/devtools-protocol/).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from base64 import b64decode
from collections.abc import Sequence
from pathlib import Path
from select import select
from typing import Any

import pytest

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "google-chrome", "chromium-browser"))), None
)
OPTIONS = ["--headless", "--no-sandbox", "--disable-gpu"]
in_browser = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium")

_LONGEST = 300  # seconds without a message, after which it hangs

# Chromium reads commands from file descriptor 3, and writes answers and events to 4.
_START = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); "
    "os.execv(sys.argv[3], sys.argv[3:])"
)


def browser(folder: Path, size: str) -> Browser:
    """Return a browser with a window of this size, WIDTH,HEIGHT; its profile is in the folder."""
    return Browser(
        [str(BROWSER), *OPTIONS, f"--user-data-dir={folder / 'profile'}", f"--window-size={size}"]
    )


class Browser:
    """One page of a browser that a command starts; a context manager."""

    def __init__(self, command: Sequence[str]) -> None:
        theirs, self._write = os.pipe()
        self._read, answers = os.pipe()
        start = [
            sys.executable,
            "-c",
            _START,
            str(theirs),
            str(answers),
            *command,
            "--remote-debugging-pipe",
        ]
        self._process = subprocess.Popen(
            start, pass_fds=(theirs, answers), stderr=subprocess.DEVNULL
        )
        os.close(theirs)
        os.close(answers)
        self._held = b""
        self._events: list[str] = []
        self._sent = 0
        self._session: str | None = None
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        self.send("Page.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._write)  # which ends it
        self._process.wait()
        os.close(self._read)

    def send(self, method: str, **parameters: Any) -> Any:
        """Call a method; return its result."""
        self._sent += 1
        message = {"id": self._sent, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._sent:
            self._events.append(answer.get("method", ""))
        assert "error" not in answer, answer
        return answer["result"]

    def wait(self, event: str) -> None:
        """Wait for an event, which may have come meanwhile; those before it are forgotten."""
        while event not in self._events:
            self._events.append(self._next().get("method", ""))
        del self._events[: self._events.index(event) + 1]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._held:
            assert select([self._read], [], [], _LONGEST)[0], "the browser says nothing"
            block = os.read(self._read, 2**16)
            assert block, "the browser has ended"
            self._held += block
        message, _, self._held = self._held.partition(b"\0")
        found: dict[str, Any] = json.loads(message)
        return found

    def go(self, address: str) -> None:
        self.send("Page.navigate", url=address)
        self.wait("Page.loadEventFired")

    def value(self, script: str) -> Any:
        """Return what an expression of JavaScript comes to;
        of a promise, what it is fulfilled with.
        """
        result = self.send(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def drag(self, start: Sequence[float], end: Sequence[float]) -> None:
        """Drags with the mouse from one place of the window to another; in pixels."""
        for kind, (x, y), buttons in (
            ("mouseMoved", start, 0),
            ("mousePressed", start, 1),
            ("mouseMoved", end, 1),
            ("mouseReleased", end, 0),
        ):
            self.send(
                "Input.dispatchMouseEvent",
                type=kind,
                x=x,
                y=y,
                button="left",
                buttons=buttons,
                clickCount=1,
            )

    def picture(self, file: Path) -> None:
        file.write_bytes(b64decode(self.send("Page.captureScreenshot")["data"]))
