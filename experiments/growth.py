"""How parsing a file scales: words per second by sentence length and by file size, and the memory that it takes.

    python experiments/growth.py model=RUN_FOLDER/model treebank=hu paths.treebanks=../shared/ud-v2.2

By sentence length: the words of the test part cut again into sentences of one length, within one process, in memory. By file
size: the test part repeated through a pipe, ``scripts/parse.py MODEL - -o /dev/null``, a new process each time; the
speed is what it reports, including the loading of compiled code, and the highest memory is what the system reports. Nothing
else should run on the machine meanwhile. Writes results.csv, growth.svg and table.md.
"""

from __future__ import annotations

import io
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import cycle, islice, product, repeat
from pathlib import Path
from typing import Any

from experiments import treebanks
from experiments.command import MODEL, ROOT, Pictures
from experiments.figures import BLUE, RED, FigureExperiment, Measured, Tables, panels, save
from experiments.tables import Row, chosen, markdown, numbers
from parser.conllu.stream import read_raw_sentences
from parser.decoding.files.file_parsing import parse_file
from parser.model.model import Model
from parser.settings.paths import shell_command
from scripts.benchmarks.measurements import machine

PARSE = ROOT / "scripts" / "parse.py"
COLUMNS = ("by", "size", "threads", "words", "words_per_second", "peak_megabytes", "process_seconds")
LENGTH, FILE = "sentence length", "file size"

_LABELS = {
    **{LENGTH: "words of a sentence", FILE: "words of the file"},
    **{"words_per_second": "words per second", "peak_megabytes": "peak memory (MB)"},
}
_COLOURS = (BLUE, RED)
_MARKERS = "osD^"
_RATE = re.compile(r"([0-9,]+) words per second\n([0-9]+)")

