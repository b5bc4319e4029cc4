"""Frozen matrices, times vectors of an encoder: in single precision, or in integers of 8 bits.

Of an LSTM's outputs, which lie between -1 and 1, an integer of 8 bits is 127 times the number, plus 128. A row of weights has
a scale of its own, its largest number over 127 (per-channel quantization). The products are those of kernels/products.py: the
result for a vector does not depend on what else is multiplied with it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar

import numpy as np

from parser.kernels.products import Panels, panels_of_floats, panels_of_integers, product

# What 1 and 0 are among the integers.
INT8_SCALE = 127
INT8_ZERO = 128


Matrix = Callable[[np.ndarray], np.ndarray]
"""From stored vectors, [n, inputs], to float32[n, outputs]."""


class SinglePrecision:
    """How vectors of an encoder are stored and multiplied: numbers as they are.

    Attributes:
        stored: the type of the stored numbers.
        storing: float32, what a number is multiplied by, and what is then added, before it is cut off to be stored.
    """

    stored: ClassVar[type[np.generic]] = np.float32
    storing: ClassVar[tuple[np.float32, np.float32]] = np.float32(1), np.float32(0)

    def panels(self, weights: np.ndarray, bias: np.ndarray | None = None) -> Panels:
        """What multiplies stored vectors by float32[outputs, inputs], and adds float32[outputs]."""
        return panels_of_floats(weights, bias)

    def matrix(self, weights: np.ndarray, bias: np.ndarray | None = None) -> Matrix:
        """The same as a function."""
        return partial(product, panels=self.panels(weights, bias), outputs=len(weights))

    def floats(self, vectors: np.ndarray) -> np.ndarray:
        """float32, the numbers that are stored."""
        return vectors

    def rounded(self, weights: np.ndarray) -> np.ndarray:
        """float32[outputs, inputs], the weights that matrix() multiplies by."""
        return weights


class Int8(SinglePrecision):
    """Integers of 8 bits."""

    stored = np.uint8
    storing = np.float32(INT8_SCALE), np.float32(INT8_ZERO + 0.5)

    def panels(self, weights: np.ndarray, bias: np.ndarray | None = None) -> Panels:
        integers, scales = quantized(weights)
        return panels_of_integers(integers, scales / np.float32(INT8_SCALE), INT8_ZERO, bias)

    def floats(self, vectors: np.ndarray) -> np.ndarray:
        return (vectors.astype(np.float32) - INT8_ZERO) * np.float32(1 / INT8_SCALE)

    def rounded(self, weights: np.ndarray) -> np.ndarray:
        integers, scales = quantized(weights)
        return integers * scales[:, None]


def quantized(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """int8[outputs, inputs] and float32[outputs]: integers and scales, whose products are the weights but for rounding."""
    with np.errstate(over="ignore", invalid="ignore"):  # weights of a forged model may be of any size
        finite = np.nan_to_num(weights)
        scales = (np.abs(finite).max(axis=1, initial=0) / np.float32(INT8_SCALE)).astype(np.float32)
        integers = np.rint(finite / np.where(scales == 0, np.float32(1), scales)[:, None])
    return np.clip(integers, -INT8_SCALE, INT8_SCALE).astype(np.int8), scales
