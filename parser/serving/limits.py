"""What a client can ask of the server at most: this many bytes and seconds for a request, this many requests and connections at
a time.

Each request is a line of the log, without what was sent in it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

LOG = logging.getLogger(__name__)

# Bytes of a body beyond the limit that are read and let go: a client that is still sending does not see the answer.
_DISCARDED = 64_000_000

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]


@dataclass(frozen=True)
class Limits:
    """Limits of a server.

    Attributes:
        bytes: of the body of a request.
        seconds: from the beginning of a request to its answer.
        requests: that are read or worked on at a time; further ones are refused.
    """

    bytes: int = 1_000_000
    seconds: float = 30.0
    requests: int = 200

    @property
    def connections(self) -> int:
        """Those at a time: some await a request, or are to be told that there are too many."""
        return 4 * self.requests


def closing(protocol: Any, limits: Limits) -> type[asyncio.Protocol]:
    """One of uvicorn's protocols, which keep connections without a request, and their files, for ever; but it closes them.

    A connection that brings no whole head of a request within the limit of seconds, and a quarter more, is closed, and one
    beyond the limit of connections at once.
    """

    class Closing(protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self._idle_since = self.loop.time()
            self._watch = self.loop.call_later(limits.seconds / 4, self._close_idle)
            if len(self.connections) > limits.connections:
                transport.abort()

        def connection_lost(self, error: Exception | None) -> None:
            self._watch.cancel()
            super().connection_lost(error)

        def data_received(self, data: bytes) -> None:
            before = self.cycle
            super().data_received(data)
            if self.cycle is not before:  # a request has begun
                self._idle_since = self.loop.time()

        def _close_idle(self) -> None:
            now = self.loop.time()
            if self.cycle is not None and not self.cycle.response_complete:
                self._idle_since = now
            if now - self._idle_since >= limits.seconds:
                self.transport.close()
            else:
                self._watch = self.loop.call_later(limits.seconds / 4, self._close_idle)

    return Closing


class _RefusedError(Exception):
    def __init__(self, status: int, line: str) -> None:
        super().__init__(line)
        self.status = status


class Limited:
    """An ASGI application within limits: what goes beyond is answered with a status of 4xx and a line of text.

    Args:
        app: the application; it gets the whole body at once.
        limits: the limits.
        root_path: see app.create_app(); paths of requests may begin with it, or it may have been taken off.
    """

    def __init__(self, app: App, limits: Limits, root_path: str = "") -> None:
        self._app = app
        self._root_path = root_path
        self._limits = limits
        self._running = 0

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Answers a request; anything else is left to the application."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if root := self._root_path:
            path = scope["path"]
            scope = {**scope, "root_path": root, "path": path if f"{path}/".startswith(f"{root}/") else root + path}
        status, start = 0, time.monotonic()  # no status: no answer has begun

        async def noting(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        self._running += 1
        try:
            async with asyncio.timeout(self._limits.seconds):
                if self._running > self._limits.requests:
                    raise _RefusedError(429, f"{self._limits.requests} requests are being worked on; try again later")
                body = await self._body(scope, receive)
                await self._app(scope, _replayed(body, receive), noting)
        except TimeoutError:
            if status:
                raise
            seconds = f"{self._limits.seconds:g} seconds"
            await _answer(noting, 408, f"there was no answer within {seconds}; send a shorter document, or try again later")
        except _RefusedError as refused:
            await _answer(noting, refused.status, str(refused))
        finally:
            self._running -= 1
            milliseconds = 1000 * (time.monotonic() - start)
            LOG.info("%s %s %d, %.0f ms", scope.get("method", ""), quote(scope.get("path", "")), status, milliseconds)

    async def _body(self, scope: MutableMapping[str, Any], receive: Receive) -> bytes:
        most = self._limits.bytes
        body, size = bytearray(), 0
        more = True
        while more and size <= most + _DISCARDED:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise _RefusedError(400, "the request ended too early")
            part, more = message.get("body", b""), message.get("more_body", False)
            size += len(part)
            if size <= most:
                body += part
        if size > most:
            raise _RefusedError(413, f"the request has more than {most:,} bytes; send the document in parts")
        return bytes(body)


def _replayed(body: bytes, receive: Receive) -> Receive:
    held: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return held.pop() if held else await receive()

    return replay


async def _answer(send: Send, status: int, line: str) -> None:
    content = f"{line}\n".encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(content)).encode()),
        (b"connection", b"close"),  # the rest of the request is not read
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})
