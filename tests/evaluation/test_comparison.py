"""Errors by group, confusion, intervals and the test of two systems: against plain counting, and against the scorer."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import oracles
from parser.commands.evaluate import main
from parser.conllu.checks import ConlluError
from parser.data.treebank import Sentence
from parser.evaluation import compare, evaluate_files
from parser.evaluation.comparison import GROUPINGS, f1, interval, randomization_test
from tests.random_trees import random_tree
from tests.toy import sentence, write_conllu


def single_rooted(rng: random.Random, n: int) -> list[int]:
    while True:
        heads = random_tree(rng, n)
        if heads.count(0) == 1:
            return heads


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> tuple[Path, Path, list[Sentence], list[Sentence]]:
    rng = random.Random(5)
    gold = [sentence(single_rooted(rng, rng.randrange(1, 13)), rng) for _ in range(40)]
    system = []
    for s in gold:
        heads = s.heads if rng.random() < 0.5 else single_rooted(rng, len(s))
        deprels = ["root" if h == 0 else rng.choice([d, "obj", "flat"]) for h, d in zip(heads, s.deprels, strict=True)]
        system.append(Sentence(s.forms, s.lemmas, s.upos, s.xpos, s.feats, heads, deprels, s.where))
    folder = tmp_path_factory.mktemp("files")
    return write_conllu(folder / "gold.conllu", gold), write_conllu(folder / "system.conllu", system), gold, system


def group_by_hand(what: str, s: Sentence, i: int) -> str:
    """The group of word i, from 0, said again."""
    if what == "relation":
        return s.deprels[i]
    if what == "length":
        return "1-10" if len(s) <= 10 else "11-20"
    if what == "distance":
        distance = abs(s.heads[i] - i - 1)
        return "root" if s.heads[i] == 0 else str(distance) if distance < 7 else "7 or more"
    if what == "depth":
        depth, at = 1, s.heads[i]
        while at:
            depth, at = depth + 1, s.heads[at - 1]
        return str(depth) if depth < 7 else "7 or more"
    head, ends = s.heads[i], sorted((s.heads[i], i + 1))
    below = {head}
    while more := {k for k, h in enumerate(s.heads, 1) if h in below} - below:
        below |= more
    return "projective" if head == 0 or below >= set(range(ends[0], ends[1])) else "not projective"


@pytest.mark.parametrize("what", GROUPINGS)
def test_groups_are_those_of_plain_counting(files, what):
    gold_file, system_file, gold, system = files
    found = compare(gold_file, system_file).by(what)
    words = [(g, s, i) for g, s in zip(gold, system, strict=True) for i in range(len(g))]
    for name, score in found.items():
        of_gold = [(g, s, i) for g, s, i in words if group_by_hand(what, g, i) == name]
        assert score.gold == len(of_gold), name
        assert score.system == sum(group_by_hand(what, s, i) == name for _, s, i in words), name
        assert score.correct == sum(g.heads[i] == s.heads[i] and g.deprels[i] == s.deprels[i] for g, s, i in of_gold), name
    las = evaluate_files(gold_file, system_file)["las"]
    for key in ("correct", "gold", "system"):
        assert sum(getattr(score, key) for score in found.values()) == getattr(las, key)


def test_a_projective_tree_has_projective_arcs_alone(tmp_path):
    rng = random.Random(3)
    trees = [oracles.projectivize(single_rooted(rng, 9)) for _ in range(10)]
    path = write_conllu(tmp_path / "a.conllu", [sentence(heads, rng) for heads in trees])
    assert list(compare(path, path).by("projectivity")) == ["projective"]


def test_counts_confusion_and_worst_sentences(files):
    gold_file, system_file, gold, system = files
    found, scores = compare(gold_file, system_file), evaluate_files(gold_file, system_file)
    assert f1(found.las_counts().sum(axis=0)) == pytest.approx(scores["las"].f1)
    assert f1(found.uas_counts().sum(axis=0)) == pytest.approx(scores["uas"].f1)
    pairs = [(a, b) for g, s in zip(gold, system, strict=True) for a, b in zip(g.deprels, s.deprels, strict=True)]
    assert found.confusion() == {pair: pairs.count(pair) for pair in set(pairs)}
    wrong = [
        sum((h, d) != (i, e) for h, d, i, e in zip(g.heads, g.deprels, s.heads, s.deprels, strict=True))
        for g, s in zip(gold, system, strict=True)
    ]
    assert [wrong[s] for s in found.worst(5)] == sorted(wrong, reverse=True)[:5]
    assert compare(gold_file, gold_file).worst(5) == []


def test_intervals_and_the_test_of_two_systems():
    rng = np.random.default_rng(0)
    words = rng.integers(5, 30, 200)
    good, bad = rng.binomial(words, 0.9), rng.binomial(words, 0.8)
    one, other = (np.stack([right, words, words], axis=1) for right in (good, bad))
    low, high = interval(one)
    assert low < f1(one.sum(axis=0)) < high
    assert high - low < 4
    assert randomization_test(one, other) < 0.001
    assert randomization_test(one, one) == 1
    shuffled = one[rng.permutation(len(one))]  # the same system on other sentences: no difference in truth
    shuffled[:, 1:] = one[:, 1:]
    assert randomization_test(one, shuffled) > 0.9


def test_the_command(files, capsys):
    gold, system, _, _ = files
    main([str(gold), str(system), "--by", "relation,distance", "--confusion"])
    printed = capsys.readouterr().out
    assert "LAS by relation" in printed
    assert "7 or more" in printed
    assert "gold                 system" in printed
    with pytest.raises(SystemExit):
        main([str(gold), str(system), "--by", "colour"])
    assert "colour unknown; known: relation, length" in capsys.readouterr().err


def test_other_texts_are_refused(files, tmp_path):
    other = write_conllu(tmp_path / "other.conllu", files[2][1:])
    with pytest.raises(ConlluError, match="not that of the gold file"):
        compare(files[0], other)
