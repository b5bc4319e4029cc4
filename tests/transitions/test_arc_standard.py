"""Every transition, what is applicable, and trees made by whole computations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import REDUCE_LEFT, REDUCE_RIGHT, SHIFT
from parser.transitions.arc_standard import NO_NODE, ArcStandard, Configurations, best_action, forced_action

ROOT_RELATION = 2
SYSTEM = ArcStandard(n_relations=3, root_relation=ROOT_RELATION)


def action(step: int, relation: int = 0) -> int:
    return 0 if step == SHIFT else 1 + relation + (3 if step == REDUCE_RIGHT else 0)


def run(n: int, steps: list[tuple[int, int]]) -> Configurations:
    now = Configurations.initial(np.array([n]))
    for step, relation in steps:
        SYSTEM.apply(now, np.array([0]), np.array([action(step, relation)]))
    return now


def stack(now: Configurations, row: int = 0) -> list[int]:
    return now.stacks[row, : now.stack_sizes[row]].tolist()


def test_shift_pushes_the_first_of_the_buffer():
    now = run(3, [(SHIFT, 0), (SHIFT, 0)])
    assert stack(now) == [0, 1, 2]
    assert now.buffer_fronts[0] == 3
    assert (now.heads[0] == NO_NODE).all()


def test_reduce_left_makes_the_top_a_child_of_the_second():
    now = run(3, [(SHIFT, 0), (SHIFT, 0), (REDUCE_LEFT, 1)])
    assert stack(now) == [0, 1]
    assert (now.heads[0, 2], now.relations[0, 2]) == (1, 1)
    assert now.children[0, 1].tolist() == [NO_NODE, 2]


def test_reduce_right_makes_the_second_a_child_of_the_top():
    now = run(3, [(SHIFT, 0), (SHIFT, 0), (REDUCE_RIGHT, 0)])
    assert stack(now) == [0, 2]
    assert (now.heads[0, 1], now.relations[0, 1]) == (2, 0)
    assert now.children[0, 2].tolist() == [1, NO_NODE]


def test_children_are_kept_from_the_outermost_inwards():
    now = run(5, [(SHIFT, 0), (SHIFT, 0), (SHIFT, 0), (REDUCE_RIGHT, 0), (REDUCE_RIGHT, 1), (SHIFT, 0), (REDUCE_LEFT, 0)])
    now_children = now.children[0, 3].tolist()
    assert now_children == [1, 4]
    assert now.siblings[0, 1] == 2


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([], [True, False, False]),
        ([(SHIFT, 0)], [True, True, False]),
        ([(SHIFT, 0), (SHIFT, 0)], [False, True, True]),
        ([(SHIFT, 0), (REDUCE_LEFT, 0), (SHIFT, 0), (REDUCE_LEFT, 0)], [False, False, False]),
    ],
)
def test_applicable(steps, expected):
    now = run(2, steps)
    assert SYSTEM.applicable(now, np.array([0]))[0].tolist() == expected
    assert len(now.unfinished()) == any(expected)


def best_action_twin(scores: np.ndarray, now: Configurations, row: int, single_root: bool) -> int:
    """Enumerates the actions one by one."""
    size = now.stack_sizes[row]
    buffered = now.buffer_fronts[row] <= now.lengths[row]
    best = None
    for candidate in range(SYSTEM.n_actions):
        step, relation = SYSTEM.action_steps[candidate], SYSTEM.action_relations[candidate]
        if step == SHIFT:
            possible = buffered
        elif step == REDUCE_LEFT:
            possible = size >= 2
            if single_root:
                below_root = size == 2
                possible = possible and (relation == ROOT_RELATION) == below_root and not (below_root and buffered)
        else:
            possible = size >= 3 and not (single_root and relation == ROOT_RELATION)
        if possible and (best is None or scores[candidate] > scores[best]):
            best = candidate
    assert best is not None
    return best


@given(st.lists(st.integers(1, 8), min_size=1, max_size=5), st.booleans(), st.integers(0, 2**31))
def test_random_computations_end_in_trees(lengths, single_root, seed):
    rng = np.random.default_rng(seed)
    now = Configurations.initial(np.array(lengths))
    taken = 0
    while len(rows := now.unfinished()):
        scores = rng.integers(0, 4, (len(rows), SYSTEM.n_actions)).astype(np.float32)
        actions = SYSTEM.best_actions(scores, now, rows, single_root)
        twins = [best_action_twin(s, now, row, single_root) for s, row in zip(scores, rows, strict=True)]
        assert actions.tolist() == twins
        SYSTEM.apply(now, rows, actions)
        taken += len(rows)
    assert taken == 2 * sum(lengths)
    for row, n in enumerate(lengths):
        heads = now.heads[row, 1 : n + 1].tolist()
        assert all(0 <= head <= n for head in heads)
        for token in range(1, n + 1):
            node, climbed = token, 0
            while node != 0:
                node, climbed = heads[node - 1], climbed + 1
                assert climbed <= n
        if single_root:
            relations = now.relations[row, 1 : n + 1].tolist()
            assert heads.count(0) == 1
            assert [relation == ROOT_RELATION for relation in relations] == [head == 0 for head in heads]


def test_optimal_actions_bear_the_gold_relation_of_the_word_that_gets_a_head():
    now = run(3, [(SHIFT, 0), (SHIFT, 0)])
    gold = np.array([[NO_NODE, 2, 1, 0]], np.int32)
    actions = SYSTEM.optimal_actions(np.array([[True, True, False]]), now, np.array([0]), gold)
    assert actions.tolist() == [[0, action(REDUCE_LEFT, 1), NO_NODE]]
    actions = SYSTEM.optimal_actions(np.array([[False, False, True]]), now, np.array([0]), gold)
    assert actions.tolist() == [[NO_NODE, NO_NODE, action(REDUCE_RIGHT, 2)]]


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("root_relation", [NO_NODE, 2])
@pytest.mark.parametrize("buffered", [True, False])
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_an_action_is_forced_if_it_wins_whatever_the_scores(size, buffered, root_relation, single_root):
    if size == 1 and not buffered:
        return  # final
    n_relations = 4
    favourites = np.eye(1 + 2 * n_relations)  # each action has the highest score once
    winners = {
        best_action(favourites, a, size, buffered, n_relations, root_relation, single_root) for a in range(len(favourites))
    }
    forced = forced_action(size, buffered, root_relation, single_root)
    assert winners == {forced} if forced != NO_NODE else len(winners) > 1
