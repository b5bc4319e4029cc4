"""arc_eager's oracles against a search that shares nothing with them."""

import random

import numpy as np
import pytest

import oracles
from oracles import NOT_APPLICABLE, Trees
from tests import brute_force, random_trees
from tests.jit import COMPILED
from tests.oracles.searches import ArcEagerSearch, compare, compare_everywhere, walked

NAMES = ("sh", "la", "ra", "re", "at")
KINDS = [
    {"single_root": root, "nonmonotonic": undoes}
    for root in (False, True)
    for undoes in (False, True)
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 3, pytest.param(4, marks=pytest.mark.long)])
def test_rows_equal_search_everywhere(n, kind):
    searches = [ArcEagerSearch(tree, **kind) for tree in random_trees.all_trees(n)]
    compare_everywhere(oracles.create("arc_eager_rows", **kind), searches)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_equal_search_along_random_computations(kind):
    rng = random.Random(7)
    searches = [
        ArcEagerSearch(random_trees.random_any_tree(rng, rng.randint(4, 7)), **kind)
        for _ in range(12 if COMPILED else 3)
    ]
    compare(oracles.create("arc_eager_rows", **kind), searches, walked(searches, rng))


@pytest.mark.parametrize(
    ("ties", "other"), [("monotonic", "arc_eager_rows"), ("commit", "arc_eager_sums")]
)
@pytest.mark.parametrize("kind", KINDS)
def test_of_the_optimal_transitions_those_that_another_oracle_marks_are_preferred(
    kind, ties, other
):
    rng = random.Random(11)
    exact, preferring = (
        oracles.create("arc_eager_rows", **kind, **more) for more in ({}, {"ties": ties})
    )
    marking = oracles.create(other, single_root=kind["single_root"])
    fewer = 0
    for tree in [random_trees.random_any_tree(rng, rng.randint(3, 7)) for _ in range(40)]:
        *passed, _ = ArcEagerSearch(tree, **kind).walk(rng)
        batch = ArcEagerSearch.query(len(tree), [(0, now) for now in passed])
        scored = (
            one.bind(Trees.from_heads([tree])).score_batch(batch)
            for one in (exact, preferring, marking)
        )
        for scores, found, marks in zip(*scored, strict=True):
            optimal, preferred, marked = (
                set(np.flatnonzero(one == one.max())) for one in (scores, found, marks)
            )
            assert preferred == (optimal & marked or optimal)
            able = scores != NOT_APPLICABLE
            np.testing.assert_array_equal(found[able] // 2, scores[able])
            np.testing.assert_array_equal(found[~able], scores[~able])
            fewer += len(preferred) < len(optimal)
    assert (fewer > 0) == (kind["nonmonotonic"] or ties == "commit")


def test_shift_and_right_always_tie_where_arcs_can_be_undone():
    tree, stack, buffer, made = [0, 3, 1], [0, 1], [2, 3], [0, None, None]
    free, preferring = (
        oracles.create("arc_eager_rows", nonmonotonic=True, ties=ties)
        for ties in (None, "monotonic")
    )
    assert free.step_scores(tree, stack, buffer, made=made) == {"sh": 2, "la": 0, "ra": 2, "re": 1}
    assert preferring.step_scores(tree, stack, buffer, made=made) == {
        "sh": 5,
        "la": 0,
        "ra": 4,
        "re": 2,
    }
    with pytest.raises(ValueError, match=r"ties 'farthest'.*: monotonic, commit"):
        oracles.create("arc_eager_rows", ties="farthest")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 3, pytest.param(4, marks=pytest.mark.long)])
def test_sums_equal_search_for_projective_trees(n, kind):
    trees = [
        tree
        for tree in brute_force.projective_trees(n)
        if not kind["single_root"] or tree.count(0) == 1
    ]
    compare_everywhere(
        oracles.create("arc_eager_local", **kind), [ArcEagerSearch(tree, **kind) for tree in trees]
    )


@pytest.mark.parametrize("single_root", [False, True])
def test_the_static_oracle_makes_projective_trees_whole_and_always_answers(single_root):
    rng = random.Random(2)
    heads = [random_trees.random_projective_tree(rng, rng.randint(1, 9)) for _ in range(40)]
    heads = [tree for tree in heads if tree.count(0) == 1]
    bound = oracles.create("arc_eager_static", single_root=single_root).bind(
        Trees.from_heads(heads)
    )
    for s, tree in enumerate(heads):
        search, follows = ArcEagerSearch(tree, single_root), rng.random() < 0.5
        now, gained = search.initial, 0
        while able := {
            name: (search.gain(now, arc), after) for name, arc, after in search.transitions(now)
        }:
            scores = bound.score_batch(search.query(9, [(s, now)]))[0]
            assert {
                name for name, score in zip(NAMES, scores, strict=True) if score != NOT_APPLICABLE
            } == set(able)
            (chosen,) = np.flatnonzero(scores == 1)
            gain, now = able[NAMES[chosen] if follows else rng.choice(list(able))]
            gained += gain
        assert gained == len(tree) or not follows


def test_the_sums_of_the_field_are_not_exact():
    """h(1) = 0 is lost if 1 is shifted, they say; but 1 can wait for the end."""
    sums, exact = (
        oracles.create(name).step_scores([0], [0], [1])
        for name in ("arc_eager_sums", "arc_eager_rows")
    )
    assert (sums, exact) == ({"sh": 0, "ra": 1}, {"sh": 1, "ra": 1})


def test_it_scores_the_same_with_memory_for_one_sentence():
    rng = random.Random(3)
    searches = [ArcEagerSearch(random_trees.random_any_tree(rng, 6)) for _ in range(4)]
    drawn = [(s, rng.choice(sorted(searches[s].reachable()))) for s in rng.choices(range(4), k=40)]
    compare(oracles.create("arc_eager_rows", max_bytes=400), searches, drawn)
    with pytest.raises(ValueError, match="max_bytes"):
        oracles.create("arc_eager_rows", max_bytes=100).bind(
            Trees.from_heads([random_trees.chain(6)])
        )


def test_projective_trees_are_made_whole():
    rng = random.Random(5)
    for tree in (random_trees.random_projective_tree(rng, rng.randint(1, 12)) for _ in range(30)):
        scores = oracles.create("arc_eager_rows").step_scores(tree, [0], range(1, len(tree) + 1))
        assert max(scores.values()) == len(tree)
