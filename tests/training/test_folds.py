"""Folds: each sentence is tested once, and the scores are of all of them together."""

from __future__ import annotations

from typing import Any

import pytest

from parser.training.observers.console import final_table
from parser.training.run import together

KEYS = ("uas", "las", "las_universal", "uas_nopunct", "las_nopunct")


def fold(score: float, words: int, words_nopunct: int) -> dict[str, Any]:
    scores = dict.fromkeys(KEYS, score)
    return {
        "treebank": "toy",
        "column": None,
        "seed": 1,
        "train": {"sentences": 9},
        "dev": scores,
        "test": scores,
        "after_first_pass": {"dev": scores, "test": scores},
        "test_part": {"words": words, "words_nopunct": words_nopunct},
        "seconds": {"read": 1.5, "fit": 1.0},
        "cpu_seconds": 3.0,
        "versions": {"python": "3"},
    }


def test_scores_of_all_sentences_together():
    made = together([fold(60.0, 10, 9), fold(90.0, 20, 9), fold(90.0, 10, 9)])
    assert made["test"]["las"] == pytest.approx((6 + 18 + 9) / 40 * 100)
    assert made["test"]["las_nopunct"] == pytest.approx(80)
    assert made["test_mean"]["las"] == made["dev"]["las"] == pytest.approx(80)
    assert made["test_standard_deviation"]["las"] == pytest.approx(300**0.5)
    assert (made["treebank"], made["column"], made["seconds"]) == ("toy", None, {"total": 7.5})
    lines = [line.split("  ")[0] for line in final_table(made).splitlines()]
    assert lines[1:] == ["fold 1", "fold 2", "fold 3", "mean", "standard deviation", "all sentences together"]


def test_nothing_measured_names_what_measures():
    said = final_table({"dev": None, "test": None})
    assert "treebank.held_out=0.1,0.1" in said
    assert "treebank.folds=10" in said
