"""Products of vectors and panels against NumPy's, and that a row of them depends on no other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.core.errors import TypingError

from parser.kernels.active_units import activate_units, activation_number, scores_of_units
from parser.kernels.processor import WIDTH
from parser.kernels.products import (
    Panels,
    multiply,
    panels_in_fours,
    panels_of_floats,
    panels_of_integers,
    product,
    width_of,
)
from parser.kernels.tiles import ROWS
from parser.network_spec import ACTIVATIONS
from tests.jit import COMPILED

SIZES = (
    st.integers(0, 3 * ROWS + 1),
    st.integers(0, 70),
    st.integers(0, 40),
    st.booleans(),
    st.integers(0, 99),
)


def checked_product(vectors: np.ndarray, panels: Panels, outputs: int) -> np.ndarray:
    """Return the product, and check that each of its rows is the same as if computed alone."""
    found = product(vectors, panels, outputs)
    for i in range(len(vectors)):
        np.testing.assert_array_equal(product(vectors[i : i + 1], panels, outputs)[0], found[i])
    return found


@given(*SIZES, st.sampled_from("CF"))
def test_products_of_floats(n, size, outputs, biased, seed, order):
    rng = np.random.default_rng(seed)
    vectors = np.asarray(rng.normal(size=(n, size)), np.float32, order=order)
    weights = np.asarray(rng.normal(size=(outputs, size)), np.float32, order=order)
    bias = rng.normal(size=outputs).astype(np.float32) if biased else None
    panels = panels_of_floats(weights, bias)
    found = checked_product(vectors, panels, outputs)
    assert (found.shape, found.dtype, found.flags.c_contiguous) == ((n, outputs), np.float32, True)
    expected = vectors.astype(np.float64) @ weights.T.astype(np.float64) + (
        0 if bias is None else bias
    )
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@given(st.integers(0, ROWS + 2), st.integers(1, 20), st.integers(1, 20), st.integers(0, 99))
def test_the_products_of_a_group_are_added_up_first(n, size, outputs, seed):
    rng = np.random.default_rng(seed)
    vectors, weights = (rng.normal(size=(rows, size)).astype(np.float32) for rows in (n, outputs))
    panels = panels_in_fours(weights)
    found = checked_product(vectors, panels, outputs)
    expected = vectors.astype(np.float64) @ weights.T.astype(np.float64)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    # A sum of which single steps would lose all: 1 is less than the last digit of 2 ** 25,
    # 4 is not.
    ones = np.array([[2.0**25, 0, 0, 0, 1, 1, 1, 1]], np.float32)
    assert product(ones, panels_in_fours(np.ones((1, 8), np.float32)), 1) == 2**25 + 4
    assert product(ones, panels_of_floats(np.ones((1, 8), np.float32)), 1) == 2**25


@given(*SIZES)
def test_products_of_integers(n, size, outputs, biased, seed):
    rng = np.random.default_rng(seed)
    vectors = rng.integers(0, 256, (n, size)).astype(np.uint8)
    weights = rng.integers(-127, 128, (outputs, size)).astype(np.int8)
    scale = rng.random(outputs).astype(np.float32)
    bias = rng.normal(size=outputs).astype(np.float32) if biased else None
    panels = panels_of_integers(weights, scale, 100, bias)
    found = checked_product(vectors, panels, outputs)
    sums = (vectors.astype(np.int64) - 100) @ weights.T.astype(np.int64)
    expected = sums * scale.astype(np.float64) + (0 if bias is None else bias)
    np.testing.assert_allclose(
        found, expected, rtol=1e-6, atol=1e-5 * max(1, np.abs(sums).max(initial=0))
    )
    assert width_of(panels) % 4 == 0 <= width_of(panels) - size < 4


def test_many_vectors_are_multiplied_block_by_block():
    rng = np.random.default_rng(0)
    vectors, weights = (
        rng.normal(size=(n, 33)).astype(np.float32) for n in (16 * ROWS * 2 + 5, 50)
    )
    np.testing.assert_allclose(
        product(vectors, panels_of_floats(weights), 50), vectors @ weights.T, rtol=1e-3, atol=1e-4
    )


def test_numbers_that_are_not_finite_stay_in_their_row():
    vectors = np.ones((ROWS + 1, 4), np.float32)
    vectors[2, 1] = np.nan
    found = product(vectors, panels_of_floats(np.ones((3, 4), np.float32)), 3)
    assert np.isnan(found[2]).all()
    np.testing.assert_array_equal(np.delete(found, 2, axis=0), 4)


def test_other_numbers_and_layouts_are_refused_before_there_is_a_kernel():
    panels = panels_of_floats(np.ones((3, 4), np.float32))
    with pytest.raises(TypingError, match="there is no tile of"):
        product(np.ones((2, 4)), panels, 3)
    with pytest.raises(TypingError, match="there is no tile of"):
        multiply(np.ones((4, 2), np.float32).T, 2, panels, np.empty((2, 16), np.float32))


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
