"""arc_eager's oracles against a search that shares nothing with them."""

from __future__ import annotations

import random

import numpy as np
import pytest

import oracles
from oracles import NOT_APPLICABLE, Query, Trees
from tests import brute_force, random_trees
from tests.jit import COMPILED
from tests.oracles.arc_eager_search import ArcEagerSearch
from tests.oracles.vectors import cases

NAMES = ("sh", "la", "ra", "re", "at")
KINDS = [(single_root, nonmonotonic) for single_root in (False, True) for nonmonotonic in (False, True)]


def query(n, cases) -> Query:
    """Cases: (sentence, (stack, front, heads made)); n: of the longest sentence."""
    stacks = np.zeros((len(cases), n + 1), np.int32)
    made = np.full((len(cases), n + 1), -1, np.int32)
    for r, (_, (stack, _, heads)) in enumerate(cases):
        stacks[r, : len(stack)] = stack
        made[r, : len(heads)] = heads
    sentences, sizes, fronts = (
        np.array(numbers, np.int32) for numbers in zip(*((s, len(stack), front) for s, (stack, front, _) in cases), strict=True)
    )
    return Query(sentences, stacks, sizes, fronts, made=made)


def compare(oracle, heads, cases, searches):
    scores = oracle.bind(Trees.from_heads(heads)).score_batch(query(max(map(len, heads)), cases))
    expected = [[searches[s].scores(now).get(name, NOT_APPLICABLE) for name in NAMES] for s, now in cases]
    np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize(("single_root", "nonmonotonic"), KINDS)
@pytest.mark.parametrize("n", [1, 2, 3, pytest.param(4, marks=pytest.mark.long)])
def test_rows_equal_search_everywhere(n, single_root, nonmonotonic):
    heads = list(random_trees.all_trees(n))
    searches = [ArcEagerSearch(tree, single_root, nonmonotonic) for tree in heads]
    everywhere = [(s, now) for s in range(len(heads)) for now in sorted(searches[s].reachable())]
    random.Random(n).shuffle(everywhere)  # rows are kept by prefix: any order must do
    options = {"single_root": single_root, "nonmonotonic": nonmonotonic}
    compare(oracles.create("arc_eager_rows", **options), heads, everywhere, searches)


@pytest.mark.parametrize(("single_root", "nonmonotonic"), KINDS)
def test_rows_equal_search_along_random_computations(single_root, nonmonotonic):
    rng = random.Random(7)
    heads = [random_trees.random_any_tree(rng, rng.randint(4, 7)) for _ in range(3 if not COMPILED else 12)]
    searches = [ArcEagerSearch(tree, single_root, nonmonotonic) for tree in heads]
    walked = []
    for s, search in enumerate(searches):
        now = search.initial()
        while now[1] <= search.n or len(now[0]) > 1:
            walked.append((s, now))
            now = rng.choice([after for _, _, after in search.transitions(now)])
    options = {"single_root": single_root, "nonmonotonic": nonmonotonic}
    compare(oracles.create("arc_eager_rows", **options), heads, walked, searches)


