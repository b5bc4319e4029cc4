"""The output layer over active units against NumPy's products."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.core.errors import TypingError

from parser.kernels.active_units import activate_units, activation_number, scores_of_units
from parser.kernels.llvm import WIDTH
from parser.network_spec import ACTIVATIONS
from tests.jit import COMPILED


@given(st.integers(0, 40), st.integers(1, 20), st.integers(0, 99))
def test_scores_are_products(hidden, vectors, seed):
    rng = np.random.default_rng(seed)
    layer = rng.normal(size=hidden).astype(np.float32) * (rng.random(hidden) < 0.7)
    weights = rng.normal(size=(hidden, vectors * WIDTH)).astype(np.float32)
    bias = rng.normal(size=vectors * WIDTH).astype(np.float32)
    active, scores = np.empty(hidden, np.int32), np.full((3, vectors * WIDTH), np.nan, np.float32)
    expected = np.maximum(layer, 0) @ weights + bias
    count = activate_units(layer, activation_number("relu"), active)
    scores_of_units(layer, weights, bias, active, count, scores[1])
    np.testing.assert_allclose(scores[1], expected, rtol=1e-4, atol=1e-5)
    assert np.isnan(scores[[0, 2]]).all()


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_active_units_are_those_that_are_not_zero(name):
    layer = np.array([0, -1, 2, 0, 0.5, -3], np.float32)
    active = np.empty(len(layer), np.int32)
    count = activate_units(layer, activation_number(name), active)
    assert active[:count].tolist() == np.flatnonzero(layer).tolist()


@pytest.mark.skipif(not COMPILED, reason="plain Python checks nothing beforehand")
def test_what_is_not_contiguous_is_refused():
    weights, active = np.ones((2, 4 * WIDTH), np.float32)[:, ::2], np.arange(2, dtype=np.int32)
    scores = np.empty(2 * WIDTH, np.float32)
    with pytest.raises(TypingError, match="there is no tile of"):
        scores_of_units(np.ones(2, np.float32), weights, scores, active, 2, scores)
