"""Non-projective edges, by hand and against crossing edges."""

from __future__ import annotations

import random

import pytest

from oracles import Trees
from parser.evaluation import nonprojective_edges
from tests.random_trees import random_mildly_nonprojective_tree


@pytest.mark.parametrize(
    ("heads", "expected"),
    [
        ([], []),
        ([0], []),
        ([2, 0, 2], []),
        ([3, 4, 0, 3], [2]),  # 3 lies between 4 and 2, and is above 4
        ([0, 4, 1, 1], [2]),  # 3 lies between 4 and 2, and hangs on 1
        ([3, 0, 2], [1]),  # 2 lies between 3 and 1
        ([2, 0, 0], []),  # several children of the root
        ([3, 3, 0, 2], [4]),
    ],
)
def test_by_hand(heads, expected):
    assert nonprojective_edges(heads) == expected


def test_a_tree_is_projective_if_it_has_no_such_edge():
    rng = random.Random(1)
    trees = [random_mildly_nonprojective_tree(rng, rng.randint(1, 12)) for _ in range(300)]
    projective = Trees.from_heads(trees).projective.tolist()
    assert {True, False} == set(projective)
    assert [not nonprojective_edges(heads) for heads in trees] == projective
