"""Folds: each sentence is tested once, and the scores are of all of them together."""

import random
from typing import Any

import numpy as np
import pytest

from parser.conllu.checks import UNKNOWN_HEAD
from parser.data.sentences import Parses
from parser.evaluation.gold_part import GoldPart, counted_by
from parser.training.observers.console import final_table
from parser.training.run import pool_folds
from tests.forgery import small_model
from tests.random_trees import random_tree
from tests.toy import sentence

KEYS = ("uas", "las", "las_universal", "uas_nopunct", "las_nopunct")


def fold(score: float, words: int, words_nopunct: int) -> dict[str, Any]:
    scores, kinds = dict.fromkeys(KEYS, score), ("words", "known", "labelled")
    return {
        "treebank": "toy",
        "column": None,
        "seed": 1,
        "train": {"sentences": 9},
        "dev": scores,
        "test": scores,
        "after_first_pass": {"dev": scores, "test": scores},
        "test_part": dict.fromkeys(kinds, words) | dict.fromkeys([f"{kind}_nopunct" for kind in kinds], words_nopunct),
        "seconds": {"read": 1.5, "fit": 1.0},
        "cpu_seconds": 3.0,
        "versions": {"python": "3"},
    }


def test_scores_of_all_sentences_together():
    made = pool_folds([fold(60.0, 10, 9), fold(90.0, 20, 9), fold(90.0, 10, 9)])
    assert made["test"]["las"] == pytest.approx((6 + 18 + 9) / 40 * 100)
    assert made["test"]["las_nopunct"] == pytest.approx(80)
    assert made["test_mean"]["las"] == made["dev"]["las"] == pytest.approx(80)
    assert made["test_standard_deviation"]["las"] == pytest.approx(300**0.5)
    assert (made["treebank"], made["column"], made["seconds"]) == ("toy", None, {"total": 7.5})
    lines = [line.split("  ")[0] for line in final_table(made).splitlines()]
    assert lines[1:] == ["fold 1", "fold 2", "fold 3", "mean", "standard deviation", "all sentences together"]


def test_what_some_folds_alone_have_scores_of_counts_there():
    one, other = fold(60.0, 10, 9), fold(90.0, 20, 19)
    one["test"] = one["test"] | {"a/las": 50.0, "known_heads": 4}
    one["test_part"] |= {"known": 4, "known_nopunct": 3, "labelled": 2, "labelled_nopunct": 2, "a/labelled": 1}
    other["test"] = other["test"] | {"a/las": 80.0, "b/las": 70.0}
    other["test_part"] |= {"known": 20, "known_nopunct": 19, "labelled": 20, "labelled_nopunct": 19, "a/labelled": 5}
    other["test_part"] |= {"b/labelled": 15}
    test = pool_folds([one, other])["test"]
    assert test["uas"] == pytest.approx((4 * 60 + 20 * 90) / 24)
    assert test["las_universal"] == pytest.approx((2 * 60 + 20 * 90) / 22)
    assert test["las_nopunct"] == pytest.approx((2 * 60 + 19 * 90) / 21)
    assert (test["a/las"], test["b/las"], test["known_heads"]) == (pytest.approx((50 + 5 * 80) / 6), 70.0, 24)
    assert "b/las" not in pool_folds([one, other])["test_standard_deviation"]


@pytest.mark.parametrize("seed", range(3))
def test_words_are_counted_as_scores_count_them(seed):
    """A score times its words is how many are right: a whole number."""
    rng = random.Random(seed)
    made = [sentence(random_tree(rng, rng.randint(1, 9)), rng) for _ in range(20)]
    for number, one in enumerate(made):
        one.treebank = "ab"[number % 2]
        one.upos = rng.choices(["NOUN", "PUNCT"], k=len(one))
        for word in range(len(one)):
            if rng.random() < 0.3:
                one.heads[word] = UNKNOWN_HEAD
            if rng.random() < 0.3:
                one.deprels[word] = "_"
    model = small_model("static")
    gold = GoldPart.of(made, model.vocabularies, model.relations)
    parses = Parses.allocate(gold.sentences.offsets)
    words = np.ones(len(parses.heads), np.bool_)
    words[parses.offsets[:-1]] = False
    parses.heads[words] = np.where(np.arange(len(gold.heads)) % 3, gold.heads, 0)
    parses.relations[words] = np.where(np.arange(len(gold.heads)) % 4, gold.relations, 0)
    counts = gold.counted_words()
    scores = gold.scores(parses) | gold.scores_by_treebank(parses)
    assert scores.pop("known_heads") == counts["known"]
    assert len(scores) == 9
    for name, score in scores.items():
        right = score / 100 * counts[counted_by(name)]
        assert right == pytest.approx(round(right), abs=1e-6), name
