"""Products of frozen matrices and an encoder's vectors,
in single precision or in integers of 8 bits.

An LSTM's outputs are between -1 and 1; the 8-bit integer for x is 127 x + 128, rounded. A row of
weights has its own scale: its largest absolute value divided by 127 (per-channel quantization).
kernels/products.py multiplies: the result for a vector does not depend on the other vectors.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar

import numpy as np

from parser.kernels.products import Panels, panels_of_floats, panels_of_integers, product

# The integer for x is INT8_SCALE x + INT8_ZERO.
INT8_SCALE = 127
INT8_ZERO = 128


Matrix = Callable[[np.ndarray], np.ndarray]
"""Maps stored vectors, [n, inputs], to float32[n, outputs]."""


class SinglePrecision:
    """Stores and multiplies an encoder's vectors in float32.

    Attributes:
        stored: the type of the stored numbers.
        storing: float32, the factor and the term that turn a number into the stored one,
            before truncation.
    """

    stored: ClassVar[type[np.generic]] = np.float32
    storing: ClassVar[tuple[np.float32, np.float32]] = np.float32(1), np.float32(0)

    def panels(self, weights: np.ndarray, bias: np.ndarray | None = None) -> Panels:
        """Return panels that multiply stored vectors by float32[outputs,
        inputs] and add float32[outputs].
        """
        return panels_of_floats(weights, bias)

    def matrix(self, weights: np.ndarray, bias: np.ndarray | None = None) -> Matrix:
        """Return a function that multiplies stored vectors by float32[outputs,
        inputs] and adds float32[outputs].
        """
        return partial(product, panels=self.panels(weights, bias), outputs=len(weights))

    def floats(self, vectors: np.ndarray) -> np.ndarray:
        """Return stored vectors as float32."""
        return vectors

    def rounded(self, weights: np.ndarray) -> np.ndarray:
        """Return float32[outputs, inputs], the weights that matrix() multiplies by,
        after rounding.
        """
        return weights


class Int8(SinglePrecision):
    """Stores and multiplies an encoder's vectors as integers of 8 bits."""

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
    """Return integers, int8[outputs, inputs], and scales, float32[outputs];
    their products are the rounded weights.
    """
    # weights of a forged model may be arbitrarily large
    with np.errstate(over="ignore", invalid="ignore"):
        finite = np.nan_to_num(weights)
        scales = (np.abs(finite).max(axis=1, initial=0) / np.float32(INT8_SCALE)).astype(np.float32)
        integers = np.rint(finite / np.where(scales == 0, np.float32(1), scales)[:, None])
    return np.clip(integers, -INT8_SCALE, INT8_SCALE).astype(np.int8), scales