@pytest.mark.parametrize(("ties", "other"), [("monotonic", "arc_eager_rows"), ("commit", "arc_eager_sums")])
@pytest.mark.parametrize(("single_root", "nonmonotonic"), KINDS)
def test_of_the_optimal_transitions_those_that_another_oracle_marks_are_preferred(single_root, nonmonotonic, ties, other):
    rng = random.Random(11)
    heads = [random_trees.random_any_tree(rng, rng.randint(3, 7)) for _ in range(40)]
    kind = {"single_root": single_root, "nonmonotonic": nonmonotonic}
    exact, preferring = (oracles.create("arc_eager_rows", **kind, **more) for more in ({}, {"ties": ties}))
    marking = oracles.create(other, single_root=single_root)
    fewer = 0
    for tree in heads:
        search = ArcEagerSearch(tree, **kind)
        now = search.initial()
        while now[1] <= search.n or len(now[0]) > 1:
            batch = query(len(tree), [(0, now)])
            scores, found, marks = (
                one.bind(Trees.from_heads([tree])).score_batch(batch)[0] for one in (exact, preferring, marking)
            )
            optimal = set(np.flatnonzero(scores == scores.max()))
            assert set(np.flatnonzero(found == found.max())) == (optimal & set(np.flatnonzero(marks == marks.max())) or optimal)
            able = scores != NOT_APPLICABLE
            np.testing.assert_array_equal(found[able] // 2, scores[able])
            np.testing.assert_array_equal(found[~able], scores[~able])
            fewer += (found == found.max()).sum() < len(optimal)
            now = rng.choice([after for _, _, after in search.transitions(now)])
    assert (fewer > 0) == (nonmonotonic or ties == "commit")


def test_shift_and_right_always_tie_where_arcs_can_be_undone():
    tree, stack, buffer, made = [0, 3, 1], [0, 1], [2, 3], [0, None, None]
    free, preferring = (oracles.create("arc_eager_rows", nonmonotonic=True, ties=ties) for ties in (None, "monotonic"))
    assert free.step_scores(tree, stack, buffer, made=made) == {"sh": 2, "la": 0, "ra": 2, "re": 1}
    assert preferring.step_scores(tree, stack, buffer, made=made) == {"sh": 5, "la": 0, "ra": 4, "re": 2}


def test_unknown_ties_are_refused_with_the_known_ones():
    with pytest.raises(ValueError, match=r"ties 'farthest'.*: monotonic, commit"):
        oracles.create("arc_eager_rows", ties="farthest")


@pytest.mark.parametrize(("single_root", "nonmonotonic"), KINDS)
@pytest.mark.parametrize("n", [1, 2, 3, pytest.param(4, marks=pytest.mark.long)])
def test_sums_equal_search_for_projective_trees(n, single_root, nonmonotonic):
    heads = [tree for tree in random_trees.all_trees(n) if brute_force.is_projective(tree)]
    if single_root:
        heads = [tree for tree in heads if tree.count(0) == 1]
    searches = [ArcEagerSearch(tree, single_root, nonmonotonic) for tree in heads]
    everywhere = [(s, now) for s in range(len(heads)) for now in sorted(searches[s].reachable())]
    oracle = oracles.create("arc_eager_local", single_root=single_root, nonmonotonic=nonmonotonic)
    compare(oracle, heads, everywhere, searches)


@pytest.mark.parametrize("single_root", [False, True])
def test_the_static_oracle_makes_projective_trees_whole_and_always_answers(single_root):
    rng = random.Random(2)
    heads = [random_trees.random_projective_tree(rng, rng.randint(1, 9)) for _ in range(40)]
    heads = [tree for tree in heads if tree.count(0) == 1]
    bound = oracles.create("arc_eager_static", single_root=single_root).bind(Trees.from_heads(heads))
    for s, tree in enumerate(heads):
        search, follows = ArcEagerSearch(tree, single_root), rng.random() < 0.5
        now, gained = search.initial(), 0
        while now[1] <= search.n or len(now[0]) > 1:
            able = {name: (gain, after) for name, gain, after in search.transitions(now)}
            scores = bound.score_batch(query(9, [(s, now)]))[0]
            assert {name for name, score in zip(NAMES, scores, strict=True) if score != NOT_APPLICABLE} == set(able)
            (chosen,) = np.flatnonzero(scores == 1)
            gain, now = able[NAMES[chosen] if follows else rng.choice(list(able))]
            gained += gain
        assert gained == len(tree) or not follows


def test_the_sums_of_the_field_are_not_exact():
    """h(1) = 0 is lost if 1 is shifted, they say; but 1 can wait for the end."""
    sums, exact = (oracles.create(name).step_scores([0], [0], [1]) for name in ("arc_eager_sums", "arc_eager_rows"))
    assert (sums, exact) == ({"sh": 0, "ra": 1}, {"sh": 1, "ra": 1})


def test_it_scores_the_same_with_memory_for_one_sentence():
    rng = random.Random(3)
    heads = [random_trees.random_any_tree(rng, 6) for _ in range(4)]
    searches = [ArcEagerSearch(tree) for tree in heads]
    drawn = [(s, rng.choice(sorted(searches[s].reachable()))) for s in rng.choices(range(4), k=40)]
    compare(oracles.create("arc_eager_rows", max_bytes=400), heads, drawn, searches)
    with pytest.raises(ValueError, match="max_bytes"):
        oracles.create("arc_eager_rows", max_bytes=100).bind(Trees.from_heads(heads))


@pytest.mark.parametrize("nonmonotonic", [False, True])
def test_vectors(nonmonotonic):
    compared = 0
    for case in cases("arc_eager.jsonl"):
        if case["nonmonotonic"] == nonmonotonic:
            oracle = oracles.create("arc_eager_rows", single_root=case["single_root"], nonmonotonic=nonmonotonic)
            scores = oracle.step_scores(case["heads"], case["stack"], case["buffer"], made=case["made"])
            assert scores == case["gain"]
            compared += 1
    assert compared


def test_projective_trees_are_made_whole():
    rng = random.Random(5)
    for _ in range(30):
        tree = random_trees.random_projective_tree(rng, rng.randint(1, 12))
        scores = oracles.create("arc_eager_rows").step_scores(tree, [0], range(1, len(tree) + 1))
        assert max(scores.values()) == len(tree)
        assert brute_force.is_projective(tree)