# In a small process between: a child's highest memory is never below what its parent had when it was born.
_CHILD_MEMORY = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
sys.exit(status)
"""


@dataclass
class Growth(Pictures):
    """What to measure; configs/experiments/growth.yaml says what each key is for."""

    model: str = field(metadata=MODEL)
    treebank: str
    lengths: list[int]
    length_words: int
    sizes: list[int]
    threads: list[int]
    repeats: int


def sentences_of_length(file: Path, length: int, words: int) -> bytes:
    """CoNLL-U: the words of the file, over and over, in sentences of the given length; at least this many words."""
    with file.open("rb") as stream:
        columns = [word for sentence in read_raw_sentences(stream, str(file)) for word in sentence.columns]
    lines = []
    for number, word in enumerate(islice(cycle(columns), -(-words // length) * length)):
        lines.append("\t".join([str(number % length + 1), *word[1:]]))
        if (number + 1) % length == 0:
            lines.append("")
    return "".join(line + "\n" for line in lines).encode()


def measure_length(model: Model, text: bytes, threads: int, repeats: int) -> tuple[int, float]:
    """Words, and words per second, of a text in memory; a first round does not count."""
    rates = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        parsed = parse_file(model, io.BytesIO(text), io.BytesIO(), threads=threads)
        rates.append(parsed.words / (time.perf_counter() - start))
    return parsed.words, statistics.median(rates[1:])


def measure_file(model: str, parts: Iterable[bytes], threads: int) -> tuple[float, float, float]:
    """Words per second, megabytes, seconds of a process that parses the parts one after the other.

    Raises:
        ValueError: the process failed; with what it said.
    """
    parse = [sys.executable, str(PARSE), model, "-", "-o", os.devnull, "--threads", str(threads)]
    command = [sys.executable, "-c", _CHILD_MEMORY, *parse]
    start = time.perf_counter()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        for part in parts:
            process.stdin.write(part)
        process.stdin.close()
        said = process.stderr.read().decode()
    seconds = time.perf_counter() - start
    found = _RATE.search(said)
    if process.returncode != 0 or found is None:
        raise ValueError(f"{shell_command(parse)}: {said.strip()}")
    rate, peak = (float(number.replace(",", "")) for number in found.groups())
    return rate, peak * (1 if sys.platform == "darwin" else 1024) / 1e6, seconds


def measure(settings: Growth) -> Measured:
    """Medians: words per second by the clock, megabytes (10^6 bytes) and seconds of whole processes by file size."""
    if not settings.model:
        raise ValueError("give a model to parse with: model=RUN_FOLDER/model")
    file = treebanks.files(settings.treebank, settings.paths.treebanks).get("test")
    if file is None:
        raise ValueError(f"treebank {settings.treebank!r} has no part test under {settings.paths.treebanks}; name another")
    with file.open("rb") as stream:
        counts = [len(sentence) for sentence in read_raw_sentences(stream, str(file))]
    sentences, words = sum(count > 0 for count in counts), sum(counts)
    model = Model.load(Path(settings.model))
    rows: list[tuple[Any, ...]] = []
    for length in settings.lengths:
        text = sentences_of_length(file, length, settings.length_words)
        for threads in settings.threads:
            rows.append((LENGTH, length, threads, *measure_length(model, text, threads, settings.repeats), "", ""))
            print(rows[-1], file=sys.stderr)
    content = file.read_bytes()
    for size, threads in product(settings.sizes, settings.threads):
        times = -(-size // words)
        found = [measure_file(settings.model, repeat(content, times), threads) for _ in range(settings.repeats)]
        rows.append((FILE, size, threads, times * words, *map(statistics.median, zip(*found, strict=True))))
        print(rows[-1], file=sys.stderr)
    more = [
        f"model: {len(model.slots)} feature slots, {model.spec.hidden} hidden units",
        f"times: median of {settings.repeats}",
        "machine: {processor}, {cores} cores".format(**machine()),
    ]
    return Measured({"results": rows}, [treebanks.described(f"{settings.treebank} test", sentences, words)], more)


def _threads(rows: list[Row]) -> dict[str, str]:
    """The numbers of threads, and what they are called."""
    return {number: f"{number} thread{'s' * (number != '1')}" for number in sorted({row["threads"] for row in rows}, key=int)}


def draw(tables: Tables, settings: Growth, folder: Path) -> None:
    """Speed by sentence length, speed by file size, memory by file size."""
    rows = tables["results"]
    figure, plots = panels(3, width=3.2, height=2.9, share_y=False)
    panes = ((LENGTH, "words_per_second"), (FILE, "words_per_second"), (FILE, "peak_megabytes"))
    for axes, (by, value) in zip(plots, panes, strict=True):
        for place, (threads, label) in enumerate(_threads(rows).items()):
            found = chosen(rows, by=by, threads=threads)
            look: dict[str, Any] = {"color": _COLOURS[place % len(_COLOURS)], "marker": _MARKERS[place % len(_MARKERS)]}
            axes.plot(numbers(found, "size"), numbers(found, value), label=label, **look)
        axes.set(xscale="log", ylim=(0, None), xlabel=_LABELS[by], ylabel=_LABELS[value])
        axes.yaxis.set_major_formatter("{x:,.0f}")
    plots[0].legend()
    save(figure, folder / f"growth.{settings.format}")


def page(tables: Tables, settings: Growth) -> str:
    """For people."""
    rows, text = tables["results"], ["Words per second, end to end, medians; see experiments/growth.py.\n"]
    names = _threads(rows).values()
    for by, more in ((LENGTH, []), (FILE, [f"{kind}, {name}" for kind in ("MB", "s of the process") for name in names])):
        lines = []
        for size in sorted({int(row["size"]) for row in chosen(rows, by=by)}):
            found = sorted(chosen(rows, by=by, size=size), key=lambda row: int(row["threads"]))
            shown = {"words_per_second": ",.0f", "peak_megabytes": ",.0f", "process_seconds": ",.1f"}
            lines.append(
                [f"{size:,}", *(format(value, form) for name, form in shown.items() for value in numbers(found, name))]
            )
        text.append(markdown([by, *names, *more], lines))
    return "\n".join(text)


EXPERIMENT = FigureExperiment("growth", Growth, {"results": COLUMNS}, measure, page, draw)

if __name__ == "__main__":
    EXPERIMENT.run(__doc__)
