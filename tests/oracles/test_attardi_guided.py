"""The guided search of attardi_search: against brute force, against the unguided one, and that it is worth it."""

from __future__ import annotations

import random

import numpy as np
import pytest

import oracles
from oracles import Trees
from oracles.attardi import search
from tests import brute_force, random_trees
from tests.jit import COMPILED
from tests.oracles.attardi_comparison import DEGREES, LARGEST, assert_equals_brute_force, random_computations, scores_of


@pytest.mark.parametrize("degree", DEGREES)
def test_guided_from_the_start_it_equals_brute_force(degree, monkeypatch):
    monkeypatch.setattr(search, "UNGUIDED_STATES", 0)
    oracle = oracles.create("attardi_search", degree=degree)
    for n in range(1, LARGEST + 1):
        heads = list(random_trees.all_trees(n))
        found = [(s, configuration) for s in range(len(heads)) for configuration in brute_force.configurations(n)]
        assert_equals_brute_force(oracle, heads, found)
    rng = random.Random(degree)
    heads = [random_trees.random_any_tree(rng, rng.randint(5, 7)) for _ in range(20 if COMPILED else 3)]
    assert_equals_brute_force(oracle, heads, random_computations(rng, heads, degree))


@pytest.mark.parametrize("degree", DEGREES)
def test_guidance_changes_no_score(degree):
    rng = random.Random(degree)
    n = 20 if COMPILED else 9
    trees = Trees.from_heads([random_trees.random_mildly_nonprojective_tree(rng, n) for _ in range(4)])
    found = [(s, (list(range(shifted + 1)), shifted + 1)) for s in range(4) for shifted in range(0, n + 1, 4)]
    guided, unguided = (oracles.create("attardi_search", degree=degree).bind(trees) for _ in range(2))
    guided.unguided_states, unguided.unguided_states = 0, unguided.max_states
    assert guided.expanded == 0
    np.testing.assert_array_equal(scores_of(guided, found), scores_of(unguided, found))


@pytest.mark.skipif(not COMPILED, reason="too many states for plain Python")
@pytest.mark.parametrize("degree", DEGREES)
def test_what_is_wrong_deep_in_the_stack_is_found_at_once(degree):
    buried = random_trees.random_any_tree(random.Random(2), 12)
    heads = buried + list(range(12, 32))  # under it a chain, all of which is to be shifted before the stack is undone
    guided, unguided = (oracles.create("attardi_search", degree=degree).bind(Trees.from_heads([heads])) for _ in range(2))
    unguided.unguided_states = unguided.max_states
    found = [(0, (list(range(13)), 13))]
    np.testing.assert_array_equal(scores_of(guided, found), scores_of(unguided, found))
    assert 0 < guided.expanded < unguided.expanded / 10
