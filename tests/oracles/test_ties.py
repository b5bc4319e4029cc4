"""ties="nearest_ancestor" against brute force; test_context_rows.py goes on to longer sentences."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from oracles import Strategy, Trees
from oracles.edge_weights import GOLD_WEIGHT, LEVELS, negative_infinity
from oracles.trees import MAX_TOKENS
from tests import brute_force, random_trees
from tests.jit import COMPILED
from tests.oracles.searches import ArcStandardSearch, Plain, compare, compare_everywhere

LARGEST = 4 if COMPILED else 3  # exhaustive up to here

TIES = "nearest_ancestor"
KNOWING = ["nederhof_cubic", "context_rows"]

# Of the brute force: more than the rewards of any tree that it can search.
# Not the one of the oracles.
GOLD = 1000


class TiesSearch(ArcStandardSearch):
    """Brute force by the definition: a gold edge, or a reward that is smaller by one for each
    ancestor that is skipped.
    """

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
        """Return the two parts of a score, weighed as the oracles do."""
        return {
            name: score // GOLD * GOLD_WEIGHT + score % GOLD
            for name, score in super().scores(now).items()
        }


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
        compare(
            oracles.create(name, strategy, ties=TIES),
            [TiesSearch(heads, strategy)],
            [(0, tuple(now))],
            weighed=True,
        )


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
