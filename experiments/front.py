"""LAS against speed: how accurate parsers are, from the MLP to a pretrained encoder, and how many
words a second they parse.

    python experiments/front.py "languages=[hu]" seeds=1 workers=1 paths.treebanks=ud-v2.2

Every system is a command line of ``optimal-step parse``: its output is evaluated, and the processor
time of its processes is measured, all systems in turn. Other projects' parsers take turns with
them: experiments/peers.py has to train these first, and their scores come from the rows in
experiments/results/peers.
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice, product
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from experiments.command import OUTPUT, ROOT, Trainings, check_at_least, check_known, settings_of
from experiments.engine import Cell, Experiment, check
from experiments.figures import BLACK, BLUE, GREEN, GREY, ORANGE, RED, SKY, panels, read_csv, save
from experiments.peers import PeerRun, Peers, words_alone
from experiments.tables import (
    NOT_RUN,
    Key,
    Row,
    chosen,
    lines_of,
    markdown,
    names_of,
    numbers,
    score,
)
from experiments.text import tokenized
from experiments.trainings import Training, run_training
from oracles.errors import OptimalStepError
from parser.evaluation import evaluate_files
from scripts.benchmarks.measurements import cpu_seconds_of_children
from scripts.benchmarks.parsing import parse_command

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_END = b"\n\n"  # ends a sentence


@dataclass
class System:
    """A parser.

    Attributes:
        training: settings on top of the recipe.
        parsing: options of ``optimal-step parse``.
        peer: the name of another project's parser in configs/experiments/peers.yaml; empty: the
            parser is ours.
    """

    training: list[str] = field(default_factory=list)
    parsing: list[str] = field(default_factory=list)
    peer: str = ""


@dataclass
class Front(Trainings):
    """What to measure; configs/experiments/front.yaml explains the keys."""

    systems: list[str]
    all_systems: dict[str, System]
    rounds: int
    tokenizers: str = field(metadata=OUTPUT)
    peers: str = field(metadata=OUTPUT)
    peer_runs: str = field(metadata=OUTPUT)

    def training(self, name: str, treebank: str, seed: int | str) -> Training:
        """Return the training of a system, without the files that it learns from."""
        return Training.of(self, treebank, seed, self.all_systems[name].training)

    def folder(self, training: Training) -> Path:
        """Return the run folder, which systems with the same training share."""
        return (
            Path(self.runs) / f"{training.treebank}-seed{training.seed}-{training.folder}"
        ).absolute()

    def command(self, name: str, folder: Path) -> list[str]:
        """Return the command of a system that parses its standard input with the model of a run
        folder.
        """
        return [*parse_command(folder / "model"), *self.all_systems[name].parsing]

    def peer_run(self, peer: str, treebank: str) -> PeerRun:
        """Return another project's parser that experiments/peers.py has trained.

        Raises:
            OptimalStepError: experiments/peers.py has not trained it.
        """
        parser = settings_of(Peers, "peers", []).all_peers[peer]
        folder = Path(self.peer_runs).absolute() / treebank / peer
        run = PeerRun(parser, folder, parser.names.get(treebank, treebank))
        if missing := [part for part in parser.model if not (folder / part).exists()]:
            raise OptimalStepError(
                f"{folder / missing[0]}: there is no such model; python experiments/peers.py "
                f'"peers=[{peer}]" "languages=[{treebank}]" runs={self.peer_runs} published=null '
                "trains it"
            )
        return run

    def peer_row(self, peer: str, treebank: str) -> Row:
        """Return the scores of another project's parser whose training was not stopped.

        Raises:
            OptimalStepError: there are none.
        """
        path = ROOT / self.peers
        rows = chosen(
            read_csv(path) if path.exists() else [], peer=peer, treebank=treebank, stopped="false"
        )
        if not rows:
            raise OptimalStepError(f"{path}: there is no row of {peer} on {treebank}")
        return rows[0]


def cells(wanted: Front) -> list[Cell]:
    """Return a cell for each system. The systems of a treebank and seed share a job,
    which measures their speed in turn.
    """
    names = [*wanted.all_systems]
    check_known("systems", wanted.systems, names)
    check_at_least("rounds", wanted.rounds, 1)
    check(wanted, ("train", "dev", "test"))
    all_cells = []
    for seed, language, name in product(
        range(1, wanted.seeds + 1), wanted.languages, wanted.systems or names
    ):
        system = wanted.all_systems[name]
        settings = (
            f"experiments/peers.py peers=[{system.peer}]"
            if system.peer
            else " ".join([wanted.training(name, language, seed).described, *system.parsing])
        )
        all_cells.append(Cell((name, language, str(seed)), settings, f"{language} seed {seed}"))
    return all_cells


def measure(wanted: Front, group: list[Cell]) -> Iterator[tuple[Key, dict[str, str]]]:
    """Train all systems, then parse with them."""
    _, treebank, seed = group[0].key
    folders: dict[str, Path] = {}
    seconds: dict[Path, float] = {}
    ours = [name for name, *_ in (cell.key for cell in group) if not wanted.all_systems[name].peer]
    for name in ours:
        training = wanted.training(name, treebank, seed)
        folders[name] = folder = wanted.folder(training)
        if folder in seconds:
            continue
        seconds[folder] = run_training(training, folder, fresh=wanted.fresh)["cpu_seconds"]
    plain = Training.of(wanted, treebank, seed)
    dev, test = plain.part("dev"), plain.part("test")
    text = tokenized(plain, Path(wanted.tokenizers))
    parsers: dict[str, Callable[[bytes], bytes]] = {
        name: partial(output, wanted.command(name, folder)) for name, folder in folders.items()
    }
    for name, *_ in (cell.key for cell in group):
        if name not in parsers:
            run = wanted.peer_run(wanted.all_systems[name].peer, treebank)
            parsers[name] = partial(_output_of_peer, run)
    parsed, speeds = by_turns(parsers, [dev.read_bytes(), test.read_bytes(), text], wanted.rounds)
    for cell in group:
        name = cell.key[0]
        if name not in folders:
            row = wanted.peer_row(wanted.all_systems[name].peer, treebank)
            seconds_of_peer = 60 * float(row["cpu_minutes"])
            yield (
                cell.key,
                {
                    **dict.fromkeys(MEASURED, ""),
                    **{column: row[column] for column in ("las", "uas", "raw_las")},
                    "words_per_second": f"{speeds[name]:.0f}",
                    "cpu_seconds": f"{seconds_of_peer:.1f}",
                },
            )
            continue
        rows = []
        for part, gold, content in zip(
            ("dev", "test", "text"), (dev, test, test), parsed[name], strict=True
        ):
            written = folders[name] / f"{name.replace(' ', '_')}.{part}.conllu"
            written.write_bytes(content)
            rows.append(evaluate_files(gold, written))
        on_dev, on_test, from_text = (f"{scores['las_universal'].f1:.4f}" for scores in rows)
        values = (
            on_test,
            f"{rows[1]['uas'].f1:.4f}",
            on_dev,
            from_text,
            f"{speeds[name]:.0f}",
            f"{seconds[folders[name]]:.1f}",
        )
        yield cell.key, dict(zip(MEASURED, values, strict=True))


def output(command: list[str], content: bytes) -> bytes:
    """Return the output of a command for an input."""
    done = subprocess.run(command, input=content, stdout=subprocess.PIPE)
    if done.returncode:
        raise OptimalStepError(
            f"{shlex.join(command)} ended with {done.returncode}; its message is above"
        )
    return done.stdout


def _output_of_peer(run: PeerRun, content: bytes) -> bytes:
    """Return the output of another project's parser for the words of CoNLL-U, without tags."""
    with TemporaryDirectory() as place:
        given = Path(place) / "given.conllu"
        given.write_bytes(content)
        words = words_alone(given)
    path, _ = run.parse("turn.conllu", words)
    return path.read_bytes()


