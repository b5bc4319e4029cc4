"""Feature extraction against a twin that walks from node to node."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parser.data.parses import NO_NODE
from parser.data.vocabulary import ABSENT, N_RESERVED, ROOT, Vocabularies, Vocabulary
from parser.transitions.arc_standard import ArcStandard
from parser.transitions.configurations import Configurations
from parser.transitions.decisions import best
from parser.transitions.features import FeatureTable, Slot, slots_of
from tests.toy import sentence

ADDRESSES = ["s0", "s1", "s2", "s3", "b0", "b1", "b2", "s0.l1", "s0.r1", "s1.l2", "s1.r2", "s0.l1.l1", "s1.r1.l1", "b0.l1"]
SLOTS = slots_of({"upos": ADDRESSES, "form": ADDRESSES[:7], "deprel": ADDRESSES})


def node_twin(now: Configurations, row: int, address: str) -> int | None:
    """The node at an address, found from the heads alone."""
    base, *moves = address.split(".")
    index = int(base[1:])
    stack = now.stacks[row, : now.stack_sizes[row]].tolist()[::-1]
    buffer = list(range(now.buffer_fronts[row], now.lengths[row] + 1))
    nodes = stack if base[0] == "s" else buffer
    if index >= len(nodes):
        return None
    node = nodes[index]
    for move in moves:
        children = [c for c in range(1, now.lengths[row] + 1) if now.heads[row, c] == node]
        side = [c for c in children if c < node] if move[0] == "l" else [c for c in children if c > node][::-1]
        rank = int(move[1:])
        if rank > len(side):
            return None
        node = side[rank - 1]
    return node


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(0, 2**31))
def test_extraction_equals_its_twin_along_random_computations(lengths, seed):
    rng = random.Random(seed)
    sentences = [sentence([0] + [1] * (n - 1), rng) for n in lengths]
    vocabularies = Vocabularies(
        {
            "form": Vocabulary.of(form for s in sentences for form in s.forms),
            "upos": Vocabulary.of(tag for s in sentences for tag in s.upos),
        }
    )
    encoded = vocabularies.encode(sentences)
    table = FeatureTable(SLOTS, vocabularies.attributes)
    system = ArcStandard(4)
    numbers = np.arange(len(lengths))
    now = Configurations.initial(encoded.lengths)
    draw = np.random.default_rng(seed)
    while len(rows := now.unfinished()):
        features = table.extract(now, rows, encoded, numbers)
        for values, row in zip(features, rows, strict=True):
            for slot, value in zip(SLOTS, values, strict=True):
                node = node_twin(now, row, slot.address)
                if node is None:
                    expected = ABSENT
                elif slot.attribute == "deprel":
                    relation = now.relations[row, node]
                    expected = ABSENT if relation == NO_NODE else relation + N_RESERVED
                elif node == 0:
                    expected = ROOT
                else:
                    columns = {"form": sentences[row].forms, "upos": sentences[row].upos}
                    [expected] = vocabularies.by_attribute[slot.attribute].encode([columns[slot.attribute][node - 1]])
                assert value == expected, slot
        scores = draw.random((len(rows), system.n_outputs), np.float32)
        moves = system.moves(now, rows)
        system.apply(now, rows, moves, *best(system, scores, moves))


@pytest.mark.parametrize("text", ["s0", "s0:", "t0:form", "s0.x1:form", "s0.l0:form", "s0.l1.l1.l1.l1:form", "s:form"])
def test_what_is_no_slot_is_refused(text):
    with pytest.raises(ValueError, match="not a feature slot"):
        Slot.parse(text)


def test_an_unknown_attribute_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="known: form, upos, deprel"):
        FeatureTable([Slot.parse("s0:colour")], ["form", "upos"])


def test_a_slot_named_twice_is_refused():
    with pytest.raises(ValueError, match="twice"):
        FeatureTable([Slot.parse("s0:form"), Slot.parse("s0:form")], ["form"])
