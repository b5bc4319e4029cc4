"""The web application: /process and /models as in UDPipe's REST service, the page at /,
and /health for monitoring.

Limits hold for the bytes and seconds of a request, and for the number of requests and connections
at a time. The log has a line for each request, without its content.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar
from urllib.parse import parse_qsl, quote

from fastapi import FastAPI
from fastapi import Request as HttpRequest
from fastapi.middleware.cors import CORSMiddleware
from fastapi.responses import HTMLResponse, PlainTextResponse, Response
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from oracles.errors import OptimalStepError
from parser import batch_sizes, failures
from parser.serving.page import HEADERS, error_part, example, form_page, page_request, result_parts
from parser.serving.service import Request, RequestError, Service, TooLateError

LOG = logging.getLogger(__name__)

# How many bytes beyond the limit of a body are read and discarded, because a client that is still
# sending does not see the answer.
_DISCARDED = 64_000_000

T = TypeVar("T")

Answer = str | Exception


@dataclass(frozen=True)
class Limits:
    """Limits of a server.

    Attributes:
        bytes: the most bytes of the body of a request.
        seconds: the most seconds from the beginning of a request to its answer.
        requests: how many requests are read or worked on at a time; further ones are refused.
    """

    bytes: int = 1_000_000
    seconds: float = 30.0
    requests: int = 200


def closing(protocol: Any, limits: Limits) -> type[asyncio.Protocol]:
    """Return a class of uvicorn's protocol that closes idle connections, which uvicorn would keep
    forever.

    A connection is closed if it sends no complete head of a request within 1.25 times the limit of
    seconds. A connection beyond four times the limit of requests is closed at once.
    """

    class Closing(protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            self._idle_since = self.loop.time()
            self._watch = self.loop.call_later(limits.seconds / 4, self._close_idle)
            # more than the requests: some are idle, others will be refused
            if len(self.connections) > 4 * limits.requests:
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


class Limited:
    """An ASGI application within limits; requests beyond them get a status of 4xx and a line of
    text.

    Args:
        app: the application; it gets the whole body at once.
        limits: the limits.
        root_path: see create_app(); paths of requests may have it at their beginning,
            or a proxy may have removed it.
    """

    def __init__(self, app: ASGIApp, limits: Limits, root_path: str = "") -> None:
        self._app = app
        self._root_path = root_path
        self._limits = limits
        self._running = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer an HTTP request; pass everything else on to the application."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if root := self._root_path:
            path = scope["path"]
            scope = {
                **scope,
                "root_path": root,
                "path": path if f"{path}/".startswith(f"{root}/") else root + path,
            }
        status, start = 0, time.monotonic()  # no status: no answer has begun

        async def noting(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        async def answer(status: int, line: str) -> None:  # the rest of the request is not read
            refusal = PlainTextResponse(f"{line}\n", status, {"connection": "close"})
            await refusal(scope, receive, noting)

        self._running += 1
        try:
            async with asyncio.timeout(self._limits.seconds):
                if self._running > self._limits.requests:
                    raise HTTPException(
                        429,
                        f"{self._limits.requests} requests are being worked on; try again later",
                    )
                body = await self._body(scope, receive)
                await self._app(scope, _replayed(body, receive), noting)
        except TimeoutError:
            if status:
                raise
            seconds = f"{self._limits.seconds:g} seconds"
            await answer(
                408,
                f"there was no answer within {seconds}; send a shorter document, "
                "or try again later",
            )
        except HTTPException as refused:
            await answer(refused.status_code, refused.detail)
        finally:
            self._running -= 1
            milliseconds = 1000 * (time.monotonic() - start)
            LOG.info(
                "%s %s %d, %.0f ms",
                scope.get("method", ""),
                quote(scope.get("path", "")),
                status,
                milliseconds,
            )

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        most = self._limits.bytes
        body, size = bytearray(), 0
        more = True
        while more and size <= most + _DISCARDED:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise HTTPException(400, "the request ended too early")
            part, more = message.get("body", b""), message.get("more_body", False)
            size += len(part)
            if size <= most:
                body += part
        if size > most:
            raise HTTPException(
                413, f"the request has more than {most:,} bytes; send the document in parts"
            )
        return bytes(body)


def _replayed(body: bytes, receive: Receive) -> Receive:
    held: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return held.pop() if held else await receive()

    return replay


class Batcher:
    """Collects jobs into batches for a function that runs in one thread.
    A batch starts as soon as the thread is free.

    Args:
        work: answers jobs, in their order.
    """

    def __init__(self, work: Callable[[Sequence[Request]], Sequence[Answer]]) -> None:
        self._work = work
        self._thread = ThreadPoolExecutor(1, "parser")
        self._waiting: deque[tuple[Request, asyncio.Future[Answer]]] = deque()
        self._worker: asyncio.Task[None] | None = None

    async def answer(self, job: Request) -> Answer:
        """Return the answer to a job; if the caller is cancelled, the job is dropped unless it is
        already being worked on.
        """
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((job, future))
        if self._worker is None:
            self._worker = asyncio.create_task(self._answer_all())
        return await future

    async def alone(self, work: Callable[[], T]) -> T:
        """Call a function in the same thread, and return its result."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def close(self) -> None:
        """Let the thread end."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _answer_all(self) -> None:
        try:
            while batch := self._next():
                try:
                    answers = await self.alone(partial(self._work, [job for job, _ in batch]))
                except Exception as error:
                    # a fault of the parser, about which every waiting caller is told
                    for _, future in batch:
                        if not future.done():
                            future.set_exception(_fault(error))
                    continue
                for (_, future), answer in zip(batch, answers, strict=True):
                    if not future.done():
                        future.set_result(answer)
        finally:
            self._worker = None

    def _next(self) -> list[tuple[Request, asyncio.Future[Answer]]]:
        batch: list[tuple[Request, asyncio.Future[Answer]]] = []
        size = 0
        while self._waiting and (
            not batch or size + len(self._waiting[0][0].data) <= batch_sizes.CHARACTERS_PER_ANSWER
        ):
            job, future = self._waiting.popleft()
            if not future.done():
                batch.append((job, future))
                size += len(job.data)
        return batch


def _fault(error: Exception) -> RuntimeError:
    """Return a new error for each caller, since an error that is raised collects the caller's
    frames.
    """
    fault = RuntimeError(f"the parser failed: {failures.named(error)}")
    fault.__cause__ = error
    return fault


_METHODS = ["GET", "HEAD", "POST"]

# Fields of a form; UDPipe's interface has seven.
_FIELDS = 16

# The reader of forms would pass this to Python's codecs, some of which take minutes.
_CHARSET = re.compile(r"charset([^;]*)", re.IGNORECASE)
_UTF8 = ("=utf-8", '="utf-8"', "=utf8", '="utf8"')


def create_app(
    service: Service, limits: Limits | None = None, root_path: str = ""
) -> CORSMiddleware:
    """Return an ASGI application around a service.

    Args:
        service: the model at work.
        limits: the limits of requests.
        root_path: the path under which a proxy serves the application, such as ``/parser``;
            "" for the root.
    """
    limits = limits or Limits()
    batcher = Batcher(service.answers)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        batcher.close()

    # FastAPI's documentation pages would load scripts from the network.
    app = FastAPI(
        title=service.name, docs_url=None, redoc_url=None, openapi_url=None, lifespan=lifespan
    )

    async def answer_to(request: Request) -> str:
        answer = await batcher.answer(replace(request, deadline=time.monotonic() + limits.seconds))
        if isinstance(answer, Exception):
            raise answer if isinstance(answer, OptimalStepError) else _fault(answer)
        return answer

    async def models() -> Response:
        return _json({"models": {service.name: service.steps}, "default_model": service.name})

    async def health() -> Response:
        return _json({"status": "ok", "model": service.name})

    async def options() -> Response:
        return Response(status_code=204, headers={"Allow": ", ".join([*_METHODS, "OPTIONS"])})

    async def process(http: HttpRequest) -> Response:
        answer = await answer_to(Request.of(await _fields(http, limits)))
        return _json({"model": service.name, "acknowledgements": [], "result": answer})

    async def page(http: HttpRequest) -> Response:
        fields: dict[str, str] = {}
        try:
            fields = await _fields(http, limits)
            if "example" in fields:
                fields = example(service)
            if "data" not in fields:
                return HTMLResponse(form_page(service, fields), headers=HEADERS)
            request = page_request(service, fields)
            answer = await answer_to(request)
            if "download" in fields:
                name = f"attachment; filename*=UTF-8''{quote(service.name, safe='')}.conllu"
                return PlainTextResponse(answer, headers={"Content-Disposition": name})
            parts = await batcher.alone(lambda: result_parts(service, answer, request.corrections))
            status = 200
        except OptimalStepError as error:
            parts, status = [error_part(error)], _status(error)
        return HTMLResponse(form_page(service, fields, parts), status, headers=HEADERS)

    async def refused(http: HttpRequest, error: Exception) -> Response:
        return PlainTextResponse(f"{error}\n", _status(error))

    # after this, the server logs the traceback
    async def failed(http: HttpRequest, error: Exception) -> Response:
        LOG.error(
            "this is a fault of optimal-step, not of the request; please report it, "
            "with the lines below"
        )
        return PlainTextResponse(
            "the server failed on this; its log says why, and asks to report it\n", 500
        )

    async def not_there(http: HttpRequest, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        line = (
            "only /, /health, /models and /process exist"
            if error.status_code == 404
            else str(error.detail)
        )
        return PlainTextResponse(f"{line}\n", error.status_code, error.headers)

    app.add_api_route("/health", health, methods=["GET", "HEAD"])
    for path, endpoint in (("/models", models), ("/process", process), ("/", page)):
        app.add_api_route(path, endpoint, methods=_METHODS)
        app.add_api_route(path, options, methods=["OPTIONS"])
    app.add_exception_handler(OptimalStepError, refused)
    app.add_exception_handler(Exception, failed)
    app.add_exception_handler(HTTPException, not_there)
    # Pages of any origin may send requests and read answers, as with UDPipe's service: nothing is
    # kept, and there are no users.
    limited = Limited(app, limits, root_path)
    return CORSMiddleware(
        limited, allow_origins=["*"], allow_methods=[*_METHODS, "OPTIONS"], allow_headers=["*"]
    )


def _status(error: Exception) -> int:
    if failures.has_traceback(error):
        LOG.info("refused", exc_info=error)
    return 408 if isinstance(error, TooLateError) else 400


def _json(content: dict[str, object]) -> Response:
    return Response(
        json.dumps(content, indent=1, ensure_ascii=False), media_type="application/json"
    )


async def _fields(http: HttpRequest, limits: Limits) -> dict[str, str]:
    """Return the parameters in the address and the body of a request;
    an uploaded file counts as a field.

    Raises:
        RequestError: the parameters cannot be read.
    """
    fields = _decoded(http.url.query)
    if http.method != "POST":
        return fields
    body = await http.body()
    content_type = http.headers.get("content-type", "")
    kind = content_type.partition(";")[0].strip().lower()
    if any(named.strip().lower() not in _UTF8 for named in _CHARSET.findall(content_type)):
        raise RequestError(
            "Content-Type names a charset other than UTF-8; convert the request to UTF-8"
        )
    try:
        content = body.decode()
    except UnicodeDecodeError as error:
        raise RequestError(
            f"the request is not UTF-8 at byte {error.start:,} ({error.reason}); convert it"
        ) from None
    if kind == "application/x-www-form-urlencoded":
        return fields | _decoded(content)
    if kind == "multipart/form-data":
        try:
            async with http.form(
                max_files=_FIELDS, max_fields=_FIELDS, max_part_size=limits.bytes
            ) as form:
                for name, value in form.items():
                    fields[name] = (
                        (await value.read()).decode() if isinstance(value, UploadFile) else value
                    )
        except HTTPException as error:
            raise RequestError(f"the multipart form cannot be read: {error.detail}") from None
        return fields
    if not body:
        return fields
    raise RequestError(
        "send a form: Content-Type application/x-www-form-urlencoded or multipart/form-data"
    )


def _decoded(encoded: str) -> dict[str, str]:
    try:
        return dict(
            parse_qsl(encoded, keep_blank_values=True, errors="strict", max_num_fields=_FIELDS)
        )
    except ValueError as error:  # UnicodeDecodeError is one
        raise RequestError(f"the parameters cannot be read: {error}") from None
