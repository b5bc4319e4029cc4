"""The oracles of parsing with swap: static ones make the gold tree, the static-dynamic one is what its docstring says."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from oracles import NOT_APPLICABLE, Trees
from tests import brute_force, random_trees
from tests.jit import COMPILED
from tests.oracles import swap_search

LARGEST = 4 if COMPILED else 3
NAMES = ["sh", "ra", "la", "sw"]
STATIC = ["swap_eager", "swap_lazy"]


def scores_of(name, heads, cases):
    """[{transition: score}] of (sentence, configuration) pairs, in one batch."""
    longest = max(map(len, heads))
    triples = [(s, len(heads[s]), configuration) for s, configuration in cases]
    scores = oracles.create(name).bind(Trees.from_heads(heads)).score_batch(swap_search.query(triples, longest))
    assert scores.dtype == np.int16
    return [{transition: int(x) for transition, x in zip(NAMES, row, strict=True) if x != NOT_APPLICABLE} for row in scores]


def follow(name, heads, choose=max):
    """The tree of a computation that takes a best transition each time, and the transitions that it took."""
    oracle = oracles.create(name)
    now, made, taken = swap_search.initial(len(heads)), {}, []
    while options := {transition: (edge, after) for transition, edge, after in swap_search.transitions(now)}:
        scores = oracle.step_scores(heads, *now)
        assert set(scores) == set(options)
        best = [transition for transition, score in scores.items() if score == max(scores.values())]
        taken.append(choose(best))
        edge, now = options[taken[-1]]
        if edge:
            made[edge[1]] = edge[0]
    return [made[token] for token in range(1, len(heads) + 1)], taken


@pytest.mark.parametrize("name", STATIC)
def test_static_ones_make_every_tree(name):
    for n in range(1, LARGEST + 1):
        for heads in random_trees.all_trees(n):
            tree, transitions = follow(name, heads)
            assert tree == heads
            assert len(transitions) == 2 * n + 2 * transitions.count("sw")
            if brute_force.is_projective(heads):
                assert "sw" not in transitions


@given(random_trees.trees(5, 20), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=60 if COMPILED else 5)
def test_all_make_the_gold_tree_and_lazy_swaps_the_fewest(heads, rng):
    (eager, eager_transitions), (lazy, lazy_transitions) = (follow(name, heads) for name in STATIC)
    assert eager == lazy == heads
    assert lazy_transitions.count("sw") <= eager_transitions.count("sw")
    assert follow("swap_dynamic", heads, rng.choice)[0] == heads


def test_lazy_transitions_a_component_as_a_whole():
    # "A hearing is scheduled on the issue today" (Nivre 2009, Figure 1): 5 6 7 belong to 2, today to scheduled.
    heads = [2, 3, 0, 3, 2, 7, 5, 4]
    eager, lazy = (follow(name, heads)[1] for name in STATIC)
    assert lazy.count("sw") == 2
    assert eager.count("sw") == 6


@pytest.mark.parametrize("name", STATIC)
def test_static_ones_answer_one_applicable_transition_anywhere(name):
    rng = random.Random(name)
    for n in (1, 3, 8):
        heads = [random_trees.random_any_tree(rng, n) for _ in range(20)]
        cases = [(s, configuration) for s in range(len(heads)) for configuration in swap_search.random_computation(rng, n)]
        for (_, configuration), scores in zip(cases, scores_of(name, heads, cases), strict=True):
            assert set(scores) == {transition for transition, _, _ in swap_search.transitions(configuration)}
            assert sorted(scores.values()) == [0] * (len(scores) - 1) + [1] * bool(scores)


@pytest.mark.parametrize("n", range(1, LARGEST + 1))
def test_static_dynamic_is_what_it_says_everywhere(n):
    heads = list(random_trees.all_trees(n))
    configurations = swap_search.configurations(n)
    rng = random.Random(n)
    cases = [(s, configuration) for s in range(len(heads)) for configuration in configurations]
    cases = rng.sample(cases, min(len(cases), 4000))
    references = [swap_search.StaticDynamic(tree) for tree in heads]
    limits = [swap_search.best_of_all(tree) for tree in heads]
    for (s, configuration), scores in zip(cases, scores_of("swap_dynamic", heads, cases), strict=True):
        assert scores == references[s](configuration), (heads[s], configuration)
        for transition, edge, after in swap_search.transitions(configuration):
            assert scores[transition] <= swap_search.is_gold(edge, heads[s]) + limits[s](after), (
                heads[s],
                configuration,
                transition,
            )


@given(random_trees.trees(5, 8), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=40 if COMPILED else 5)
def test_static_dynamic_is_what_it_says_on_random_trees(heads, rng):
    cases = [(0, configuration) for configuration in swap_search.random_computation(rng, len(heads))]
    reference = swap_search.StaticDynamic(heads)
    assert scores_of("swap_dynamic", [heads], cases) == [reference(configuration) for _, configuration in cases]


@given(random_trees.trees(2, 9), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=40 if COMPILED else 5)
def test_static_dynamic_keeps_what_it_promises_anywhere(heads, rng):
    oracle = oracles.create("swap_dynamic")
    now = rng.choice(list(swap_search.random_computation(rng, len(heads))))
    promised = None
    made = 0
    while options := {transition: (edge, after) for transition, edge, after in swap_search.transitions(now)}:
        scores = oracle.step_scores(heads, *now)
        promised = max(scores.values()) if promised is None else promised
        edge, now = options[rng.choice([transition for transition, score in scores.items() if score == max(scores.values())])]
        made += swap_search.is_gold(edge, heads)
    assert made >= (promised or 0)


@pytest.mark.parametrize("n", range(1, LARGEST + 1))
def test_static_dynamic_loses_nothing_on_gold_paths(n):
    for heads in random_trees.all_trees(n):
        oracle = oracles.create("swap_dynamic").bind(Trees.from_heads([heads]))
        agenda, seen = [(swap_search.initial(n), n)], {(swap_search.initial(n), n)}
        while agenda:
            now, missing = agenda.pop()
            scores = oracle.score_batch(swap_search.query([(0, n, now)], n))[0]
            options = list(swap_search.transitions(now))
            if options:
                assert scores.max() == missing
            for transition, edge, after in options:
                following = after, missing - swap_search.is_gold(edge, heads)
                if scores[NAMES.index(transition)] == missing and following not in seen:
                    seen.add(following)
                    agenda.append(following)


@given(random_trees.trees_with_configuration(random_trees.projective_trees(1, 12)))
@settings(deadline=None, max_examples=100 if COMPILED else 5)
def test_without_swaps_and_on_projective_gold_it_is_arc_standard(case):
    heads, stack, front = case
    buffer = range(front, len(heads) + 1)
    scores = oracles.create("swap_dynamic").step_scores(heads, stack, buffer)
    expected = oracles.create("nederhof_cubic", "any").step_scores(heads, stack, buffer)
    assert tuple(scores.get(transition) for transition in NAMES[:3]) == expected
    assert scores.get("sw", -1) < max([score for score in expected if score is not None], default=0)


def test_a_batch_without_buffers_has_them_in_order():
    rng = random.Random(3)
    heads = [random_trees.random_any_tree(rng, n) for n in (3, 9, 6)]
    cases = [(s, *rng.choice(list(brute_force.configurations(len(heads[s]))))) for s in rng.choices(range(3), k=40)]
    with_buffers = [(s, (stack, tuple(range(front, len(heads[s]) + 1)))) for s, stack, front in cases]
    for name in oracles.names(system="swap"):
        scores = oracles.create(name).bind(Trees.from_heads(heads)).score_batch(random_trees.query(cases))
        named = [
            {transition: int(x) for transition, x in zip(NAMES, row, strict=True) if x != NOT_APPLICABLE} for row in scores
        ]
        assert named == scores_of(name, heads, with_buffers)


@pytest.mark.parametrize("name", oracles.names(system="swap"))
def test_what_is_no_configuration_is_refused(name):
    oracle = oracles.create(name)
    assert oracle.step_scores([2, 0, 1], [0, 2], [1, 3])
    for stack, buffer, message in [
        ([], [1, 2, 3], "must begin with 0"),
        ([1], [2, 3], "must begin with 0"),
        ([0, 1], [1, 2, 3], "none may occur twice"),
        ([0, 0], [1, 2, 3], r"one of the tokens 1\.\.3"),
        ([0, 1], [2, 4], r"one of the tokens 1\.\.3"),
    ]:
        with pytest.raises(ValueError, match=message):
            oracle.step_scores([2, 0, 1], stack, buffer)


def test_they_are_found_by_their_system_and_know_one_strategy():
    assert oracles.names(system="swap") == oracles.names(any_gold=True, system="swap")
    for name in oracles.names(system="swap"):
        assert oracles.create(name).strategy == "any"
        assert oracles.create(name).step_scores([], [0], []) == {}
        with pytest.raises(ValueError, match="it knows: any"):
            oracles.create(name, "left_before_right")
