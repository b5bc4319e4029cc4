"""two_planar's oracle against a search that shares nothing with it."""

from __future__ import annotations

import random

import numpy as np
import pytest

import oracles
from oracles import NOT_APPLICABLE, Query, Trees
from tests import random_trees
from tests.oracles.two_planar_search import Configuration, TwoPlanarSearch
from tests.oracles.vectors import cases

NAMES = ("sh", "la", "ra", "re", "sw", "na", "ro", "at")
Case = tuple[int, Configuration]  # the number of the sentence comes first


def query(n: int, cases: list[Case]) -> Query:
    """n: of the longest sentence."""
    stacks, others = np.zeros((2, len(cases), n + 1), np.int32)
    made = np.full((len(cases), n + 1), -1, np.int32)
    for r, (_, now) in enumerate(cases):
        stacks[r, : len(now.active)], others[r, : len(now.other)], made[r, : len(now.made)] = now.active, now.other, now.made
    rows = [(s, len(now.active), now.front, len(now.other)) for s, now in cases]
    sentences, sizes, fronts, other_sizes = (np.array(numbers, np.int32) for numbers in zip(*rows, strict=True))
    switched = np.array([now.switched for _, now in cases])
    return Query(sentences, stacks, sizes, fronts, made=made, others=(others, other_sizes, switched))


def compare(heads: list[list[int]], cases: list[Case], searches: list[TwoPlanarSearch]) -> None:
    scores = oracles.create("two_planar_search").bind(Trees.from_heads(heads)).score_batch(query(max(map(len, heads)), cases))
    expected = [[searches[s].scores(now).get(name, NOT_APPLICABLE) for name in NAMES] for s, now in cases]
    np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize("n", [1, 2, 3, pytest.param(4, marks=pytest.mark.long)])
def test_scores_equal_search_everywhere(n):
    heads = list(random_trees.all_trees(n))
    everywhere = sorted(TwoPlanarSearch(heads[0]).reachable())  # the same for all gold trees
    for tree in heads:
        compare([tree], [(0, now) for now in everywhere], [TwoPlanarSearch(tree)])


@pytest.mark.parametrize(("n", "trees"), [(4, 10), (5, 1), pytest.param(5, 20, marks=pytest.mark.long)])
def test_scores_equal_search_along_random_computations(n, trees):
    rng = random.Random(n)
    for tree in (random_trees.random_tree(rng, n) for _ in range(trees)):
        search = TwoPlanarSearch(tree)
        passed = [now for probability in (0, 0.5, 0.9) for now in search.walk(rng, probability)]
        compare([tree], [(0, now) for now in passed], [search])


def test_vectors():
    oracle = oracles.create("two_planar_search")
    for case in cases("two_planar.jsonl"):
        more = {name: case[name] for name in ("made", "other", "switched")}
        scores = oracle.step_scores(case["heads"], case["stack"], case["buffer"], **more)
        assert scores == case["gain"]
        assert {name: max(scores.values()) - score for name, score in scores.items()} == case["loss"]


def test_too_many_crossing_edges_are_refused():
    """Of the edges between i and 5 + i, i = 2..5, each two cross, and two planes hold two of them; those of 1 are made late."""
    tree = [0, 7, 8, 9, 10, 1, 1, 1, 1, 1]
    oracle = oracles.create("two_planar_search", max_left_out=1)
    assert max(oracle.step_scores([0, 1, 1], [0], [1, 2, 3]).values()) == 3
    with pytest.raises(ValueError, match=r"sentence 1 \(counted from 0, 10 tokens\).*max_left_out"):
        oracle.bind(Trees.from_heads([[0], tree])).score_batch(
            query(10, [(0, TwoPlanarSearch([0]).initial()), (1, TwoPlanarSearch(tree).initial())])
        )
    assert max(oracles.create("two_planar_search").step_scores(tree, [0], range(1, 11)).values()) == 8


def test_what_is_no_configuration_is_refused():
    oracle = oracles.create("two_planar_search", single_root=True)
    for stack, other in (([0, 3], [0]), ([0], [0, 2, 1]), ([0], [1]), ([0], [])):
        with pytest.raises(ValueError, match="a stack must begin with 0"):
            oracle.step_scores([2, 0, 2], stack, [3], other=other)
    with pytest.raises(ValueError, match="others="):
        oracle.bind(Trees.from_heads([[0]])).score_batch(Query.single([0], 1, made=np.full((1, 2), -1, np.int32)))


def test_ties_prefer_optimal_transitions_that_leave_nothing_to_the_end():
    rng = random.Random(8)
    heads = [random_trees.random_tree(rng, 4) for _ in range(10)]
    searches = [TwoPlanarSearch(tree) for tree in heads]
    walked = [(s, now) for s, search in enumerate(searches) for now in search.walk(rng, 0.9)]
    exact, committing = (
        oracles.create("two_planar_search", ties=ties).bind(Trees.from_heads(heads)).score_batch(query(4, walked))
        for ties in (None, "commit")
    )
    np.testing.assert_array_equal(committing == NOT_APPLICABLE, exact == NOT_APPLICABLE)
    np.testing.assert_array_equal(np.where(exact == NOT_APPLICABLE, exact, committing // 8), exact)
    assert (committing == committing.max(axis=1, keepdims=True)).sum() < (exact == exact.max(axis=1, keepdims=True)).sum()
    with pytest.raises(ValueError, match="does not know ties 'nearest_ancestor'"):
        oracles.create("two_planar_search", ties="nearest_ancestor")


def test_ties_prefer_arcs_that_are_gold():
    """Token 2 is the child of the artificial root, so that 1 and 3 can wait for the end; but they need not."""
    made = {"made": [None] * 3, "other": [0, 1]}
    assert oracles.create("two_planar_search").step_scores([2, 0, 2], [0, 1], [2, 3], **made)["sh"] == 3
    scores = oracles.create("two_planar_search", ties="commit").step_scores([2, 0, 2], [0, 1], [2, 3], **made)
    assert max(scores, key=scores.__getitem__) == "la"
    assert sum(score == max(scores.values()) for score in scores.values()) == 1
