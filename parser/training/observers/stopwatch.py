"""Wall-clock time by stage of a run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Stopwatch:
    """Adds up seconds by stage in a dictionary that outlives it: that of a checkpoint.

    Attributes:
        seconds: by stage, so far.
        last: seconds of the stage that ended last.
    """

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = seconds
        self.last = 0.0

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """Times what is done under it; stages may lie within each other, and then both count."""
        start = time.perf_counter()
        yield
        self.last = time.perf_counter() - start
        self.seconds[stage] = self.seconds.get(stage, 0.0) + self.last
