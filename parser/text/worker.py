"""What a process does that parses files for others: it loads the model once, then takes one file after the other."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from parser.text.shard_parser import ShardParser
from parser.text.shards import Options, Outcome, Shard, remove_half_files

# The parser of a worker process, or why there is none.
_parser: ShardParser | Exception | None = None

# Of a process of local_engine.py: what it does, and the file that it is at.
_work: Work
_under_way: Shard | None = None


def begin_parser(model_folder: Path, options: Options) -> None:
    """What a process does at first. Errors are reported for each file: a process that fails here looks like a dead one."""
    global _parser
    try:
        _parser = ShardParser(model_folder, options)
    except (ValueError, OSError, MemoryError) as error:
        _parser = error


def parse_shard(shard: Shard) -> Outcome:
    """What a process does with each file."""
    assert _parser is not None
    return Outcome(shard, error=f"{shard.source}: {_parser}") if isinstance(_parser, Exception) else _parser(shard)


@dataclass(frozen=True)
class Work:
    """What a process does at first, and with each file."""

    begin: Callable[[Path, Options], None] = begin_parser
    parse: Callable[[Shard], Outcome] = parse_shard


PARSING = Work()


def begin_child(work: Work, model_folder: Path, options: Options) -> None:
    """What a process of local_engine.py does at first. It ends with the one that started it, which alone hears Ctrl-C."""
    global _work
    _work = work
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    work.begin(model_folder, options)


def parse_in_child(shard: Shard) -> Outcome:
    """What a process of local_engine.py does with each file."""
    global _under_way
    _under_way = shard
    outcome = _work.parse(shard)
    _under_way = None
    return outcome


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()  # also where it was killed, and could end nothing
    if _under_way is not None:
        remove_half_files([_under_way])
    os._exit(1)
