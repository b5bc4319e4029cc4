"""The command ``optimal-step benchmark``, for a checkout: the benchmarks, scripts/benchmarks, are not installed."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import NoReturn

_CHECKOUT = Path(__file__).parents[2]


def command() -> NoReturn:
    """The command; exits."""
    if not (_CHECKOUT / "scripts" / "benchmarks").is_dir():
        sys.exit(
            "error: benchmarks need a checkout of the source, where scripts/benchmark.py runs them; they are not installed"
        )
    import_module("scripts.benchmarks.command").command()
    raise AssertionError("a command exits")
