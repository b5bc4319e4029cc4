"""Matrix products of vectors and frozen weights, whose every number is added up in one order.

BLAS libraries have several ways to multiply, and take one by the number of vectors, so that the last digits of a product depend
on what else is multiplied along. Here they do not: the vector of a token depends on its sentence alone, however a file is cut
into pieces for threads. For the sizes of our encoders this is also faster than the libraries that torch and NumPy bring along
(tests/kernels/test_products.py is a program that compares them), and torch need not be loaded, which takes seconds.

Integers of 8 bits: a vector has unsigned ones, one of which stands for 0, a row of weights signed ones with a scale of its own.
Sums of their products are exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parser.kernels import kernel
from parser.kernels.tiles import GROUP, NO_SCALE, NO_START, ROWS, WIDTH, tile_of_one_row, tile_of_rows

# Vectors that are multiplied by all panels before the next ones: with 400 numbers each, 200 kilobytes, which stay in the second
# of a processor's caches.
_BLOCK = 16 * ROWS


class Panels(NamedTuple):
    """Weights as they are multiplied by: for WIDTH outputs at a time, the last of which may have no weights.

    Attributes:
        weights: float32[panels, inputs, WIDTH], or float32[panels, inputs / GROUP, GROUP, WIDTH] for groups of four, or
            int8[panels, inputs / GROUP, WIDTH, GROUP].
        start: of integers, int32[panels * WIDTH], what sums begin with.
        scale: of integers, float32[panels * WIDTH], what sums are multiplied by.
        bias: float32[panels * WIDTH], what is added.
    """

    weights: np.ndarray
    start: np.ndarray
    scale: np.ndarray
    bias: np.ndarray


def panels_of_floats(weights: np.ndarray, bias: np.ndarray | None = None) -> Panels:
    """Those that multiply float32[n, inputs] by float32[outputs, inputs] and add float32[outputs]."""
    padded = _padded(np.asarray(weights, np.float32))
    by_panel = padded.reshape(len(padded) // WIDTH, WIDTH, padded.shape[1]).transpose(0, 2, 1)
    return Panels(np.ascontiguousarray(by_panel), NO_START, NO_SCALE, _bias(bias, len(weights)))


def panels_in_fours(weights: np.ndarray) -> Panels:
    """As panels_of_floats(); the products of four inputs are added up before they are added to a sum.

    Args:
        weights: float32[outputs, inputs], or float32[parts, outputs, inputs]: then each part has panels of its own.
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


def panels_of_integers(weights: np.ndarray, scale: np.ndarray, zero: int, bias: np.ndarray | None = None) -> Panels:
    """Those that multiply uint8[n, inputs] by int8[outputs, inputs], then by float32[outputs], and add float32[outputs].

    Args:
        weights: from -127 to 127.
        scale: for each output.
        zero: the integer of the vectors that stands for 0.
        bias: for each output.
    """
    lacking = -weights.shape[1] % GROUP
    padded = _padded(np.pad(weights, ((0, 0), (0, lacking))))
    panels, groups = len(padded) // WIDTH, padded.shape[1] // GROUP
    by_panel = padded.reshape(panels, WIDTH, groups, GROUP).transpose(0, 2, 1, 3)
    start = -zero * padded.sum(axis=1, dtype=np.int32)
    return Panels(np.ascontiguousarray(by_panel), start, _padded(scale), _bias(bias, len(weights)))


def width_of(panels: Panels) -> int:
    """Inputs, those included that fill up the last group."""
    return panels.weights.shape[1] * (GROUP if panels.weights.ndim == 4 else 1)


def product(vectors: np.ndarray, panels: Panels, outputs: int) -> np.ndarray:
    """float32[n, outputs] of float32 or uint8[n, inputs]."""
    vectors = widened(vectors, panels)
    products = np.empty((len(vectors), len(panels.bias)), np.float32)
    multiply(vectors, len(vectors), panels, products)
    return products if outputs == len(panels.bias) else np.ascontiguousarray(products[:, :outputs])


def widened(vectors: np.ndarray, panels: Panels) -> np.ndarray:
    """The vectors, contiguous, with zeros after their numbers where panels have more inputs, so as to fill up a group."""
    lacking = width_of(panels) - vectors.shape[1]
    return np.ascontiguousarray(np.pad(vectors, ((0, 0), (0, lacking))) if lacking else vectors)


@kernel()
def multiply(vectors, n, panels, products):
    """Fills in the first n of ``products`` (float32[n or more, outputs of all panels]).

    Args:
        vectors: float32[n or more, inputs], or uint8, a multiple of GROUP of them.
        n: how many vectors.
        panels: see Panels.
        products: contiguous, as are vectors.
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


def _padded(rows: np.ndarray) -> np.ndarray:
    """With zeros after them, a multiple of WIDTH rows."""
    return np.pad(rows, ((0, -len(rows) % WIDTH), *[(0, 0)] * (rows.ndim - 1)))


def _bias(bias: np.ndarray | None, outputs: int) -> np.ndarray:
    return _padded(np.zeros(outputs, np.float32) if bias is None else np.asarray(bias, np.float32))
