"""context_rows remembers: whatever was asked before, in whatever order, and however little room
there is, the answers stay.
"""

import random

import numpy as np
import pytest

import oracles
from oracles import NOT_APPLICABLE, Strategy, Trees
from oracles.arc_standard.context_rows import ContextRows, entries_of_sentence
from oracles.arc_standard.nederhof_cubic import NederhofCubic
from oracles.charts.vector_chart import block_start, row_start, row_width, triangle_size
from tests import random_trees
from tests.jit import COMPILED

SENTENCES = 30 if COMPILED else 4
LONGEST = 30 if COMPILED else 8


def make_computations(seed: str) -> tuple[Trees, list[list[random_trees.Configuration]]]:
    """Trees, and a random computation on each."""
    rng = random.Random(seed)
    heads = [random_trees.random_any_tree(rng, rng.randint(1, LONGEST)) for _ in range(SENTENCES)]
    heads += [random_trees.chain(LONGEST), random_trees.star(LONGEST)]
    return Trees.from_heads(heads), [
        list(random_trees.random_computation(rng, len(tree))) for tree in heads
    ]


def in_lockstep(computations: list) -> list[list[tuple]]:
    """Return the batches of training: the i-th configurations of all computations that have one."""
    longest = max(map(len, computations))
    return [
        [(s, *computation[i]) for s, computation in enumerate(computations) if i < len(computation)]
        for i in range(longest)
    ]


def scores_of(bound, cases: list[tuple]) -> np.ndarray:
    return bound.score_batch(random_trees.query(cases))


def expected_of(
    trees: Trees, strategy: str, cases: list[tuple], ties: str | None = None
) -> np.ndarray:
    return scores_of(
        NederhofCubic(strategy, ties, drop_non_critical=False, share_chart=False).bind(trees), cases
    )


@pytest.mark.parametrize("strategy", Strategy)
@pytest.mark.parametrize("ties", oracles.TIES)
@pytest.mark.parametrize("room", [1.0, 0.3, 0.0], ids=["enough", "a third", "one sentence"])
def test_computations_in_lockstep_one_by_one_and_shuffled(strategy, ties, room):
    trees, computations = make_computations(f"{strategy} {room}")
    bytes_of_entry = 2 if ties == "none" else 4
    sizes = [
        bytes_of_entry * int(entries_of_sentence(int(n), ties != "none")) for n in trees.lengths
    ]
    oracle = ContextRows(strategy, ties, max_bytes=max(int(room * sum(sizes)), max(sizes)))
    bound = oracle.bind(trees)
    assert bound.arena.entries.nbytes <= oracle.max_bytes
    batches = in_lockstep(computations)
    batches += [
        [(s, *configuration)]
        for s, computation in enumerate(computations[:5])
        for configuration in computation
    ]
    mixed = [case for batch in batches for case in batch]
    random.Random(0).shuffle(mixed)
    batches += [mixed]
    batches += in_lockstep(computations)[::3]  # again from the start, with steps left out
    for batch in batches:
        np.testing.assert_array_equal(
            scores_of(bound, batch), expected_of(trees, strategy, batch, ties)
        )
    scores = scores_of(bound, mixed)
    edges = np.where(scores == NOT_APPLICABLE, NOT_APPLICABLE, scores // bound.gold_weight)
    np.testing.assert_array_equal(edges, expected_of(trees, strategy, mixed))


@pytest.mark.parametrize("strategy", Strategy)
def test_a_smaller_front_with_the_same_stack_is_not_answered_from_shorter_rows(strategy):
    rng = random.Random(strategy)
    n = LONGEST
    trees = Trees.from_heads([random_trees.random_tree(rng, n)])
    bound = ContextRows(strategy).bind(trees)
    stack = (0, 1, 2, 4)
    fronts = list(range(5, n + 2))
    cases = [[(0, stack[:size], front)] for front in fronts[::-1] + fronts for size in (4, 2, 3)]
    for case in cases:
        np.testing.assert_array_equal(scores_of(bound, case), expected_of(trees, strategy, case))


def test_a_sentence_that_does_not_fit_is_refused_with_the_fix():
    trees = Trees.from_heads([[0], random_trees.chain(100)])
    with pytest.raises(
        ValueError, match=r"sentence 1 .* 100 tokens.* raise max_bytes, .*nederhof_cubic"
    ):
        ContextRows(max_bytes=10_000).bind(trees)
    ContextRows(max_bytes=200_000).bind(trees)


def test_memory_is_quadratic_in_the_sentence_and_reserved_for_no_more_than_asked():
    for n in (1, 20, 100, 1000):
        assert 2 * entries_of_sentence(n) <= 11 * (n + 1) ** 2 + 300 * (n + 1)
        assert 4 * entries_of_sentence(n, True) <= 26 * (n + 1) ** 2 + 600 * (n + 1)
    assert ContextRows().bind(
        Trees.from_heads([[0]] * 3)
    ).arena.entries.nbytes == 3 * 2 * entries_of_sentence(1)
    assert ContextRows().bind(Trees.from_heads([])).arena.entries.nbytes == 0


@pytest.mark.parametrize("n", [0, 1, 6, 7, 8, 15, 16, 33])
def test_rows_of_a_chart_lie_one_behind_the_other(n):
    width = row_width(n)
    assert n + 1 <= width < n + 9
    end = 0
    for i in range(n + 1):
        assert row_start(i, width) + block_start(i) == end
        end = row_start(i, width) + width
    assert end <= triangle_size(n)
