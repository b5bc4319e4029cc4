"""Connections of clients that do not ask for anything, or too slowly: uvicorn itself keeps them, and their files, for ever."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.auto import AutoHTTPProtocol

# Typed as what it may be, one of two classes.
_Protocol: Any = AutoHTTPProtocol


def closing_protocol(seconds: float, most: int) -> type[asyncio.Protocol]:
    """uvicorn's protocol, but for connections that it closes.

    Args:
        seconds: those that bring no whole head of a request for so long are closed, within a quarter more.
        most: connections at a time; further ones are closed at once.
    """

    class Closing(_Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self._idle_since = self.loop.time()
            self._watch = self.loop.call_later(seconds / 4, self._close_idle)
            if len(self.connections) > most:
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
            if now - self._idle_since >= seconds:
                self.transport.close()
            else:
                self._watch = self.loop.call_later(seconds / 4, self._close_idle)

    return Closing
