"""The largest set of known edges that one projective tree can have, against all subsets, and
against projectivization.
"""

import random
from itertools import combinations

import pytest

import oracles
from oracles import UNKNOWN_HEAD, Trees
from oracles.projectivization.largest_part import largest_projective_part
from tests import random_trees
from tests.jit import COMPILED
from tests.oracles.test_partial import partial_trees, random_partial_trees


def known(heads: list[int]) -> list[int]:
    return [child for child, head in enumerate(heads) if head != UNKNOWN_HEAD]


def total_length(heads: list[int]) -> int:
    return sum(abs(heads[child] - child - 1) for child in known(heads))


def largest_by_search(gold: list[int]) -> tuple[int, int]:
    """Return the size of the largest projective subset of the edges,
    and the smallest total length of such a subset.
    """
    edges = known(gold)
    for size in range(len(edges), -1, -1):
        subsets = [
            [head if child in kept else UNKNOWN_HEAD for child, head in enumerate(gold)]
            for kept in combinations(edges, size)
        ]
        projective = Trees.from_heads(subsets, partial=True).projective
        if projective.any():
            return size, min(
                total_length(own) for own, fits in zip(subsets, projective, strict=True) if fits
            )
    raise AssertionError("the empty set is projective")


@pytest.mark.parametrize(
    "n", [1, 2, 3, 4, pytest.param(6, marks=pytest.mark.skipif(not COMPILED, reason="slow"))]
)
def test_equals_search_of_all_subsets(n):
    rng = random.Random(n)
    golds = partial_trees(n) if n < 5 else [random_trees.random_tree(rng, n) for _ in range(100)]
    trees = Trees.from_heads(golds, partial=True)
    found = largest_projective_part(trees)
    assert found.projective.all()
    for s, gold in enumerate(golds):
        assert all(head in (own, UNKNOWN_HEAD) for own, head in zip(gold, found[s], strict=True))
        assert (len(known(found[s])), total_length(found[s])) == largest_by_search(gold)
        if trees.projective[s]:
            assert found[s] == gold


@pytest.mark.parametrize("n", [12, 60])
def test_keeps_as_many_edges_as_projectivization(n):
    trees = Trees.from_heads(random_partial_trees(n, 100 if COMPILED else 5), partial=True)
    found, expected = largest_projective_part(trees), oracles.projectivize_trees(trees)
    assert found.projective.all()
    kept = [
        ((own.heads == trees.heads) & (trees.heads != UNKNOWN_HEAD)).sum()
        for own in (found, expected)
    ]
    assert kept[0] == kept[1]
