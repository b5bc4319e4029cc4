"""What several threads share: a thing that is made once, and items that are worked on side by side."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from threading import Barrier, Lock
from typing import Generic, TypeVar

Made = TypeVar("Made")


class Lazy(Generic[Made]):
    """Made once, by the thread that is the first to begin.

    Args:
        make: makes it; what it raises, get() raises.
    """

    def __init__(self, make: Callable[[], Made]) -> None:
        self._make = make
        self._begun = Lock()  # never released
        self._made: Future[Made] = Future()

    def begin(self) -> None:
        """Builds it once; does not block if another thread is building it. Errors are kept for get()."""
        if self._begun.acquire(blocking=False):
            try:
                made = self._make()
            except BaseException as error:
                self._made.set_exception(error)
                if not isinstance(error, Exception):  # an interrupt
                    raise
            else:
                self._made.set_result(made)

    def get(self) -> Made:
        """Waits until it is made."""
        self.begin()
        return self._made.result()


Item = TypeVar("Item")
Result = TypeVar("Result")

# Items begun, or done and not yet asked for, per thread: enough to keep all threads busy while one item takes longer.
_AHEAD = 3


def parallel_map(function: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[tuple[Item, Result]]:
    """Yields every item with what the function makes of it, in the order of the items; with one thread, without any other.

    Memory is that of a few items per thread. An error, of the function or of the items, is raised where its item would come,
    after all results before it, whatever the number of threads.
    """
    if threads == 1:
        for item in items:
            yield item, function(item)
        return
    waiting: deque[tuple[Item, Future[Result]]] = deque()
    reader = iter(items)
    failure: Exception | None = None
    with ThreadPoolExecutor(threads) as pool:
        all_there = Barrier(threads)
        try:
            # All begin now: a thread that begins while another one runs Python code waits for it several times.
            wait([pool.submit(all_there.wait) for _ in range(threads)])
            reading = True
            while reading or waiting:
                if reading and len(waiting) < _AHEAD * threads:
                    try:
                        item = next(reader)
                    except StopIteration:
                        reading = False
                    except Exception as error:
                        reading, failure = False, error
                    else:
                        waiting.append((item, pool.submit(function, item)))
                else:
                    item, future = waiting.popleft()
                    yield item, future.result()
        finally:
            all_there.abort()  # those that wait, if not all could begin
            for _, future in waiting:
                future.cancel()
    if failure is not None:
        raise failure
