"""Encoded sentences: parts of them."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from parser.data.sentences import Sentences


def test_vectors_stay_with_their_tokens():
    values, offsets = np.arange(9, dtype=np.int32)[None], np.array([0, 2, 5, 9])
    sentences = Sentences(values, offsets, values.T.astype(np.float32))
    for part in (
        sentences.span(1, 3),
        sentences.take(np.array([2, 0])),
        sentences.span(2, 3).take(np.array([0])),
    ):
        np.testing.assert_array_equal(part.vectors[:, 0], part.values[0])
        assert part.span(0, 0).vectors.shape == (0, 1)


LENGTHS = st.lists(st.integers(1, 9), min_size=1, max_size=6)


@given(LENGTHS, st.randoms())
def test_places_are_those_of_the_sentences_in_the_order_asked_for(lengths, rng):
    offsets = np.concatenate([[0], np.cumsum(np.array(lengths) + 1)])
    whole = Sentences(np.arange(offsets[-1], dtype=np.int32)[None], offsets)
    numbers = rng.sample(range(len(whole)), rng.randint(1, len(whole)))
    expected = [place for s in numbers for place in range(offsets[s], offsets[s + 1])]
    assert whole.places(np.array(numbers)).tolist() == expected


@given(LENGTHS, st.integers(1, 30))
def test_spans_take_every_sentence_once_and_keep_to_the_limit(lengths, tokens):
    offsets = np.concatenate([[0], np.cumsum(np.array(lengths) + 1)])
    whole = Sentences(np.arange(offsets[-1], dtype=np.int32)[None], offsets)
    spans = list(whole.spans(tokens))
    assert [i for first, last in spans for i in range(first, last)] == list(range(len(whole)))
    for first, last in spans:
        part = whole.span(first, last)
        assert part.offsets[0] == 0
        assert part.offsets[-1] <= tokens or last == first + 1
        np.testing.assert_array_equal(part.values[0], whole.places(np.arange(first, last)))
