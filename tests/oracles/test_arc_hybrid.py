"""arc_hybrid's oracles against a search that shares nothing with them."""

import random

import pytest
from hypothesis import given

import oracles
from tests import brute_force, random_trees
from tests.jit import COMPILED
from tests.oracles.searches import ArcHybridSearch, compare_everywhere, found_by, walked

LARGEST = 3 if not COMPILED else 5


@pytest.mark.parametrize("n", range(1, LARGEST + 1))
def test_equals_brute_force_everywhere(n):
    compare_everywhere(
        oracles.create("arc_hybrid_local"),
        [ArcHybridSearch(tree) for tree in brute_force.projective_trees(n)],
    )


@pytest.mark.parametrize("single_root", [False, True])
@pytest.mark.parametrize("n", range(1, LARGEST))
def test_rows_equal_brute_force_everywhere(n, single_root):
    searches = [ArcHybridSearch(tree, single_root) for tree in random_trees.all_trees(n)]
    compare_everywhere(oracles.create("arc_hybrid_rows", single_root=single_root), searches)


@pytest.mark.parametrize("single_root", [False, True])
@given(
    random_trees.trees_with_configuration(
        random_trees.trees(5, 9) | random_trees.projective_trees(5, 9)
    )
)
def test_equal_brute_force_on_random_trees(single_root, case):
    heads, stack, front = case
    expected = ArcHybridSearch(heads, single_root).scores((stack, front))
    rows = oracles.create("arc_hybrid_rows", single_root=single_root)
    for oracle in [rows, *([oracles.create("arc_hybrid_local")] if not single_root else [])]:
        if not oracle.needs_projective_gold or brute_force.is_projective(heads):
            assert oracle.step_scores(heads, stack, range(front, len(heads) + 1)) == expected


@pytest.mark.parametrize("max_bytes", [3000, 2**20])
def test_rows_equal_the_chart_parser_along_computations(max_bytes):
    """Of longer sentences, in rows of several blocks;
    also where only one sentence is remembered at a time.
    """
    rng = random.Random(11)
    searches = [
        ArcHybridSearch(random_trees.random_any_tree(rng, n)) for n in (7, 8, 9, 15, 16, 17, 24)
    ]
    chosen = rng.sample(walked(searches, rng), 8 if not COMPILED else 60)
    rows = found_by(oracles.create("arc_hybrid_rows", max_bytes=max_bytes), searches, chosen)
    assert rows == found_by(oracles.create("arc_hybrid_tabular"), searches, chosen)
