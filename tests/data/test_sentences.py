"""Encoded sentences: parts of them."""

from __future__ import annotations

import numpy as np

from parser.data.sentences import Sentences


def test_vectors_stay_with_their_tokens():
    values, offsets = np.arange(9, dtype=np.int32)[None], np.array([0, 2, 5, 9])
    sentences = Sentences(values, offsets, values.T.astype(np.float32))
    for part in (sentences.span(1, 3), sentences.take(np.array([2, 0])), sentences.span(2, 3).take(np.array([0]))):
        np.testing.assert_array_equal(part.vectors[:, 0], part.values[0])
        assert part.span(0, 0).vectors.shape == (0, 1)
