"""A page about one run, or about two compared: scores with intervals, errors by group, confusion,
the worst sentences drawn.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from oracles.errors import OptimalStepError
from parser.conllu.checks import counted
from parser.conllu.files import open_input
from parser.decoding.files.file_parsing import parse_file
from parser.decoding.parse_options import ParseOptions, predicted_tags
from parser.decoding.predictor import Predictor
from parser.drawing import read_trees
from parser.drawing.html import (
    LEGEND,
    Cell,
    Percentage,
    confusion_table,
    contents,
    drawing,
    heading,
    page,
    table,
    text,
)
from parser.evaluation.comparison import (
    GROUPINGS,
    Comparison,
    compare,
    f1,
    interval,
    randomization_test,
)
from parser.evaluation.scores import NAMES, TREE_SCORES, Score, evaluate_files
from parser.model.loading import load
from parser.storage import from_json

_SETTINGS = (
    *("treebank", "system", "degree", "column", "oracle", "strategy", "ties"),
    *("recipe", "model", "seed"),
)
# The score of each column that a model may predict.
_PREDICTED = {"upos": "upos", "xpos": "xpos", "feats": "ufeats", "lemma": "lemmas"}
_BY = "LAS by"
_FEWEST = 20  # words of a relation that has its own row
_WORST = 10  # sentences that are drawn
_LONGEST = 80  # words of a sentence that is drawn


@dataclass(frozen=True)
class Parsed:
    """A run, or a model, and its trees of the sentences of the gold file.

    Attributes:
        name: the name that the page shows; A or B if there are two runs.
        folder: the run's folder, as the page shows it.
        metrics: the contents of metrics.json; empty for a model without a run.
        settings: the settings in run.json, by key; empty for a model without a run.
        scores: the results of evaluate_files.
        comparison: the comparison of the trees with the gold trees, word by word.
        predicted: the columns that the model predicts, see Vocabularies.
    """

    name: str
    folder: str
    metrics: dict[str, Any]
    settings: dict[str, Any]
    scores: dict[str, Score]
    comparison: Comparison
    predicted: Sequence[str] = ()


def gold_file(run: Path, split: str | None = None) -> Path:
    """Return the file of a split (``dev`` or ``test``) that a run was measured on; None: test,
    or dev without test.

    Raises:
        OptimalStepError: this is not a run's folder, or the run has no such split,
            or the split has several files.
    """
    try:
        treebank = from_json((run / "run.json").read_bytes())["settings"]["treebank"]
        files = {
            name: treebank[name]
            for name in ("test", "dev")
            if name in treebank and treebank[name] is not None
        }
    except (OSError, ValueError, KeyError, TypeError):
        raise OptimalStepError(
            f"{run}: this is not the folder of a finished run; name such a folder, "
            "or give --gold FILE"
        ) from None
    split = split or next(iter(files), None)
    if split not in files:
        fix = f"use --part {' '.join(files)}, or give --gold FILE" if files else "give --gold FILE"
        raise OptimalStepError(
            f"{run}: this run has no {split or 'test or dev'} part in a file of its own; {fix}"
        )
    if not isinstance(files[split], str):
        raise OptimalStepError(
            f"{run}: its {split} part has several files; give one of them as --gold FILE"
        )
    return Path(files[split])


def report(runs: Sequence[Path], gold: Path) -> str:
    """Return the page, HTML.

    Args:
        runs: the folders of one or two runs, or of models.
        gold: a file of gold trees.

    Raises:
        ModelError, ConlluError: a model or the gold file cannot be read.
    """
    with tempfile.TemporaryDirectory() as folder:
        outputs = [Path(folder) / f"{number}.conllu" for number in range(len(runs))]
        names = ("A", "B") if len(runs) == 2 else (_shown_folder(runs[0]),)
        parsed = [
            _parsed(name, run, gold, output)
            for name, run, output in zip(names, runs, outputs, strict=True)
        ]
        parts = [*_head(parsed, gold), *_histogram(parsed), *_groups(parsed), *_confusion(parsed)]
        parts += _worst(parsed, gold, outputs)
        return page(f"{' against '.join(names)} on {gold.name}", [contents(parts, [_BY]), *parts])


def _shown_folder(run: Path) -> str:
    absolute = run.resolve()
    return f"{absolute.parent.name}/{absolute.name}"


def _parsed(name: str, run: Path, gold: Path, output: Path) -> Parsed:
    model, target = load(run), BytesIO()
    with open_input(gold) as source:
        options = ParseOptions(allow_missing_columns=True, tags=predicted_tags(model))
        parse_file(Predictor(model, options), source, target, str(gold))
    output.write_bytes(target.getvalue())
    metrics, made_from = (_read_object(run / name) for name in ("metrics.json", "run.json"))
    settings = dict(_flat(made_from.get("settings", {})))
    scores, comparison = evaluate_files(gold, output), compare(gold, output)
    return Parsed(
        name,
        _shown_folder(run),
        metrics,
        settings,
        scores,
        comparison,
        model.vocabularies.predicted,
    )


def _read_object(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file of a run; empty if there is no such file."""
    try:
        content = from_json(path.read_bytes()) if path.is_file() else {}
    except ValueError as error:
        raise OptimalStepError(
            f"{path}: this file is damaged ({error}); start the run again, or remove the file"
        ) from error
    if not isinstance(content, dict):
        raise OptimalStepError(f"{path}: this file is not of a run; remove it")
    return content