def by_turns(
    parsers: Mapping[str, Callable[[bytes], bytes]], contents: Sequence[bytes], rounds: int
) -> tuple[dict[str, list[bytes]], dict[str, float]]:
    """Return the output of each parser for some files, which are parsed together, and words per
    second of a process's processor time.

    Args:
        parsers: functions that run the processes of a parser, in turn; the median of ``rounds`` is
            the speed.
        contents: CoNLL-U.
    """
    everything = b"".join(contents)
    words = sum(line.split(b"\t", 1)[0].isdigit() for line in everything.splitlines())
    outputs: dict[str, bytes] = {}
    seconds: dict[str, list[float]] = {name: [] for name in parsers}
    for _ in range(rounds):
        for name, parse in parsers.items():
            before = cpu_seconds_of_children()
            outputs[name] = parse(everything)
            seconds[name].append(cpu_seconds_of_children() - before)
    speeds = {name: words / median(times) for name, times in seconds.items()}
    return {
        name: _split(output, [content.count(_END) for content in contents])
        for name, output in outputs.items()
    }, speeds


def _split(content: bytes, sizes: Sequence[int]) -> list[bytes]:
    """Split CoNLL-U into parts of these numbers of sentences."""
    sentences = iter(content.split(_END))
    return [b"".join(sentence + _END for sentence in islice(sentences, size)) for size in sizes]


def page(rows: list[Row], wanted: Front) -> str:
    """Return the page about the treebanks that have rows."""
    head = [
        "treebank",
        "parser",
        "LAS (official) / UAS",
        "LAS (official) on dev",
        "LAS (official) from text",
    ]
    head += ["words per CPU second", "training, CPU seconds"]

    def cells_of(rows: list[Row]) -> list[str]:
        speed, seconds = (
            f"{np.mean(numbers(rows, name)):,.0f}" for name in ("words_per_second", "cpu_seconds")
        )
        return [
            score(rows, "las", "uas"),
            score(rows, "dev_las") if all(row["dev_las"] for row in rows) else NOT_RUN,
            score(rows, "raw_las"),
            speed,
            seconds,
        ]

    values = {"treebank": _treebanks(rows, wanted), "system": [*wanted.all_systems]}
    return wanted.head() + markdown(head, lines_of(rows, values, cells_of))


