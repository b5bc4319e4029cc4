"""Stacks of trees that share their parts, against lists."""

import random

import numpy as np
import pytest

from parser.data.sentences import NO_NODE
from parser.decoding.beam.tree_stacks import FULL, TreeStacks, clear, find, read_trees, take_transition, top_nodes
from parser.transitions.features import program_of
from tests.decoding.computations import find as find_slowly
from tests.jit import COMPILED
from tests.transitions.reference_systems import State, applicable, take


@pytest.mark.parametrize("degree", [1, 3])
def test_stacks_that_share_their_parts_are_stacks(degree):
    rng = random.Random(degree)
    programs = [
        (position, program_of(position)) for position in ("s0", "s1", "s2.r1", "s0.l1", "s0.l2", "s1.r1.r2", "s0.r1.l1")
    ]
    elements, path, tops = np.empty(9, np.int32), np.empty(20, np.int32), np.empty(3, np.int32)
    for _ in range(60 if COMPILED else 10):
        n = rng.randint(1, 9)
        stacks = TreeStacks.allocate(n, 40 * n)
        cell, state = clear(stacks, n, 2 * n), State.initial(n)
        earlier = []
        while not state.final:
            column = rng.choice([c for c in range(1 + 2 * degree) if applicable("attardi", degree, state, c, False)])
            relation = rng.randrange(3)
            earlier.append((cell, dict(state.arcs)))
            cell = take_transition(stacks, cell, n + 1 - len(state.buffer), column, relation, elements, path)
            take("attardi", degree, state, column, relation)
            top_nodes(stacks, cell, tops)
            for position, program in programs:
                node, its_relation = find(stacks, tops, program)
                token = NO_NODE if node == NO_NODE else int(stacks.nodes.keys[node, 0])
                assert (token, its_relation) == find_slowly(state, position)
        for of_step, arcs in [*earlier, (cell, state.arcs)]:  # a step leaves what was before as it is
            heads, relations = np.empty((2, n + 1), np.int32)
            read_trees(stacks, of_step, heads, relations, path)
            for token in range(1, n + 1):
                assert (heads[token], relations[token]) == arcs.get(token, (NO_NODE, NO_NODE))


def test_equal_stacks_have_one_number_and_full_ones_say_so():
    stacks = TreeStacks.allocate(3, 9)
    elements, path = np.empty(9, np.int32), np.empty(4, np.int32)
    start = clear(stacks, 3, 3)
    three = start
    for token in (1, 2, 3):
        three = take_transition(stacks, three, token, 0, 0, elements, path)
    # 2 becomes the head of 1 and 3, in both orders.
    left = take_transition(stacks, take_transition(stacks, three, 4, 1, 5, elements, path), 4, 2, 6, elements, path)
    two = take_transition(stacks, take_transition(stacks, start, 1, 0, 0, elements, path), 2, 0, 0, elements, path)
    right = take_transition(stacks, take_transition(stacks, two, 3, 2, 6, elements, path), 3, 0, 0, elements, path)
    assert left == take_transition(stacks, right, 4, 1, 5, elements, path)
    for relation in range(100):
        if take_transition(stacks, three, 4, 1, relation, elements, path) == FULL:
            break
    else:
        raise AssertionError("it was never full")
