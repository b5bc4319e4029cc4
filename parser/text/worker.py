"""What a process does that parses files for others: it loads the model once, then takes one file after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

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


@dataclass(frozen=True)
class Work:
    """What a process does at first, and with each file."""

    begin: Callable[[Path, Options], None] = begin_parser
    parse: Callable[[Shard], Outcome] = parse_shard


PARSING = Work()
