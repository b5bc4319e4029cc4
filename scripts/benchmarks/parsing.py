"""How fast a model parses: python scripts/benchmark.py parsing MODEL_DIR FILE [--threads N] [--udpipe UDPIPE_MODEL].

Measured in turn, several times, in one process; medians are reported:

* decoding: encoded sentences to trees, the file read before;
* end to end: CoNLL-U text to CoNLL-U text, in memory;
* with ``--udpipe``, the greedy parser of UDPipe 1 (package ufal.udpipe), CoNLL-U text to CoNLL-U text, one thread.
"""

from __future__ import annotations

import argparse
import io
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from benchmarks.machine import machine
from parser.conllu_stream import read_raw_sentences
from parser.file_parsing import Columns, parse_file
from parser.model import Model
from parser.versions import versions


def run(arguments: list[str]) -> dict[str, Any]:
    """Measures as the command line says; words per second, medians."""
    parser = argparse.ArgumentParser(prog="benchmark.py parsing", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("model", type=Path, metavar="MODEL_DIR")
    parser.add_argument("file", type=Path, metavar="FILE", help="CoNLL-U with tags")
    parser.add_argument("--threads", type=int, default=2, help="the number to compare one thread with (default 2)")
    parser.add_argument("--udpipe", metavar="MODEL", help="a model of UDPipe 1 to compare with")
    parser.add_argument("--times", type=int, default=5, help="how often each is measured (default 5)")
    parser.add_argument("--repeat", type=int, default=1, help="parse the file so many times over (default 1)")
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    text = given.file.read_bytes() * given.repeat
    model = Model.load(given.model)
    sentences = [Columns(sentence) for sentence in read_raw_sentences(io.BytesIO(text))]
    words = sum(len(sentence.forms) for sentence in sentences)
    encoded = model.encoder.encode(sentences)
    jobs: dict[str, Callable[[], object]] = {}
    for threads in dict.fromkeys([1, given.threads]):
        name = f"{threads} thread{'s' * (threads > 1)}"
        jobs[f"decoding, {name}"] = lambda t=threads: model.greedy_parser(t).parse(encoded)
        jobs[f"end to end, {name}"] = lambda t=threads: parse_file(model, io.BytesIO(text), io.StringIO(), threads=t)
    if given.udpipe:
        jobs["UDPipe, end to end, greedy"] = _udpipe(given.udpipe, text.decode())
    rates = _rates(jobs, words, given.times)
    medians = {name: statistics.median(found) for name, found in rates.items()}
    for name, rate in medians.items():
        print(f"{name:32} {rate:12,.0f} words a second", file=sys.stderr)
    result: dict[str, Any] = {
        "words": words,
        "words_per_second": medians,
        "all_measurements": rates,
        "machine": machine(),
        "versions": versions(),
    }
    if given.udpipe:
        theirs = medians["UDPipe, end to end, greedy"]
        result["times_udpipe"] = {name: rate / theirs for name, rate in medians.items()}
    return result


def _rates(jobs: dict[str, Callable[[], object]], words: int, times: int) -> dict[str, list[float]]:
    """Words per second of each job, measured in turn so that all of them meet the same load; a first round does not count."""
    rates: dict[str, list[float]] = {name: [] for name in jobs}
    for round_number in range(times + 1):
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            if round_number:
                rates[name].append(words / (time.perf_counter() - start))
    return rates


def _udpipe(path: str, text: str) -> Callable[[], object]:
    try:
        from ufal.udpipe import Model as UdpipeModel
        from ufal.udpipe import Pipeline
    except ImportError as error:
        raise ValueError("UDPipe is not installed; pip install ufal.udpipe, or leave --udpipe out") from error
    model = UdpipeModel.load(path)
    if model is None:
        raise ValueError(f"{path}: UDPipe cannot load this as a model")
    pipeline = Pipeline(model, "conllu", Pipeline.NONE, "beam_search=1", "conllu")
    return lambda: pipeline.process(text)
