"""The oracles of Attardi's system against a search that shares nothing with them, and against each other."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oracles
from oracles import NOT_APPLICABLE, Trees
from oracles.attardi.system import UnparseableGoldError, parseable
from tests import brute_force, random_trees
from tests.jit import COMPILED
from tests.oracles import attardi_brute_force
from tests.oracles.attardi_comparison import (
    DEGREES,
    LARGEST,
    assert_equals_brute_force,
    by_name,
    random_computations,
    scores_of,
)
from tests.oracles.vectors import cases as vectors

LONGEST = 30 if COMPILED else 8


def computation_following(
    rng: random.Random, tree: list[int], oracle, follow: float
) -> list[attardi_brute_force.Configuration]:
    """The configurations of a computation that takes a best transition with probability ``follow``, else any."""
    bound = oracle.bind(Trees.from_heads([tree]))
    now = attardi_brute_force.INITIAL
    path = [now]
    while options := list(attardi_brute_force.transitions(now, len(tree), oracle.degree)):
        if rng.random() < follow:
            scores = by_name(oracle, scores_of(bound, [(0, now)])[0])
            options = [option for option in options if scores[option[0]] == max(scores.values())]
        now = rng.choice(options)[2]
        path.append(now)
    return path


@pytest.mark.parametrize("n", range(1, LARGEST + 1))
@pytest.mark.parametrize("degree", DEGREES)
def test_search_equals_brute_force_everywhere(degree, n):
    heads = list(random_trees.all_trees(n))
    found = [(s, configuration) for s in range(len(heads)) for configuration in brute_force.configurations(n)]
    assert_equals_brute_force(oracles.create("attardi_search", degree=degree), heads, found)


@pytest.mark.parametrize("n", range(1, LARGEST + 1))
def test_tabular_equals_brute_force_wherever_the_tree_can_be_parsed(n):
    heads = list(random_trees.all_trees(n))
    heads = [tree for tree, able in zip(heads, parseable(Trees.from_heads(heads), 2), strict=True) if able]
    found = [(s, configuration) for s in range(len(heads)) for configuration in brute_force.configurations(n)]
    assert_equals_brute_force(oracles.create("attardi_tabular"), heads, found)


@pytest.mark.skipif(not COMPILED, reason="too slow without compilation")
@pytest.mark.parametrize("n", [5, 6])
@pytest.mark.parametrize("degree", [*DEGREES, 9])
def test_search_equals_brute_force_in_samples(degree, n):
    rng = random.Random(f"{degree} {n}")
    heads = [random_trees.random_tree(rng, n) for _ in range(25)]
    configurations = list(brute_force.configurations(n))
    found = [(s, configuration) for s in range(len(heads)) for configuration in rng.sample(configurations, 40)]
    assert_equals_brute_force(oracles.create("attardi_search", degree=degree), heads, found)


@given(random_trees.trees(5, 8), st.sampled_from(DEGREES), st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=150 if COMPILED else 10)
def test_equal_brute_force_along_random_computations(heads, degree, rng):
    found = random_computations(rng, [heads], degree)
    assert_equals_brute_force(oracles.create("attardi_search", degree=degree), [heads], found)
    if degree == 2 and len(heads) <= 6 and parseable(Trees.from_heads([heads]), degree)[0]:
        assert_equals_brute_force(oracles.create("attardi_tabular"), [heads], found)


@pytest.mark.parametrize("name", ["attardi_search", "attardi_tabular"])
def test_vectors(name):
    oracle = oracles.create(name)
    compared = 0
    for case in vectors("attardi.jsonl"):
        try:
            scores = oracle.step_scores(case["heads"], case["stack"], case["buffer"])
        except UnparseableGoldError:
            continue
        best = max(scores.values(), default=0)
        assert scores == case["gain"], case
        assert {transition: best - score for transition, score in scores.items()} == case["loss"]
        compared += 1
    assert compared >= (10 if not COMPILED else 300)


@pytest.mark.parametrize("draw", [random_trees.random_projective_tree, random_trees.random_mildly_nonprojective_tree])
def test_degree_1_is_arc_standard(draw):
    rng = random.Random(draw.__name__)
    heads = [draw(rng, rng.randint(1, LONGEST // 2)) for _ in range(30 if COMPILED else 5)]
    trees = Trees.from_heads(heads)
    found = random_computations(rng, heads, 1)
    expected = scores_of(oracles.create("context_rows", "any").bind(trees), found)
    np.testing.assert_array_equal(scores_of(oracles.create("attardi_search", degree=1).bind(trees), found), expected)


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("max_bytes", [0, 300, 5000, 2**30])
def test_neither_memo_nor_order_nor_company_matter(max_bytes, degree):
    rng = random.Random(f"{max_bytes} {degree}")
    oracle = oracles.create("attardi_search", degree=degree)
    draws = [random_trees.random_mildly_nonprojective_tree, lambda rng, n: random_trees.random_tree(rng, min(n, 10))]
    heads = [rng.choice(draws)(rng, rng.randint(1, LONGEST)) for _ in range(12)]
    if COMPILED:
        heads += [attardi_brute_force.random_parseable_tree(rng, 70, degree)]  # two words a configuration
    found = [
        (s, now) for s, tree in enumerate(heads) for now in computation_following(rng, tree, oracle, rng.choice([0.5, 0.9]))
    ]
    trees = Trees.from_heads(heads)
    expected = scores_of(oracle.bind(trees), found)
    rng.shuffle(order := list(range(len(found))))
    bound = oracles.create("attardi_search", degree=degree, max_bytes=max_bytes).bind(trees)
    assert bound.memo[0].nbytes <= max_bytes
    np.testing.assert_array_equal(scores_of(bound, [found[i] for i in order]), expected[order])
    np.testing.assert_array_equal(scores_of(bound, found), expected)


@pytest.mark.skipif(not COMPILED, reason="too slow without compilation")
def test_search_and_tabular_agree_on_longer_sentences():
    rng = random.Random(30)
    search, tabular = oracles.create("attardi_search"), oracles.create("attardi_tabular")
    heads = [attardi_brute_force.random_parseable_tree(rng, n, 2, rng.choice([0.4, 0.6])) for n in (30, 30, 20, 20, 15, 15)]
    assert not all(map(brute_force.is_projective, heads))
    found = []
    for s, tree in enumerate(heads):
        found += [(s, now) for now in computation_following(rng, tree, search, 0.9) if rng.random() < 0.3]
    trees = Trees.from_heads(heads)
    np.testing.assert_array_equal(scores_of(tabular.bind(trees), found), scores_of(search.bind(trees), found))


@pytest.mark.skipif(not COMPILED, reason="too slow without compilation")
def test_threads_may_ask_at_the_same_time():
    rng = random.Random(4)
    heads = [random_trees.random_mildly_nonprojective_tree(rng, 15) for _ in range(20)]
    found = random_computations(rng, heads, 2)
    trees = Trees.from_heads(heads)
    expected = scores_of(oracles.create("attardi_search").bind(trees), found)
    bound = oracles.create("attardi_search").bind(trees)
    with ThreadPoolExecutor(4) as pool:
        for answer in pool.map(lambda _: scores_of(bound, found), range(8)):
            np.testing.assert_array_equal(answer, expected)


@pytest.mark.parametrize("n", range(1, LARGEST + 1))
@pytest.mark.parametrize("degree", DEGREES)
def test_parseable_is_what_some_computation_makes(degree, n):
    heads = list(random_trees.all_trees(n))
    able = parseable(Trees.from_heads(heads), degree)
    for tree, answer in zip(heads, able, strict=True):
        assert answer == (attardi_brute_force.TransitionScores(tree, degree).best(attardi_brute_force.INITIAL) == n), tree


@pytest.mark.parametrize("n", range(1, LARGEST + 1))
@pytest.mark.parametrize("degree", DEGREES)
def test_static_loses_the_fewest_edges_and_attaches_as_soon_as_it_may(degree, n):
    oracle = oracles.create("attardi_static", degree=degree)
    heads = list(random_trees.all_trees(n))
    bound = oracle.bind(Trees.from_heads(heads))
    eager = [*(transition + depth for depth in ("", "2", "3")[:degree] for transition in ("la", "ra")), "sh"]
    for s, tree in enumerate(heads):
        search = attardi_brute_force.TransitionScores(tree, degree)
        now, made = attardi_brute_force.INITIAL, 0
        while options := list(attardi_brute_force.transitions(now, n, degree)):
            answer = by_name(oracle, scores_of(bound, [(s, now)])[0])
            assert sorted(answer.values()) == [0] * (len(options) - 1) + [1]
            scores = search(now)
            expected = min((transition for transition in scores if scores[transition] == max(scores.values())), key=eager.index)
            assert answer[expected] == 1, (tree, now)
            _, arc, now = next(option for option in options if option[0] == expected)
            made += arc is not None and tree[arc[1] - 1] == arc[0]
        assert made == search.best(attardi_brute_force.INITIAL)


@given(random_trees.trees_with_configuration(random_trees.trees(max_size=20)), st.sampled_from([2, 3, 9]))
@settings(deadline=None, max_examples=100 if COMPILED else 10)
def test_static_answers_one_applicable_transition_anywhere(case, degree):
    heads, stack, front = case
    scores = oracles.create("attardi_static", degree=degree).step_scores(heads, stack, range(front, len(heads) + 1))
    applicable = [name for name, _, _ in attardi_brute_force.transitions((stack, front), len(heads), degree)]
    assert list(scores) == applicable
    assert sorted(scores.values()) == [0] * (len(applicable) - 1) + [1] * bool(applicable)


def test_static_ends_where_nothing_can_be_attached():
    assert oracles.create("attardi_static").step_scores([2, 0, 2], [0, 1, 3], []) == {"ra": 1, "la": 0, "ra2": 0}


@pytest.mark.parametrize("name", oracles.names(system="attardi"))
def test_small_sentences(name):
    oracle = oracles.create(name)
    assert oracle.step_scores([], [0], []) == {}
    assert oracle.step_scores([0], [0], [1]) == {"sh": 1}
    assert oracle.step_scores([0], [0, 1], []) == {"ra": 1}
    assert oracle.step_scores([0], [0], []) == {}
    bound = oracle.bind(Trees.from_heads([[]]))
    assert bound.score_batch(random_trees.query([])).shape == (0, 5)
    assert oracle.bind(Trees.from_heads([])).score_batch(random_trees.query([])).shape == (0, 5)


@pytest.mark.skipif(not COMPILED, reason="needs compiled kernels")
@pytest.mark.parametrize("name", ["attardi_search", "attardi_static"])
def test_the_longest_sentences(name):
    n = 9999
    heads = [random_trees.chain(n), random_trees.star(n, 5000), [*range(2, n + 1), 0]]
    bound = oracles.create(name).bind(Trees.from_heads(heads))
    scores = scores_of(bound, [*((s, attardi_brute_force.INITIAL) for s in range(3)), (0, (tuple(range(n + 1)), n + 1))])
    if name == "attardi_search":
        assert scores[:3, 0].tolist() == [n] * 3
        assert scores[3].tolist() == [NOT_APPLICABLE, n, n - 2, n - 1, n - 2]


def test_a_search_past_max_states_is_refused_by_sentence():
    rng = random.Random(1)
    heads = [[0], random_trees.random_tree(rng, 40)]
    bound = oracles.create("attardi_search", degree=1, max_states=300).bind(Trees.from_heads(heads))
    with pytest.raises(ValueError, match=r"sentence 1 .*40 tokens.* 300 states .*degree"):
        scores_of(bound, [(0, attardi_brute_force.INITIAL), (1, attardi_brute_force.INITIAL)])


def test_tabular_refuses_what_cannot_be_parsed_and_names_the_exact_oracle():
    heads = next(tree for tree in random_trees.all_trees(5) if not parseable(Trees.from_heads([tree]), 2)[0])
    with pytest.raises(UnparseableGoldError, match=r"sentence 1 .*attardi_search"):
        oracles.create("attardi_tabular").bind(Trees.from_heads([[0], heads]))
    with pytest.raises(ValueError, match="degree 2, not 3; attardi_search"):
        oracles.create("attardi_tabular", degree=3)


def test_they_are_found_by_their_system():
    assert oracles.names(system="attardi") == ["attardi_search", "attardi_tabular", "attardi_static"]
    assert oracles.names(any_gold=True, system="attardi") == ["attardi_search", "attardi_static"]
    assert not {name for name in oracles.names() if name.startswith("attardi")}


@pytest.mark.parametrize("name", oracles.names(system="attardi"))
def test_what_they_do_not_know_is_refused(name):
    assert oracles.create(name).strategy == "any"
    with pytest.raises(ValueError, match="it knows: any"):
        oracles.create(name, "left_before_right")
    for degree in (0, 10):
        with pytest.raises(ValueError, match=f"degrees 1 to 9, not {degree}"):
            oracles.create(name, degree=degree)
    with pytest.raises(ValueError, match=r"option 'depth'.*: degree"):
        oracles.create(name, depth=2)
    with pytest.raises(ValueError, match="cycle"):
        oracles.create(name).step_scores([2, 1], [0], [1, 2])
    with pytest.raises(ValueError, match="at most 9999"):
        oracles.create(name).step_scores(random_trees.chain(10000), [0], range(1, 10001))
    for stack, buffer, message in (
        ([], [1, 2, 3], "the stack must begin with 0"),
        ([1], [2, 3], "the stack must begin with 0"),
        ([0, 2, 1], [3], "ascend"),
        ([0, 3], [3], "ascend to at most 2"),
        ([0], [1, 3], "the buffer must hold the last tokens"),
    ):
        with pytest.raises(ValueError, match=message):
            oracles.create(name).step_scores([2, 0, 2], stack, buffer)


@pytest.mark.parametrize(("max_states", "max_bytes"), [(0, 0), (1, -1)])
def test_impossible_limits_are_refused(max_states, max_bytes):
    with pytest.raises(ValueError, match=r"max_states .* 1 .*max_bytes .* 0"):
        oracles.create("attardi_search", max_states=max_states, max_bytes=max_bytes)
