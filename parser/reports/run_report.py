"""A page about one run, or about two compared: scores with intervals, errors by group, confusion, the worst sentences drawn."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

from parser.conllu.files import open_input
from parser.decoding.files.file_parsing import parse_file
from parser.drawing.drawn_tree import read_trees
from parser.drawing.html import LEGEND, Cell, Percentage, drawing, page, table, text
from parser.drawing.svg import confusion_svg
from parser.evaluation.comparison import GROUPINGS, Comparison, compare, interval, randomization_test
from parser.evaluation.scores import NAMES, TREE_SCORES, Score, evaluate_files
from parser.model.loading import load_for_parsing

_SETTINGS = ("treebank", "system", "degree", "column", "oracle", "strategy", "ties", "recipe", "model", "seed")
_FEWEST = 20  # words of a relation that has a row of its own
_WORST = 10  # sentences that are drawn
_LONGEST = 80  # words of a sentence that is drawn


class ReportError(ValueError):
    """There is nothing to report on; the message says the fix."""


@dataclass(frozen=True)
class Parsed:
    """A run, or a model, and what it makes of the gold file.

    Attributes:
        name: for the page.
        metrics: of metrics.json; empty for a model without run.
        scores: those of evaluate_files.
        comparison: word by word.
    """

    name: str
    metrics: dict[str, Any]
    scores: dict[str, Score]
    comparison: Comparison


def gold_file(run: Path, part: str) -> Path:
    """The file of a part (``dev`` or ``test``) that a run was measured on.

    Raises:
        ReportError: it is not a run's folder, or the run had no such part.
    """
    try:
        settings = json.loads((run / "run.json").read_text(encoding="utf-8"))["settings"]
        name = settings["treebank"][part]
    except (OSError, ValueError, KeyError, TypeError):
        raise ReportError(f"{run}: this is not the folder of a finished run; name one, or give --gold FILE") from None
    if name is None:
        raise ReportError(f"{run}: the run had no {part} part; give --part or --gold FILE")
    return Path(name)


def report(runs: Sequence[Path], gold: Path) -> str:
    """The page, HTML.

    Args:
        runs: the folders of one run or two, or of models.
        gold: a file of gold trees.

    Raises:
        ModelError, ConlluError: a model or the gold file cannot be read.
    """
    with tempfile.TemporaryDirectory() as folder:
        outputs = [Path(folder) / f"{number}.conllu" for number in range(len(runs))]
        parsed = [_parsed(run, gold, output) for run, output in zip(runs, outputs, strict=True)]
        title = " against ".join(one.name for one in parsed)
        return page(
            f"{title} on {gold.name}", [*_head(parsed), *_groups(parsed), *_confusion(parsed), *_worst(parsed, gold, outputs)]
        )


def _parsed(run: Path, gold: Path, output: Path) -> Parsed:
    target = BytesIO()
    with open_input(gold) as source:
        model, beam = load_for_parsing(run)
        parse_file(model, source, target, str(gold), allow_missing_columns=True, beam=beam)
    output.write_bytes(target.getvalue())
    path = run / "metrics.json"
    metrics = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    absolute = run.resolve()
    return Parsed(f"{absolute.parent.name}/{absolute.name}", metrics, evaluate_files(gold, output), compare(gold, output))


def _head(parsed: Sequence[Parsed]) -> list[str]:
    parts = []
    if any(one.metrics for one in parsed):
        rows = [(key, *(_shown(one.metrics.get(key)) for one in parsed)) for key in _SETTINGS]
        parts.append(table(["setting", *(one.name for one in parsed)], rows))
    titles = ["", *(title for one in parsed for title in (one.name, "95% interval"))]
    if len(parsed) == 2:
        titles += ["difference", "p"]
    rows_of_scores = [_score_row(key, NAMES[key], parsed) for key in TREE_SCORES]
    words = parsed[0].scores["words"].gold
    sentences = len(parsed[0].comparison.gold.sentences)
    note = f"{sentences:,} sentences, {words:,} words. Intervals: percentile bootstrap over sentences"
    if len(parsed) == 2:
        note += "; p: approximate randomization over sentences, two-sided"
    return [*parts, "<h2>Scores</h2>", table(titles, rows_of_scores), f'<p class="note">{note}.</p>']


def _shown(value: Any) -> str:
    return "" if value is None else str(value)


def _score_row(key: str, name: str, parsed: Sequence[Parsed]) -> list[Cell]:
    row: list[Cell] = [name]
    counts = {"uas": Comparison.uas_counts, "las": Comparison.las_counts}.get(key)
    for one in parsed:
        low_high = "" if counts is None else "{:.2f} to {:.2f}".format(*interval(counts(one.comparison)))
        row += [Percentage(one.scores[key].f1), low_high]
    if len(parsed) == 2:
        row.append(f"{parsed[1].scores[key].f1 - parsed[0].scores[key].f1:+.2f}")
        first, second = (one.comparison for one in parsed)
        row.append("" if counts is None else f"{randomization_test(counts(first), counts(second)):.4f}")
    return row


def _groups(parsed: Sequence[Parsed]) -> list[str]:
    parts = []
    for what in GROUPINGS:
        found = [one.comparison.by(what) for one in parsed]
        titles = [what, "gold words"]
        for one in parsed:
            titles += [f"F1, {one.name}", "precision", "recall"] if len(parsed) == 1 else [f"F1, {one.name}"]
        rows: list[list[Cell]] = []
        for group in dict.fromkeys(name for groups in found for name in groups):
            of_runs = [groups.get(group) for groups in found]
            words = max(score.gold for score in of_runs if score is not None)
            if what == "relation" and words < _FEWEST:
                continue
            row: list[Cell] = [group, words]
            for score in of_runs:
                row.append("" if score is None else Percentage(score.f1))
                if len(parsed) == 1 and score is not None:
                    row += [score.precision, score.recall]
            rows.append(row)
        parts += [f"<h2>LAS by {what}</h2>", table(titles, rows)]
        if what == "relation":
            parts.append(f'<p class="note">Relations of fewer than {_FEWEST} words are left out.</p>')
    return parts


def _confusion(parsed: Sequence[Parsed]) -> list[str]:
    parts = ["<h2>Confused relations</h2>"]
    for one in parsed:
        found = one.comparison.confusion()
        wrong = [(gold, system, n) for (gold, system), n in found.most_common() if gold != system]
        parts += [
            f"<h3>{text(one.name)}</h3>",
            f'<div class="wide">{confusion_svg(found)}</div>',
            table(["gold", "parser", "words"], wrong[:_WORST]),
        ]
    note = (
        "Rows are gold relations, columns those of the parser; the darker, the larger the share of the row. Heads do not "
        "count. Where there are (others), they are grey among themselves, right or not."
    )
    return [*parts, f'<p class="note">{note}</p>']


def _worst(parsed: Sequence[Parsed], gold: Path, outputs: Sequence[Path]) -> list[str]:
    parts = ["<h2>The sentences with the most errors</h2>", LEGEND]
    places = parsed[0].comparison.sentence_sizes()
    worst = [s for s in parsed[0].comparison.worst(len(places)) if places[s] <= _LONGEST][:_WORST]
    drawn: dict[int, list[str]] = {s: [] for s in worst}
    for one, output in zip(parsed, outputs, strict=True):
        for s, named in enumerate(islice(read_trees(output, gold), max(worst, default=-1) + 1)):
            if s in drawn:
                label = f"{named.title}, {one.name}" if len(parsed) > 1 else named.title
                drawn[s].append(drawing(named.tree, label))
    return [*parts, *(picture for s in worst for picture in drawn[s])]
