"""How fast a model parses: optimal-step benchmark parsing [MODEL_DIR [FILE ...]]
[--udpipe-train FILE] [OPTIONS].

The text is that of all files, each once: users parse new text, and repeated text has no new words.
All jobs are measured in turn, several times, in one process. The report has medians of words per
second and per second of CPU time:

* decoding: encoded sentences to trees; the files are read before;
* end to end: CoNLL-U to CoNLL-U, in memory; with --repeat N, also the text repeated N times;
* reading, and computing the rows of words if this is done before the steps: only these parts can be
  measured by themselves; the other parts are computed from them (microseconds_per_word());
* UDPipe, end to end: the greedy parser of UDPipe 1 (package ufal.udpipe), CoNLL-U to CoNLL-U, one
  thread, with a given model or a model trained for this;
* spaCy, end to end: its parser (extra spacy), CoNLL-U to CoNLL-U, one thread,
  with a given pipeline or one trained for this;
* with --over NAME=MODEL_DIR: decoding with that model, and the ratio of the speeds;
* with --beam: decoding with beams of these sizes, for each way to merge items, one thread; and
  UDPipe with a beam of 5, compared with our beam of 5, end to end;
* whole process: CPU seconds of scripts/parse.py on the text,
  and with --udpipe of a process that uses UDPipe;
* start-up: seconds of a process that parses one sentence.

Every measurement begins with a freshly loaded model, so that values computed once per word form, or
once per unseen value, are computed again.
"""

from __future__ import annotations

import argparse
import io
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from oracles.errors import OptimalStepError
from parser import batch_sizes
from parser.beam_settings import Beam, Merge
from parser.commands.parsing_options import rare_collections, short_switch_interval
from parser.conllu.chunks import find_words, read_chunks
from parser.conllu.stream import read_raw_sentences
from parser.data.sentences import Sentences
from parser.decoding.beam.signature import merges_by_signature
from parser.decoding.files.file_parsing import RawColumns, parse_file
from parser.decoding.files.word_cache import WordCache
from parser.decoding.greedy.compiled import CompiledParser
from parser.decoding.parse_options import ParseOptions
from parser.decoding.predictor import Predictor
from parser.decoding.search import SearchWish, search_for
from parser.model import loading as models
from parser.model.parser_model import ParserModel
from parser.model.trained_model import TrainedModel
from parser.storage import versions
from scripts.benchmarks import spacy_parser, udpipe
from scripts.benchmarks.measurements import MODEL, SAMPLE, cpu_seconds_of_children, machine
from scripts.benchmarks.ratios import (
    OURS_AS_UDPIPE,
    SPACY,
    UDPIPE,
    UDPIPE_BEAM,
    UDPIPE_WITH_BEAM,
    Time,
    beam_job_name,
    beam_ratios,
    decoding_of,
    job_name,
    ratios_of,
    ratios_over_others,
    repeated,
)
from scripts.benchmarks.spacy_parser import Spacy
from scripts.benchmarks.udpipe import PARSER, Udpipe

WHOLE_PROCESS = "whole process over UDPipe's, CPU time"
READING = job_name("reading", 1)
WORD_ROWS = job_name("rows of words", 1)
OURS = "scripts/parse.py"
UDPIPE_MODULE = "scripts.benchmarks.udpipe"  # also a program
_PARSE = (sys.executable, "-P", "-m", "parser.commands", "parse")

# Few iterations, as the time to parse does not depend on them.
_SPACY_ITERATIONS = 5


