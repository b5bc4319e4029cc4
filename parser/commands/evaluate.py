"""Compares a file of trees with the gold ones: python scripts/evaluate.py GOLD SYSTEM [--json].

The metrics are those of the CoNLL 2018 shared task, and besides them LAS with subtypes and the scores without punctuation; see
parser/evaluation/scores.py for what each one counts. Files are CoNLL-U, plain, .gz or .xz; one of them may be - for standard
input.
"""

from __future__ import annotations

import argparse
import json
from typing import NoReturn

from parser.commands.command_line import run
from parser.conllu.files import STANDARD_STREAM
from parser.evaluation import Score, evaluate_files

NAMES = {
    "tokens": "Tokens",
    "sentences": "Sentences",
    "words": "Words",
    "upos": "UPOS",
    "xpos": "XPOS",
    "ufeats": "UFeats",
    "alltags": "AllTags",
    "lemmas": "Lemmas",
    "uas": "UAS",
    "las": "LAS, subtypes count",
    "las_universal": "LAS, official",
    "uas_nopunct": "UAS, no punctuation",
    "las_nopunct": "LAS, no punctuation",
    "clas": "CLAS",
    "mlas": "MLAS",
    "blex": "BLEX",
}


def as_table(scores: dict[str, Score]) -> str:
    """The scores for people, two decimals."""
    lines = [f"{'':20} {'precision':>9} {'recall':>9} {'F1':>9} {'of aligned':>10}", "-" * 61]
    for key, name in NAMES.items():
        score = scores[key]
        aligned = "" if score.aligned_accuracy is None else f"{score.aligned_accuracy:10.2f}"
        lines.append(f"{name:20} {score.precision:9.2f} {score.recall:9.2f} {score.f1:9.2f} {aligned:>10}".rstrip())
    return "\n".join(lines)


def as_json(scores: dict[str, Score]) -> str:
    """The F1 scores under their keys, all digits, and under ``details`` what they come from."""
    details = {
        key: {
            "precision": score.precision,
            "recall": score.recall,
            "f1": score.f1,
            "aligned_accuracy": score.aligned_accuracy,
            "correct": score.correct,
            "gold": score.gold,
            "system": score.system,
            "aligned": score.aligned,
        }
        for key, score in scores.items()
    }
    return json.dumps({**{key: score.f1 for key, score in scores.items()}, "details": details}, indent=2)


def main(arguments: list[str] | None = None) -> None:
    """Prints the scores."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gold", metavar="GOLD", help="the file of gold trees")
    parser.add_argument("system", metavar="SYSTEM", help="the file of the parser's trees, over the same text")
    parser.add_argument("--json", action="store_true", help="print a JSON object, all digits")
    options = parser.parse_args(arguments)
    if options.gold == options.system == STANDARD_STREAM:
        parser.error("only one of GOLD and SYSTEM can be standard input; name the file of the other")
    scores = evaluate_files(options.gold, options.system)
    print(as_json(scores) if options.json else as_table(scores))


def command() -> NoReturn:
    """The command; exits."""
    run(main)
