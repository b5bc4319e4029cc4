"""Requests that wait while others are worked on are worked on together, next."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

from parser.serving.service import TimedRequest

# Characters of data that are worked on together, or one document if it has more.
_TOGETHER = 500_000

T = TypeVar("T")

Answer = str | ValueError


class Batcher:
    """Gathers jobs for a function that takes many of them, which runs in one thread. Nobody waits for a batch to fill up.

    Args:
        work: answers jobs, in their order.
    """

    def __init__(self, work: Callable[[Sequence[TimedRequest]], Sequence[Answer]]) -> None:
        self._work = work
        self._thread = ThreadPoolExecutor(1, "parser")
        self._waiting: deque[tuple[TimedRequest, asyncio.Future[Answer]]] = deque()
        self._worker: asyncio.Task[None] | None = None
        self.largest = 0

    async def answer(self, job: TimedRequest) -> Answer:
        """The answer to a job; if the caller is cancelled, the job is dropped unless it is being worked on."""
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting.append((job, future))
        if self._worker is None:
            self._worker = asyncio.create_task(self._answer_all())
        return await future

    async def alone(self, work: Callable[[], T]) -> T:
        """What a function returns that is called in the same thread."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def close(self) -> None:
        """Lets the thread end."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _answer_all(self) -> None:
        try:
            while batch := self._next():
                self.largest = max(self.largest, len(batch))
                try:
                    answers = await self.alone(partial(self._work, [job for job, _ in batch]))
                except Exception as error:  # whoever waits must hear of it; it is not their fault
                    for _, future in batch:
                        if not future.done():
                            future.set_exception(RuntimeError(f"the parser failed: {error!r}"))
                    continue
                for (_, future), answer in zip(batch, answers, strict=True):
                    if not future.done():
                        future.set_result(answer)
        finally:
            self._worker = None

    def _next(self) -> list[tuple[TimedRequest, asyncio.Future[Answer]]]:
        batch: list[tuple[TimedRequest, asyncio.Future[Answer]]] = []
        size = 0
        while self._waiting and (not batch or size + len(self._waiting[0][0].request.data) <= _TOGETHER):
            job, future = self._waiting.popleft()
            if not future.done():
                batch.append((job, future))
                size += len(job.request.data)
        return batch
