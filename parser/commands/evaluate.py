"""Scores a file of trees against gold trees: optimal-step evaluate GOLD SYSTEM [--json]
[--by WHAT,...] [--confusion].

The metrics are those of the CoNLL 2018 shared task, and UAS and LAS without punctuation.
LAS counts subtypes of relations;
LAS (official), that of the shared task, does not. parser/evaluation/scores.py defines each metric.
The score of a column that is _ for all words of GOLD says nothing; it is marked "no gold values".
Files are CoNLL-U, plain, .gz or .xz; one of them may be - for standard input. Words with _
(unknown) for HEAD or DEPREL in GOLD do not count; --by and --confusion need complete trees.

With --by, the table also has LAS by relation, sentence length, distance of the head, depth in the
tree or projectivity of the arc; for precision, words are grouped by the system's own tree. With
--confusion it lists the most frequent wrong relations.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

from oracles.errors import did_you_mean
from parser.commands.arguments import Arguments
from parser.conllu.files import STANDARD_STREAM
from parser.evaluation import Score, compare, evaluate_files
from parser.evaluation.comparison import GROUPINGS
from parser.evaluation.scores import NAMES

MOST_CONFUSED = 20  # pairs of relations that are printed
# the details of a score in JSON
_DETAILS = (
    "precision",
    "recall",
    "f1",
    "aligned_accuracy",
    "correct",
    "gold",
    "system",
    "aligned",
)


def as_table(scores: dict[str, Score]) -> str:
    """Return the scores as a table, with two decimals."""
    lines = [f"{'':20} {'precision':>9} {'recall':>9} {'F1':>9} {'of aligned':>10}", "-" * 61]
    words, heads, labelled = (scores[key].gold for key in ("words", "uas", "las"))
    for key, name in NAMES.items():
        score = scores[key]
        if labelled < words and not score.gold:
            lines.append(f"{name:20} {'-':>9} {'-':>9} {'-':>9}")
            continue
        aligned = "" if score.aligned_accuracy is None else f"{score.aligned_accuracy:10.2f}"
        line = f"{name:20} {score.precision:9.2f} {score.recall:9.2f} {score.f1:9.2f} {aligned:>10}"
        lines.append(line.rstrip() if score.has_gold else f"{line}  no gold values")
    if labelled < words:
        lines.append(
            f"of {words:,} gold heads {heads:,} are known, {labelled:,} with relation; "
            "tree scores count only these"
        )
    return "\n".join(lines)


def as_json(scores: dict[str, Score]) -> str:
    """Return the F1 scores by key, with all digits, and their counts under ``details``."""
    details: dict[str, dict[str, Any]] = {
        key: {name: getattr(score, name) for name in _DETAILS} for key, score in scores.items()
    }
    for key, score in scores.items():
        if not score.has_gold:
            details[key]["no_gold_values"] = True
    # then a score that counts no word is null; otherwise it is 0
    partial = scores["las"].gold < scores["words"].gold
    f1s = {key: None if partial and not score.gold else score.f1 for key, score in scores.items()}
    return json.dumps({**f1s, "details": details}, indent=2)


def main(arguments: list[str] | None = None) -> None:
    """Print the scores."""
    parser = Arguments(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gold", metavar="GOLD", help="the gold trees")
    parser.add_argument("system", metavar="SYSTEM", help="the parser's trees of the same text")
    parser.add_argument(
        "--json", action="store_true", help="print a JSON object, with full precision"
    )
    parser.add_argument(
        "--by",
        type=_groupings,
        default=[],
        metavar="WHAT,...",
        help=f"any of {', '.join(GROUPINGS)}",
    )
    parser.add_argument(
        "--confusion", action="store_true", help="count which relations are confused"
    )
    options = parser.parse_args(arguments)
    if options.gold == options.system == STANDARD_STREAM:
        parser.error("only one of GOLD and SYSTEM can be standard input; name a file for the other")
    if not (options.by or options.confusion):
        scores = evaluate_files(options.gold, options.system)
        print(as_json(scores) if options.json else as_table(scores))
        return
    if STANDARD_STREAM in (options.gold, options.system):
        parser.error("--by and --confusion read the files twice; name them both")
    scores = evaluate_files(options.gold, options.system)
    comparison = compare(options.gold, options.system)
    groups = {what: comparison.by(what) for what in options.by}
    confusions = (
        [(pair, n) for pair, n in comparison.confusion().most_common() if pair[0] != pair[1]]
        if options.confusion
        else []
    )
    if options.json:
        print(_with_groups(as_json(scores), groups, confusions))
        return
    print(as_table(scores))
    for what, by_group in groups.items():
        print(f"\n{groups_as_table(what, by_group)}")
    if options.confusion:
        print(f"\n{'gold':20} {'system':20} {'words':>9}\n{'-' * 51}")
        for (gold, system), n in confusions[:MOST_CONFUSED]:
            print(f"{gold:20} {system:20} {n:9,}")


def groups_as_table(what: str, groups: dict[str, Score]) -> str:
    """Return LAS by group as a table."""
    lines = [
        f"{f'LAS by {what}':20} {'precision':>9} {'recall':>9} {'F1':>9} {'gold':>10}",
        "-" * 61,
    ]
    for name, score in groups.items():
        lines.append(
            f"{name:20} {score.precision:9.2f} {score.recall:9.2f} {score.f1:9.2f} {score.gold:10,}"
        )
    return "\n".join(lines)


def _with_groups(
    text: str, groups: dict[str, dict[str, Score]], confusions: list[tuple[tuple[str, str], int]]
) -> str:
    content = json.loads(text)
    by = {
        what: {
            name: {"f1": s.f1, "correct": s.correct, "gold": s.gold, "system": s.system}
            for name, s in scores.items()
        }
        for what, scores in groups.items()
    }
    confused = [{"gold": gold, "system": system, "words": n} for (gold, system), n in confusions]
    return json.dumps(content | {"by": by, "confusion": confused}, indent=2)


def _groupings(text: str) -> list[str]:
    names = text.split(",")
    if unknown := [name for name in names if name not in GROUPINGS]:
        near = did_you_mean(unknown[0], GROUPINGS, {"deprel": "relation"})
        raise argparse.ArgumentTypeError(
            f"{', '.join(unknown)} unknown{near}; known: {', '.join(GROUPINGS)}"
        )
    return names
