"""The time that whole processes take to parse a text: Python's start, imports and loading the model included."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path

UDPIPE = "UDPipe, end to end, greedy, 1 thread"
OURS = "scripts/parse.py"
UDPIPE_MODULE = "scripts.benchmarks.udpipe"  # which is a program, too
_PARSE = (sys.executable, "-P", "-m", "parser.commands", "parse")


def parse_command(model: Path, int8: bool = False) -> list[str]:
    """The command that parses its standard input by a model: what scripts/parse.py runs, as a module."""
    return [*_PARSE, str(model), *(["--int8"] if int8 else [])]


def seconds_of_processes(ours: list[str], text: bytes, udpipe: str | None, times: int) -> dict[str, list[float]]:
    """CPU seconds of processes that parse the text, ``times`` of them for each parser.

    Args:
        ours: the command of parse_command().
        text: what they read.
        udpipe: a model of UDPipe 1, if it is to be measured as well.
        times: how often each is measured.
    """
    commands = {OURS: ours}
    if udpipe is not None:
        commands[UDPIPE] = [sys.executable, "-P", "-m", UDPIPE_MODULE, udpipe]
    found: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(times):
        for name, command in commands.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, input=text, capture_output=True, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            found[name].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return found


def start_up(command: list[str], text: bytes) -> float:
    """Seconds of a process that parses the first sentence of the text."""
    end = text.find(b"\n\n") + 2
    start = time.perf_counter()
    subprocess.run(command, input=text[:end], capture_output=True, check=True)
    return time.perf_counter() - start
