"""The oracles of Attardi's system against a search that shares nothing with them,
and against each other.
"""

import os
import random
from collections.abc import Iterable, Sequence
from itertools import compress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from oracles import NOT_APPLICABLE, Trees
from oracles.attardi.system import UnparseableGoldError, parseable
from tests import brute_force, random_trees
from tests.jit import COMPILED
from tests.oracles.searches import AttardiSearch, compare, compare_everywhere, found_by, walked

LONGEST = 30 if COMPILED else 8
DEGREES = (1, 2, 3)

# Exhaustive up to this many tokens; five take minutes.
LARGEST = min(int(os.environ.get("OPTIMAL_STEP_EXHAUSTIVE", "4" if COMPILED else "3")), 5)


def searches_of(
    heads: Iterable[Sequence[int]], degree: int, single_root: bool = False
) -> list[AttardiSearch]:
    return [AttardiSearch(tree, degree, single_root) for tree in heads]


def parseable_tree(rng: random.Random, n: int, degree: int, depth: float = 0.5) -> list[int]:
    """Return the tree of a random computation;
    the greater ``depth`` (0..1), the more is shifted before anything is attached.
    """
    heads = [0] * (n + 1)
    search = AttardiSearch(heads[1:], degree)
    now: Any = search.initial
    while options := list(search.transitions(now)):
        arcs = options[1:] if options[0][0] == "sh" else options
        shifts = options[0][0] == "sh" and (not arcs or rng.random() < depth)
        _, arc, now = options[0] if shifts else rng.choice(arcs)
        if arc:
            heads[arc[1]] = arc[0]
    return heads[1:]


@pytest.mark.parametrize("n", range(1, LARGEST + 1))
@pytest.mark.parametrize("degree", DEGREES)
def test_equal_brute_force_everywhere(degree, n):
    """The tabular oracle wherever the tree can be parsed."""
    heads = list(random_trees.all_trees(n))
    compare_everywhere(oracles.create("attardi_search", degree=degree), searches_of(heads, degree))
    if degree == 2:
        able = parseable(Trees.from_heads(heads), 2)
        compare_everywhere(oracles.create("attardi_tabular"), searches_of(compress(heads, able), 2))