@dataclass(frozen=True)
class TimedTask:
    """A job: a freshly loaded model parses this many words; ``model``: the folder of a model other
    than the one that is measured.
    """

    words: int
    do: Callable[[ParserModel], object]
    model: Path | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``run``."""
    parser.add_argument(
        "model",
        type=Path,
        nargs="?",
        default=MODEL,
        metavar="MODEL_DIR",
        help="default: %(default)s",
    )
    parser.add_argument(
        "files",
        type=Path,
        nargs="*",
        metavar="FILE",
        help=f"CoNLL-U with tags (default: {SAMPLE.name})",
    )
    parser.add_argument(
        "--threads",
        type=int,
        default=os.cpu_count(),
        help="number of threads to compare with one (default: all, %(default)s)",
    )
    parser.add_argument("--udpipe", metavar="MODEL", help="a model of UDPipe 1 to compare with")
    parser.add_argument(
        "--udpipe-train", type=Path, metavar="FILE", help="CoNLL-U to train such a model on"
    )
    parser.add_argument(
        "--udpipe-iterations",
        type=int,
        default=2,
        help="iterations of its training (default %(default)s; 10 are usual)",
    )
    parser.add_argument(
        "--spacy", type=Path, metavar="FOLDER", help="a pipeline of spaCy to compare with"
    )
    parser.add_argument(
        "--spacy-train",
        type=Path,
        metavar="FILE",
        help="CoNLL-U to train such a pipeline on, briefly",
    )
    parser.add_argument(
        "--over",
        type=_named,
        action="append",
        default=[],
        metavar="NAME=DIR",
        help="also decode with this model",
    )
    parser.add_argument(
        "--beam",
        type=_sizes,
        default=[],
        metavar="N,N,...",
        help="also measure beams of these sizes",
    )
    arithmetic = parser.add_mutually_exclusive_group()
    arithmetic.add_argument(
        "--int8", action="store_true", default=None, help="with an encoder: multiply in 8 bits"
    )
    arithmetic.add_argument(
        "--float32",
        dest="int8",
        action="store_false",
        default=None,
        help="with an encoder: multiply in single precision",
    )
    parser.add_argument(
        "--times", type=int, default=5, help="how often each job is measured (default %(default)s)"
    )
    parser.add_argument(
        "--repeat", type=int, default=1, help="also parse the text repeated this many times"
    )


def run(
    model: Path = MODEL,
    files: Sequence[Path] = (),
    threads: int = 1,
    udpipe: str | None = None,
    udpipe_train: Path | None = None,
    udpipe_iterations: int = 2,
    spacy: Path | None = None,
    spacy_train: Path | None = None,
    over: Sequence[tuple[str, Path]] = (),
    beam: Sequence[int] = (),
    times: int = 5,
    repeat: int = 1,
    int8: bool | None = None,
) -> dict[str, Any]:
    """Measure.

    Args:
        model: a model folder.
        files: CoNLL-U with tags; none: the test part of the sample treebank.
        threads: the number of threads to compare with one thread.
        udpipe: a model of UDPipe 1 to compare with.
        udpipe_train: CoNLL-U to train such a model on instead.
        udpipe_iterations: the number of iterations of its training.
        spacy: the folder of a pipeline of spaCy to compare with.
        spacy_train: CoNLL-U to train such a pipeline on instead.
        over: other models to compare decoding with, and their names in the ratios.
        beam: sizes of beams.
        times: how often each job is measured.
        repeat: also parse the text repeated this many times; 1: do not.
        int8: whether the models, which then must have an encoder, multiply in 8 bits; None:
            as their folders say.

    Raises:
        OptimalStepError: there is no such model or file, ``over`` has a name twice,
            or UDPipe or spaCy fails.
    """
    names = [name for name, _ in over]
    if len(set(names)) < len(names):
        raise OptimalStepError(
            f"--over: {', '.join(names)}: a name is given twice; give each model its own name"
        )
    files = files or [SAMPLE]
    text = b"".join(map(_read, files))
    parser = models.load(model, int8=int8)
    others = [(name, folder, models.load(folder, int8=int8)) for name, folder in over]
    sentences = [RawColumns(sentence) for sentence in read_raw_sentences(io.BytesIO(text))]
    words = sum(len(sentence.forms) for sentence in sentences)
    encoded = parser.vocabularies.encode(sentences)
    jobs: dict[str, TimedTask] = {}
    numbers = list(dict.fromkeys([1, threads]))
    for count in numbers:
        jobs[job_name("decoding", count)] = TimedTask(
            words, partial(_decode, sentences=encoded, threads=count)
        )
        jobs[job_name("end to end", count)] = TimedTask(
            words, partial(_end_to_end, text=text, threads=count)
        )
    jobs[READING] = TimedTask(words, partial(read, text=text))
    if has_word_rows(parser):
        jobs[WORD_ROWS] = TimedTask(words, partial(make_word_rows, sentences=encoded))
    if repeat > 1:
        again = partial(_end_to_end, text=text * repeat, threads=1)
        jobs[job_name(repeated(repeat), 1)] = TimedTask(words * repeat, again)
    for name, folder, other in others:
        coded = other.vocabularies.encode(sentences)
        jobs[decoding_of(name)] = TimedTask(
            words, partial(_decode, sentences=coded, threads=1), folder
        )
    beams = {
        beam_job_name("decoding", Beam(size, merge)): Beam(size, merge)
        for size in beam
        for merge in _merges_of(parser)
    }
    for name, tested_beam in beams.items():
        jobs[name] = TimedTask(
            words, partial(_decode, sentences=encoded, threads=1, beam=tested_beam)
        )
    decoded = text.decode()
    if (theirs := udpipe_parser(udpipe, udpipe_train, udpipe_iterations)) is not None:
        jobs[UDPIPE] = TimedTask(words, lambda _: theirs.parse(decoded))
        if beams:
            jobs[UDPIPE_WITH_BEAM] = TimedTask(words, lambda _: theirs.parse(decoded, UDPIPE_BEAM))
            jobs[OURS_AS_UDPIPE] = TimedTask(
                words, partial(_end_to_end, text=text, threads=1, beam=Beam(UDPIPE_BEAM))
            )
    if (pipeline := spacy_parser_of(spacy, spacy_train)) is not None:
        jobs[SPACY] = TimedTask(words, lambda _: pipeline.parse(decoded))
    same = len({_end_to_end(parser, text, count) for count in numbers}) == 1
    with short_switch_interval(), rare_collections():  # as in scripts/parse.py
        measured = _measure(jobs, model, times, int8)
    command = parse_command(model, int8)
    processes = seconds_of_processes(command, text, udpipe, times)
    result: dict[str, Any] = {
        "files": [file.name for file in files],
        "words": words,
        "words_per_second": {
            name: statistics.median(jobs[name].words / t.wall for t in rounds)
            for name, rounds in measured.items()
        },
        "words_per_cpu_second": {
            name: statistics.median(jobs[name].words / t.cpu for t in rounds)
            for name, rounds in measured.items()
        },
        "whole_process_cpu_seconds": {
            name: statistics.median(seconds) for name, seconds in processes.items()
        },
        "same_output_for_any_threads": same,
        "start_up_seconds": statistics.median(start_up(command, text) for _ in range(times)),
        "all_measurements": {name: [vars(t) for t in rounds] for name, rounds in measured.items()},
        "machine": machine(),
        "versions": versions(),
    }
    result["microseconds_per_word"] = microseconds_per_word(result["words_per_cpu_second"])
    result["ratios"] = ratios_of(measured, numbers[-1], repeat) | beam_ratios(measured, beams)
    result["ratios"] |= ratios_over_others(measured, names)
    if UDPIPE in processes:
        pairs = zip(processes[OURS], processes[UDPIPE], strict=True)
        result["ratios"][WHOLE_PROCESS] = statistics.median(ours / theirs for ours, theirs in pairs)
    return result


def _merges_of(model: ParserModel) -> list[Merge]:
    """Return the ways in which items of a beam can merge with this model."""
    merges = [Merge.NONE, Merge.CONFIGURATION]
    if isinstance(model, TrainedModel) and merges_by_signature(model.system):
        merges.append(Merge.SIGNATURE)
    return merges


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise OptimalStepError(f"{path}: there is no such file to parse; check the path") from error


def _sizes(text: str) -> list[int]:
    """Read the argument --beam."""
    try:
        return [Beam(int(size)).size for size in text.split(",")]
    except ValueError as error:  # of int() and of Beam
        raise argparse.ArgumentTypeError(
            f"{text}: give sizes of beams, such as 1,2,4,8,16 ({error})"
        ) from error


def _named(text: str) -> tuple[str, Path]:
    """Read the argument --over."""
    name, model_path, folder = text.partition("=")
    if not (name and model_path and folder):
        raise argparse.ArgumentTypeError(
            f"{text}: give a name and a model folder, such as arc_standard=RUN_FOLDER/model"
        )
    return name, Path(folder)


def _decode(
    model: ParserModel, sentences: Sentences, threads: int, beam: Beam | None = None
) -> None:
    search_for(model, SearchWish(beam or Beam(1), threads)).parse(sentences)


def _end_to_end(model: ParserModel, text: bytes, threads: int, beam: Beam | None = None) -> bytes:
    target = io.BytesIO()
    parse_file(
        Predictor(model, ParseOptions(beam=beam or 1)), io.BytesIO(text), target, threads=threads
    )
    return target.getvalue()


def _measure(
    jobs: dict[str, TimedTask], model: Path, times: int, int8: bool | None = None
) -> dict[str, list[Time]]:
    """Return times of each job, measured in turn so that the machine's load is the same;
    a first round does not count.
    """
    times_of_jobs: dict[str, list[Time]] = {name: [] for name in jobs}
    for round_number in range(times + 1):
        for name, job in jobs.items():
            fresh = models.load(job.model or model, int8=int8)  # without caches of the round before
            wall, cpu = time.perf_counter(), time.process_time()
            job.do(fresh)
            if round_number:
                times_of_jobs[name].append(
                    Time(time.perf_counter() - wall, time.process_time() - cpu)
                )
    return times_of_jobs


def _seconds_of_processes(result: dict[str, Any]) -> Iterable[tuple[str, float]]:
    return result["whole_process_cpu_seconds"].items()


def as_table(result: dict[str, Any]) -> str:
    """Return the result as a table."""
    lines = []
    for name, rate in result["words_per_second"].items():
        lines.append(
            f"{name:38} {rate:10,.0f} words/s {result['words_per_cpu_second'][name]:10,.0f} "
            "words/CPU s"
        )
    lines += [
        f"{f'{name}, 1 thread':66} {each:10.2f} us/word"
        for name, each in result["microseconds_per_word"].items()
    ]
    lines += [f"{name:66} {ratio:10.2f}" for name, ratio in result["ratios"].items()]
    lines += [
        f"{f'whole process, {name}':66} {seconds:10.2f} CPU s"
        for name, seconds in _seconds_of_processes(result)
    ]
    return "\n".join([*lines, f"{'start-up':66} {result['start_up_seconds']:10.2f} s"])


def quantities(result: dict[str, Any]) -> dict[str, tuple[float, str]]:
    """Return the values and units of the rows: words per second, ratios, seconds of the start."""
    values = {name: (rate, "words/s") for name, rate in result["words_per_second"].items()}
    values |= {
        f"{name}, CPU time": (rate, "words/CPU s")
        for name, rate in result["words_per_cpu_second"].items()
    }
    values |= {
        f"{name}, of a word": (each, "us of CPU time")
        for name, each in result["microseconds_per_word"].items()
    }
    values |= {
        f"whole process, {name}": (seconds, "CPU s")
        for name, seconds in _seconds_of_processes(result)
    }
    values |= {name: (ratio, "ratio") for name, ratio in result["ratios"].items()}
    return values | {"start-up": (result["start_up_seconds"], "s")}


def udpipe_parser(model: str | None, train: Path | None, iterations: int) -> Udpipe | None:
    """Return UDPipe's parser; None if neither a model nor a file is given.

    Args:
        model: the file of the model.
        train: CoNLL-U to train a model on instead.
        iterations: the number of iterations of the training.

    Raises:
        OptimalStepError: UDPipe is not installed, there is no such file, or UDPipe refuses it.
    """
    if model is not None:
        return Udpipe(model)
    if train is None:
        return None
    text = _training_text(train, "UDPipe")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.udpipe"
        udpipe.train(text, str(train), path, parser=PARSER | {"iterations": iterations})
        return Udpipe(path)


def spacy_parser_of(pipeline: Path | None, train: Path | None) -> Spacy | None:
    """Return spaCy's parser; None if neither a pipeline nor a file is given.

    Args:
        pipeline: the folder of the pipeline.
        train: CoNLL-U to train a pipeline on instead.

    Raises:
        OptimalStepError: spaCy is not installed, or there is no such pipeline or file.
    """
    if pipeline is not None:
        return Spacy(pipeline)
    if train is None:
        return None
    text = _training_text(train, "spaCy")
    with TemporaryDirectory() as folder:
        spacy_parser.train(text, Path(folder), _SPACY_ITERATIONS)
        return Spacy(folder)


def _training_text(path: Path, name: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise OptimalStepError(
            f"{path}: there is no such file to train {name} on; check the path"
        ) from error


def read(model: ParserModel, text: bytes) -> None:
    """Read bytes into integers, as parse_file() does."""
    cache = WordCache(model.vocabularies)
    for chunk in read_chunks(io.BytesIO(text)):
        if (words := find_words(chunk)) is not None:
            cache.encode(words)
        else:
            cache.encode_slowly(
                [RawColumns(sentence) for sentence in read_raw_sentences(io.BytesIO(chunk.content))]
            )


def has_word_rows(model: ParserModel) -> bool:
    """Return whether the contributions of words to the hidden layer are computed before the
    steps.
    """
    return isinstance(search_for(model), CompiledParser)


def make_word_rows(model: ParserModel, sentences: Sentences) -> None:
    """Compute the rows that decoding needs before its first step: one for each token type, or with
    an encoder for each word.
    """
    parser = search_for(model)
    assert isinstance(parser, CompiledParser)
    for span in sentences.spans(batch_sizes.TOKENS_PER_SPAN):
        parser.words_of(sentences.span(*span))


def microseconds_per_word(rates: Mapping[str, float]) -> dict[str, float]:
    """Divide the time of parsing a file with one thread into parts.

    Args:
        rates: words per second by job: "end to end, 1 thread", "decoding, 1 thread", READING, and
            WORD_ROWS if they are computed before the steps.
    """
    whole, decoding, reading = (
        1e6 / rates[job] for job in (job_name("end to end", 1), job_name("decoding", 1), READING)
    )
    rows = 1e6 / rates[WORD_ROWS] if WORD_ROWS in rates else 0.0
    parts = {"reading": reading, "rows of words": rows, "steps": decoding - rows}
    return parts | {"writing, and the rest": whole - reading - decoding}


def parse_command(model: Path, int8: bool | None = None) -> list[str]:
    """Return the command that parses its standard input with a model, as scripts/parse.py does."""
    return [*_PARSE, str(model), *([] if int8 is None else ["--int8"] if int8 else ["--float32"])]


def seconds_of_processes(
    ours: list[str], text: bytes, udpipe: str | None, times: int
) -> dict[str, list[float]]:
    """Return CPU seconds of processes that parse the text; NaN where the system does not report
    them.

    Args:
        ours: the command of parse_command().
        text: their input.
        udpipe: a model of UDPipe 1 to measure as well.
        times: how often each is measured.
    """
    commands = {OURS: ours}
    if udpipe is not None:
        commands[UDPIPE] = [sys.executable, "-P", "-m", UDPIPE_MODULE, udpipe]
    seconds: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(times):
        for name, command in commands.items():
            before = cpu_seconds_of_children()
            subprocess.run(command, input=text, capture_output=True, check=True)
            seconds[name].append(cpu_seconds_of_children() - before)
    return seconds


def start_up(command: list[str], text: bytes) -> float:
    """Return the seconds of a process that parses the first sentence of the text."""
    end = text.find(b"\n\n") + 2
    start = time.perf_counter()
    subprocess.run(command, input=text[:end], capture_output=True, check=True)
    return time.perf_counter() - start
