"""Parsing of many files by the workers of a Ray cluster, through Ray Data (extra ``ray``).

RAY_ADDRESS names the cluster. Without it, a cluster that runs on this machine is used; if there is
none, one is started, and ends with the work. Model, input and output must have the same paths on
all machines, such as on a shared file system. Each worker loads the model once and takes one file
at a time. Ray replaces a lost worker and tries its file again; a file that loses workers again and
again is given up, and named.
"""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Generator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from parser.decoding.parse_options import ParseOptions
from parser.text.shards import BulkError, Outcome, Shard, remove_half_files
from parser.text.worker import Work, begin_parser

# Memory that Ray Data reserves for the outcome of a file, which is short.
_BLOCK_BYTES = 2**20
# How often a file is tried if its workers are lost; Ray itself would try forever.
_TRIES = 3


class _Worker:
    """A parser in a process of the cluster."""

    def __init__(self, model_folder: str, options: ParseOptions, work: Work) -> None:
        self._parse = work(Path(model_folder), options)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        shard = Shard(row["source"], row["target"])
        tries = _tries(shard)
        tries.parent.mkdir(parents=True, exist_ok=True)
        with tries.open("ab") as file:
            file.write(b".")
        if tries.stat().st_size > _TRIES:
            outcome = Outcome(
                shard,
                error=f"{shard.source}: {_TRIES} workers were lost on it; is there enough memory?",
            )
        else:
            outcome = self._parse(shard)
        tries.unlink()
        return {"outcome": json.dumps(asdict(outcome))}


def _anywhere(options: ParseOptions) -> ParseOptions:
    """Return the options with absolute paths, since workers run in other folders."""
    tokenizer, lexicon = options.tokenizer, options.lexicon
    return replace(
        options,
        tokenizer=None if tokenizer is None else tokenizer.absolute(),
        lexicon=lexicon.absolute() if isinstance(lexicon, Path) else lexicon,
    )


def _tries(shard: Shard) -> Path:
    """Return the file whose length is the number of workers that have begun to parse the shard."""
    target = Path(shard.target)
    return target.with_name(f".{target.name}.tries")


def parse_shards(
    model_folder: Path,
    shards: Sequence[Shard],
    options: ParseOptions,
    workers: int,
    work: Work = begin_parser,
) -> Generator[Outcome, None, None]:
    """Parse files as in local_engine.py, by at most ``workers`` workers of the cluster.

    Raises:
        BulkError: Ray is not installed, or its cluster fails.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray must not send usage statistics
    try:
        import ray
        from ray.data import ActorPoolStrategy, DataContext
    except ImportError as error:
        raise BulkError(
            "Ray is not installed; pip install ray, or pip install '.[ray]' in a checkout, "
            "or use --engine=local"
        ) from error
    if not shards:
        return
    ours = not ray.is_initialized()
    if ours:
        terminate = signal.getsignal(signal.SIGTERM)
        ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        # Ray's handler would exit silently, with another status
        signal.signal(signal.SIGTERM, terminate)
    left = set(shards)
    try:
        context = DataContext.get_current()
        context.enable_progress_bars = False
        context.target_max_block_size = _BLOCK_BYTES
        for shard in shards:
            _tries(shard).unlink(missing_ok=True)  # of a run that was killed
        cores = int(ray.cluster_resources().get("CPU", 1))
        # Workers of a running cluster have another working folder.
        named = {
            Shard(os.path.abspath(shard.source), os.path.abspath(shard.target)): shard
            for shard in shards
        }
        outcomes = ray.data.from_items(
            [asdict(shard) for shard in named], override_num_blocks=len(shards)
        ).map(
            _Worker,
            fn_constructor_args=(str(model_folder.absolute()), _anywhere(options), work),
            compute=ActorPoolStrategy(
                size=min(workers, cores, len(shards)), max_tasks_in_flight_per_actor=1
            ),
            num_cpus=1,
        )
        for row in outcomes.iter_rows():
            outcome = json.loads(row["outcome"])
            shard = named[Shard(**outcome["shard"])]
            left.discard(shard)
            yield Outcome(**outcome | {"shard": shard, "warnings": tuple(outcome["warnings"])})
    except ray.exceptions.RayError as error:
        raise BulkError(
            f"Ray's cluster failed ({error}); finished files are kept: start the same command again"
        ) from error
    finally:
        if ours:
            ray.shutdown()
        remove_half_files(left)  # of workers that were killed
        for shard in left:
            _tries(shard).unlink(missing_ok=True)
