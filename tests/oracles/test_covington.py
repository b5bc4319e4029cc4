"""covington's oracle against a search that shares nothing with it."""

import random

import numpy as np
import pytest

import oracles
from oracles import NOT_APPLICABLE, Trees
from tests import random_trees
from tests.jit import COMPILED
from tests.oracles.searches import CovingtonSearch, compare, compare_everywhere, walked

LONG = pytest.mark.long


@pytest.mark.parametrize(
    "n", [1, 2, 3, 4 if COMPILED else pytest.param(4, marks=LONG), pytest.param(6, marks=LONG)]
)
def test_scores_equal_search_everywhere(n):
    rng = random.Random(n)
    trees = (
        random_trees.all_trees(n) if n < 5 else [random_trees.random_tree(rng, n) for _ in range(3)]
    )
    compare_everywhere(oracles.create("covington_loss"), [*map(CovingtonSearch, trees)])


@pytest.mark.parametrize(("n", "trees"), [(5, 20), (6, 2), pytest.param(5, 600, marks=LONG)])
def test_scores_equal_search_along_random_computations(n, trees):
    rng = random.Random(n)
    for tree in (random_trees.random_tree(rng, n) for _ in range(trees)):
        search = [CovingtonSearch(tree)]
        compare(
            oracles.create("covington_loss"),
            search,
            [*walked(search, rng), *walked(search, rng, 0.9)],
        )


def test_every_tree_with_one_root_is_made_whole():
    rng = random.Random(5)
    for tree in (random_trees.random_tree(rng, n) for n in (1, 2, 7, 30) for _ in range(10)):
        scores = oracles.create("covington_loss").step_scores(tree, [0], range(1, len(tree) + 1))
        assert max(scores.values()) == len(tree) - tree.count(0) + 1


def test_ties_prefer_optimal_transitions_that_leave_nothing_to_the_end():
    rng = random.Random(8)
    searches = [CovingtonSearch(random_trees.random_tree(rng, 5)) for _ in range(10)]
    batch = CovingtonSearch.query(
        5, [case for case in walked(searches, rng, 0.9) if searches[case[0]].scores(case[1])]
    )
    exact, committing = (
        oracles.create("covington_loss", ties=ties)
        .bind(Trees.from_heads([s.heads[1:] for s in searches]))
        .score_batch(batch)
        for ties in (None, "commit")
    )
    np.testing.assert_array_equal(committing == NOT_APPLICABLE, exact == NOT_APPLICABLE)
    np.testing.assert_array_equal(np.where(exact == NOT_APPLICABLE, exact, committing // 8), exact)
    assert (committing == committing.max(axis=1, keepdims=True)).sum() < (
        exact == exact.max(axis=1, keepdims=True)
    ).sum()
    with pytest.raises(ValueError, match="has no ties 'nearest_ancestor'"):
        oracles.create("covington_loss", ties="nearest_ancestor")


def test_ties_prefer_arcs_that_are_gold():
    """Token 2 is the child of the artificial root, so that 1 and 3 can wait for the end;
    but they need not.
    """
    made = {"made": [None] * 3}
    assert (
        oracles.create("covington_loss").step_scores([2, 0, 2], [0, 1], [2, 3], **made)["sh"] == 3
    )
    scores = oracles.create("covington_loss", ties="commit").step_scores(
        [2, 0, 2], [0, 1], [2, 3], **made
    )
    assert [name for name, score in scores.items() if score == max(scores.values())] == ["la"]
