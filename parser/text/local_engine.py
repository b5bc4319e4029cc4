"""Many files parsed by several processes of this machine, each of which loads the model once.

There are never more files under way than processes. When a process dies, as for want of memory, those under way are tried
again, each alone: one at which a process dies then, too, is given up, and named; the others go on side by side.
"""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from parser.text.shards import Options, Outcome, Shard
from parser.text.worker import PARSING, Work


def parse_shards(
    model_folder: Path, shards: Sequence[Shard], options: Options, workers: int, work: Work = PARSING
) -> Iterator[Outcome]:
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
        suspects: list[Shard] = []
        with _pool(min(workers, len(waiting)), work, model_folder, options) as pool:
            yield from _side_by_side(pool, waiting, workers, work, suspects)
        for shard in suspects:
            with _pool(1, work, model_folder, options) as pool:
                try:
                    outcome = pool.submit(work.parse, shard).result()
                except BrokenProcessPool:
                    outcome = Outcome(shard, error=f"{shard.source}: the process died, twice; has it the memory?")
            yield outcome


def _side_by_side(
    pool: ProcessPoolExecutor, waiting: deque[Shard], workers: int, work: Work, suspects: list[Shard]
) -> Iterator[Outcome]:
    """Parses files that are waiting, until none is, or a process dies; those that were under way then become suspects."""
    under_way: dict[Future[Any], Shard] = {}
    while (waiting and not suspects) or under_way:
        while waiting and not suspects and len(under_way) < workers:
            shard = waiting.popleft()
            try:
                under_way[pool.submit(work.parse, shard)] = shard
            except BrokenProcessPool:  # one has died since
                waiting.appendleft(shard)
                break
        if not under_way:
            return
        for future in wait(under_way, return_when=FIRST_COMPLETED).done:
            shard = under_way.pop(future)
            try:
                outcome = future.result()
            except BrokenProcessPool:
                suspects.append(shard)
                continue
            yield outcome


def _pool(workers: int, work: Work, model_folder: Path, options: Options) -> ProcessPoolExecutor:
    # Not forked: threads of the libraries that are loaded here would be missing there.
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, context, initializer=work.begin, initargs=(model_folder, options))
