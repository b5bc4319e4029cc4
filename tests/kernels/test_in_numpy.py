"""What runs instead of a kernel that is not compiled gives the same numbers, to the last bit."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba import njit

from parser.inference import lstm, precomputed, transformer
from parser.inference.arithmetic import INT8_ZERO
from parser.kernels.active_units import RELU, activate_units, scores_of_units
from parser.kernels.processor import WIDTH, fused
from parser.kernels.products import (
    multiply,
    panels_in_fours,
    panels_of_floats,
    panels_of_integers,
    width_of,
)
from parser.kernels.tiles import ROWS, strided_tile_of_rows
from tests.jit import COMPILED

pytestmark = pytest.mark.skipif(not COMPILED, reason="everything is interpreted")

SEEDS = range(8)


def floats(rng: np.random.Generator, *shape: int, scale: float = 1.0) -> np.ndarray:
    return (scale * rng.normal(size=shape)).astype(np.float32)


def check(kernel: Any, *arguments: Any, other: Callable[..., object] | None = None) -> None:
    """Check that a kernel and its counterpart change their arguments in the same way."""
    ours, theirs = (
        [each.copy() if isinstance(each, np.ndarray) else each for each in arguments]
        for _ in range(2)
    )
    kernel(*ours)
    (other or kernel.in_numpy)(*theirs)
    assert any(
        isinstance(a, np.ndarray) and (a != b).any() for a, b in zip(ours, arguments, strict=True)
    )
    for a, b in zip(ours, theirs, strict=True):
        if isinstance(a, np.ndarray):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("seed", SEEDS)
def test_products(seed):
    rng = np.random.default_rng(seed)
    n, size, outputs = (int(rng.integers(1, most)) for most in (3 * ROWS, 300, 200))
    vectors, weights = floats(rng, n, size), floats(rng, outputs, size)
    bias, scale = floats(rng, outputs), rng.random(outputs).astype(np.float32) / 100
    integers = rng.integers(0, 256, (n, size)).astype(np.uint8)
    in_bytes = rng.integers(-127, 128, (outputs, size)).astype(np.int8)
    for given, panels in [
        (vectors, panels_of_floats(weights, bias)),
        (vectors, panels_in_fours(weights)),
        (integers, panels_of_integers(in_bytes, scale, INT8_ZERO, bias)),
    ]:
        padded = np.pad(given, ((0, 0), (0, width_of(panels) - size)))
        check(multiply, padded, n, panels, np.zeros((n, len(panels.bias)), np.float32))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_step_of_an_lstm(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 200))
    for scale, zero in ((1, 0), (126.5, 128.5)):
        check(
            lstm._step,
            *(floats(rng, 4 * n, scale=3) for _ in range(2)),
            *(np.float32(scale), np.float32(zero)),
            *(floats(rng, n), np.zeros(4 * n, np.float32)),
        )


@pytest.mark.parametrize("seed", SEEDS)
def test_the_scores_of_a_classifier(seed):
    rng = np.random.default_rng(seed)
    units, outputs = int(rng.integers(1, 300)), WIDTH * int(rng.integers(1, 9))
    hidden = floats(rng, units)
    active = np.zeros(units, np.int32)
    count = activate_units(hidden, RELU, active)
    weights, bias = floats(rng, units, outputs), floats(rng, outputs)
    check(scores_of_units, hidden, weights, bias, active, count, np.zeros(outputs, np.float32))
    rows = floats(rng, 5, units), RELU, weights, bias
    scores = np.zeros((5, outputs), np.float32)
    check(precomputed._multiply, *rows, np.zeros(units, np.int32), scores)
    picked = rng.integers(0, units, 11)
    check(precomputed.sum_rows, bias, weights, picked, 9, np.zeros(outputs, np.float32))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("width", [37, 384])
def test_a_pretrained_encoder(seed, width):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 20))
    vectors, others = floats(rng, n, width, scale=3), floats(rng, n, width)
    of_columns, of_rows = floats(rng, 2, width), rng.random(n).astype(np.float32)
    check(transformer._gelu, vectors)
    check(transformer._round, vectors, np.zeros((n, width + 3), np.uint8), of_rows)
    check(transformer._scale, vectors, of_rows, of_columns[0])
    check(transformer._add, others, vectors)
    check(transformer._normalize, vectors, *of_columns, np.float32(1e-12))
    scores = floats(rng, 40, scale=8)
    check(transformer._share_out, scores, int(rng.integers(2, 41)), np.float32(0.17))
    keys, sums = floats(rng, 32, 3 * WIDTH), np.zeros((n + 2, 3 * WIDTH), np.float32)
    check(transformer._sum_up, vectors, 0, width, keys, 32, sums, n, 2 * WIDTH + 1)


def test_a_tile():
    rng = np.random.default_rng(0)

    def tile(a, b, c):
        strided_tile_of_rows(a, 3, 7, 2, b, 5, 17, 6, c, 4, WIDTH + 1)

    check(njit(tile), *floats(rng, 2, 400), np.zeros(400, np.float32), other=tile)


def test_a_fused_sum_is_rounded_once(monkeypatch):
    """The product is 1 + 2 ** -11 + 2 ** -24; without the last term if it is rounded."""
    factor, term = np.float32(1 + 2**-12), np.float32(-1 - 2**-11)
    monkeypatch.setattr("parser.kernels.processor._IS_FUSED", True)
    assert fused(factor, factor, term) == 2.0**-24
    monkeypatch.setattr("parser.kernels.processor._IS_FUSED", False)
    assert fused(factor, factor, term) == 0
