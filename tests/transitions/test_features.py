"""Feature extraction against a slow reference implementation that goes from node to node."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parser import transitions
from parser.data.sentences import NO_NODE
from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import ABSENT, N_RESERVED, ROOT, Vocabulary
from parser.transitions.attardi import ArcStandard
from parser.transitions.features import TOKEN, FeatureTable, Slot, at_candidates, slots_of
from parser.transitions.lr_spine import LRSpine
from tests.decoding.computations import find
from tests.gold_data import vocabularies_of
from tests.toy import flat_sentences, sentence
from tests.transitions import reference_systems as reference

ADDRESSES = [
    "s0",
    "s1",
    "s2",
    "s3",
    "b0",
    "b1",
    "b2",
    "s0.l1",
    "s0.r1",
    "s1.l2",
    "s1.r2",
    "s0.l1.l1",
    "s1.r1.l1",
    "b0.l1",
]
SLOTS = slots_of({"upos": ADDRESSES, "form": ADDRESSES[:7], "deprel": ADDRESSES})


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(0, 2**31))
def test_extraction_equals_its_reference_along_random_computations(lengths, seed):
    sentences = flat_sentences(lengths, seed)
    vocabularies = vocabularies_of(sentences, "form", "upos")
    encoded = vocabularies.encode(sentences)
    table = FeatureTable(SLOTS, vocabularies.attributes)
    states = [reference.State.initial(n) for n in lengths]
    for now, rows, _, _, columns, relations in reference.random_steps(
        ArcStandard(4), lengths, seed
    ):
        features = table.extract(now, rows, encoded, np.arange(len(lengths)))
        for values, row in zip(features, rows, strict=True):
            for slot, value in zip(SLOTS, values, strict=True):
                node, relation = find(states[row], slot.position)
                if slot.attribute == "deprel":
                    expected = ABSENT if relation == NO_NODE else relation + N_RESERVED
                elif node in (NO_NODE, 0):
                    expected = ROOT if node == 0 else ABSENT
                else:
                    words = getattr(sentences[row], "forms" if slot.attribute == "form" else "upos")
                    [expected] = vocabularies.by_attribute[slot.attribute].encode([words[node - 1]])
                assert value == expected, slot
        for row, column, relation in zip(rows, columns.tolist(), relations.tolist(), strict=True):
            reference.take("arc_standard", 1, states[row], column, relation)


def candidate_nodes_of(state: reference.State, column: int) -> dict[str, int | None]:
    """Sartorio, Satta and Nivre (2013), Table 1, word for word: of a transition of lr_spine."""
    roots = dict(enumerate(reversed(state.stack), 1))
    b = dict(enumerate(state.buffer))
    table = {
        "c1": roots.get(1), "c2": roots.get(2), "c3": roots.get(3), "q1": b.get(0), "q2": b.get(1),
        "gp": None, "gg": None,
    }  # fmt: skip
    if column == 0:
        return table
    u = dict(enumerate(reference.spine(state, roots[1], left=True), 1))
    v = dict(enumerate(reference.spine(state, roots[2], left=False), 1))
    if (k := column) <= len(u):
        table |= {"c1": u[k], "gp": u.get(k - 1), "gg": u.get(k - 2)}
        if k == 2:
            table |= {"q1": u[1], "q2": b.get(0)}
        elif k > 2:
            table |= {"q1": u[k - 1], "q2": u[k - 2]}
        return table
    k = column - len(u)
    return table | {
        "c2": v[k],
        "c3": v[k - 1] if k > 1 else roots.get(3),
        "gp": v.get(k - 1),
        "gg": v.get(k - 2),
    }


def candidate_nodes_of_head(state: reference.State, column: int) -> dict[str, int | None]:
    """Return the same, of a candidate head in the pointer system."""
    nodes = [*state.stack, *state.buffer]
    token, parent = state.buffer[0], state.arcs.get(column, (None,))[0]
    beside = {
        "q1": column - 1 if column else None,
        "q2": column + 1 if column + 1 in nodes else None,
    }
    grandparent = None if parent is None else state.arcs.get(parent, (None,))[0]
    return {"c1": token, "c2": column, "c3": token - 1, "gp": parent, "gg": grandparent, **beside}


@pytest.mark.parametrize(
    ("name", "nodes_of"), [("lr_spine", candidate_nodes_of), ("pointer", candidate_nodes_of_head)]
)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(0, 2**31))
def test_each_transition_has_features_of_its_own(name, nodes_of, lengths, seed):
    """Among them slots at children of candidates, and at positions that all transitions share."""
    sentences = flat_sentences(lengths, seed)
    encoded = vocabularies_of(sentences, "form").encode(sentences)
    system = transitions.create(name, 1)
    bases = [*system.candidate_positions, "s1", "b1"]
    slots = slots_of({"form": [*bases, *(f"{base}.l1" for base in bases)]})
    table = FeatureTable(slots, ["form"], system.candidate_positions)
    numbers = np.arange(len(lengths))
    states = [reference.State.initial(n) for n in lengths]
    for now, rows, found_there, _, columns, _ in reference.random_steps(system, lengths, seed):
        features = table.extract(now, rows, encoded, numbers, found_there)
        assert len(features) == (found_there.rows != NO_NODE).sum()
        for m, row in enumerate(rows):
            state = states[row]
            for column in np.flatnonzero(found_there.rows[m] != NO_NODE).tolist():
                nodes = nodes_of(state, column)
                nodes["s1"] = state.stack[-2] if len(state.stack) > 1 else None
                nodes["b1"] = state.buffer[1] if len(state.buffer) > 1 else None
                assert nodes[system.always_there] is not None
                found = [nodes[base] for base in bases]
                found += [
                    None if node is None else next(iter(state.children(node, left=True)), None)
                    for node in found
                ]
                expected = [
                    ABSENT if node is None else encoded.values[0, encoded.offsets[row] + node]
                    for node in found
                ]
                assert features[found_there.rows[m, column]].tolist() == expected
        for row, column in zip(rows, columns.tolist(), strict=True):
            reference.take(name, 1, states[row], column, 0)


def test_a_table_for_any_system_is_read_at_the_candidates():
    table = {
        "form": ["s0", "s1", "b0", "b1", "b2", "s3"],
        "deprel": ["s0.l1", "s1.r1.r1"],
        "upos": [],
    }
    assert at_candidates(table, LRSpine) == {
        "form": ["c1", "c2", "q1", "q2", "b2", "s3", "gp", "gg", "b0", "b1"],
        "deprel": ["c1.l1", "c2.r1.r1"],
        "upos": [],
    }
    assert at_candidates(table, ArcStandard) == table
    own = {"form": ["c1", "s0"], "upos": ["s0"]}
    assert at_candidates(own, LRSpine) == own


@pytest.mark.parametrize(
    "text", ["s0", "s0:", "t0:form", "s0.x1:form", "s0.l0:form", "s0.l1.l1.l1.l1:form", "s:form"]
)
def test_what_is_no_slot_is_refused(text):
    with pytest.raises(ValueError, match="not a feature slot"):
        Slot.parse(text)


@pytest.mark.parametrize(
    ("slots", "said"),
    [
        (["s0:form", "gp.l1:form"], "gp"),
        (["s0:colour"], "form, upos, deprel"),
        (["s0:form", "s0:form"], "twice"),
    ],
)
def test_slots_that_cannot_be_read_are_refused(slots, said):
    """Positions of another system, attributes that are not known,
    and slots that are named twice.
    """
    with pytest.raises(ValueError, match=said):
        FeatureTable([*map(Slot.parse, slots)], ["form", "upos"], ArcStandard.candidate_positions)


def test_a_token_is_read_as_its_place():
    sentences = Vocabularies({"upos": Vocabulary(["X"])}).encode([sentence([0, 1]), sentence([0])])
    values = FeatureTable(slots_of({TOKEN: ["s0", "b0"]}), [TOKEN]).values(sentences)
    assert values.tolist() == [[N_RESERVED + place for place in range(5)]]  # two roots, three words


@pytest.mark.parametrize(
    ("positions", "elements", "ahead"),
    [(["s0"], 1, 0), (["s2.l1", "b0"], 3, 1), (["b3", "b1", "s1.r2.l1"], 2, 4), (["b0.l2"], 1, 1)],
)
def test_how_far_positions_reach(positions, elements, ahead):
    table = FeatureTable(slots_of({"upos": positions}), ["upos"])
    assert (table.stack_elements, table.read_ahead) == (elements, ahead)
