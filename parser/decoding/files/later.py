"""Something that takes a while to make, made by one thread while others do what they can without it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Lock
from typing import Generic, TypeVar

Made = TypeVar("Made")


class Later(Generic[Made]):
    """Made once, by the thread that is the first to begin.

    Args:
        make: makes it; what it raises, get() raises.
    """

    def __init__(self, make: Callable[[], Made]) -> None:
        self._make = make
        self._begun = Lock()  # never released
        self._made: Future[Made] = Future()

    def begin(self) -> None:
        """Makes it, unless another thread does or has done so: does not wait for that one. Errors are kept for get()."""
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
