"""The transitions that lose no gold edge, against an exhaustive search, and against the scores of the exact oracle."""

import random
from itertools import product

import numpy as np
import pytest

import oracles
from oracles import UNKNOWN_HEAD, Query, Strategy, Trees
from tests import random_trees
from tests.jit import COMPILED
from tests.oracles import searches
from tests.oracles.test_partial import partial_trees

Case = tuple[int, tuple[tuple[int, ...], int]]


def lossless(golds: list[list[int]]) -> oracles.BoundLossless:
    found = oracles.create("context_rows", Strategy.ANY).bind_lossless(Trees.from_heads(golds, partial=True))
    assert found is not None
    return found


@pytest.mark.parametrize("n", [1, 2, 3, pytest.param(4, marks=pytest.mark.skipif(not COMPILED, reason="slow"))])
def test_equals_search_wherever_nothing_is_lost(n):
    golds = partial_trees(n)
    bound, cases, expected = lossless(golds), [], []
    for s, gold in enumerate(golds):
        search = searches.ArcStandardSearch(gold, "any")
        assert bound.possible[s] == (search.best(search.initial) == n - gold.count(UNKNOWN_HEAD))
        for now in search.reachable(optimal=True) if bound.possible[s] else ():
            cases.append((s, now))
            expected.append(
                [name in (known := search.scores(now)) and known[name] == search.best(now) for name in ["sh", "rl", "rr"]]
            )
    np.testing.assert_array_equal(bound.allowed(random_trees.query([(s, *now) for s, now in cases])), expected)


@pytest.mark.parametrize("n", [5, 9, 30])
def test_equals_the_exact_oracle_along_computations(n):
    """Of projective trees with any part of their heads hidden, as deep and as flat as they come."""
    rng, oracle = random.Random(n), oracles.create("context_rows", Strategy.ANY)
    golds = []
    for depth, share in product((0.2, 0.5, 0.9), (0.0, 0.2, 0.5, 0.8)) if COMPILED else [(0.5, 0.5)]:
        for _ in range(15 if COMPILED else 2):
            tree = random_trees.random_projective_tree(rng, n, depth)
            golds.append([UNKNOWN_HEAD if rng.random() < share else head for head in tree])
    trees = Trees.from_heads(golds, partial=True)
    quick, exact = lossless(golds), oracle.bind(trees)
    assert quick.possible.all()
    now = [(s, ((0,), 1)) for s in range(len(golds))]
    for _ in range(2 * n):
        asked = random_trees.query([(s, *where) for s, where in now])
        found, scores = quick.allowed(asked), exact.score_batch(asked)
        np.testing.assert_array_equal(found, scores == scores.max(axis=1, keepdims=True))
        now = [
            (s, random_trees.apply_step(*where, rng.choice(np.flatnonzero(own).tolist())))
            for (s, where), own in zip(now, found, strict=True)
        ]


def test_where_edges_exclude_each_other_nothing_is_allowed():
    crossing, covering = [3, 4, UNKNOWN_HEAD, UNKNOWN_HEAD], [4, UNKNOWN_HEAD, UNKNOWN_HEAD, 2]
    bound = lossless([crossing, covering, [2, 0, 2, 3]])
    assert bound.possible.tolist() == [False, False, True]
    found = bound.allowed(random_trees.query([(s, (0,), 1) for s in range(3)]))
    assert found.any(axis=1).tolist() == [False, False, True]
    bound.possible[2] = False
    assert not bound.allowed(Query.single([0], 1, sentence=2)).any()


def test_only_of_all_computations():
    trees = Trees.from_heads([[2, 0]])
    for strategy in Strategy:
        quick = oracles.create("context_rows", strategy).bind_lossless(trees)
        assert (quick is None) == (strategy is not Strategy.ANY)
    assert oracles.create("nederhof_cubic", Strategy.ANY).bind_lossless(trees) is None
