"""Evaluation of parsers: attachment scores, and the comparison of two files,
as by the official script of CoNLL 2018.
"""

from parser.evaluation.comparison import Comparison, compare
from parser.evaluation.evaluated_text import universal
from parser.evaluation.scores import Score, attachment_scores, evaluate_files, nonprojective_edges

__all__ = [
    "Comparison",
    "Score",
    "attachment_scores",
    "compare",
    "evaluate_files",
    "nonprojective_edges",
    "universal",
]
