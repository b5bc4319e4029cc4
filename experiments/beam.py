"""Accuracy on test against the size of the beam, for parsers trained for greedy parsing and for
globally trained parsers.

    python experiments/beam.py systems=[accurate] paths.treebanks=ud-v2.2

A system whose settings have beam=global is trained once, with that beam, and decoded with all
beams. Rows of exact search were measured at commit f3f2ff4a or before.

table.md and SYSTEM.svg show LAS and the log probability of the trees found, or for a globally
trained parser their score: two searches with the same value are equally good.
``scripts/benchmark.py parsing --beam`` measures speed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import cast

import numpy as np

from experiments.command import Trainings, check_known
from experiments.engine import Cell, Experiment, check
from experiments.figures import BLUE, GREEN, ORANGE, RED, label_beam_sizes, panels, plot_las, save
from experiments.tables import Key, Row, chosen, grid, names_of, numbers, plain_table, score
from experiments.trainings import Training, folder_of, formatted, run_training
from parser.beam_settings import Beam, Merge
from parser.data.sentences import Parses
from parser.data.treebank import read_treebank
from parser.decoding.search import SearchWish, search_for
from parser.decoding.sentence_parser import KBestParser, Tree
from parser.evaluation.gold_split import GoldSplit
from parser.model import loading as models

_COLOURS = (BLUE, ORANGE, GREEN, RED)
_EXACT = "exact"  # in old rows: exact search, which was removed
_STYLES = {"none": "--", "configuration": "-", "signature": ":"}


@dataclass
class BeamExperiment(Trainings):
    """What to compare; configs/experiments/beam.yaml explains the keys."""

    systems: list[str]
    sizes: list[int]
    merges: list[str]
    all_systems: dict[str, list[str]]


def cells(wanted: BeamExperiment) -> list[Cell]:
    """Return a cell for each training and beam (a way to merge and a size);
    the beams of a training share a job.
    """
    check_known("systems", wanted.systems, list(wanted.all_systems))
    check_known("merges", wanted.merges, list(_STYLES))
    check(wanted, ("train", "dev", "test"))
    all_cells = []
    for system, language, seed in product(
        wanted.systems or list(wanted.all_systems), wanted.languages, range(1, wanted.seeds + 1)
    ):
        settings = Training.of(wanted, language, seed, wanted.all_systems[system]).described
        for beam in product(wanted.merges, map(str, wanted.sizes)):
            all_cells.append(
                Cell(
                    (system, language, str(seed), *beam),
                    settings,
                    f"{language} {system} seed {seed}",
                )
            )
    return all_cells


def measure(wanted: BeamExperiment, group: list[Cell]) -> Iterator[tuple[Key, dict[str, str]]]:
    """Train a parser, unless it has already been trained, and parse with the beams."""
    system, language, seed, *_ = group[0].key
    training = Training.of(wanted, language, seed, wanted.all_systems[system])
    folder = folder_of(wanted.runs, system, training)
    run_training(training, folder, fresh=wanted.fresh)
    model = models.load(folder)
    treebank = read_treebank(training.part("test"))
    gold = GoldSplit.of(treebank.sentences, model.vocabularies, model.relations)
    for cell in group:
        merge, size = cell.key[3:]
        beam = Beam(int(size), Merge(merge))
        searched = beam if model.beam is None else replace(beam, scores=model.beam.scores)
        parser = cast(KBestParser, search_for(model, SearchWish(searched, k_best=True)))
        trees = [trees[0] for trees in parser.k_best(gold.sentences, 1)]
        las, uas = formatted(gold.scores(_parses(trees, gold.sentences.offsets)), "las", "uas")
        score = sum(tree.score for tree in trees) / treebank.n_words
        yield cell.key, {"las": las, "uas": uas, "log_probability": f"{score:.5f}"}


def _parses(trees: list[Tree], offsets: np.ndarray) -> Parses:
    """Return the trees of all sentences side by side."""
    heads, relations = np.full((2, offsets[-1]), -1, np.int32)
    for start, tree in zip(offsets[:-1], trees, strict=True):
        inside = slice(start + 1, start + 1 + len(tree.heads))
        heads[inside], relations[inside] = tree.heads, tree.relations
    return Parses(heads, relations, offsets)


def page(rows: list[Row], wanted: BeamExperiment) -> str:
    """Return Markdown: LAS and log probability by treebank and size of the beam, a table for each
    system and way to merge.
    """
    parts = []
    for system, merge in sorted({(row["system"], row["merge"]) for row in rows}):
        chosen_rows = chosen(rows, system=system, merge=merge)
        sizes = sorted({row["size"] for row in chosen_rows}, key=lambda size: (len(size), size))
        head, lines = grid(
            chosen_rows, ("size", sizes), ("treebank", names_of(chosen_rows, "treebank")), _cell
        )
        how = "exact search" if merge == _EXACT else f"merge={merge}"
        parts.append(f"## {system}, {how}\n\n{plain_table(['beam', *head[1:]], lines)}")
    return wanted.head() + "\n".join(parts)


def _cell(rows: list[Row]) -> str:
    return f"{score(rows, 'las')} ({np.mean(numbers(rows, 'log_probability')):.3f})"


def draw(rows: list[Row], wanted: BeamExperiment, folder: Path) -> None:
    """Plot LAS against the size of the beam, a picture for each system."""
    for system in names_of(rows, "system"):
        system_rows = chosen(rows, system=system)
        figure, (plot,) = panels(width=7)
        for (merge, style), (number, treebank) in product(
            _STYLES.items(), enumerate(names_of(system_rows, "treebank"))
        ):
            look = {
                "color": _COLOURS[number % len(_COLOURS)],
                "label": f"{treebank}, merge={merge}",
            }
            plot_las(plot, chosen(system_rows, treebank=treebank, merge=merge), style, **look)
        label_beam_sizes(plot)
        save(figure, folder / f"{system.replace(' ', '_').replace(',', '')}.svg")


# Percentages on the test part, all words, full relations. ``log_probability`` is that of the trees
# found, in nats per word; for a globally trained parser, it is their score.
KEY = ("system", "treebank", "seed", "merge", "size")
EXPERIMENT = Experiment(
    "beam", BeamExperiment, KEY, ("las", "uas", "log_probability"), cells, measure, page, draw=draw
)

if __name__ == "__main__":
    EXPERIMENT.run(__doc__)
