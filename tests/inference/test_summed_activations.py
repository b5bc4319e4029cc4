"""Sums of what the slots at a position add, against the activations of single slots, to the last bit."""

import numpy as np
import pytest

from parser.data.sentences import NO_NODE
from parser.inference.precomputed import SlotPrecomputation
from parser.inference.precomputed_tokens import add_up_slots
from tests.random_models import STATIC_SLOTS, random_static_model
from tests.toy import flat_sentences

ALL_SLOTS = STATIC_SLOTS | {"feats_pairs": ["s0", "b0", "s1"]}


@pytest.mark.parametrize("embeddings", [{}, {"form": 5}, {"form": 4, "upos": 3}, {"form": 16, "feats_pairs": 7, "deprel": 3}])
@pytest.mark.parametrize("signatures", [0, 1, 40, 512])
def test_sums_are_those_of_the_activations_one_after_the_other(embeddings, signatures):
    model = random_static_model(flat_sentences([9] * 20), embeddings, slots=ALL_SLOTS)
    maker, numbers = SlotPrecomputation(model.weights(), model.table), np.random.default_rng(signatures)
    columns = model.table.columns
    positions = [np.flatnonzero((columns[:, 0] == a) & (columns[:, 1] != NO_NODE)) for a in range(columns[:, 0].max() + 1)]
    absent = numbers.normal(size=(len(positions), 37)).astype(np.float32)
    sizes = [len(vocabulary) for vocabulary in model.vocabularies.by_attribute.values()]
    values = np.stack([numbers.integers(0, size, signatures) for size in sizes]).astype(np.int32)
    rows = np.full((signatures * len(positions) + 1, 37), np.nan, np.float32)
    add_up_slots(maker, [of_position.tolist() for of_position in positions], absent, values, rows)
    assert np.isnan(rows[-1]).all()
    of_slots = maker.for_values(values)
    for place, of_position in enumerate(positions):
        expected = np.tile(-absent[place], (signatures, 1))
        for column in of_position:
            expected += of_slots.rows[of_slots.starts[column] + of_slots.values[columns[column, 1]]]
        np.testing.assert_array_equal(rows[place : -1 : len(positions)], expected)
