"""How a server performs under load: optimal-step benchmark serving [MODEL_DIR [FILE]]
[--clients 50] [--seconds 120].

It starts a server (scripts/serve.py) on a free port of this machine. Each client sends documents of
a few sentences of FILE, one after the other, and compares each answer with the output of parse.py.
The report has wrong answers and errors (there should be none), words per second, the time of an
answer, and the memory of the server after a quarter of the time and at the end. Clients and server
share this machine's processors.
"""

from __future__ import annotations

import argparse
import http.client
import io
import json
import random
import statistics
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlencode, urlsplit

from oracles.errors import OptimalStepError
from parser.commands.command_line import number_of_threads
from parser.conllu.stream import read_raw_sentences
from parser.decoding.files.file_parsing import parse_file
from parser.decoding.predictor import Predictor
from parser.model import loading as models
from parser.model.parser_model import ParserModel
from parser.storage import versions
from scripts.benchmarks.measurements import MODEL, SAMPLE, machine

# Most sentences of a document.
_SENTENCES = 5

_FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@dataclass(frozen=True)
class Document:
    """The body of a request, the right answer, and its number of words."""

    body: str
    answer: str
    words: int


@dataclass
class Answers:
    """The answers to a client: words of right answers, seconds of each answer,
    and wrong answers and errors.
    """

    words: int = 0
    seconds: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


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
    tags = f"CoNLL-U with the tags that the model reads (default: {SAMPLE.name})"
    parser.add_argument("file", type=Path, nargs="?", default=SAMPLE, metavar="FILE", help=tags)
    parser.add_argument(
        "--clients",
        type=number_of_threads,
        default=50,
        help="clients at a time (default: %(default)s)",
    )
    parser.add_argument("--seconds", type=float, default=120.0, help="default: %(default)s")


def run(
    model: Path = MODEL, file: Path = SAMPLE, clients: int = 50, seconds: float = 120.0
) -> dict[str, Any]:
    """Measure.

    Args:
        model: the folder of a model.
        file: CoNLL-U from which documents are taken.
        clients: number of clients at a time.
        seconds: how long the measurement takes.

    Raises:
        OptimalStepError: the file has no sentences, or the server does not start.
    """
    documents = make_documents(models.load(model), file)
    seen = [Answers() for _ in range(clients)]
    with serving(model) as (process, address):
        start = time.monotonic()
        deadline = start + seconds
        threads = [
            Thread(target=_ask, args=(address, documents, deadline, random.Random(number), client))
            for number, client in enumerate(seen)
        ]
        for thread in threads:
            thread.start()
        time.sleep(max(0.0, start + seconds / 4 - time.monotonic()))
        early = resident_megabytes(process.pid)
        for thread in threads:
            thread.join()
        took = time.monotonic() - start
        late = resident_megabytes(process.pid)
    waits = sorted(second for client in seen for second in client.seconds)
    wrong = [line for client in seen for line in client.wrong]
    return {
        "clients": clients,
        "answers": len(waits),
        "wrong": len(wrong),
        "examples_of_wrong": wrong[:3],
        "words_per_second": sum(client.words for client in seen) / took,
        "median_milliseconds": 1000 * statistics.median(waits or [0.0]),
        "p99_milliseconds": 1000 * waits[int(0.99 * (len(waits) - 1))] if waits else 0.0,
        "megabytes_at_first": early,
        "megabytes_at_the_end": late,
        "machine": machine(),
        "versions": versions(),
    }


def make_documents(model: ParserModel, file: Path) -> list[Document]:
    """Return documents of 1 to _SENTENCES sentences of a file, with their answers.

    Raises:
        OptimalStepError: the file has no sentences.
    """
    with file.open("rb") as stream:
        texts = [
            "".join(sentence.lines)
            for sentence in read_raw_sentences(stream, str(file))
            if len(sentence)
        ]
    if not texts:
        raise OptimalStepError(f"{file}: there are no sentences to send; name a treebank")
    documents: list[Document] = []
    while texts:
        size = 1 + len(documents) % _SENTENCES
        text, texts = "".join(texts[:size]), texts[size:]
        target = io.BytesIO()
        parsed = parse_file(Predictor(model), io.BytesIO(text.encode()), target, str(file))
        documents.append(
            Document(
                urlencode({"data": text, "parser": ""}), target.getvalue().decode(), parsed.words
            )
        )
    return documents


@contextmanager
def serving(model: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Yield a server and its address, HOST:PORT; it ends with the ``with`` block."""
    command = [sys.executable, "-P", "-m", "parser.commands", "serve", str(model), "--port", "0"]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, encoding="utf-8", errors="replace"
    ) as process:
        assert process.stderr is not None
        said, address = "", ""
        # Later output of the server is read and dropped, because the server waits when a pipe is
        # full.
        rest = Thread(target=deque, args=(process.stderr, 0))
        try:
            # the first may be about kernels that are compiled
            while not address and (line := process.stderr.readline()):
                said += line
                address = next(
                    (urlsplit(word).netloc for word in line.split() if word.startswith("http://")),
                    "",
                )
            if not address:
                raise OptimalStepError(f"the server does not start: {said}".strip())
            rest.start()
            yield process, address
        finally:
            process.terminate()
            process.wait()
            if rest.ident is not None:
                rest.join()


def resident_megabytes(pid: int) -> float:
    """Return the memory that a process uses (Linux); 0 where the system does not report it."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return 0.0
    return next(
        int(line.split()[1]) / 1024
        for line in status.read_text(encoding="utf-8").splitlines()
        if line.startswith("VmRSS:")
    )


def _ask(
    address: str, documents: Sequence[Document], deadline: float, rng: random.Random, seen: Answers
) -> None:
    connection = http.client.HTTPConnection(address, timeout=120)
    while time.monotonic() < deadline:
        document = rng.choice(documents)
        start = time.monotonic()
        try:
            connection.request("POST", "/process", document.body, _FORM)
            response = connection.getresponse()
            content = response.read().decode()
        except OSError as error:
            seen.wrong.append(repr(error))
            connection.close()
            continue
        seen.seconds.append(time.monotonic() - start)
        if response.status != 200:
            seen.wrong.append(f"{response.status}: {content}")
        elif json.loads(content)["result"] != document.answer:
            seen.wrong.append(content)
        else:
            seen.words += document.words
    connection.close()


def as_table(result: dict[str, Any]) -> str:
    """Return the result as a table."""
    return "\n".join(
        f"{name:24} {value:12,.1f} {unit}" for name, (value, unit) in quantities(result).items()
    )


def quantities(result: dict[str, Any]) -> dict[str, tuple[float, str]]:
    """Return the values and units of the rows."""
    units = {
        "answers": "answers",
        "wrong": "answers",
        "words_per_second": "words/s",
        "median_milliseconds": "ms",
        "p99_milliseconds": "ms",
        "megabytes_at_first": "MB",
        "megabytes_at_the_end": "MB",
    }
    return {name: (result[name], unit) for name, unit in units.items()}
