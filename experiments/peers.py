"""Other parsers, trained on the same files with their defaults and without pretrained input:
accuracy, time, size.

    python experiments/peers.py "peers=[spaCy]" "languages=[hu]" paths.treebanks=ud-v2.2

A peer runs as a command line in its own Python, with one thread: it is trained on the training part
with the dev part, and reads the words of the test part without tags and, if it can, the raw text.
configs/experiments/peers.yaml has the commands, and experiments/peers.md says how to make the
virtual environments.

Trained models stay in the run folders. A finished command is not repeated; a command that was
interrupted with the experiment is started again, and its earlier CPU time is not counted
(fresh=true removes the folder). A training run that reaches its time limit, or whose process gets
SIGTERM, counts as stopped: its best model so far is measured.
"""

from __future__ import annotations

import json
import math
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from experiments.command import ROOT, Trainings, check_known
from experiments.engine import Cell, Experiment, check
from experiments.tables import NOT_RUN, Key, Row, chosen, names_of, plain_table
from experiments.text import raw_text
from experiments.treebanks import paths
from oracles.errors import OptimalStepError
from parser.conllu.checks import FORM, ID
from parser.conllu.stream import read_sentences
from parser.evaluation import evaluate_files
from parser.storage import write_json
from scripts.benchmarks.measurements import cpu_seconds_of_children

# Exit statuses of a stopped training.
_STOPPED: tuple[int, ...] = ()
if sys.platform != "win32":
    import resource

    _STOPPED = -signal.SIGXCPU, -signal.SIGTERM

_METRICS = {"las": "las_universal", "uas": "uas", "upos": "upos", "ufeats": "ufeats"}
_RAW_METRICS = {"raw_las": "las_universal", "raw_sentences": "sentences", "raw_words": "words"}


@dataclass
class Peer:
    """Another parser.

    Attributes:
        python: the Python that it is installed in.
        package: its name on PyPI.
        names: its names for languages ({language} in its commands), where they differ from those of
            the treebanks.
        config: the content of config.yaml in the run folder; empty: no such file.
        minutes: the CPU minutes after which each command of a training run is stopped.
        train: the arguments of its Python, command by command, in the run folder, which has
            train.conllu and dev.conllu.
        parse: commands that parse {input} to {output}; {scripts} is scripts/benchmarks.
        reads_text: whether {input} may be text.
        model: the files and folders in the run folder that parsing needs.
        lacks: ``upos`` or ``ufeats``, if it does not predict them.
    """

    python: str
    package: str
    names: dict[str, str]
    config: dict[str, Any]
    minutes: float
    train: list[str]
    parse: list[str]
    reads_text: bool
    model: list[str]
    lacks: list[str]


@dataclass
class Peers(Trainings):
    """What to compare; configs/experiments/peers.yaml explains the keys."""

    peers: list[str]
    all_peers: dict[str, Peer]


def cells(wanted: Peers) -> list[Cell]:
    """Return a cell for each peer and treebank; peers have their default seeds."""
    check_known("peers", wanted.peers, wanted.all_peers)
    check(wanted, ("train", "dev", "test"))
    if wanted.seeds != 1:
        raise OptimalStepError(
            f"seeds={wanted.seeds}: peers are trained once, with their default seeds; give seeds=1"
        )
    return [
        Cell((name, language, "1"), " && ".join(wanted.all_peers[name].train), f"{language} {name}")
        for language, name in product(wanted.languages, wanted.peers or wanted.all_peers)
    ]


def measure(wanted: Peers, group: list[Cell]) -> Iterator[tuple[Key, dict[str, str]]]:
    """Train a peer on a treebank, and parse the test part and, for the speed, all parts."""
    for cell in group:
        name, language, _ = cell.key
        peer, files = wanted.all_peers[name], paths(language, wanted.paths.treebanks)
        run = PeerRun(
            peer, Path(wanted.runs).absolute() / language / name, peer.names.get(language, language)
        )
        if wanted.fresh and run.folder.exists():
            shutil.rmtree(run.folder)
        run.folder.mkdir(parents=True, exist_ok=True)
        for part in ("train", "dev"):
            (run.folder / f"{part}.conllu").write_bytes(files[part].read_bytes())
        trained = run.train()
        values = {
            "version": run.version(),
            "cpu_minutes": f"{sum(command['cpu_seconds'] for command in trained) / 60:.2f}",
        }
        values["stopped"] = str(any(command["stopped"] for command in trained)).lower()
        values["megabytes"] = f"{sum(map(size, map(run.folder.joinpath, peer.model))) / 1e6:.2f}"
        on_words, _ = run.parse("test.conllu", words_alone(files["test"]))
        scores = evaluate_files(files["test"], on_words)
        values |= {
            column: f"{scores[metric].f1:.4f}"
            for column, metric in _METRICS.items()
            if column not in peer.lacks
        }
        if peer.reads_text:
            scores = evaluate_files(
                files["test"], run.parse("test.txt", raw_text(files["test"]))[0]
            )
            values |= {
                column: f"{scores[metric].f1:.4f}" for column, metric in _RAW_METRICS.items()
            }
        everything = "".join(words_alone(file) for file in files.values())
        _, seconds = run.parse("all.conllu", everything)
        words = len(re.findall(r"^\d+\t", everything, re.MULTILINE))
        yield cell.key, values | {"words_per_second": f"{words / seconds:.1f}"}


_NO_COLUMNS = "\t_" * 8 + "\n"


