"""All oracles against brute force, and against each other on longer sentences."""

import os
import random
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from oracles import NOT_APPLICABLE, REDUCE_LEFT, SHIFT, Strategy, Trees
from oracles.arc_standard.nederhof_cubic import NederhofCubic
from oracles.arc_standard.static import ArcStandardStatic
from tests import brute_force, random_trees
from tests.forked import new_python
from tests.jit import COMPILED
from tests.oracles.exact import EXACT, NAMES, exact_oracles
from tests.oracles.searches import ArcStandardSearch, compare_everywhere

# Exhaustive up to this many tokens; without compilation, up to 3.
LARGEST = int(os.environ.get("OPTIMAL_STEP_EXHAUSTIVE", "3" if not COMPILED else "5"))


@cache
def all_searches(n: int, strategy: str) -> list[ArcStandardSearch]:
    """Of all trees of n tokens; they remember the scores of every configuration,
    and nothing else.
    """
    found = [ArcStandardSearch(tree, strategy) for tree in random_trees.all_trees(n)]
    for search in found:
        scores = {now: search.scores(now) for now in brute_force.configurations(n)}
        search.scores = scores.__getitem__  # type: ignore[assignment, method-assign]
        del search._steps
    return found


def test_brute_force_makes_all_projective_trees():
    for n in range(1, 5):
        filtered = {
            tuple(tree) for tree in random_trees.all_trees(n) if brute_force.is_projective(tree)
        }
        assert set(brute_force.projective_trees(n)) == filtered


@pytest.mark.parametrize(
    "n", [pytest.param(n, marks=pytest.mark.long) if n > 4 else n for n in range(1, LARGEST + 1)]
)
@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("name", EXACT)
def test_equals_brute_force_everywhere(name, strategy, n):
    oracle, searches = EXACT[name](strategy=strategy), all_searches(n, strategy)
    if oracle.needs_projective_gold:
        searches = [search for search in searches if brute_force.is_projective(search.heads[1:])]
    compare_everywhere(oracle, searches)


@given(st.data(), st.sampled_from(Strategy))
def test_equal_brute_force_on_random_trees(data, strategy):
    heads, stack, front = data.draw(
        random_trees.trees_with_configuration(
            random_trees.trees(6, 9) | random_trees.projective_trees(6, 9)
        )
    )
    expected = brute_force.StepScores(heads, strategy)(stack, front)
    for name, oracle in exact_oracles(strategy, brute_force.is_projective(heads)):
        assert oracle.step_scores(heads, stack, range(front, len(heads) + 1)) == expected, name


@pytest.mark.parametrize("n", range(1, min(LARGEST, 4) + 1))
def test_the_best_score_depends_on_the_strategy_only_if_strict(n):
    for searches in zip(*(all_searches(n, strategy) for strategy in Strategy), strict=True):
        for now in brute_force.configurations(n):
            left, strict, right, free = (
                max(search.scores(now).values(), default=0) for search in searches
            )
            assert left == right == free >= strict


@pytest.mark.parametrize("strategy", Strategy)
def test_static_on_the_gold_path_is_optimal_and_ends_in_the_gold_tree(strategy):
    unique = strategy in (Strategy.LEFT_BEFORE_RIGHT, Strategy.RIGHT_BEFORE_LEFT)
    for n in range(1, LARGEST + 1):
        for heads in brute_force.projective_trees(n):
            search = brute_force.StepScores(heads, strategy)
            bound = ArcStandardStatic(strategy).bind(Trees.from_heads([heads]))
            stack, front, made = (0,), 1, {}
            while random_trees.applicable_steps(stack, front, n):
                scores = bound.score_batch(random_trees.query([(0, stack, front)]))[0].tolist()
                step = scores.index(1)
                exact_scores = search(stack, front)
                best = [
                    s
                    for s in range(3)
                    if exact_scores[s] == max(x for x in exact_scores if x is not None)
                ]
                assert best == [step] if unique else step in best
                if step:
                    made[stack[-step]] = stack[-3 + step]
                stack, front = random_trees.apply_step(stack, front, step)
            assert [made[token] for token in range(1, n + 1)] == list(heads)


@given(
    random_trees.trees_with_configuration(random_trees.projective_trees(max_size=30)),
    st.sampled_from(Strategy),
)
def test_static_answers_one_applicable_step_anywhere(case, strategy):
    heads, stack, front = case
    scores = ArcStandardStatic(strategy).step_scores(heads, stack, range(front, len(heads) + 1))
    applicable = random_trees.applicable_steps(stack, front, len(heads))
    assert [step for step in range(3) if scores[step] is not None] == applicable
    assert sorted(x for x in scores if x is not None) == [0] * (len(applicable) - 1) + [1] * bool(
        applicable
    )


@pytest.mark.parametrize(("heads", "stack"), [([2, 0, 2], [0, 1, 3]), ([2, 0], [0, 1])])
def test_static_reduces_left_where_nothing_else_is_left(heads, stack):
    assert ArcStandardStatic().step_scores(heads, stack, [])[: REDUCE_LEFT + 1] == (None, 1)


def test_right_before_left_forbids_from_the_index_after_the_reduction():
    """Wrong as printed in Section 4."""
    assert NederhofCubic("right_before_left").step_scores(
        [0, 0, 2, 0, 4], [0, 1, 2], [3, 4, 5]
    ) == (4, 3, 3)


@pytest.mark.skipif(not COMPILED, reason="needs compiled kernels")
@pytest.mark.parametrize("name", ["static", *NAMES])
def test_a_thousand_tokens(name):
    rng = random.Random(name)
    heads = random_trees.random_projective_tree(rng, 1000)
    bound = oracles.create(name).bind(Trees.from_heads([heads]))
    scores = bound.score_batch(
        random_trees.query([(0, (0,), 1), (0, (0, *range(1, 20)), 20), (0, (0,), 1001)])
    )
    if name != "static":
        assert scores[0, SHIFT] == 1000
    assert (scores[2] == NOT_APPLICABLE).all()


@pytest.mark.parametrize("name", [*oracles.names(), *oracles.names(system="attardi")])
def test_batches_and_sentences_may_be_empty(name):
    bound, of_nothing = (oracles.create(name).bind(Trees.from_heads(heads)) for heads in ([[]], []))
    for one in (bound, of_nothing):
        assert one.score_batch(random_trees.query([])).shape == (
            0,
            5 if name.startswith("attardi") else 3,
        )
    assert (bound.score_batch(random_trees.query([(0, (0,), 1)])) == NOT_APPLICABLE).all()


USE_EVERYTHING = """
import sys
import oracles
from oracles.kernel_cache import Kernel
for name in oracles.names():
    oracles.create(name).step_scores([2, 0, 2], [0, 1], [2, 3])
oracles.create("nederhof_cubic").step_scores([2, 0, 1, 1], [0, 1], [2, 3, 4])
for function in (oracles.projectivize, oracles.lift, oracles.count_projectivizations):
    function([2, 0, 1, 1])
modules = [module for name, module in sys.modules.items() if name.startswith("oracles")]
values = [value for module in modules for value in vars(module).values()]
kernels = {value for value in values if isinstance(value, Kernel) and "dispatcher" in vars(value)}
print(sum(sum(kernel.stats.cache_misses.values()) for kernel in kernels))
"""


@pytest.mark.skipif(not COMPILED, reason="needs compiled kernels")
def test_a_second_start_compiles_nothing():
    assert [int(new_python(USE_EVERYTHING)) for _ in "12"][1] == 0
