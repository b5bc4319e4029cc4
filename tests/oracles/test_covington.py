"""covington's oracle against a search that shares nothing with it."""

from __future__ import annotations

import random

import numpy as np
import pytest

import oracles
from oracles import NOT_APPLICABLE, Query, Trees
from tests import random_trees
from tests.jit import COMPILED
from tests.oracles.covington_search import Configuration, CovingtonSearch
from tests.oracles.vectors import cases

NAMES = ("sh", "na", "la", "ra", "ro", "at")
Case = tuple[int, Configuration]  # the number of the sentence comes first


def query(n: int, cases: list[Case]) -> Query:
    """n: of the longest sentence."""
    made = np.full((len(cases), n + 1), -1, np.int32)
    for r, (_, (_, _, heads)) in enumerate(cases):
        made[r, : len(heads)] = heads
    sentences, tops, fronts = (
        np.array(numbers, np.int32) for numbers in zip(*((s, i, j) for s, (i, j, _) in cases), strict=True)
    )
    return Query(sentences, np.tile(np.arange(n + 1, dtype=np.int32), (len(cases), 1)), tops + 1, fronts, made=made)


def compare(heads: list[list[int]], cases: list[Case], searches: list[CovingtonSearch]) -> None:
    scores = oracles.create("covington_loss").bind(Trees.from_heads(heads)).score_batch(query(max(map(len, heads)), cases))
    expected = [[searches[s].scores(now).get(name, NOT_APPLICABLE) for name in NAMES] for s, now in cases]
    np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize("n", [1, 2, 3, 4 if COMPILED else pytest.param(4, marks=pytest.mark.long)])
def test_scores_equal_search_everywhere(n):
    heads = list(random_trees.all_trees(n))
    searches = [CovingtonSearch(tree) for tree in heads]
    compare(heads, [(s, now) for s, search in enumerate(searches) for now in sorted(search.reachable())], searches)


@pytest.mark.parametrize(("n", "trees"), [(5, 20), (6, 2), pytest.param(5, 600, marks=pytest.mark.long)])
def test_scores_equal_search_along_random_computations(n, trees):
    rng = random.Random(n)
    for tree in (random_trees.random_tree(rng, n) for _ in range(trees)):
        search = CovingtonSearch(tree)
        passed = [now for probability in (0, 0.9) for now in search.walk(rng, probability)]
        compare([tree], [(0, now) for now in passed], [search])


@pytest.mark.long
@pytest.mark.parametrize("n", [6])
def test_scores_equal_search_everywhere_for_some_longer_trees(n):
    rng = random.Random(n)
    for tree in (random_trees.random_tree(rng, n) for _ in range(3)):
        search = CovingtonSearch(tree)
        compare([tree], [(0, now) for now in sorted(search.reachable())], [search])


def test_every_tree_with_one_root_is_made_whole():
    rng = random.Random(5)
    for n in (1, 2, 7, 30):
        for _ in range(10):
            tree = random_trees.random_tree(rng, n)
            roots = tree.count(0)
            scores = oracles.create("covington_loss").step_scores(tree, [0], range(1, n + 1))
            assert max(scores.values()) == n - roots + 1


def test_vectors():
    oracle = oracles.create("covington_loss")
    for case in cases("covington.jsonl"):
        scores = oracle.step_scores(case["heads"], case["stack"], case["buffer"], made=case["made"])
        assert scores == case["gain"]
        assert {name: max(scores.values()) - score for name, score in scores.items()} == case["loss"]


def test_what_is_no_configuration_is_refused():
    oracle = oracles.create("covington_loss", single_root=True)
    with pytest.raises(ValueError, match=r"first nodes 0\.\.i"):
        oracle.step_scores([2, 0, 2], [0, 2], [3])
    with pytest.raises(ValueError, match=r"first nodes 0\.\.i"):
        oracle.step_scores([2, 0, 2], [0, 1, 2], [2, 3])
    with pytest.raises(ValueError, match="a head from 0 to 3"):
        oracle.step_scores([2, 0, 2], [0, 1], [3], made=[4])


def test_ties_prefer_optimal_transitions_that_leave_nothing_to_the_end():
    rng = random.Random(8)
    heads = [random_trees.random_tree(rng, 5) for _ in range(10)]
    searches = [CovingtonSearch(tree) for tree in heads]
    walked = [(s, now) for s, search in enumerate(searches) for now in search.walk(rng, 0.9)]
    exact, committing = (
        oracles.create("covington_loss", ties=ties).bind(Trees.from_heads(heads)).score_batch(query(5, walked))
        for ties in (None, "commit")
    )
    np.testing.assert_array_equal(committing == NOT_APPLICABLE, exact == NOT_APPLICABLE)
    np.testing.assert_array_equal(np.where(exact == NOT_APPLICABLE, exact, committing // 8), exact)
    assert (committing == committing.max(axis=1, keepdims=True)).sum() < (exact == exact.max(axis=1, keepdims=True)).sum()
    with pytest.raises(ValueError, match="does not know ties 'nearest_ancestor'"):
        oracles.create("covington_loss", ties="nearest_ancestor")


def test_ties_prefer_arcs_that_are_gold():
    """Token 2 is the child of the artificial root, so that 1 and 3 can wait for the end; but they need not."""
    made = {"made": [None] * 3}
    assert oracles.create("covington_loss").step_scores([2, 0, 2], [0, 1], [2, 3], **made)["sh"] == 3
    scores = oracles.create("covington_loss", ties="commit").step_scores([2, 0, 2], [0, 1], [2, 3], **made)
    assert max(scores, key=scores.__getitem__) == "la"
    assert sum(score == max(scores.values()) for score in scores.values()) == 1
