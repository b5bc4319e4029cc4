"""arc_hybrid's oracle against a search that shares nothing with it."""

from __future__ import annotations

import random
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings

import oracles
from oracles import NOT_APPLICABLE, NonProjectiveGoldError, Trees
from tests import brute_force, random_trees
from tests.jit import COMPILED
from tests.oracles.vectors import cases as vectors

LARGEST = 3 if not COMPILED else 5


def brute_force_scores(heads, single_root=False):
    """A function from (stack, front) to the scores of the applicable transitions, by search."""
    n = len(heads)

    @cache
    def best(stack, front):
        return max(scores(stack, front).values(), default=0)

    def scores(stack, front):
        found = {}
        if front <= n:
            found["sh"] = best((*stack, front), front + 1)
        if front <= n and len(stack) >= 2:
            found["la"] = (heads[stack[-1] - 1] == front) + best(stack[:-1], front)
        if len(stack) >= 2 and not (single_root and len(stack) == 2 and front <= n):
            found["ra"] = (heads[stack[-1] - 1] == stack[-2]) + best(stack[:-1], front)
        return found

    return scores


def as_rows(cases, heads, single_root=False):
    rows = []
    searches = [brute_force_scores(tuple(tree), single_root) for tree in heads]
    for s, stack, front in cases:
        scores = searches[s](stack, front)
        rows.append([scores.get(transition, NOT_APPLICABLE) for transition in ("sh", "la", "ra")])
    return rows


@pytest.mark.parametrize("n", range(1, LARGEST + 1))
def test_equals_brute_force_everywhere(n):
    heads = brute_force.projective_trees(n)
    cases = [(s, *configuration) for s in range(len(heads)) for configuration in brute_force.configurations(n)]
    scores = oracles.create("arc_hybrid_local").bind(Trees.from_heads(heads)).score_batch(random_trees.query(cases))
    assert scores.dtype == np.int16
    np.testing.assert_array_equal(scores, as_rows(cases, heads))


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("n", range(1, LARGEST))
def test_rows_equal_brute_force_everywhere(n, single_root):
    heads = list(random_trees.all_trees(n))
    cases = [(s, *configuration) for s in range(len(heads)) for configuration in brute_force.configurations(n)]
    random.Random(n).shuffle(cases)  # rows are kept by prefix: any order must do
    oracle = oracles.create("arc_hybrid_rows", single_root=single_root)
    scores = oracle.bind(Trees.from_heads(heads)).score_batch(random_trees.query(cases))
    np.testing.assert_array_equal(scores, as_rows(cases, heads, single_root))


@pytest.mark.parametrize("single_root", [False, True])
@given(random_trees.trees_with_configuration(random_trees.trees(5, 9)))
@settings(deadline=None, max_examples=20 if not COMPILED else 100)
def test_rows_equal_brute_force_on_random_trees(single_root, case):
    heads, stack, front = case
    oracle = oracles.create("arc_hybrid_rows", single_root=single_root)
    scores = oracle.step_scores(heads, stack, range(front, len(heads) + 1))
    assert scores == brute_force_scores(heads, single_root)(stack, front)


@pytest.mark.parametrize("max_bytes", [3000, 2**20])
def test_rows_equal_the_chart_parser_along_computations(max_bytes):
    """Of longer sentences, in rows of several blocks; also where only one sentence is remembered at a time."""
    rng = random.Random(11)
    heads = [random_trees.random_any_tree(rng, n) for n in (7, 8, 9, 15, 16, 17, 24)]
    cases = []
    for s, tree in enumerate(heads):
        stack, front = (0,), 1
        while front <= len(tree) or len(stack) > 1:
            cases.append((s, stack, front))
            if front <= len(tree) and (len(stack) == 1 or rng.random() < 0.5):
                stack, front = (*stack, front), front + 1
            else:
                stack = stack[:-1]
    chosen = rng.sample(cases, 8 if not COMPILED else 60)
    rows, chart = (
        oracles.create(name, **options).bind(Trees.from_heads(heads)).score_batch(random_trees.query(chosen))
        for name, options in (("arc_hybrid_rows", {"max_bytes": max_bytes}), ("arc_hybrid_tabular", {}))
    )
    np.testing.assert_array_equal(rows, chart)


@pytest.mark.parametrize("oracle", ["arc_hybrid_rows", "arc_hybrid_tabular"])
def test_vectors(oracle):
    for case in vectors("arc_hybrid.jsonl"):
        if oracle == "arc_hybrid_rows":
            made = oracles.create(oracle, single_root=case["single_root"])
        elif case["single_root"]:
            continue
        else:
            made = oracles.create(oracle)
        assert made.step_scores(case["heads"], case["stack"], case["buffer"]) == case["gain"]


@given(random_trees.trees_with_configuration(random_trees.projective_trees(5, 9)))
@settings(deadline=None, max_examples=20 if not COMPILED else 200)
def test_equals_brute_force_on_random_trees(case):
    heads, stack, front = case
    scores = oracles.create("arc_hybrid_local").step_scores(heads, stack, range(front, len(heads) + 1))
    assert scores == brute_force_scores(heads)(stack, front)


def test_the_sentences_of_a_batch_do_not_mix():
    rng = random.Random(1)
    heads = [random_trees.random_projective_tree(rng, n) for n in (1, 7, 3, 9, 2)]
    cases = [(s, *rng.choice(list(brute_force.configurations(len(heads[s]))))) for s in rng.choices(range(5), k=60)]
    scores = oracles.create("arc_hybrid_local").bind(Trees.from_heads(heads)).score_batch(random_trees.query(cases))
    np.testing.assert_array_equal(scores, as_rows(cases, heads))


def test_it_is_found_by_its_system_and_knows_one_strategy():
    assert oracles.names(system="arc_hybrid") == ["arc_hybrid_rows", "arc_hybrid_local", "arc_hybrid_tabular"]
    assert oracles.names(any_gold=True, system="arc_hybrid") == ["arc_hybrid_rows", "arc_hybrid_tabular"]
    assert oracles.create("arc_hybrid_local").strategy == "any"
    with pytest.raises(ValueError, match="it knows: any"):
        oracles.create("arc_hybrid_local", "left_before_right")
    with pytest.raises(ValueError, match=r"option 'degree'.*: none"):
        oracles.create("arc_hybrid_local", degree=2)
    with pytest.raises(ValueError, match=r"transition system 'easy_first'; .*arc_standard"):
        oracles.names(system="easy_first")


def test_nonprojective_gold_is_refused():
    with pytest.raises(NonProjectiveGoldError, match=r"sentence 1 .*projectivize .*arc_hybrid_rows"):
        oracles.create("arc_hybrid_local").bind(Trees.from_heads([[0, 1], [3, 4, 0, 0]]))
