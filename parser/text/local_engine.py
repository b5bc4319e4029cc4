"""Parsing of many files by several processes on this machine; each process loads the model once.

A process works on one file at a time. When a process dies, for example because memory ran out, the
files in progress are tried again, one at a time; a file at which a process dies again is given up,
and named. Then the remaining files are parsed side by side. Ctrl-C, or whatever else stops this
process, ends all of its processes at once; files in progress leave nothing behind.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from parser.decoding.parse_options import ParseOptions
from parser.text.shards import Outcome, Shard, remove_half_files
from parser.text.worker import Work, begin_child, begin_parser, parse_in_child


def parse_shards(
    model_folder: Path,
    shards: Sequence[Shard],
    options: ParseOptions,
    workers: int,
    work: Work = begin_parser,
) -> Generator[Outcome, None, None]:
    """Parse files by processes of this machine; yield an outcome for each file, when it ends.

    Args:
        workers: the number of processes.
        work: what each process does.
    """
    waiting = deque(shards)
    while waiting:
        with _Pool(min(workers, len(waiting)), work, model_folder, options) as pool:
            yield from _side_by_side(pool, waiting, workers)
        for shard in pool.under_way.values():
            with _Pool(1, work, model_folder, options) as alone:
                try:
                    outcome = alone.submit(shard).result()
                except BrokenProcessPool:
                    outcome = Outcome(
                        shard,
                        error=f"{shard.source}: the process died twice; is there enough memory?",
                    )
            yield outcome


class _Pool:
    """Processes that parse. The end of a ``with`` block kills them.

    Attributes:
        under_way: the files in progress, also after a process has died.
    """

    def __init__(self, workers: int, work: Work, model_folder: Path, options: ParseOptions) -> None:
        # Not forked: a forked process would not have the threads of the libraries loaded here.
        context = multiprocessing.get_context("spawn")
        self._executor = ProcessPoolExecutor(
            workers, context, begin_child, (work, model_folder, options)
        )
        self.under_way: dict[Future[Outcome], Shard] = {}

    def submit(self, shard: Shard) -> Future[Outcome]:
        """Give a file to a process; start a process if there are too few.

        Raises:
            BrokenProcessPool: a process has died.
        """
        with _interrupts_blocked():
            future = self._executor.submit(parse_in_child, shard)
            self.under_way[future] = shard
        return future

    def __enter__(self) -> _Pool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            # kill_workers(), from Python 3.14 on
            for process in list(self._executor._processes.values()):
                process.kill()
        self._executor.shutdown()
        remove_half_files(self.under_way.values())


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Delay Ctrl-C within the ``with`` block, except on Windows, where signals cannot be blocked.

    A new process inherits the blocked signals. A terminal sends Ctrl-C to all processes, and a
    process that is still loading would end with a traceback.
    """
    if sys.platform == "win32":
        yield
        return
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _side_by_side(
    pool: _Pool, waiting: deque[Shard], workers: int
) -> Generator[Outcome, None, None]:
    """Parse the waiting files, until none is left or a process dies;
    files in progress then stay in ``pool.under_way``.
    """
    died = False
    while (waiting or pool.under_way) and not died:
        while waiting and len(pool.under_way) < workers:
            shard = waiting.popleft()
            try:
                pool.submit(shard)
            except BrokenProcessPool:  # a process has died meanwhile
                waiting.appendleft(shard)
                break
        if not pool.under_way:
            return
        for future in wait(pool.under_way, return_when=FIRST_COMPLETED).done:
            try:
                outcome = future.result()
            except BrokenProcessPool:
                died = True
                continue
            del pool.under_way[future]
            yield outcome
