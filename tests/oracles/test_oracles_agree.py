"""The oracles against each other where brute force cannot go: long sentences, deep stacks,
any configuration.
"""

import random
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracles
from oracles import Strategy, Trees
from tests import brute_force, random_trees
from tests.jit import COMPILED
from tests.oracles.exact import EXACT, NAMES, exact_oracles
from tests.oracles.searches import ArcStandardSearch, AttardiSearch, walked

LONGEST = 60 if COMPILED else 10


def random_configuration(rng: random.Random, n: int) -> random_trees.Configuration:
    """Any reachable one: the stack is a random part of what is not in the buffer,
    from nearly nothing to all.
    """
    front = rng.randint(1, n + 1)
    kept = rng.random()
    return (0, *(token for token in range(1, front) if rng.random() < kept)), front


def zigzag(n: int) -> list[int]:
    """Return a tree of the first, the last, the second, ...: each hangs from the one before;
    every span is crossed by one edge.
    """
    order = [token for i in range((n + 1) // 2) for token in dict.fromkeys((i + 1, n - i))]
    heads = [0] * (n + 1)
    for head, token in zip([0, *order], order, strict=False):
        heads[token] = head
    return heads[1:]


def nested(n: int) -> list[int]:
    """Heads at the right, each with a left child far away: l3 l2 l1 (free) j1 j2 j3,
    as deep as it goes.
    """
    arms = n // 3
    heads = [0] * (n + 1)
    for arm in range(arms):
        head = n - arms + 1 + arm
        heads[arms - arm] = head
        heads[head] = head + 1 if head < n else 0
    for token in range(arms + 1, n - arms + 1):
        heads[token] = n - arms + 1 if arms else 0
    return heads[1:]


@given(st.integers(0, 2**32), st.integers(1, LONGEST), st.sampled_from(Strategy), st.booleans())
def test_on_any_configuration(seed, n, strategy, projective):
    rng = random.Random(seed)  # a hundred times faster than one that hypothesis directs
    draw = random_trees.random_projective_tree if projective else random_trees.random_any_tree
    trees = Trees.from_heads([draw(rng, n)])
    batch = random_trees.query([(0, *random_configuration(rng, n)) for _ in range(5)])
    expected = EXACT["cubic_from_nothing"](strategy=strategy).bind(trees).score_batch(batch)
    for name, oracle in exact_oracles(strategy, trees.projective.all()):
        np.testing.assert_array_equal(
            oracle.bind(trees).score_batch(batch), expected, err_msg=f"{name} on {trees[0]}"
        )


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("n", [LONGEST // 6, LONGEST])
def test_on_extreme_trees(strategy, n):
    shapes = [zigzag(n), nested(n), random_trees.star(n), random_trees.star(n, n // 2)]
    # each token hangs from the one before it, or behind it
    shapes += [random_trees.chain(n), [*range(2, n + 1), 0]]
    assert all(map(brute_force.is_projective, shapes))
    trees = Trees.from_heads(shapes)
    rng = random.Random(n)
    cases = [(s, *random_configuration(rng, n)) for s in range(len(shapes)) for _ in range(30)]
    cases += [
        (s, tuple(range(front)), front) for s in range(len(shapes)) for front in range(1, n + 2)
    ]
    expected = (
        oracles.create("nederhof_cubic", strategy)
        .bind(trees)
        .score_batch(random_trees.query(cases))
    )
    # no matter in which order and company they are asked for
    order = rng.sample(range(len(cases)), len(cases))
    for name, oracle in exact_oracles(strategy, projective=True):
        scores = oracle.bind(trees).score_batch(random_trees.query([cases[i] for i in order]))
        np.testing.assert_array_equal(scores, expected[order], err_msg=name)


@pytest.mark.skipif(not COMPILED, reason="needs compiled kernels")
@pytest.mark.parametrize("strategy", Strategy)
def test_skipping_changes_nothing_on_very_long_sentences(strategy):
    rng = random.Random(strategy)
    heads = [
        random_trees.random_projective_tree(rng, n, depth)
        for n in (200, 400, 800)
        for depth in (0.5, 0.8, 0.95)
    ]
    heads += [nested(500), zigzag(500)]
    trees = Trees.from_heads(heads)
    batch = random_trees.query(
        [(s, *random_configuration(rng, len(h))) for s, h in enumerate(heads) for _ in range(40)]
    )
    linear = oracles.create("nederhof_linear", strategy).bind(trees).score_batch(batch)
    quadratic = oracles.create("nederhof_quadratic", strategy).bind(trees).score_batch(batch)
    np.testing.assert_array_equal(linear, quadratic)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("heads", "stack", "front", "scores"),
    [
        # 6 takes 4 and 5 and becomes a child of 3, at the cost of the edge 7 -> 6:
        # else 3 or 6 loses both its children.
        ([3, 3, 7, 6, 6, 7, 0], [0, 1, 2, 3, 4, 5], 6, (6, 5, 5)),
        # The same with the root of the tree: 8 takes 5, 6, 7 and becomes a child of 4,
        # at the cost of 0 -> 8 and 8 -> 4.
        ([4, 4, 4, 8, 8, 8, 8, 0], [0, 1, 2, 3, 4, 5, 6, 7], 8, (6, 5, 5)),
        # 4 has a child on the stack, but is in another component of the buffer than its first node.
        ([0, 4, 2, 0, 6, 0, 6, 6], [0, 1], 2, (7, 8, None)),
    ],
)
def test_edges_in_the_buffer_are_given_up_where_that_pays(name, heads, stack, front, scores):
    strategy = Strategy.ANY
    assert brute_force.StepScores(heads, strategy)(stack, front) == scores
    assert (
        oracles.create(name, strategy).step_scores(heads, stack, range(front, len(heads) + 1))
        == scores
    )


@pytest.mark.skipif(not COMPILED, reason="too slow without compilation")
@pytest.mark.parametrize(
    ("name", "search"),
    [
        ("context_rows", partial(ArcStandardSearch, strategy="left_before_right")),
        ("attardi_search", partial(AttardiSearch, degree=2)),
    ],
)
def test_threads_may_ask_at_the_same_time(name, search):
    rng = random.Random(4)
    heads = [random_trees.random_mildly_nonprojective_tree(rng, 15) for _ in range(30)]
    cases = walked([*map(search, heads)], rng)
    trees, batches = (
        Trees.from_heads(heads),
        [random_trees.query([(s, *now) for s, now in cases[i::20]]) for i in range(20)],
    )
    bound, alone = (oracles.create(name).bind(trees) for _ in range(2))
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(bound.score_batch, batches * 3))
    for batch, scores in zip(batches * 3, answers, strict=True):
        np.testing.assert_array_equal(scores, alone.score_batch(batch))
