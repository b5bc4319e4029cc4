"""ties="nearest_ancestor" against brute force, and context_rows against the cubic algorithm where that cannot go."""

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from oracles import NOT_APPLICABLE, Strategy, Trees
from oracles.edge_weights import GOLD_WEIGHT, LEVELS, negative_infinity
from oracles.trees import MAX_TOKENS
from tests import brute_force, random_trees
from tests.jit import COMPILED
from tests.oracles.searches import ArcStandardSearch, Plain, compare, compare_everywhere

LARGEST = 4 if COMPILED else 3  # exhaustive up to here
LONGEST = 30 if COMPILED else 8
TREES = 40 if COMPILED else 4

TIES = "nearest_ancestor"
KNOWING = ["nederhof_cubic", "context_rows"]

# Of the brute force: more than the rewards of any tree that it can search. Not the one of the oracles.
GOLD = 1000


class TiesSearch(ArcStandardSearch):
    """Brute force by the definition: a gold edge, or a reward that is smaller by one for each ancestor that is skipped."""

    def __init__(self, heads: Sequence[int], strategy: str) -> None:
        super().__init__(heads, strategy)

        def weight(head: int, child: int) -> int:
            chain = brute_force.ancestors(heads, child)
            if head not in chain:
                return 0
            skipped = chain.index(head)
            return GOLD if skipped == 0 else max(0, LEVELS - skipped)

        self._steps = brute_force.StepScores(heads, strategy, weight)

    def scores(self, now: Plain) -> dict[str, int]:
        """The two parts of a score weighed as the oracles do."""
        return {name: score // GOLD * GOLD_WEIGHT + score % GOLD for name, score in super().scores(now).items()}


@pytest.mark.parametrize("n", range(1, LARGEST + 1))
@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("name", KNOWING)
def test_equals_brute_force_everywhere(name, strategy, n):
    searches = [TiesSearch(tree, strategy) for tree in random_trees.all_trees(n)]
    compare_everywhere(oracles.create(name, strategy, ties=TIES), searches, weighed=True)


@given(random_trees.trees_with_configuration(random_trees.trees(5, 7)), st.sampled_from(Strategy))
def test_equals_brute_force_on_random_trees(case, strategy):
    heads, *now = case
    for name in KNOWING:
        compare(oracles.create(name, strategy, ties=TIES), [TiesSearch(heads, strategy)], [(0, tuple(now))], weighed=True)


@pytest.mark.parametrize("strategy", Strategy)
def test_context_rows_are_the_cubic_algorithm_on_longer_sentences(strategy):
    rng = random.Random(strategy)
    heads = [random_trees.random_any_tree(rng, rng.randint(1, LONGEST)) for _ in range(TREES)]
    heads += [random_trees.chain(LONGEST), random_trees.star(LONGEST), random_trees.random_tree(rng, LONGEST)]
    trees = Trees.from_heads(heads)
    computations = [
        (s, *configuration) for s, tree in enumerate(heads) for configuration in random_trees.random_computation(rng, len(tree))
    ]
    rows = oracles.create("context_rows", strategy, ties=TIES).bind(trees)
    cubic = oracles.create("nederhof_cubic", strategy, ties=TIES).bind(trees)
    plain = oracles.create("nederhof_cubic", strategy).bind(trees)
    for cases in (computations, rng.sample(computations, len(computations))):  # along computations, and in no order
        batch = random_trees.query(cases)
        scores = rows.score_batch(batch)
        np.testing.assert_array_equal(scores, cubic.score_batch(batch))
        edges = np.where(scores == NOT_APPLICABLE, NOT_APPLICABLE, scores // rows.gold_weight)
        np.testing.assert_array_equal(edges, plain.score_batch(batch))


def test_the_nearest_ancestor_is_preferred_where_the_gold_head_cannot_be_had():
    """4 hangs from 1, 1 from 3, 3 from 2. As 1 has been reduced, 4 should go to 3, which must not be reduced before."""
    heads, stack, buffer = [3, 0, 2, 1], [0, 2, 3], [4]
    for name in KNOWING:
        assert oracles.create(name).step_scores(heads, stack, buffer) == (2, 2, 0)
        shift, reduce_left, reduce_right = oracles.create(name, ties=TIES).step_scores(heads, stack, buffer)
        assert shift == 2 * GOLD_WEIGHT + LEVELS - 1  # 4 skips one ancestor, as a child of 3
        assert reduce_left == 2 * GOLD_WEIGHT + LEVELS - 2  # two, as a child of 2
        assert reduce_right == 2 * (LEVELS - 1)  # 4 as before, and 3 skips 2 as a child of the root


def test_no_sum_of_weights_wraps_around_or_outweighs_a_gold_edge():
    assert MAX_TOKENS * (LEVELS - 1) < GOLD_WEIGHT
    for kind, most in ((np.int16, MAX_TOKENS), (np.int32, (MAX_TOKENS + 1) * GOLD_WEIGHT)):
        lowest = int(negative_infinity(np.empty(0, kind)))
        assert 3 * lowest >= np.iinfo(kind).min
        assert lowest + most < 0


@pytest.mark.parametrize("name", oracles.names())
def test_ties_are_an_option_of_some_oracles_alone(name):
    if name in KNOWING:
        bound = oracles.create(name, ties="none").bind(Trees.from_heads([[0]]))
        scores = bound.score_batch(random_trees.query([(0, (0,), 1)]))
        assert (scores.dtype, bound.gold_weight) == (np.int16, 1)
        with pytest.raises(ValueError, match=r"ties 'farthest'.*: none, nearest_ancestor"):
            oracles.create(name, ties="farthest")
    else:
        with pytest.raises(ValueError, match=rf"{name} .*option 'ties'.*: none"):
            oracles.create(name, ties=TIES)
