"""The pointer system's oracle against a search that shares nothing with it."""

import random

import numpy as np
import pytest

import oracles
from oracles import NOT_APPLICABLE, Query, Trees
from tests import random_trees
from tests.jit import COMPILED
from tests.oracles.searches import PointerSearch, compare_everywhere


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 4, pytest.param(5, marks=pytest.mark.long)])
def test_it_is_exact_everywhere(n, single_root):
    searches = [PointerSearch(tree, single_root) for tree in random_trees.all_trees(n)][
        :: 1 if COMPILED else 10
    ]
    compare_everywhere(oracles.create("pointer_cycles", single_root=single_root), searches)


def test_sentences_of_any_lengths_are_scored_together():
    """Each as if alone, and columns of no node are not applicable."""
    rng = random.Random(1)
    golds = [random_trees.random_any_tree(rng, n) for n in (3, 1, 7, 2, 7)]
    oracle = oracles.create("pointer_cycles")
    made = np.full((5, 8), -1, np.int32)
    fronts = np.array([1, 1, 3, 3, 7], np.int32)
    made[2, 1:3], made[3, 1:3], made[4, 1:7] = [2, 5], [2, 0], [7, 3, 0, 3, 4, 4]
    query = Query(
        np.arange(5, dtype=np.int32), made[:, :1], np.ones(5, np.int32), fronts, made=made
    )
    together = oracle.bind(Trees.from_heads(golds)).score_batch(query)
    assert together.shape == (5, 8)
    assert (together[3] == NOT_APPLICABLE).all()  # the buffer is empty
    for row, gold in enumerate(golds):
        n = len(gold)
        alone = oracle.step_scores(
            gold, range(n + 1), range(fronts[row], n + 1), made=made[row, 1 : fronts[row]].tolist()
        )
        assert alone == {
            str(h): score for h, score in enumerate(together[row]) if score != NOT_APPLICABLE
        }
