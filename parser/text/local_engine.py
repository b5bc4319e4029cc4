"""Many files parsed by several processes of this machine, each of which loads the model once.

There are never more files under way than processes. When a process dies, as for want of memory, those under way are tried
again, each alone: one at which a process dies then, too, is given up, and named; the others go on side by side.
"""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import Any

from parser.text.shard_parser import ShardParser
from parser.text.shards import Options, Outcome, Shard

# The parser of a worker process, or why there is none.
_parser: ShardParser | Exception | None = None


def begin_parser(model_folder: Path, options: Options) -> None:
    """What a process does at first. What goes wrong is told by each file: a process that fails here looks like a dead one."""
    global _parser
    try:
        _parser = ShardParser(model_folder, options)
    except (ValueError, OSError, MemoryError) as error:
        _parser = error


def parse_shard(shard: Shard) -> Outcome:
    """What a process does with each file."""
    assert _parser is not None
    return Outcome(shard, error=f"{shard.source}: {_parser}") if isinstance(_parser, Exception) else _parser(shard)


def parse_shards(
    model_folder: Path,
    shards: Sequence[Shard],
    options: Options,
    workers: int,
    begin: Callable[[Path, Options], None] = begin_parser,
    parse: Callable[[Shard], Outcome] = parse_shard,
) -> Iterator[Outcome]:
    """Parses files by processes of this machine; an outcome for each file, in the order in which they end.

    Args:
        model_folder: the model.
        shards: the files.
        options: how.
        workers: processes.
        begin, parse: what a process does at first, and with each file.
    """
    waiting = deque(shards)
    while waiting:
        suspects: list[Shard] = []
        with _pool(min(workers, len(waiting)), begin, model_folder, options) as pool:
            yield from _side_by_side(pool, waiting, workers, parse, suspects)
        for shard in suspects:
            with _pool(1, begin, model_folder, options) as pool:
                try:
                    outcome = pool.submit(parse, shard).result()
                except BrokenProcessPool:
                    outcome = Outcome(shard, error=f"{shard.source}: the process died, twice; has it the memory?")
            yield outcome


def _side_by_side(
    pool: ProcessPoolExecutor,
    waiting: deque[Shard],
    workers: int,
    parse: Callable[[Shard], Outcome],
    suspects: list[Shard],
) -> Iterator[Outcome]:
    """Parses files that are waiting, until none is, or a process dies; those that were under way then become suspects."""
    under_way: dict[Future[Any], Shard] = {}
    while (waiting and not suspects) or under_way:
        while waiting and not suspects and len(under_way) < workers:
            shard = waiting.popleft()
            try:
                under_way[pool.submit(parse, shard)] = shard
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


def _pool(workers: int, begin: Callable[[Path, Options], None], model_folder: Path, options: Options) -> ProcessPoolExecutor:
    # Not forked: threads of the libraries that are loaded here would be missing there.
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, context, initializer=begin, initargs=(model_folder, options))