@given(
    random_trees.trees(5, 8),
    st.sampled_from([*DEGREES, 9]),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_equal_brute_force_along_random_computations(heads, degree, single_root, rng):
    searches = searches_of([heads], degree, single_root)
    found = walked(searches, rng)
    compare(
        oracles.create("attardi_search", degree=degree, single_root=single_root), searches, found
    )
    if (
        not single_root
        and degree == 2
        and len(heads) <= 6
        and parseable(Trees.from_heads([heads]), degree)[0]
    ):
        compare(oracles.create("attardi_tabular"), searches, found)


@pytest.mark.parametrize(
    "draw", [random_trees.random_projective_tree, random_trees.random_mildly_nonprojective_tree]
)
def test_degree_1_is_arc_standard(draw):
    rng = random.Random(draw.__name__)
    searches = searches_of(
        (draw(rng, rng.randint(1, LONGEST // 2)) for _ in range(30 if COMPILED else 5)), 1
    )
    batch = AttardiSearch.query(0, walked(searches, rng))
    trees = Trees.from_heads([search.heads[1:] for search in searches])
    oracle, standard = (
        oracles.create("attardi_search", degree=1),
        oracles.create("context_rows", "any"),
    )
    np.testing.assert_array_equal(
        oracle.bind(trees).score_batch(batch), standard.bind(trees).score_batch(batch)
    )


@pytest.mark.parametrize("degree", [2, 3])
@pytest.mark.parametrize("max_bytes", [0, 300, 5000, 2**30])
def test_neither_memo_nor_order_nor_company_matter(max_bytes, degree):
    rng = random.Random(f"{max_bytes} {degree}")
    oracle = oracles.create("attardi_search", degree=degree)
    draws = [
        random_trees.random_mildly_nonprojective_tree,
        lambda rng, n: random_trees.random_tree(rng, min(n, 10)),
    ]
    heads = [rng.choice(draws)(rng, rng.randint(1, LONGEST)) for _ in range(12)]
    if COMPILED:
        heads += [parseable_tree(rng, 70, degree)]  # two words a configuration
    searches = searches_of(heads, degree)
    found = [
        (s, now)
        for s, one in enumerate(searches)
        for now in one.walk(rng, rng.choice([0.5, 0.9]), oracle)
    ]
    expected = oracle.bind(Trees.from_heads(heads)).score_batch(AttardiSearch.query(0, found))
    rng.shuffle(order := list(range(len(found))))
    bound = oracles.create("attardi_search", degree=degree, max_bytes=max_bytes).bind(
        Trees.from_heads(heads)
    )
    assert bound.memo[0].nbytes <= max_bytes
    shuffled = AttardiSearch.query(0, [found[i] for i in order])
    np.testing.assert_array_equal(bound.score_batch(shuffled), expected[order])
    np.testing.assert_array_equal(bound.score_batch(AttardiSearch.query(0, found)), expected)


@pytest.mark.skipif(not COMPILED, reason="too slow without compilation")
def test_search_and_tabular_agree_on_longer_sentences():
    rng = random.Random(30)
    search, tabular = oracles.create("attardi_search"), oracles.create("attardi_tabular")
    heads = [parseable_tree(rng, n, 2, rng.choice([0.4, 0.6])) for n in (30, 30, 20, 20, 15, 15)]
    assert not all(map(brute_force.is_projective, heads))
    searches = searches_of(heads, 2)
    found = [
        (s, now)
        for s, one in enumerate(searches)
        for now in one.walk(rng, 0.9, search)
        if rng.random() < 0.3
    ]
    assert found_by(tabular, searches, found) == found_by(search, searches, found)


@pytest.mark.parametrize("n", range(1, LARGEST + 1))
@pytest.mark.parametrize("degree", DEGREES)
def test_parseable_is_what_some_computation_makes(degree, n):
    trees, made = list(random_trees.all_trees(n)), brute_force.attardi_trees(n, degree)
    assert parseable(Trees.from_heads(trees), degree).tolist() == [
        tuple(tree) in made for tree in trees
    ]


@pytest.mark.parametrize("n", range(1, LARGEST + 1))
@pytest.mark.parametrize("degree", DEGREES)
def test_static_loses_the_fewest_edges_and_attaches_as_soon_as_it_may(degree, n):
    oracle = oracles.create("attardi_static", degree=degree)
    searches = searches_of(random_trees.all_trees(n), degree)
    bound = oracle.bind(Trees.from_heads([search.heads[1:] for search in searches]))
    eager = [
        *(transition + depth for depth in ("", "2", "3")[:degree] for transition in ("la", "ra")),
        "sh",
    ]
    for s, search in enumerate(searches):
        now, made = search.initial, 0
        while options := list(search.transitions(now)):
            answer = search.read(oracle, now, bound.score_batch(search.query(n, [(s, now)]))[0])
            assert sorted(answer.values()) == [0] * (len(options) - 1) + [1]
            scores = search.scores(now)
            expected = min(
                (transition for transition in scores if scores[transition] == max(scores.values())),
                key=eager.index,
            )
            assert answer[expected] == 1, (search.heads, now)
            arc, after = next(option[1:] for option in options if option[0] == expected)
            made, now = made + search.gain(now, arc), after
        assert made == search.best(search.initial)


@given(
    random_trees.trees_with_configuration(random_trees.trees(max_size=20)),
    st.sampled_from([2, 3, 9]),
)
def test_static_answers_one_applicable_transition_anywhere(case, degree):
    heads, stack, front = case
    scores = oracles.create("attardi_static", degree=degree).step_scores(
        heads, stack, range(front, len(heads) + 1)
    )
    applicable = [name for name, _, _ in AttardiSearch(heads, degree).transitions((stack, front))]
    assert list(scores) == applicable
    assert sorted(scores.values()) == [0] * (len(applicable) - 1) + [1] * bool(applicable)


def test_static_ends_where_nothing_can_be_attached():
    assert oracles.create("attardi_static").step_scores([2, 0, 2], [0, 1, 3], []) == {
        "ra": 1,
        "la": 0,
        "ra2": 0,
    }


@pytest.mark.skipif(not COMPILED, reason="needs compiled kernels")
@pytest.mark.parametrize("name", ["attardi_search", "attardi_static"])
def test_the_longest_sentences(name):
    n = 9999
    heads = [random_trees.chain(n), random_trees.star(n, 5000), [*range(2, n + 1), 0]]
    bound = oracles.create(name).bind(Trees.from_heads(heads))
    batch = [(0, (0,), 1), (1, (0,), 1), (2, (0,), 1), (0, range(n + 1), n + 1)]
    scores = bound.score_batch(random_trees.query(batch))
    if name == "attardi_search":
        assert scores[:3, 0].tolist() == [n] * 3
        assert scores[3].tolist() == [NOT_APPLICABLE, n, n - 2, n - 1, n - 2]


def test_a_search_past_max_states_is_refused_by_sentence():
    rng = random.Random(1)
    heads = [[0], random_trees.random_tree(rng, 40)]
    bound = oracles.create("attardi_search", degree=1, max_states=300).bind(Trees.from_heads(heads))
    with pytest.raises(ValueError, match=r"sentence 1 .*40 tokens.* 300 states .*degree"):
        bound.score_batch(random_trees.query([(0, (0,), 1), (1, (0,), 1)]))


def test_tabular_refuses_what_cannot_be_parsed_and_names_the_exact_oracle():
    heads = next(
        tree for tree in random_trees.all_trees(5) if not parseable(Trees.from_heads([tree]), 2)[0]
    )
    with pytest.raises(UnparseableGoldError, match=r"sentence 1 .*attardi_search"):
        oracles.create("attardi_tabular").bind(Trees.from_heads([[0], heads]))
    with pytest.raises(ValueError, match="degree 2, not 3; attardi_search"):
        oracles.create("attardi_tabular", degree=3)


def test_what_they_do_not_know_is_refused():
    for name in oracles.names(system="attardi"):
        with pytest.raises(ValueError, match="at most 9999"):
            oracles.create(name).step_scores(random_trees.chain(10000), [0], range(1, 10001))
        for degree in (0, 10):
            with pytest.raises(ValueError, match=f"degrees 1 to 9, not {degree}"):
                oracles.create(name, degree=degree)


@pytest.mark.parametrize(("max_states", "max_bytes"), [(0, 0), (1, -1)])
def test_impossible_limits_are_refused(max_states, max_bytes):
    with pytest.raises(ValueError, match=r"max_states .* 1 .*max_bytes .* 0"):
        oracles.create("attardi_search", max_states=max_states, max_bytes=max_bytes)


# The guided search of attardi_search: it changes no score, and is worth it.


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("degree", DEGREES)
def test_guided_from_the_start_it_equals_brute_force(degree, single_root, monkeypatch):
    monkeypatch.setattr("oracles.attardi.search.UNGUIDED_STATES", 0)
    oracle = oracles.create("attardi_search", degree=degree, single_root=single_root)
    for n in range(1, LARGEST + 1):
        compare_everywhere(oracle, searches_of(random_trees.all_trees(n), degree, single_root))
    rng = random.Random(degree)
    heads = (
        random_trees.random_any_tree(rng, rng.randint(5, 7)) for _ in range(20 if COMPILED else 3)
    )
    compare(oracle, longer := searches_of(heads, degree, single_root), walked(longer, rng))


@pytest.mark.parametrize("degree", DEGREES)
def test_guidance_changes_no_score(degree):
    rng = random.Random(degree)
    n = 20 if COMPILED else 9
    trees = Trees.from_heads(
        [random_trees.random_mildly_nonprojective_tree(rng, n) for _ in range(4)]
    )
    batch = random_trees.query(
        [(s, range(front), front) for s in range(4) for front in range(1, n + 2, 4)]
    )
    guided, unguided = (
        oracles.create("attardi_search", degree=degree).bind(trees) for _ in range(2)
    )
    guided.unguided_states, unguided.unguided_states = 0, unguided.max_states
    assert guided.expanded == 0
    np.testing.assert_array_equal(guided.score_batch(batch), unguided.score_batch(batch))


@pytest.mark.skipif(not COMPILED, reason="too many states for plain Python")
@pytest.mark.parametrize("degree", DEGREES)
def test_what_is_wrong_deep_in_the_stack_is_found_at_once(degree):
    buried = random_trees.random_any_tree(random.Random(2), 12)
    # under it a chain, all of which is to be shifted before the stack is undone
    heads = buried + list(range(12, 32))
    guided, unguided = (
        oracles.create("attardi_search", degree=degree).bind(Trees.from_heads([heads]))
        for _ in range(2)
    )
    unguided.unguided_states = unguided.max_states
    batch = random_trees.query([(0, range(13), 13)])
    np.testing.assert_array_equal(guided.score_batch(batch), unguided.score_batch(batch))
    assert 0 < guided.expanded < unguided.expanded / 10