def words_alone(path: Path) -> str:
    """Return the words and multiword tokens of a CoNLL-U file,
    without comments and without columns to predict.
    """
    lines = []
    for sentence in read_sentences(path):
        for columns, words in sentence.surface_tokens():
            if len(words) > 1:
                lines.append(columns[ID : FORM + 1])
            lines += [sentence.columns[word][ID : FORM + 1] for word in words]
        lines.append([])
    return "".join("\t".join(columns) + (_NO_COLUMNS if columns else "\n") for columns in lines)


def size(path: Path) -> int:
    """Return the bytes of a file, or of the files in a folder."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files)


@dataclass(frozen=True)
class PeerRun:
    """A peer in its run folder.

    Attributes:
        peer: the parser.
        folder: the run folder.
        language: what {language} stands for in its commands.
    """

    peer: Peer
    folder: Path
    language: str

    def arguments(self, command: str, **places: str) -> list[str]:
        """Return the arguments of a command."""
        places_of_peer = {
            "language": self.language,
            "scripts": str(ROOT / "scripts" / "benchmarks"),
            **places,
        }
        # Links are not followed, because Python finds its virtual environment by the path with
        # which it is started.
        return [
            os.path.abspath(self.peer.python),
            *(word.format(**places_of_peer) for word in shlex.split(command)),
        ]

    def train(self) -> list[dict[str, Any]]:
        """Run the commands of the training that are not done,
        and return all of them with their CPU seconds.
        """
        log, config = self.folder / "trained.json", self.folder / "config.yaml"
        done: list[dict[str, Any]] = (
            json.loads(log.read_text(encoding="utf-8")) if log.exists() else []
        )
        # JSON is YAML
        text = json.dumps(dict(self.peer.config), indent=2) if self.peer.config else ""
        before = config.read_text(encoding="utf-8") if config.exists() else ""
        if before != text or [command["command"] for command in done] != [
            *self.peer.train[: len(done)]
        ]:
            done = []  # trainings with other commands or another configuration do not count
        if text:
            config.write_text(text, encoding="utf-8", newline="\n")
        for command in self.peer.train[len(done) :]:
            seconds, stopped = self._run(self.arguments(command), math.ceil(self.peer.minutes * 60))
            done.append({"command": command, "cpu_seconds": seconds, "stopped": stopped})
            write_json(log, done)
        return done

    def parse(self, name: str, content: str) -> tuple[Path, float]:
        """Parse some content, and return the file of trees and the CPU seconds of the whole
        processes.
        """
        (self.folder / name).write_text(content, encoding="utf-8", newline="\n")
        output = f"{name}.parsed.conllu"
        seconds = sum(
            self._run(self.arguments(command, input=name, output=output))[0]
            for command in self.peer.parse
        )
        return self.folder / output, seconds

    def version(self) -> str:
        """Return the installed version."""
        code = f"from importlib.metadata import version; print(version('{self.peer.package}'))"
        return subprocess.run(
            [*self.arguments("-c"), code], check=True, capture_output=True, encoding="utf-8"
        ).stdout.strip()

    def _run(self, arguments: list[str], limit: int | None = None) -> tuple[float, bool]:
        """Run a process that logs to log.txt in the run folder; return its CPU seconds,
        and whether it was stopped.
        """
        begun = cpu_seconds_of_children()
        # may point to our modules
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment |= dict.fromkeys(
            ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"
        )
        with (self.folder / "log.txt").open("a", encoding="utf-8", newline="\n") as log:
            code = subprocess.run(
                arguments,
                cwd=self.folder,
                env=environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=partial(_limit, limit) if limit and _STOPPED else None,
            ).returncode
        stopped = limit is not None and code in _STOPPED
        if code and not stopped:
            raise OptimalStepError(
                f"{shlex.join(arguments)} ended with {code}; {self.folder / 'log.txt'} says why"
            )
        return cpu_seconds_of_children() - begun, stopped


def _limit(seconds: int) -> None:
    if sys.platform != "win32":
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 60))


def page(rows: list[Row], wanted: Peers) -> str:
    """Return Markdown: a table for each treebank that is asked for or has rows."""
    head = [
        "",
        "version",
        "LAS (official)",
        "UAS",
        "UPOS",
        "FEATS",
        "LAS (official) from text",
        "sentences",
        "words",
    ]
    head += ["training, CPU minutes", "words/s", "MB"]
    parts = []
    for language in names_of(rows, "treebank", wanted.languages):
        lines = [
            [name, *_cells(chosen(rows, peer=name, treebank=language))] for name in wanted.all_peers
        ]
        parts.append(f"## {language}\n\n{plain_table(head, lines)}")
    return wanted.head() + "\n".join(parts)


def _cells(rows: list[Row]) -> Iterator[str]:
    if not rows:
        yield from [NOT_RUN] * (len(MEASURED) - 1)
        return
    (row,) = rows
    yield row["version"]
    for name in (*_METRICS, *_RAW_METRICS):
        yield f"{float(row[name]):.2f}" if row[name] else "-"
    yield f"{float(row['cpu_minutes']):.1f}{', stopped' if row['stopped'] == 'true' else ''}"
    yield f"{float(row['words_per_second']):,.0f}"
    yield f"{float(row['megabytes']):.1f}"


# F1 on test in percent, LAS (official), on gold words and from raw text. ``cpu_minutes`` is the CPU
# time of the training, ``stopped`` whether it was stopped, and ``words_per_second`` the speed of
# whole processes in CPU time, over all parts.
MEASURED = (
    "version",
    *_METRICS,
    *_RAW_METRICS,
    "cpu_minutes",
    "stopped",
    "words_per_second",
    "megabytes",
)
KEY = ("peer", "treebank", "seed")
EXPERIMENT = Experiment("peers", Peers, KEY, MEASURED, cells, measure, page)

if __name__ == "__main__":
    EXPERIMENT.run(__doc__)
