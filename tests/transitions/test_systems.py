"""Every transition system against its reference over lists, along random computations; decisions
against plain enumeration.
"""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles import Trees
from parser import transitions as registry
from parser.data.sentences import NO_NODE
from parser.transitions.attardi import ArcStandard, best_output, forced_output
from parser.transitions.configurations import Configurations
from parser.transitions.decisions import correct_outputs, log_probabilities
from parser.transitions.system import Transitions, TransitionSystem
from tests.transition_systems import variants
from tests.transitions import reference_systems as reference
from tests.transitions.reference_systems import random_steps

N_RELATIONS, ROOT_RELATION = 3, 2


def outputs_of(
    system: TransitionSystem, transitions: Transitions, columns, relations
) -> np.ndarray:
    """int32[m]: the outputs of transitions (int32[m] columns) with relations (int32[m]; NO_NODE
    where the transition makes no arc).
    """
    starts = system.block_starts[transitions.blocks[np.arange(len(columns)), columns]]
    return (starts + np.maximum(relations, 0)).astype(np.int32)


lengths_of_sentences = st.lists(st.integers(1, 9), min_size=1, max_size=5)
seeds = st.integers(0, 2**31)


def create(name: str, options: dict[str, int]) -> TransitionSystem:
    return registry.create(name, N_RELATIONS, ROOT_RELATION, **options)


def children_of(now: Configurations, row: int, head: int, side: int) -> list[int]:
    """From the outermost inwards."""
    found, node = [], now.children[row, head, side]
    while node != NO_NODE:
        found.append(int(node))
        node = now.siblings[row, node]
    return found


@pytest.mark.parametrize(("name", "options"), variants())
@given(lengths_of_sentences, st.booleans(), seeds)
def test_transitions_and_what_they_do_are_those_of_the_reference(
    name, options, lengths, single_root, seed
):
    system = create(name, options)
    degree = (
        reference.NONMONOTONIC if "nonmonotonic" in options else system.options.get("degree", 1)
    )
    states = [reference.State.initial(n) for n in lengths]
    taken = 0
    for now, rows, transitions, _, columns, relations in random_steps(
        system, lengths, seed, single_root
    ):
        check_states(now, states)
        for m, row in enumerate(rows):
            possible = reference.possible(name, degree, states[row], single_root)
            applicable = np.flatnonzero(transitions.rows[m] != NO_NODE)
            assert applicable.tolist() == sorted(possible)
            arcs = zip(transitions.heads[m].tolist(), transitions.children[m].tolist(), strict=True)
            assert [*arcs] == [
                possible.get(column) or (NO_NODE, NO_NODE)
                for column in range(transitions.rows.shape[1])
            ]
            starts = transitions.starts
            feature_rows = (
                [m] * len(possible) if starts is None else list(range(starts[m], starts[m + 1]))
            )
            assert transitions.rows[m, applicable].tolist() == feature_rows
        for row, column, relation in zip(rows, columns, relations, strict=True):
            reference.take(name, degree, states[row], column, relation)
        taken += len(rows)
    check_states(now, states)
    assert taken == (1 if name == "pointer" else 2) * sum(lengths) or name in ("covington", "swap")
    assert all(state.final or (name == "pointer" and not state.buffer) for state in states)
    for state in states:
        check_tree(state, single_root)


def check_states(now: Configurations, states: list[reference.State]) -> None:
    for row, state in enumerate(states):
        assert now.stacks[row, : now.stack_sizes[row]].tolist() == state.stack
        assert (
            now.buffers[row, now.buffer_fronts[row] : now.lengths[row] + 1].tolist() == state.buffer
        )
        for node in range(state.n + 1):
            assert (now.heads[row, node], now.relations[row, node]) == state.arcs.get(
                node, (NO_NODE, NO_NODE)
            )
            for side, left in enumerate((True, False)):
                assert children_of(now, row, node, side) == state.children(node, left)


def check_tree(state: reference.State, single_root: bool) -> None:
    # refuses cycles
    Trees.from_heads([[state.arcs[token][0] for token in range(1, len(state.arcs) + 1)]])
    if single_root:
        assert sum(head == 0 for head, _ in state.arcs.values()) == 1
        assert all(
            (relation == ROOT_RELATION) == (head == 0) for head, relation in state.arcs.values()
        )


