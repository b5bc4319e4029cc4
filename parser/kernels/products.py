"""Matrix products of vectors and frozen weights, with a fixed order of additions.

BLAS libraries choose among several methods by the number of vectors, so the last digits of a
product depend on the other vectors. Here they do not: the vector of a token depends only on its
sentence, however a file is divided among threads. For the sizes of our encoders this is also faster
than the libraries of torch and NumPy,
and torch, which takes seconds to load, is not needed.

In 8 bits, a vector has unsigned integers, one of which means 0; a row of weights has signed
integers and its own scale. Sums of their products are exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parser.kernels import kernel
from parser.kernels.interpreted import instead_of
from parser.kernels.processor import add_in_numpy, fused
from parser.kernels.tiles import (
    GROUP,
    NO_SCALE,
    NO_START,
    ROWS,
    WIDTH,
    tile_of_one_row,
    tile_of_rows,
)

# How many vectors are multiplied by all panels before the next ones: with 400 numbers each they
# take 200 kilobytes, which stay in a processor's second-level cache.
_BLOCK = 16 * ROWS


class Panels(NamedTuple):
    """Weights in panels of WIDTH outputs; the last panel may be padded with zeros.

    Attributes:
        weights: float32[panels, inputs, WIDTH], or float32[panels, inputs / GROUP, GROUP, WIDTH]
            for groups of four, or int8[panels, inputs / GROUP, WIDTH, GROUP].
        start: int32[panels * WIDTH], the initial values of sums; only for integers.
        scale: float32[panels * WIDTH], the factors of sums; only for integers.
        bias: float32[panels * WIDTH], added at the end.
    """

    weights: np.ndarray
    start: np.ndarray
    scale: np.ndarray
    bias: np.ndarray


def panels_of_floats(weights: np.ndarray, bias: np.ndarray | None = None) -> Panels:
    """Return panels that multiply float32[n, inputs] by float32[outputs,
    inputs] and add float32[outputs].
    """
    padded = _padded(np.asarray(weights, np.float32))
    by_panel = padded.reshape(len(padded) // WIDTH, WIDTH, padded.shape[1]).transpose(0, 2, 1)
    return Panels(np.ascontiguousarray(by_panel), NO_START, NO_SCALE, _bias(bias, len(weights)))


def panels_in_fours(weights: np.ndarray) -> Panels:
    """Return panels as panels_of_floats() does,
    but the products of four inputs are summed before they are added to a sum.

    Args:
        weights: float32[outputs, inputs], or float32[parts, outputs, inputs]:
            then each part has its own panels.
    """
    parts = weights[None] if weights.ndim == 2 else weights
    n, outputs, inputs = parts.shape
    lacking = -outputs % WIDTH, -inputs % GROUP
    if any(lacking):
        parts = np.pad(parts, ((0, 0), (0, lacking[0]), (0, lacking[1])))
    outputs, inputs = parts.shape[1:]
    by_panel = parts.reshape(n, outputs // WIDTH, WIDTH, inputs).swapaxes(2, 3)
    panels = np.ascontiguousarray(by_panel, np.float32).reshape(-1, inputs // GROUP, GROUP, WIDTH)
    return Panels(panels, NO_START, NO_SCALE, np.zeros(n * outputs, np.float32))


def panels_of_integers(
    weights: np.ndarray, scale: np.ndarray, zero: int, bias: np.ndarray | None = None
) -> Panels:
    """Return panels that multiply uint8[n, inputs] by int8[outputs, inputs] and float32[outputs],
    and add float32[outputs].

    Args:
        weights: integers from -127 to 127.
        scale: the factor of each output.
        zero: the integer of the vectors that means 0.
    """
    lacking = -weights.shape[1] % GROUP
    padded = _padded(np.pad(weights, ((0, 0), (0, lacking))))
    panels, groups = len(padded) // WIDTH, padded.shape[1] // GROUP
    by_panel = padded.reshape(panels, WIDTH, groups, GROUP).transpose(0, 2, 1, 3)
    start = -zero * padded.sum(axis=1, dtype=np.int32)
    return Panels(np.ascontiguousarray(by_panel), start, _padded(scale), _bias(bias, len(weights)))


def width_of(panels: Panels) -> int:
    """Return the number of inputs, including the padding of the last group."""
    return panels.weights.shape[1] * (GROUP if panels.weights.ndim == 4 else 1)


def product(vectors: np.ndarray, panels: Panels, outputs: int) -> np.ndarray:
    """Return the products, float32[n, outputs], of float32 or uint8[n, inputs]."""
    vectors = widened(vectors, panels)
    products = np.empty((len(vectors), len(panels.bias)), np.float32)
    multiply(vectors, len(vectors), panels, products)
    return products if outputs == len(panels.bias) else np.ascontiguousarray(products[:, :outputs])


def widened(vectors: np.ndarray, panels: Panels) -> np.ndarray:
    """Return the vectors, contiguous, padded with zeros to the width of the panels."""
    lacking = width_of(panels) - vectors.shape[1]
    return np.ascontiguousarray(np.pad(vectors, ((0, 0), (0, lacking))) if lacking else vectors)


@kernel()
def multiply(vectors, n, panels, products):
    """Fill in the first n rows of ``products``.

    Args:
        vectors: float32[>= n, inputs], or uint8 with a multiple of GROUP inputs; contiguous.
        n: how many vectors.
        panels: see Panels.
        products: float32[>= n, outputs of all panels], contiguous.
    """
    weights, start, scale, bias = panels
    if vectors.shape[1] == 0:
        for i in range(n):
            for j in range(products.shape[1]):
                products[i, j] = bias[j]
        return
    for first in range(0, n, _BLOCK):
        end = min(first + _BLOCK, n)
        whole = end - (end - first) % ROWS
        for p in range(len(weights)):
            for i in range(first, whole, ROWS):
                tile_of_rows(vectors, i, weights, p, start, scale, bias, products)
            for i in range(whole, end):
                tile_of_one_row(vectors, i, weights, p, start, scale, bias, products)


@instead_of(multiply)
def _multiply_in_numpy(vectors: np.ndarray, n: int, panels: Panels, products: np.ndarray) -> None:
    weights, start, scale, bias = panels
    if weights.dtype == np.int8:
        by_input = weights.transpose(1, 3, 0, 2).reshape(-1, len(bias))
        # exact in float64, and faster than with integers
        sums = start + vectors[:n].astype(np.float64) @ by_input.astype(np.float64)
        products[:n] = fused(sums.astype(np.float32), scale, bias)
        return
    group = GROUP if weights.ndim == 4 else 1
    by_panel = weights.reshape(len(weights), -1, group, WIDTH)
    by_group = by_panel.transpose(1, 2, 0, 3).reshape(-1, group, len(bias))
    factors = vectors[:n].reshape(n, len(by_group), group, 1).transpose(1, 2, 0, 3)
    sums = np.broadcast_to(bias, (n, len(bias)))
    for left, right in zip(factors, by_group, strict=True):
        sums = add_in_numpy(sums, left, right)
    products[:n] = sums


def _padded(rows: np.ndarray) -> np.ndarray:
    """Return the rows, padded with zeros to a multiple of WIDTH rows."""
    return np.pad(rows, ((0, -len(rows) % WIDTH), *[(0, 0)] * (rows.ndim - 1)))


def _bias(bias: np.ndarray | None, outputs: int) -> np.ndarray:
    return _padded(np.zeros(outputs, np.float32) if bias is None else np.asarray(bias, np.float32))
