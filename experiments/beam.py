"""Accuracy against the size of a beam, of parsers trained for greedy parsing and of globally trained ones; test metrics.

    python experiments/beam.py systems=[accurate] paths.treebanks=../shared/ud-v2.2

A system whose settings have beam=global is trained once, with the beam that they name, and decoded with all of them. One with
beam=exact is decoded with all of them, and exactly.

The rows of experiments/beam/results.csv are published, and are reused (see results.py); yours go to runs/beam/results.csv as
trainings end. table.md and SYSTEM.svg beside them show LAS, and how probable the parser finds its trees, or how high it scores
them if it is globally trained: two searches with the same score are equally good. Speed is measured by
``scripts/benchmark.py parsing --beam``.
"""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from hydra.core.config_store import ConfigStore

from experiments.command import Trainings, check_known, run
from experiments.figures import BLUE, GREEN, ORANGE, RED, label_beam_sizes, panels, save
from experiments.jobs import Job
from experiments.results import Key, Results, check
from experiments.tables import mean_and_deviation
from experiments.trainings import Training, run_training
from parser.beam_settings import EXACT, Beam, Exact, Merge, Search
from parser.data.parses import Parses
from parser.data.treebank import read_treebank
from parser.decoding.parsers import beam_parser_of
from parser.decoding.sentence_parser import Tree
from parser.evaluation.gold_part import GoldPart
from parser.model import loading as models

_COLOURS = (BLUE, ORANGE, GREEN, RED)
_STYLES = {Merge.NONE: "--", Merge.CONFIGURATION: "-", Merge.SIGNATURE: ":"}


