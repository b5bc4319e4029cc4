"""Measures this project on this machine: optimal-step benchmark {oracles,parsing,training,serving}
[OPTIONS].

It prints JSON to standard output and a table to standard error. Each benchmark has its own --help.
With --rows FILE the numbers also go to a CSV file, with the command, the machine and the versions;
they replace older numbers with the same --label.
"""

from __future__ import annotations

import argparse
import json
import sys
from importlib import import_module
from pathlib import Path

from parser.commands.arguments import Arguments
from parser.settings.paths import shell_command
from scripts.benchmarks.measurements import Measurement, write_measurements

# Each is a module of this package with a function ``run``. It is imported only when it is run,
# because each needs different libraries.
BENCHMARKS = ("oracles", "parsing", "training", "serving")


def main(arguments: list[str] | None = None) -> None:
    """Run one benchmark and print its result."""
    words = sys.argv[1:] if arguments is None else arguments
    first = Arguments(description=__doc__)
    first.formatter_class = argparse.RawDescriptionHelpFormatter
    first.add_argument(
        "benchmark", choices=BENCHMARKS, help="what to measure; its own --help says more"
    )
    name = first.parse_args(words[:1]).benchmark
    benchmark = import_module(f"scripts.benchmarks.{name}")
    parser = Arguments(prog=f"{first.prog} {name}", description=benchmark.__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    benchmark.add_arguments(parser)
    parser.add_argument(
        "--rows",
        type=Path,
        metavar="FILE.csv",
        help="also write the numbers to this file, such as runs/speed.csv",
    )
    parser.add_argument(
        "--label",
        metavar="TEXT",
        help="with --rows: the name of what was measured, such as recipe=paper",
    )
    args = vars(parser.parse_args(words[1:]))
    rows, label = args.pop("rows"), args.pop("label")
    if (rows is None) != (label is None):
        parser.error("--rows and --label go together; give both, or leave out both")
    result = benchmark.run(**args)
    print(benchmark.as_table(result), file=sys.stderr)
    if rows is not None:
        command = shell_command(["python", "scripts/benchmark.py", *words])
        quantities = benchmark.quantities(result).items()
        measurements = [
            Measurement.of(label, name, value, unit, result, command)
            for name, (value, unit) in quantities
        ]
        write_measurements(rows, label, measurements)
    print(json.dumps(result, indent=2))
