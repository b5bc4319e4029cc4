"""How fast a model parses: python scripts/benchmark.py parsing MODEL_DIR FILE [--udpipe-train FILE] [OPTIONS].

Measured in turn, several times, in one process; medians are reported, of words per second and per second of CPU time:

* decoding: encoded sentences to trees, the file read before;
* end to end: CoNLL-U to CoNLL-U, in memory;
* UDPipe, end to end: the greedy parser of UDPipe 1 (package ufal.udpipe), CoNLL-U to CoNLL-U, one thread, with a given model or
  one trained on the spot;
* start-up: seconds of a process of its own that parses one sentence.

Every measurement begins with nothing but the model in memory: what is worked out once per word form is worked out again.
"""

from __future__ import annotations

import argparse
import io
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from benchmarks import udpipe
from benchmarks.machine import machine
from parser.conllu.stream import read_raw_sentences
from parser.decoding.file_parsing import Columns, parse_file
from parser.decoding.parsers import parser_of
from parser.model import Model
from parser.versions import versions

PARSE = Path(__file__).resolve().parent.parent / "parse.py"
UDPIPE = "UDPipe, end to end, greedy, 1 thread"


@dataclass(frozen=True)
class Time:
    """What a job took, in seconds: by the clock, and of all processors."""

    wall: float
    cpu: float


def run(arguments: list[str]) -> dict[str, Any]:
    """Measures as the command line says."""
    parser = argparse.ArgumentParser(prog="benchmark.py parsing", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("model", type=Path, metavar="MODEL_DIR")
    parser.add_argument("file", type=Path, metavar="FILE", help="CoNLL-U with tags")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="to compare one with (default: all, %(default)s)")
    parser.add_argument("--udpipe", metavar="MODEL", help="a model of UDPipe 1 to compare with")
    parser.add_argument("--udpipe-train", type=Path, metavar="FILE", help="or CoNLL-U to train one on")
    parser.add_argument("--udpipe-iterations", type=int, default=2, help="of its training (default %(default)s; 10 are usual)")
    parser.add_argument("--times", type=int, default=5, help="how often each is measured (default %(default)s)")
    parser.add_argument("--repeat", type=int, default=1, help="parse the file so many times over (default %(default)s)")
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    text = given.file.read_bytes() * given.repeat
    model = Model.load(given.model)
    sentences = [Columns(sentence) for sentence in read_raw_sentences(io.BytesIO(text))]
    words = sum(len(sentence.forms) for sentence in sentences)
    encoded = model.vocabularies.encode(sentences)
    jobs: dict[str, Callable[[], object]] = {}
    numbers = list(dict.fromkeys([1, given.threads]))
    for threads in numbers:
        jobs[_name("decoding", threads)] = lambda t=threads: parser_of(model, t).parse(encoded)
        jobs[_name("end to end", threads)] = lambda t=threads: _end_to_end(model, text, t)
    if given.udpipe or given.udpipe_train:
        theirs = udpipe.Udpipe(given.udpipe) if given.udpipe else _trained(given.udpipe_train, given.udpipe_iterations)
        decoded = text.decode()
        jobs[UDPIPE] = lambda: theirs.parse(decoded)
    same = len({_end_to_end(model, text, threads) for threads in numbers}) == 1
    times = _measure(jobs, given.times)
    result: dict[str, Any] = {
        "file": given.file.name,
        "words": words,
        "words_per_second": {name: statistics.median(words / t.wall for t in found) for name, found in times.items()},
        "words_per_cpu_second": {name: statistics.median(words / t.cpu for t in found) for name, found in times.items()},
        "same_output_for_any_threads": same,
        "start_up_seconds": statistics.median(_start_up(given.model, text) for _ in range(given.times)),
        "all_measurements": {name: [vars(t) for t in found] for name, found in times.items()},
        "machine": machine(),
        "versions": versions(),
    }
    result["ratios"] = _ratios(times, numbers[-1])
    _print(result)
    return result


def _trained(path: Path, iterations: int) -> udpipe.Udpipe:
    """UDPipe's parser trained on a file; the time to parse does not depend on the number of iterations."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ValueError(f"{path}: there is no such file to train UDPipe on; check the path") from error
    with TemporaryDirectory() as folder:
        model = Path(folder) / "model.udpipe"
        udpipe.train(text, str(path), model, parser=udpipe.PARSER | {"iterations": iterations})
        return udpipe.Udpipe(model)


def _name(job: str, threads: int) -> str:
    return f"{job}, {threads} thread{'s' * (threads > 1)}"


def _end_to_end(model: Model, text: bytes, threads: int) -> bytes:
    target = io.BytesIO()
    parse_file(model, io.BytesIO(text), target, threads=threads)
    return target.getvalue()


def _measure(jobs: dict[str, Callable[[], object]], times: int) -> dict[str, list[Time]]:
    """Times of each job, measured in turn so that all of them meet the same load; a first round does not count."""
    found: dict[str, list[Time]] = {name: [] for name in jobs}
    for round_number in range(times + 1):
        for name, job in jobs.items():
            wall, cpu = time.perf_counter(), time.process_time()
            job()
            if round_number:
                found[name].append(Time(time.perf_counter() - wall, time.process_time() - cpu))
    return found


def _ratios(times: dict[str, list[Time]], threads: int) -> dict[str, float]:
    """Medians of the ratios of rounds: one thread over UDPipe by CPU time, all threads over one by the clock."""
    ratios = {}
    for job in ("decoding", "end to end"):
        one, all_of_them = times[_name(job, 1)], times[_name(job, threads)]
        if UDPIPE in times:
            pairs = zip(times[UDPIPE], one, strict=True)
            ratios[f"{job}, 1 thread, over UDPipe, CPU time"] = statistics.median(
                theirs.cpu / ours.cpu for theirs, ours in pairs
            )
        if threads > 1:
            pairs = zip(one, all_of_them, strict=True)
            ratios[f"{job}, {threads} threads over 1"] = statistics.median(single.wall / many.wall for single, many in pairs)
    return ratios


def _start_up(model: Path, text: bytes) -> float:
    end = text.find(b"\n\n") + 2
    start = time.perf_counter()
    subprocess.run([sys.executable, str(PARSE), str(model)], input=text[:end], capture_output=True, check=True)
    return time.perf_counter() - start


def _print(result: dict[str, Any]) -> None:
    """For people."""
    for name, rate in result["words_per_second"].items():
        print(f"{name:38} {rate:10,.0f} words/s {result['words_per_cpu_second'][name]:10,.0f} words/CPU s", file=sys.stderr)
    for name, ratio in result["ratios"].items():
        print(f"{name:48} {ratio:10.2f}", file=sys.stderr)
    print(f"{'start-up':48} {result['start_up_seconds']:10.2f} s", file=sys.stderr)