@dataclass
class BeamExperiment(Trainings):
    """What to compare; configs/experiments/beam.yaml says what each key is for."""

    systems: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    merges: list[str] = field(default_factory=list)
    all_systems: dict[str, list[str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    """A line of results.csv: percentages on the test part, all words, full relations.

    ``log_probability`` is that of the trees found, in nats per word; of a globally trained parser, their score.
    """

    system: str
    treebank: str
    seed: str
    merge: str
    size: str
    las: str
    uas: str
    log_probability: str
    config: str

    @property
    def key(self) -> tuple[str, ...]:
        """What there is one row for."""
        return self.system, self.treebank, self.seed, self.merge, self.size


Rows = dict[Key, Row]

ConfigStore.instance().store(name="beam_schema", node=BeamExperiment)


def main(wanted: BeamExperiment) -> None:
    """Trains and parses what is not there yet, then writes the table and the plots."""
    check_known("systems", wanted.systems, list(wanted.all_systems))
    check_known("merges", wanted.merges, list(Merge))
    check(wanted, ("train", "dev", "test"))
    results = Results.of(Row, wanted)
    asked: dict[Key, str] = {}
    trainings: dict[Key, tuple[str, Training]] = {}
    systems = wanted.systems or list(wanted.all_systems)
    for system, language, seed in product(systems, wanted.languages, range(1, wanted.seeds + 1)):
        training = Training(language, "accurate", 5, seed, wanted.paths.treebanks, tuple(wanted.all_systems[system]))
        exact = [(EXACT, EXACT)] if "beam=exact" in wanted.all_systems[system] else []
        for merge, size in [*product(wanted.merges, map(str, wanted.sizes)), *exact]:
            key: Key = (system, language, str(seed), merge, size)
            asked[key], trainings[key] = training.fingerprint(), (system, training)
    beams_of: dict[tuple[str, Training], list[tuple[str, str]]] = {}
    for key in results.missing(asked):
        beams_of.setdefault(trainings[key], []).append((key[3], key[4]))
    jobs = [
        Job(f"{training.treebank} {system} seed {training.seed}", partial(run_one, system, training, missing, wanted))
        for (system, training), missing in beams_of.items()
    ]
    results.run(jobs, wanted.workers)
    results.finish("table.md", report, asked, wanted.publish, draw)


def run_one(system: str, training: Training, beams: list[tuple[str, str]], wanted: BeamExperiment) -> list[Row]:
    """Trains a parser, or takes the one that is there, and parses with beams, each a way to merge and a size, or EXACT twice.

    Runs in a process of its own.
    """
    logging.disable(logging.WARNING)
    folder = Path(wanted.runs) / system.replace(" ", "_").replace(",", "") / f"{training.treebank}-seed{training.seed}"
    run_training(training, folder, fresh=wanted.fresh)
    model = models.load(folder)
    treebank = read_treebank(str(training.settings().treebank.test))
    gold = GoldPart.of(treebank.sentences, model.vocabularies, model.relations)
    rows = []
    for merge, size in beams:
        beam: Search = Exact() if merge == EXACT else Beam(int(size), Merge(merge))
        searched = beam if model.beam is None else replace(beam, scores=model.beam.scores)
        trees = [found[0] for found in beam_parser_of(model, searched).k_best(gold.sentences, 1)]
        scores = gold.scores(_parses(trees, gold.sentences.offsets))
        score = sum(tree.score for tree in trees) / treebank.n_words
        numbers = f"{scores['las']:.4f}", f"{scores['uas']:.4f}", f"{score:.5f}"
        key = system, training.treebank, str(training.seed), merge, size
        rows.append(Row(*key, *numbers, training.fingerprint()))
    return rows


def _parses(trees: list[Tree], offsets: np.ndarray) -> Parses:
    """The trees of all sentences side by side."""
    heads, relations = np.full((2, offsets[-1]), -1, np.int32)
    for start, tree in zip(offsets[:-1], trees, strict=True):
        inside = slice(start + 1, start + 1 + len(tree.heads))
        heads[inside], relations[inside] = tree.heads, tree.relations
    return Parses(heads, relations, offsets)


def _of(rows: Rows, system: str, merge: str) -> dict[tuple[str, float], list[Row]]:
    """The rows by treebank and size of the beam, infinite for exact search."""
    found: dict[tuple[str, float], list[Row]] = {}
    for row in rows.values():
        if (row.system, row.merge) == (system, merge):
            found.setdefault((row.treebank, math.inf if row.size == EXACT else int(row.size)), []).append(row)
    return found


def report(rows: Rows) -> str:
    """Markdown: LAS and log probability by treebank and size of the beam, a table for each system and way to merge."""
    lines = [
        "# Accuracy against the size of a beam",
        "",
        "LAS on test in percent (all words, full relations, gold tags), mean ± standard deviation over seeds; in parentheses "
        "the mean logarithm of the probability of the trees found, in nats a word, or their score where the parser is globally "
        "trained. The others are trained for greedy parsing.",
    ]
    for system, merge in sorted({(row.system, row.merge) for row in rows.values()}):
        found = _of(rows, system, merge)
        treebanks, sizes = sorted({treebank for treebank, _ in found}), sorted({size for _, size in found})
        how = "exact search" if merge == EXACT else f"merge={merge}"
        lines += ["", f"## {system}, {how}", "", "| beam | " + " | ".join(treebanks) + " |"]
        lines.append("|---" * (1 + len(treebanks)) + "|")
        for size in sizes:
            cells = [_cell(found.get((treebank, size), [])) for treebank in treebanks]
            lines.append(f"| {EXACT if size == math.inf else size} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _cell(rows: list[Row]) -> str:
    if not rows:
        return "not run"
    probability = np.mean([float(row.log_probability) for row in rows])
    return f"{mean_and_deviation([float(row.las) for row in rows])} ({probability:.3f})"


def draw(rows: Rows, folder: Path) -> None:
    """Plots LAS against the size of the beam, a picture for each system."""
    for system in sorted({row.system for row in rows.values()}):
        figure, (plot,) = panels(width=7)
        treebanks = sorted({row.treebank for row in rows.values() if row.system == system})
        for merge, style in _STYLES.items():
            found = _of(rows, system, merge)
            for number, treebank in enumerate(treebanks):
                sizes = sorted(size for name, size in found if name == treebank)
                means = [np.mean([float(row.las) for row in found[treebank, size]]) for size in sizes]
                colour = _COLOURS[number % len(_COLOURS)]
                if sizes:
                    plot.plot(sizes, means, style, marker="o", color=colour, label=f"{treebank}, merge={merge}")
        label_beam_sizes(plot)
        save(figure, folder / f"{system.replace(' ', '_').replace(',', '')}.svg")


if __name__ == "__main__":
    run(main, BeamExperiment, "beam", __doc__)
