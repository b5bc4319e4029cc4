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
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import torch

from parser.commands.benchmarks.machine import machine
from parser.commands.benchmarks.udpipe import PARSER, Udpipe, train
from parser.conllu.stream import read_raw_sentences
from parser.data.vocabulary import Sentences
from parser.decoding.file_parsing import Columns, parse_file
from parser.decoding.parsers import parser_of
from parser.model import Model
from parser.versions import versions

UDPIPE = "UDPipe, end to end, greedy, 1 thread"


@dataclass(frozen=True)
class Time:
    """What a job took, in seconds: by the clock, and of all processors."""

    wall: float
    cpu: float


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of ``run``."""
    parser.add_argument("model", type=Path, metavar="MODEL_DIR")
    parser.add_argument("file", type=Path, metavar="FILE", help="CoNLL-U with tags")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="to compare one with (default: all, %(default)s)")
    parser.add_argument("--udpipe", metavar="MODEL", help="a model of UDPipe 1 to compare with")
    parser.add_argument("--udpipe-train", type=Path, metavar="FILE", help="or CoNLL-U to train one on")
    parser.add_argument("--udpipe-iterations", type=int, default=2, help="of its training (default %(default)s; 10 are usual)")
    parser.add_argument("--times", type=int, default=5, help="how often each is measured (default %(default)s)")
    parser.add_argument("--repeat", type=int, default=1, help="parse the file so many times over (default %(default)s)")


def run(
    model: Path,
    file: Path,
    threads: int = 1,
    udpipe: str | None = None,
    udpipe_train: Path | None = None,
    udpipe_iterations: int = 2,
    times: int = 5,
    repeat: int = 1,
) -> dict[str, Any]:
    """Measures.

    Args:
        model: a model folder.
        file: CoNLL-U with tags.
        threads: to compare one with.
        udpipe: a model of UDPipe 1 to compare with.
        udpipe_train: CoNLL-U to train one on, instead.
        udpipe_iterations: of its training.
        times: how often each job is measured.
        repeat: how many times over the file is parsed.

    Raises:
        ValueError: no such model or file, or UDPipe cannot do its part.
    """
    torch.set_num_threads(1)
    text = _read(file) * repeat
    parser = Model.load(model)
    sentences = [Columns(sentence) for sentence in read_raw_sentences(io.BytesIO(text))]
    words = sum(len(sentence.forms) for sentence in sentences)
    encoded = parser.vocabularies.encode(sentences)
    jobs: dict[str, Callable[[], object]] = {}
    numbers = list(dict.fromkeys([1, threads]))
    for count in numbers:
        jobs[_name("decoding", count)] = partial(_decode, parser, encoded, count)
        jobs[_name("end to end", count)] = partial(_end_to_end, parser, text, count)
    if udpipe is not None or udpipe_train is not None:
        theirs = Udpipe(udpipe) if udpipe is not None else _trained(cast(Path, udpipe_train), udpipe_iterations)
        decoded = text.decode()
        jobs[UDPIPE] = lambda: theirs.parse(decoded)
    same = len({_end_to_end(parser, text, count) for count in numbers}) == 1
    found = _measure(jobs, times)
    result: dict[str, Any] = {
        "file": file.name,
        "words": words,
        "words_per_second": {name: statistics.median(words / t.wall for t in rounds) for name, rounds in found.items()},
        "words_per_cpu_second": {name: statistics.median(words / t.cpu for t in rounds) for name, rounds in found.items()},
        "same_output_for_any_threads": same,
        "start_up_seconds": statistics.median(_start_up(model, text) for _ in range(times)),
        "all_measurements": {name: [vars(t) for t in rounds] for name, rounds in found.items()},
        "machine": machine(),
        "versions": versions(),
    }
    result["ratios"] = _ratios(found, numbers[-1])
    return result


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise ValueError(f"{path}: there is no such file to parse; check the path") from error


def _trained(path: Path, iterations: int) -> Udpipe:
    """UDPipe's parser trained on a file; the time to parse does not depend on the number of iterations."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise ValueError(f"{path}: there is no such file to train UDPipe on; check the path") from error
    with TemporaryDirectory() as folder:
        model = Path(folder) / "model.udpipe"
        train(text, str(path), model, parser=PARSER | {"iterations": iterations})
        return Udpipe(model)


def _name(job: str, threads: int) -> str:
    return f"{job}, {threads} thread{'s' * (threads > 1)}"


def _decode(model: Model, sentences: Sentences, threads: int) -> None:
    parser_of(model, threads).parse(sentences)


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
    command = [sys.executable, "-P", "-m", "parser.commands", "parse", str(model)]
    subprocess.run(command, input=text[:end], capture_output=True, check=True)
    return time.perf_counter() - start


def as_table(result: dict[str, Any]) -> str:
    """For people."""
    lines = []
    for name, rate in result["words_per_second"].items():
        lines.append(f"{name:38} {rate:10,.0f} words/s {result['words_per_cpu_second'][name]:10,.0f} words/CPU s")
    lines += [f"{name:48} {ratio:10.2f}" for name, ratio in result["ratios"].items()]
    return "\n".join([*lines, f"{'start-up':48} {result['start_up_seconds']:10.2f} s"])


def quantities(result: dict[str, Any]) -> dict[str, tuple[float, str]]:
    """What rows say: words per second, ratios, seconds of the start."""
    found = {name: (rate, "words/s") for name, rate in result["words_per_second"].items()}
    found |= {f"{name}, CPU time": (rate, "words/CPU s") for name, rate in result["words_per_cpu_second"].items()}
    found |= {name: (ratio, "ratio") for name, ratio in result["ratios"].items()}
    return found | {"start-up": (result["start_up_seconds"], "s")}