def _flat(settings: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in settings.items():
        if isinstance(value, dict) and value:
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value


def _head(parsed: Sequence[Parsed], gold: Path) -> list[str]:
    splits_of_runs = [(split, run) for run in parsed for split in ("train", "dev", "test")]
    uses = [
        f"{split} part of {run.name}"
        for split, run in splits_of_runs
        if run.settings.get(f"treebank.{split}") == str(gold)
    ]
    parts = [f"<p>Gold trees: {text(', '.join([gold.name, *uses]))}.</p>"]
    if len(parsed) == 2:
        parts += [
            table(["", "run"], ((run.name, run.folder) for run in parsed)),
            *_differing_settings(parsed),
        ]
    elif parsed[0].metrics:
        metrics = parsed[0].metrics
        rows = ((key, str(metrics[key])) for key in _SETTINGS if metrics.get(key) is not None)
        parts.append(table(["setting", parsed[0].name], rows))
    titles = ["", *(title for run in parsed for title in (run.name, "95% interval"))]
    if len(parsed) == 2:
        titles += ["difference", "p"]
    predicted = [
        key for column, key in _PREDICTED.items() if any(column in run.predicted for run in parsed)
    ]
    score_rows = [_score_row(key, NAMES[key], parsed) for key in (*predicted, *TREE_SCORES)]
    words = parsed[0].scores["words"].gold
    sentences = len(parsed[0].comparison.gold.sentences)
    note = (
        f"{counted(sentences, 'sentence')}, {counted(words, 'word')}. Intervals: "
        "percentile bootstrap over sentences"
    )
    if len(parsed) == 2:
        note += "; p: approximate randomization over sentences, two-sided"
    return [*parts, heading("Scores"), table(titles, score_rows), f'<p class="note">{note}.</p>']


def _differing_settings(parsed: Sequence[Parsed]) -> list[str]:
    first, second = (run.settings for run in parsed)
    if not first or not second:
        return []
    keys = [key for key in first | second if _shown(first.get(key)) != _shown(second.get(key))]
    if not keys:
        return ["<p>The settings are the same.</p>"]
    rows = ((key, _shown(first.get(key)), _shown(second.get(key))) for key in keys)
    return [table(["setting that differs", *(run.name for run in parsed)], rows)]


def _histogram(parsed: Sequence[Parsed]) -> list[str]:
    """Return a histogram of the LAS of sentences: ten percent a row,
    and a last row for sentences without a mistake.
    """
    las = [f1(run.comparison.las_counts()) for run in parsed]
    counts = [np.bincount(np.minimum(scores // 10, 10).astype(int), minlength=11) for scores in las]
    rows: list[list[Cell]] = []
    for number in range(11):
        row: list[Cell] = [f"{10 * number} to < {10 * number + 10}" if number < 10 else "100"]
        for sentences in counts:
            row += [
                int(sentences[number]),
                Percentage(100.0 * sentences[number] / sentences.sum()),
            ]
        rows.append(row)
    titles = ["LAS", *(title for run in parsed for title in (f"sentences, {run.name}", "percent"))]
    return [heading("LAS of sentences"), table(titles, rows)]


def _most_different(parsed: Sequence[Parsed]) -> list[int]:
    """Return the sentences in which one run has more words right than the other,
    the largest differences first.
    """
    first, second = (run.comparison.las_counts()[:, 0] for run in parsed)
    difference = abs(first - second)
    return [s for s in np.argsort(-difference, kind="stable").tolist() if difference[s]]


def _shown(value: Any) -> str:
    return "" if value in (None, [], {}) else str(value)


def _score_row(key: str, name: str, parsed: Sequence[Parsed]) -> list[Cell]:
    row: list[Cell] = [name]
    counts = {"uas": Comparison.uas_counts, "las": Comparison.las_counts}.get(key)
    # whether each run makes what is scored: a parser without a tagger passes gold tags through
    predicts = []
    for run in parsed:
        low_high = (
            "" if counts is None else "{:.2f} to {:.2f}".format(*interval(counts(run.comparison)))
        )
        predicts.append(
            key in TREE_SCORES or any(_PREDICTED[column] == key for column in run.predicted)
        )
        score = run.scores[key]
        row += [
            "gold" if not predicts[-1] else Percentage(score.f1) if score.has_gold else "-",
            low_high,
        ]
    if len(parsed) == 2:
        compared = all(predicts) and parsed[0].scores[key].has_gold
        row.append(
            f"{parsed[1].scores[key].f1 - parsed[0].scores[key].f1:+.2f}" if compared else ""
        )
        first, second = (run.comparison for run in parsed)
        row.append(
            "" if counts is None else f"{randomization_test(counts(first), counts(second)):.4f}"
        )
    return row


def _groups(parsed: Sequence[Parsed]) -> list[str]:
    parts = []
    for what in GROUPINGS:
        by_run = [run.comparison.by(what) for run in parsed]
        titles = [what, "gold words"]
        for run in parsed:
            titles += (
                [f"F1, {run.name}", "precision", "recall"]
                if len(parsed) == 1
                else [f"F1, {run.name}"]
            )
        titles += ["difference"] * (len(parsed) - 1)
        rows: list[list[Cell]] = []
        for group in dict.fromkeys(name for groups in by_run for name in groups):
            scores = [groups.get(group) for groups in by_run]
            words = max(score.gold for score in scores if score is not None)
            if words < (_FEWEST if what == "relation" else 1):
                continue
            row: list[Cell] = [group, words]
            for score in scores:
                row.append("" if score is None else Percentage(score.f1))
                if len(parsed) == 1 and score is not None:
                    row += [score.precision, score.recall]
            if len(parsed) == 2:
                first, second = (0.0 if score is None else score.f1 for score in scores)
                row.append(f"{second - first:+.2f}")
            rows.append(row)
        parts += [heading(f"{_BY} {what}"), table(titles, rows)]
        if what == "relation":
            parts.append(
                f'<p class="note">Relations of fewer than {_FEWEST} words are left out.</p>'
            )
    return parts


def _confusion(parsed: Sequence[Parsed]) -> list[str]:
    parts = [heading("Confused relations")]
    for run in parsed:
        counts = run.comparison.confusion()
        wrong = [(gold, system, n) for (gold, system), n in counts.most_common() if gold != system]
        parts += [
            f"<h3>{text(run.name)}</h3>",
            confusion_table(counts),
            table(["gold", "parser", "words"], wrong[:_WORST]),
        ]
    note = (
        "Rows are gold relations, columns are relations of the parser; the darker, the larger the "
        "share of the row. Heads do not count. "
        "Words with other relations in both trees are grey, right or not."
    )
    return [*parts, f'<p class="note">{note}</p>']


def _worst(parsed: Sequence[Parsed], gold: Path, outputs: Sequence[Path]) -> list[str]:
    which = "with the most errors" if len(parsed) == 1 else "in which A and B differ most"
    parts = [heading(f"The sentences {which}"), LEGEND]
    sizes = parsed[0].comparison.sentence_sizes()
    order = parsed[0].comparison.worst(len(sizes)) if len(parsed) == 1 else _most_different(parsed)
    worst = [s for s in order if sizes[s] <= _LONGEST][:_WORST]
    drawn: dict[int, list[str]] = {s: [] for s in worst}
    for run, output in zip(parsed, outputs, strict=True):
        for s, named in enumerate(islice(read_trees(output, gold), max(worst, default=-1) + 1)):
            if s in drawn:
                label = f"{named.title}, {run.name}" if len(parsed) > 1 else named.title
                drawn[s].append(drawing(named.tree, label))
    return [*parts, *(picture for s in worst for picture in drawn[s])]
