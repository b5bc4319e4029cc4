"""Measures this project on this machine: python scripts/benchmark.py {oracles,parsing,training} [OPTIONS].

It prints JSON, and a table to stderr. Each benchmark is a module of scripts/benchmarks with a function
``run(arguments) -> dict``; its name and --help explain it.
"""

from __future__ import annotations

import argparse
import json
import sys
from importlib import import_module

# Imported when asked for: each brings its own libraries.
BENCHMARKS = {
    "oracles": "benchmarks.oracles",
    "parsing": "benchmarks.parsing",
    "training": "benchmarks.training",
}


def main(arguments: list[str] | None = None) -> int:
    """Runs one benchmark and prints what it found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("benchmark", choices=BENCHMARKS, help="what to measure")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="handed on to it")
    options = parser.parse_args(arguments)
    try:
        result = import_module(BENCHMARKS[options.benchmark]).run(options.arguments)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(json.dumps(result, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
