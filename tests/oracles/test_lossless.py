"""The transitions that lose no gold edge, against an exhaustive search,
and against the scores of the exact oracle.
"""

import random
from itertools import product

import numpy as np
import pytest

import oracles
from oracles import UNKNOWN_HEAD, Strategy, Trees
from oracles.projectivization.largest_part import largest_projective_part
from tests import random_trees
from tests.jit import COMPILED
from tests.oracles import searches
from tests.oracles.test_partial import partial_trees, random_partial_trees

Case = tuple[int, tuple[tuple[int, ...], int]]


def lossless(golds: list[list[int]]) -> oracles.BoundLossless:
    found = oracles.create("context_rows", Strategy.ANY).bind_lossless(
        Trees.from_heads(golds, partial=True)
    )
    assert found is not None
    return found


@pytest.mark.parametrize(
    "n", [1, 2, 3, pytest.param(4, marks=pytest.mark.skipif(not COMPILED, reason="slow"))]
)
def test_equals_search_wherever_nothing_is_lost(n):
    """Also where edges exclude each other: then of the largest set that can be made together."""
    golds = partial_trees(n)
    sets = largest_projective_part(Trees.from_heads(golds, partial=True))
    bound, cases, expected = lossless(golds), [], []
    for s in range(len(golds)):
        search = searches.ArcStandardSearch(sets[s], "any")
        assert search.best(search.initial) == n - sets[s].count(UNKNOWN_HEAD)
        for now in search.reachable(optimal=True):
            cases.append((s, now))
            expected.append(
                [
                    name in (known := search.scores(now)) and known[name] == search.best(now)
                    for name in ["sh", "rl", "rr"]
                ]
            )
    np.testing.assert_array_equal(
        bound.allowed(random_trees.query([(s, *now) for s, now in cases])), expected
    )


@pytest.mark.parametrize("n", [5, 9, 30])
def test_equals_the_exact_oracle_along_computations(n):
    """Of projective trees with any part of their heads hidden, as deep and as flat as they come."""
    rng, oracle = random.Random(n), oracles.create("context_rows", Strategy.ANY)
    golds = []
    for depth, share in (
        product((0.2, 0.5, 0.9), (0.0, 0.2, 0.5, 0.8)) if COMPILED else [(0.5, 0.5)]
    ):
        for _ in range(15 if COMPILED else 2):
            tree = random_trees.random_projective_tree(rng, n, depth)
            golds.append([UNKNOWN_HEAD if rng.random() < share else head for head in tree])
    trees = Trees.from_heads(golds, partial=True)
    quick, exact = lossless(golds), oracle.bind(trees)
    assert trees.projective.all()
    now = [(s, ((0,), 1)) for s in range(len(golds))]
    for _ in range(2 * n):
        asked = random_trees.query([(s, *where) for s, where in now])
        found, scores = quick.allowed(asked), exact.score_batch(asked)
        np.testing.assert_array_equal(found, scores == scores.max(axis=1, keepdims=True))
        now = [
            (s, random_trees.apply_step(*where, rng.choice(np.flatnonzero(own).tolist())))
            for (s, where), own in zip(now, found, strict=True)
        ]


@pytest.mark.parametrize("n", [5, 9, 30])
def test_no_transition_is_worse_than_the_best_where_edges_exclude_each_other(n):
    rng, oracle = random.Random(n), oracles.create("context_rows", Strategy.ANY)
    golds = random_partial_trees(n, 100 if COMPILED else 5)
    trees = Trees.from_heads(golds, partial=True)
    assert not trees.projective.all()
    quick, exact = lossless(golds), oracle.bind(trees)
    now = [(s, ((0,), 1)) for s in range(len(golds))]
    for _ in range(2 * n):
        asked = random_trees.query([(s, *where) for s, where in now])
        found, scores = quick.allowed(asked), exact.score_batch(asked)
        assert found.any(axis=1).all()
        assert not (found & (scores < scores.max(axis=1, keepdims=True))).any()
        now = [
            (s, random_trees.apply_step(*where, rng.choice(np.flatnonzero(own).tolist())))
            for (s, where), own in zip(now, found, strict=True)
        ]


def test_only_of_all_computations():
    trees = Trees.from_heads([[2, 0]])
    for strategy in Strategy:
        quick = oracles.create("context_rows", strategy).bind_lossless(trees)
        assert (quick is None) == (strategy is not Strategy.ANY)
    assert oracles.create("nederhof_cubic", Strategy.ANY).bind_lossless(trees) is None
