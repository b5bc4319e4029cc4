"""Parses many files: optimal-step parse_many MODEL_DIR 'in/**/*.conllu.gz' -o out/ [--workers N]
[--engine local|ray].

Each file goes to the same place below out/, with the bytes that optimal-step parse writes. .bz2 is
dropped from names, because it cannot be written. Existing outputs count as done unless their input
is newer, so the same command, started again, parses only what is missing, also after Ctrl-C or
SIGTERM, which end it at once. An existing output that it did not write is refused. If a file fails,
it is named, and all other files are parsed. The exit status is then 1; also if --on-error=skip or
keep found a sentence that is not CoNLL-U, in this or an earlier run.
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import closing
from pathlib import Path

from tqdm import tqdm

from parser.commands.arguments import Arguments
from parser.commands.command_line import number_of_threads
from parser.commands.parsing_options import add_options, options_of
from parser.conllu.checks import counted
from parser.text.shards import Refusals, claim, has_changed, shards_of, to_parse


def main() -> int:
    """Parse as the command line says, and return the exit status."""
    arguments = Arguments(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument(
        "model", type=Path, metavar="MODEL_DIR", help="a run's folder, or a model's"
    )
    arguments.add_argument(
        "input", nargs="+", metavar="PATTERN", help="files, or patterns in quotes"
    )
    arguments.add_argument(
        "-o", "--output", type=Path, required=True, help="the folder for the results"
    )
    arguments.add_argument(
        "--workers",
        type=number_of_threads,
        default=os.cpu_count() or 1,
        help="number of processes (default: all cores)",
    )
    arguments.add_argument(
        "--engine",
        choices=["local", "ray"],
        default="local",
        help=(
            "where the processes run: on this machine (default), "
            "or in a Ray cluster (RAY_ADDRESS) with the same paths"
        ),
    )
    add_options(arguments, "parse_many")
    args = arguments.parse_intermixed_args()
    options = options_of(args, "parse_many")

    from parser.model.packs import find_named
    from parser.text.worker import ShardParser

    if args.engine == "ray":
        from parser.text.ray_engine import parse_shards
    else:
        from parser.text.local_engine import parse_shards

    folder = find_named(args.model)
    checked = ShardParser(folder, options)  # refuses bad options before processes begin
    shards = shards_of(args.input, args.output, options.text)
    claim(args.output, folder, options, checked.tokenizer_path, shards)
    left = to_parse(shards)
    if left:
        # once, for all processes on this machine;
        # other machines of a cluster compile for themselves
        checked.warm_up()
    changed, there = sum(map(has_changed, left)), len(shards) - len(left)
    refusals = Refusals(args.output)
    failed = words = 0
    bar = tqdm(total=len(shards), initial=there, unit="file", disable=None)
    try:
        with bar, closing(parse_shards(folder, left, options, args.workers)) as outcomes:
            for outcome in outcomes:
                for warning in outcome.warnings:
                    bar.write(f"warning: {warning}", file=sys.stderr)
                if outcome.error is not None:
                    failed += 1
                    bar.write(f"error: {outcome.error}", file=sys.stderr)
                words += outcome.words
                refusals.remember(outcome)
                bar.update()
    except KeyboardInterrupt as stop:
        stop.add_note(
            "interrupted; finished files are kept: start the same command again to parse the rest"
        )
        raise
    parsed = f"{counted(len(left) - failed, 'file')} parsed, {counted(words, 'word')}"
    print(f"{parsed}; {there:,} were there already; {failed:,} failed", file=sys.stderr)
    if changed:
        print(
            f"parsed again, as the input has changed since: {counted(changed, 'file')}",
            file=sys.stderr,
        )
    refused = refusals.of(shards)
    if before := refusals.of(set(shards) - set(left)):
        are = "is" if before == 1 else "are"
        print(
            f"{counted(before, 'sentence')} in files parsed earlier {are} not CoNLL-U",
            file=sys.stderr,
        )
    return int(failed > 0 or refused > 0)
