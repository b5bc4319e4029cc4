r"""Mistakes of the search and mistakes of the model: how often the gold tree has a higher score than the tree that was found.

    python experiments/search_errors.py "+models={accurate: RUN_FOLDER/model, global: OTHER/model}" \
        paths.treebanks=../shared/ud-v2.2

A beam that finds a tree other than the gold one either missed a tree that the model likes better, a search error, or the model
likes the wrong tree better. The score of the gold tree is that of the computation that takes, of the steps that lead to it,
the one with the highest score each time; other computations may score higher, so that search errors are counted from below.
Sentences are left out, and counted, whose gold tree the system cannot make, or that has a relation unknown to the model.
Scores are the beam's: sums of logarithms of probabilities, or of plain scores if the model was trained globally.
Writes results.csv and table.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.command import check_known
from experiments.figures import FigureExperiment
from experiments.parsed_part import ParsedPart
from experiments.tables import Row, markdown
from parser.beam_settings import Beam, Merge, Scores
from parser.data.sentences import NO_NODE, Parses
from parser.data.treebank import Treebank
from parser.decoding.greedy.batched import BatchedParser, Choice
from parser.decoding.parsers import beam_parser_of
from parser.decoding.probabilities import steps_towards
from parser.evaluation.gold_part import GoldPart
from parser.model.model import Model
from parser.transitions.configurations import Configurations
from parser.transitions.decisions import log_probabilities
from parser.transitions.system import Transitions

COMMAND = "python experiments/search_errors.py"
COLUMNS = ("model", "merge", "size", "sentences", "left_out", "found", "search_errors", "model_errors")


@dataclass
class SearchErrors(ParsedPart):
    """What to count; configs/experiments/search_errors.yaml says what each key is for."""

    merges: list[str]


def rows_of(name: str, model: Model, merges: list[str], sizes: list[int], treebank: Treebank) -> Iterator[tuple[Any, ...]]:
    """Lines of COLUMNS, one for each beam: how many sentences were compared and left out, and what was found."""
    part = GoldPart.of(treebank.sentences, model.vocabularies, model.relations)
    offsets = part.sentences.offsets
    scores = Scores.LOCAL if model.beam is None else model.beam.scores
    trees = [*zip(*(_by_sentence(values, part.sentences.lengths) for values in (part.heads, part.relations)), strict=True)]
    totals, made = gold_scores(model, part, scores)
    reached = [_same(made.heads, made.relations, start, tree) for start, tree in zip(offsets, trees, strict=False)]
    compared = np.flatnonzero(reached)
    for merge in merges:
        for size in sizes:
            best = [found[0] for found in beam_parser_of(model, Beam(size, Merge(merge), scores)).k_best(part.sentences, 1)]
            counts = {"found": 0, "search_errors": 0, "model_errors": 0}
            for number in compared.tolist():
                heads, relations = trees[number]
                if np.array_equal(best[number].heads, heads) and np.array_equal(best[number].relations, relations):
                    counts["found"] += 1
                else:
                    counts["search_errors" if totals[number] > best[number].score else "model_errors"] += 1
            yield name, merge, size, len(compared), len(trees) - len(compared), *counts.values()


def gold_scores(model: Model, part: GoldPart, scores: Scores) -> tuple[np.ndarray, Parses]:
    """float64[sentences], the scores of the computations that lead to the gold trees; and the trees that they make."""
    encoded = part.sentences
    gold = Parses.allocate(encoded.offsets)
    inside = np.ones(len(gold.heads), np.bool_)
    inside[encoded.offsets[:-1]] = False
    gold.heads[inside] = part.heads
    gold.relations[inside] = np.minimum(part.relations, len(model.relations.symbols) - 1)  # not one that it does not know
    towards, totals = steps_towards(gold, model.system), np.zeros(len(encoded))

    def choice_of(first: int, last: int) -> Choice:
        choose = towards(first, last)

        def noted(
            now: Configurations, rows: np.ndarray, numbers: np.ndarray, transitions: Transitions, of_outputs: np.ndarray
        ) -> tuple[np.ndarray, np.ndarray]:
            columns, relations = choose(now, rows, numbers, transitions, of_outputs)
            if scores is Scores.LOCAL:
                steps = log_probabilities(model.system, of_outputs, transitions, columns, relations, single_root=True)
            else:
                at = np.arange(len(rows)), columns
                outputs = model.system.block_starts[transitions.blocks[at]] + np.where(relations == NO_NODE, 0, relations)
                steps = of_outputs[transitions.rows[at], outputs]
            totals[first + numbers] += steps
            return columns, relations

        return noted

    parser = BatchedParser(model.weights(), model.system, model.table)
    return totals, parser.parse(encoded, single_root=True, choice_of=choice_of)


def _by_sentence(values: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
    return np.split(values, np.cumsum(lengths)[:-1])


def _same(heads: np.ndarray, relations: np.ndarray, start: int, tree: tuple[np.ndarray, np.ndarray]) -> bool:
    inside = slice(start + 1, start + 1 + len(tree[0]))
    return np.array_equal(heads[inside], tree[0]) and np.array_equal(relations[inside], tree[1])


def measure(settings: SearchErrors) -> tuple[list[Any], list[str]]:
    """Counts."""
    check_known("merges", settings.merges, list(Merge))
    treebank = settings.read()
    rows = [row for name, model in settings.loaded() for row in rows_of(name, model, settings.merges, settings.sizes, treebank)]
    return rows, settings.provenance(COMMAND, treebank)


def page(rows: list[Row], settings: SearchErrors) -> str:
    """For people: percentages of the sentences that were compared."""
    lines = []
    for row in rows:
        shares = (f"{100 * int(row[name]) / int(row['sentences']):.1f}" for name in ("found", "search_errors", "model_errors"))
        counts = (f"{int(row[name]):,}" for name in ("sentences", "left_out"))
        lines.append([row["model"], row["merge"], row["size"], *counts, *shares])
    heads = ["model", "merge", "beam", "sentences", "left out", "gold tree found, %", "search errors, %", "model errors, %"]
    return (
        "Search errors: the gold tree has a higher score than the tree that was found. Model errors: it has a lower one. Left\n"
        "out: the gold tree cannot be made. See experiments/search_errors.py.\n\n" + markdown(heads, lines)
    )


EXPERIMENT = FigureExperiment(SearchErrors, COLUMNS, measure, page)

if __name__ == "__main__":
    EXPERIMENT.run("search_errors", __doc__)
