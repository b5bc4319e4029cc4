"""Many files parsed by several processes of this machine, each of which loads the model once.

There are never more files under way than processes. When a process dies, as for want of memory, those under way are tried
again, each alone: one at which a process dies then, too, is given up, and named; the others go on side by side. Whatever stops
this process, such as Ctrl-C, ends the others at once: files in progress are not waited for, and leave nothing behind.
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
    model_folder: Path, shards: Sequence[Shard], options: ParseOptions, workers: int, work: Work = begin_parser
) -> Generator[Outcome, None, None]:
    """Parses files by processes of this machine; an outcome for each file, in the order in which they end.

    Args:
        model_folder: the model.
        shards: the files.
        options: how.
        workers: processes.
        work: what each does.
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
                    outcome = Outcome(shard, error=f"{shard.source}: the process died twice; is there enough memory?")
            yield outcome


class _Pool:
    """Processes that parse. At the end of a ``with`` they are dead.

    Attributes:
        under_way: the files that they are at, or were when one died.
    """

    def __init__(self, workers: int, work: Work, model_folder: Path, options: ParseOptions) -> None:
        # Not forked: threads of the libraries that are loaded here would be missing there.
        context = multiprocessing.get_context("spawn")
        self._executor = ProcessPoolExecutor(workers, context, begin_child, (work, model_folder, options))
        self.under_way: dict[Future[Outcome], Shard] = {}

    def submit(self, shard: Shard) -> Future[Outcome]:
        """Gives a file to a process, one that begins if there are not enough.

        Raises:
            BrokenProcessPool: one has died.
        """
        with _interrupts_blocked():
            future = self._executor.submit(parse_in_child, shard)
            self.under_way[future] = shard
        return future

    def __enter__(self) -> _Pool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is not None:
            for process in list(self._executor._processes.values()):  # kill_workers(), from Python 3.14 on
                process.kill()
        self._executor.shutdown()
        remove_half_files(self.under_way.values())


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Meanwhile, Ctrl-C waits, but on Windows, which has no such thing.

    A process begins with the signals blocked that are blocked here. A terminal sends Ctrl-C to all of them, and one that is
    still loading would end with a traceback.
    """
    if sys.platform == "win32":
        yield
        return
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _side_by_side(pool: _Pool, waiting: deque[Shard], workers: int) -> Generator[Outcome, None, None]:
    """Parses files that are waiting, until none is, or a process dies; those that are under way then stay so."""
    died = False
    while (waiting or pool.under_way) and not died:
        while waiting and len(pool.under_way) < workers:
            shard = waiting.popleft()
            try:
                pool.submit(shard)
            except BrokenProcessPool:  # one has died since
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