@pytest.mark.parametrize(("name", "options"), variants())
@given(lengths_of_sentences, st.booleans(), seeds, st.booleans())
def test_the_best_output_and_its_probability_are_those_of_plain_enumeration(
    name, options, lengths, single_root, seed, ties
):
    system = create(name, options)
    for _, rows, transitions, scores, columns, relations in random_steps(
        system, lengths, seed, single_root, ties
    ):
        found = log_probabilities(system, scores, transitions, columns, relations, single_root)
        for m in range(len(rows)):
            by_output = {}  # in the order of the outputs
            for column in np.flatnonzero(transitions.rows[m] != NO_NODE):
                head, block = transitions.heads[m, column], transitions.blocks[m, column]
                for relation in range(system.block_sizes[block]):
                    if (
                        head == NO_NODE
                        or not single_root
                        or (head == 0) == (relation == ROOT_RELATION)
                    ):
                        place = transitions.rows[m, column], system.block_starts[block] + relation
                        by_output[column, NO_NODE if head == NO_NODE else relation] = float(
                            scores[place]
                        )
            assert (columns[m], relations[m]) == max(by_output, key=by_output.__getitem__)
            total = np.logaddexp.reduce([*by_output.values()])
            np.testing.assert_allclose(
                found[m], by_output[columns[m], relations[m]] - total, rtol=1e-5, atol=1e-7
            )


@pytest.mark.parametrize(("name", "options"), variants())
@given(lengths_of_sentences, seeds)
def test_right_outputs_bear_the_gold_relation_of_the_word_that_gets_a_head(
    name, options, lengths, seed
):
    rng, system = np.random.default_rng(seed), create(name, options)
    gold = rng.integers(0, N_RELATIONS, (len(lengths), max(lengths) + 1)).astype(np.int32)
    for _, rows, transitions, *_ in random_steps(system, lengths, seed):
        optimal = (transitions.rows != NO_NODE) & (rng.random(transitions.rows.shape) < 0.5)
        outputs = correct_outputs(system, optimal, transitions, gold, rows)
        for m, row in enumerate(rows):
            for column in range(outputs.shape[1]):
                child = transitions.children[m, column]
                relation = NO_NODE if child == NO_NODE else gold[row, child]
                expected = NO_NODE
                if optimal[m, column]:
                    expected = outputs_of(
                        system, transitions, [column] * len(rows), np.full(len(rows), relation)
                    )[m]
                assert outputs[m, column] == expected


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("single_root", [True, False])
@given(lengths_of_sentences, seeds)
def test_the_compiled_loop_decides_as_the_interface_does(degree, single_root, lengths, seed):
    system = create("attardi", {"degree": degree})
    for now, rows, transitions, scores, columns, relations in random_steps(
        system, lengths, seed, single_root, ties=True
    ):
        for m, (row, output) in enumerate(
            zip(rows, outputs_of(system, transitions, columns, relations), strict=True)
        ):
            size, buffered = now.stack_sizes[row], now.buffer_fronts[row] <= now.lengths[row]
            assert (
                best_output(
                    scores, m, degree, size, buffered, N_RELATIONS, ROOT_RELATION, single_root
                )
                == output
            )


@pytest.mark.parametrize("degree", [1, 2])
def test_an_output_is_forced_if_it_wins_whatever_the_scores(degree):
    n_relations, truths = 4, (True, False)
    favourites = np.eye(1 + 2 * degree * n_relations)  # each output has the highest score once
    for size, buffered, root_relation, single_root in product(
        (1, 2, 3, 4), truths, (NO_NODE, 2), truths
    ):
        if size == 1 and not buffered:
            continue  # final
        about = degree, size, buffered, n_relations, root_relation, single_root
        winners = {best_output(favourites, o, *about) for o in range(len(favourites))}
        forced = forced_output(degree, size, buffered, root_relation, single_root)
        assert winners == {forced} if forced != NO_NODE else len(winners) > 1, about


def test_arc_standard_is_attardis_system_of_degree_one():
    ours, attardi = create("arc_standard", {}), create("attardi", {"degree": 1})
    assert ours.options == {}
    assert ours.block_starts.tolist() == attardi.block_starts.tolist() == [0, 1, 1 + N_RELATIONS]
    assert ours.eager_order(3).tolist() == [2, 1, 0]


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("easy_first", {}, "arc_hybrid"),
        ("arc_hybrid", {"degree": 2}, "degree=2"),
        ("attardi", {"degree": 0}, "from 1 to 9"),
    ],
)
def test_unknown_systems_and_options_are_refused(name, options, said):
    with pytest.raises(ValueError, match=said):
        registry.create(name, 3, **options)


def test_a_system_is_known_by_the_name_that_it_is_registered_under(monkeypatch):
    class Own(ArcStandard):
        name = "own"

    monkeypatch.setattr(registry, "_SYSTEMS", {"arc_standard": ArcStandard})
    registry.register(Own)
    assert type(registry.create("own", 3)) is Own
    assert registry.names() == ["arc_standard", "own"]
    with pytest.raises(ValueError, match="'own' already exists"):
        registry.register(type("Other", (Own,), {}))
