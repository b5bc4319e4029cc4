"""Grammars as oracles: equal to the compiled oracles of the same systems, configuration by configuration."""

from __future__ import annotations

import random

import numpy as np
import pytest

import oracles
from oracles import Strategy, Trees
from tests import brute_force
from tests.random_trees import query, random_projective_tree, random_tree


def all_configurations(trees):
    """Every configuration of every sentence: a subset of 0..b-1 that contains 0, and the buffer b..n."""
    return query(
        [(s, *configuration) for s, heads in enumerate(trees) for configuration in brute_force.configurations(len(heads))]
    )


@pytest.mark.parametrize("strategy", list(Strategy))
def test_arc_standard_is_context_rows(strategy):
    rng = random.Random(1)
    trees = [random_tree(rng, n) for n in (1, 2, 3, 4, 5, 5)]
    batch = all_configurations(trees)
    packed = Trees.from_heads(trees)
    expected = oracles.create("context_rows", strategy).bind(packed).score_batch(batch)
    found = oracles.create("arc_standard_tabular", strategy).bind(packed).score_batch(batch)
    np.testing.assert_array_equal(found, expected)


def test_arc_hybrid_is_its_own_oracle_on_projective_gold():
    rng = random.Random(2)
    trees = [random_projective_tree(rng, n) for n in (1, 2, 3, 4, 5, 6, 6)]
    batch = all_configurations(trees)
    packed = Trees.from_heads(trees)
    expected = oracles.create("arc_hybrid_local").bind(packed).score_batch(batch)
    found = oracles.create("arc_hybrid_tabular").bind(packed).score_batch(batch)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["arc_standard_tabular", "arc_hybrid_tabular"])
def test_a_single_configuration(name):
    oracle = oracles.create(name)
    scores = oracle.step_scores([2, 0, 2], [0, 1], [2, 3])
    expected = {"arc_standard_tabular": (3, 2, None), "arc_hybrid_tabular": {"sh": 1, "la": 3, "ra": 2}}
    assert scores == expected[name]