def _treebanks(rows: list[Row], wanted: Front) -> list[str]:
    return [
        name for name in names_of(rows, "treebank", wanted.languages) if chosen(rows, treebank=name)
    ]


# Label and colour of each family of systems, by the beginning of their names.
_FAMILIES = {
    "mlp": ("MLP", GREEN),
    "fast": ("recipe=fast", RED),
    "text": ("recipe=text", BLUE),
    "text, subwords": ("with subwords", SKY),
    "pretrained": ("with the pretrained encoder", ORANGE),
    "tuned": ("recipe=tuned", ORANGE),
}
# What the end of a system's name means, and its marker.
_SEARCHES = {
    "": ("greedy", "o"),
    ", beam 4": ("beam of 4", "^"),
    ", reranked": ("beam of 8 (recipe=fast: 4, recipe=tuned: 32), reranked", "s"),
}


def draw(rows: list[Row], wanted: Front, folder: Path) -> None:
    """Plot LAS against words per second, a panel for each treebank that has rows."""
    from matplotlib.lines import Line2D  # figures.py says how to install it

    treebanks = _treebanks(rows, wanted)
    figure, plots = panels(len(treebanks), width=6.4, height=4.2, share_y=False)
    names = {row["system"] for row in rows}
    # in alphabetical order, so that the picture is always the same
    peers = sorted(
        (name for name in names if name in wanted.all_systems and wanted.all_systems[name].peer),
        key=str.lower,
    )
    for treebank, plot in zip(treebanks, plots, strict=True):
        points = _points(chosen(rows, treebank=treebank), "system")
        others = {name: points.pop(name) for name in peers if name in points}
        _draw_treebank(plot, points, others)
        plot.set_title(treebank)
    plots[0].set_ylabel("LAS on test (percent), gold words, no tags")
    handles = {
        name: Line2D([], [], marker=marker, color=GREY, markerfacecolor="white")
        for ending, (name, marker) in _SEARCHES.items()
        if any(row["system"].endswith(ending) for row in rows)
    }
    if peers:
        handles["parsers of others"] = Line2D([], [], marker="x", linestyle="", color=BLACK)
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=2)
    save(figure, folder / "front.svg")


def _points(rows: list[Row], column: str) -> dict[str, tuple[float, float]]:
    """Return words per second and LAS, means over seeds, by the names in a column."""
    points = {}
    for name in names_of(rows, column):
        rows_of_name = chosen(rows, **{column: name})
        points[name] = (
            float(np.mean(numbers(rows_of_name, "words_per_second"))),
            float(np.mean(numbers(rows_of_name, "las"))),
        )
    return points


def _draw_treebank(
    plot: Axes, ours: dict[str, tuple[float, float]], others: dict[str, tuple[float, float]]
) -> None:
    for family, (label, colour) in _FAMILIES.items():
        line = [ours.get(family + ending) for ending in _SEARCHES]
        points = [point for point in line if point is not None]
        if points:
            plot.plot(*zip(*points, strict=True), color=colour, zorder=1)
        for point, (_, marker) in zip(line, _SEARCHES.values(), strict=True):
            if point is not None:
                plot.plot(*point, marker, color=colour, markerfacecolor="white", markersize=6)
        if (begin := ours.get(family)) is not None:
            _label(
                plot,
                label,
                begin,
                colour,
                left=family == "text, subwords" or (family == "text" and "fast" in ours),
            )
    for name, point in others.items():
        plot.plot(*point, "x", color=BLACK, markersize=6)
        _label(plot, name, point, left=True)
    plot.set_xscale("log")
    plot.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    plot.xaxis.set_minor_formatter(
        lambda value, _: f"{value:,.0f}" if f"{value:.0f}"[0] in "25" else ""
    )
    plot.set_xlabel("words per second of CPU time")
    plot.margins(0.18, 0.1)


def _label(
    plot: Axes, text: str, point: tuple[float, float], colour: str = BLACK, left: bool = False
) -> None:
    """Label a point, below the line to the slower and better system."""
    shift, where = (-7, "right") if left else (7, "left")
    plot.annotate(
        text, point, (shift, -4), textcoords="offset points", color=colour, ha=where, va="top"
    )


# LAS (official) in percent, without tags of the input: on the words of test, with UAS, on the words
# of dev, and from the raw text of test; the words of all three per second of processor time of
# whole processes; and the processor time of the training.
MEASURED = ("las", "uas", "dev_las", "raw_las", "words_per_second", "cpu_seconds")
KEY = ("system", "treebank", "seed")
EXPERIMENT = Experiment("front", Front, KEY, MEASURED, cells, measure, page, draw=draw)

if __name__ == "__main__":
    EXPERIMENT.run(__doc__)
