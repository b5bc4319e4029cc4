"""Jobs that wait are worked on together; limits of requests."""

from __future__ import annotations

import asyncio
from threading import Event

import pytest

from parser.serving.app import Batcher, Limited, Limits
from parser.serving.service import Request


def jobs(n: int, data: str = "a") -> list[Request]:
    return [Request(f"{data}{i}") for i in range(n)]


def test_those_that_wait_are_worked_on_together():
    batches, free = [], Event()

    def work(batch):
        free.wait()
        batches.append([job.data for job in batch])
        return [job.data.upper() for job in batch]

    async def ask():
        batcher = Batcher(work)
        asked = [asyncio.create_task(batcher.answer(job)) for job in jobs(5)]
        await asyncio.sleep(0)  # the first batch has begun, with all that was there
        asked += [asyncio.create_task(batcher.answer(job)) for job in jobs(4, "b")]
        await asyncio.sleep(0)
        asked[6].cancel()
        free.set()
        answers = await asyncio.gather(*asked, return_exceptions=True)
        batcher.close()
        return answers

    answers = asyncio.run(ask())
    assert answers[:6] + answers[7:] == ["A0", "A1", "A2", "A3", "A4", "B0", "B2", "B3"]
    assert isinstance(answers[6], asyncio.CancelledError)
    assert sorted(data for batch in batches for data in batch) == ["a0", "a1", "a2", "a3", "a4", "b0", "b2", "b3"]
    assert len(batches) == 2


def test_large_ones_are_worked_on_alone():
    sizes = []

    def work(batch):
        sizes.append(len(batch))
        return ["" for _ in batch]

    async def ask():
        batcher = Batcher(work)
        await asyncio.gather(*(batcher.answer(job) for job in jobs(3, "a" * 400_000)))

    asyncio.run(ask())
    assert sizes == [1, 1, 1]


def test_a_failure_is_told_to_all_and_ends_nothing():
    failing = iter([True, False])

    def work(batch):
        if next(failing):
            raise KeyError("a mistake")
        return ["right" for _ in batch]

    async def ask():
        batcher = Batcher(work)
        with pytest.raises(RuntimeError, match="a mistake"):
            await batcher.answer(*jobs(1))
        return await batcher.answer(*jobs(1))

    assert asyncio.run(ask()) == "right"


def answered(limits: Limits, bodies: list[list[bytes]], waits: bool = False) -> list[tuple[int, bytes]]:
    """Statuses and contents of the answers to requests that come at the same time; ``waits``: none is ever answered."""

    async def app(scope, receive, send):
        message = await receive()
        if waits:
            await asyncio.Event().wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": message["body"]})

    limited = Limited(app, limits)

    async def ask(body: list[bytes]) -> tuple[int, bytes]:
        parts = [{"type": "http.request", "body": part, "more_body": True} for part in body]
        parts.append({"type": "http.request", "body": b"", "more_body": False})
        sent: list = []

        async def receive():
            await asyncio.sleep(0)
            return parts.pop(0)

        async def send(message):
            sent.append(message)

        await limited({"type": "http", "headers": []}, receive, send)
        return sent[0]["status"], sent[1]["body"]

    async def ask_all():
        return await asyncio.gather(*map(ask, bodies))

    return asyncio.run(ask_all())


def test_too_many_bytes_and_too_many_requests():
    assert answered(Limits(bytes=4), [[b"ab", b"cd"]]) == [(200, b"abcd")]
    assert answered(Limits(bytes=4), [[b"ab", b"cd", b"e"]]) == [
        (413, b"the request has more than 4 bytes; send the document in parts\n")
    ]
    # What a client is still sending is read to its end, else it would not see the answer; but none of it is held.
    assert answered(Limits(bytes=4), [[b"abcde"] * 9])[0][0] == 413
    first, second, third = answered(Limits(requests=2), [[b"a"], [b"b"], [b"c"]])
    assert (first, second) == ((200, b"a"), (200, b"b"))
    assert third == (429, b"2 requests are being worked on; try again later\n")


def test_too_many_seconds():
    found = answered(Limits(seconds=0.01), [[b"a"]], waits=True)
    assert found == [(408, b"there was no answer within 0.01 seconds; send a shorter document, or try again later\n")]
