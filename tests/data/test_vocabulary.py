"""Encoded sentences in flat arrays."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from parser.data.vocabulary import Sentences

LENGTHS = st.lists(st.integers(1, 9), min_size=1, max_size=6)


@given(LENGTHS, st.randoms())
def test_places_are_those_of_the_sentences_in_the_order_asked_for(lengths, rng):
    offsets = np.concatenate([[0], np.cumsum(np.array(lengths) + 1)])
    whole = Sentences(np.arange(offsets[-1], dtype=np.int32)[None], offsets)
    numbers = rng.sample(range(len(whole)), rng.randint(1, len(whole)))
    expected = [place for s in numbers for place in range(offsets[s], offsets[s + 1])]
    assert whole.places(np.array(numbers)).tolist() == expected
