"""LR-spine's oracles against a search that shares nothing with them,
and against each other on longer sentences.
"""

import os
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from oracles import Trees
from tests import brute_force, random_trees
from tests.jit import COMPILED
from tests.oracles.searches import LrSpineSearch, compare, compare_everywhere, found_by, walked

# Exhaustive up to this many tokens.
LARGEST = int(os.environ.get("OPTIMAL_STEP_EXHAUSTIVE", "4" if COMPILED else "3"))
LONGEST = 30 if COMPILED else 8


@pytest.mark.parametrize("n", range(1, LARGEST + 1))
@pytest.mark.parametrize(
    ("name", "trees"),
    [("chart", random_trees.all_trees), ("tabular", brute_force.projective_trees)],
)
def test_equals_brute_force_everywhere(name, trees, n):
    compare_everywhere(oracles.create(f"lr_spine_{name}"), [*map(LrSpineSearch, trees(n))])


@given(
    random_trees.trees(5, 7) | random_trees.projective_trees(5, 7),
    st.randoms(use_true_random=False),
)
def test_equal_brute_force_on_random_trees(heads, rng):
    searches = [LrSpineSearch(heads)]
    cases = walked(searches, rng)
    compare(oracles.create("lr_spine_chart"), searches, cases)
    if brute_force.is_projective(heads):
        compare(oracles.create("lr_spine_tabular"), searches, cases)


def test_chart_and_tabular_agree_on_longer_sentences():
    rng = random.Random(30)
    chart, tabular = oracles.create("lr_spine_chart"), oracles.create("lr_spine_tabular")
    heads = [
        random_trees.random_projective_tree(rng, n, rng.choice([0.5, 0.8]))
        for n in [LONGEST] * 2 + [LONGEST // 2] * 4
    ]
    searches = [*map(LrSpineSearch, heads)]
    walks = [search.walk(rng, rng.choice([0.5, 0.9, 1.0]), chart) for search in searches]
    cases = [(s, now) for s, walk in enumerate(walks) for now in walk if rng.random() < 0.5]
    assert found_by(chart, searches, cases) == found_by(tabular, searches, cases)


def test_neither_order_nor_company_nor_forgotten_charts_matter():
    rng = random.Random(2)
    searches = [
        LrSpineSearch(random_trees.random_any_tree(rng, rng.randint(1, LONGEST))) for _ in range(12)
    ]
    cases = walked(searches, rng)
    expected = found_by(oracles.create("lr_spine_chart"), searches, cases)
    rng.shuffle(order := list(range(len(cases))))
    # Room for one or two charts: most are filled again and again.
    small = oracles.create("lr_spine_chart", max_bytes=3 * 40 * 40)
    assert found_by(small, searches, [cases[i] for i in order]) == [expected[i] for i in order]


def test_a_chart_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"sentence 1 .* 30 tokens: .*raise max_bytes"):
        oracles.create("lr_spine_chart", max_bytes=1000).bind(
            Trees.from_heads([[0], random_trees.chain(30)])
        )


@pytest.mark.skipif(not COMPILED, reason="needs compiled kernels")
def test_a_thousand_tokens_and_a_spine_as_long():
    n = 1000
    heads = [random_trees.chain(n), [*range(2, n + 1), 0]]
    # The whole chain is one element with a long right spine, or the mirror image of it;
    # the last token is in the buffer.
    right_chain = (((0,), (0,)), ((1,), tuple(range(1, n))))
    left_chain = (((0,), (0,)), (tuple(range(n - 1, 0, -1)), (n - 1,)))
    searches = [*map(LrSpineSearch, heads)]
    cases = [(0, (right_chain, n)), (1, (left_chain, n)), (0, LrSpineSearch.initial)]
    assert found_by(oracles.create("lr_spine_chart"), searches, cases) == [
        {"sh": 2, "ra1": 2},
        {"sh": 2, "ra1": 1},
        {"sh": n},
    ]


@pytest.mark.parametrize("n", range(1, LARGEST + 1))
def test_partial_finds_all_optimal_transitions_of_gold_paths(n):
    partial = oracles.create("lr_spine_partial")
    compared = 0
    for heads in brute_force.projective_trees(n):
        search = LrSpineSearch(heads)
        for now in search.reachable(optimal=True):
            expected = {
                transition: int(score == search.best(now))
                for transition, score in search.scores(now).items()
            }
            assert partial.step_scores(heads, now[0], range(now[1], n + 1)) == expected, (
                heads,
                now,
            )
            compared += len(expected)
    assert compared


def test_a_batch_may_be_empty_and_has_children():
    bound = oracles.create("lr_spine_chart").bind(Trees.from_heads([[0]]))
    assert bound.score_batch(LrSpineSearch.query(1, [])).shape == (0, 1)
    with pytest.raises(ValueError, match="children="):
        bound.score_batch(random_trees.query([(0, (0,), 1)]))
