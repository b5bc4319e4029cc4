"""Matrices at rest, times vectors of an encoder: in single precision, or in integers of 8 bits.

Of an LSTM's outputs, which lie between -1 and 1, an integer of 8 bits is 127 times the number, plus 128. A row of weights has
a scale of its own, its largest number over 127 (per-channel quantization). Sums of products of integers are exact, so what
comes out does not depend on the order in which they are added up, nor on what else is multiplied along. Processors have
instructions for such sums (VNNI, AMX), of which oneDNN, which torch has on board for its own quantized models, makes use.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import torch

from parser.classifier.matrix_products import product_at_rest
from parser.classifier.weights import Int8Error

# Of fewer vectors the libraries have other ways to multiply, whose last digits differ. So there are never fewer: what becomes
# of a vector then does not depend on how many others there are. (Seen of MKL and oneDNN with AVX-512, not promised by them.)
_FEWEST = 16

# What 1 and 0 are among the integers.
INT8_SCALE = 127
INT8_ZERO = 128


class Arithmetic(ABC):
    """How vectors of an encoder are stored and multiplied.

    Attributes:
        stored: the type of the stored numbers.
        storing: float32, what a number is multiplied by, and what is then added, before it is cut off to be stored.
    """

    stored: type[np.generic]
    storing: tuple[np.float32, np.float32]

    @abstractmethod
    def matrix(self, weights: np.ndarray, bias: np.ndarray | None = None) -> Matrix:
        """What multiplies stored vectors by float32[outputs, inputs], and adds float32[outputs]."""

    @abstractmethod
    def floats(self, vectors: np.ndarray) -> np.ndarray:
        """float32, the numbers that are stored."""

    @abstractmethod
    def rounded(self, weights: np.ndarray) -> np.ndarray:
        """float32[outputs, inputs], the weights that matrix() multiplies by."""


class Matrix(ABC):
    """A matrix at rest."""

    @abstractmethod
    def __call__(self, vectors: np.ndarray) -> np.ndarray:
        """float32[n, outputs] of stored vectors, [n, inputs]."""


class SinglePrecision(Arithmetic):
    """Numbers as they are."""

    stored = np.float32
    storing = np.float32(1), np.float32(0)

    def matrix(self, weights: np.ndarray, bias: np.ndarray | None = None) -> Matrix:
        """See Arithmetic."""
        return _FloatMatrix(weights, bias)

    def floats(self, vectors: np.ndarray) -> np.ndarray:
        """See Arithmetic."""
        return vectors

    def rounded(self, weights: np.ndarray) -> np.ndarray:
        """See Arithmetic."""
        return weights


class Int8(Arithmetic):
    """Integers of 8 bits.

    Raises:
        Int8Error: torch has no such products here, or the processor no instructions for them, without which sums of two
            products may overflow.
    """

    stored = np.uint8
    storing = np.float32(INT8_SCALE), np.float32(INT8_ZERO + 0.5)

    def __init__(self) -> None:
        if not hasattr(torch.ops.onednn, "qlinear_pointwise") or not hasattr(torch.ops.onednn, "qlinear_prepack"):
            raise Int8Error(f"torch {torch.__version__} has no 8-bit products; parse without --int8")
        if not torch.cpu._is_vnni_supported():
            raise Int8Error("this processor has no instructions for 8-bit products (VNNI); parse without --int8")

    def matrix(self, weights: np.ndarray, bias: np.ndarray | None = None) -> Matrix:
        """See Arithmetic."""
        return _Int8Matrix(weights, bias)

    def floats(self, vectors: np.ndarray) -> np.ndarray:
        """See Arithmetic."""
        return (vectors.astype(np.float32) - INT8_ZERO) * np.float32(1 / INT8_SCALE)

    def rounded(self, weights: np.ndarray) -> np.ndarray:
        """See Arithmetic."""
        integers, scales = quantized(weights)
        return integers * scales[:, None]


def quantized(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """int8[outputs, inputs] and float32[outputs]: integers and scales, whose products are the weights but for rounding."""
    with np.errstate(over="ignore", invalid="ignore"):  # weights of a forged model may be of any size
        finite = np.nan_to_num(weights)
        scales = (np.abs(finite).max(axis=1, initial=0) / np.float32(INT8_SCALE)).astype(np.float32)
        integers = np.rint(finite / np.where(scales == 0, np.float32(1), scales)[:, None])
    return np.clip(integers, -INT8_SCALE, INT8_SCALE).astype(np.int8), scales


class _FloatMatrix(Matrix):
    def __init__(self, weights: np.ndarray, bias: np.ndarray | None) -> None:
        self._weights = torch.from_numpy(np.ascontiguousarray(weights))
        self._bias = None if bias is None else torch.from_numpy(bias)

    @torch.no_grad()
    def __call__(self, vectors: np.ndarray) -> np.ndarray:
        n = len(vectors)
        if n < _FEWEST:
            vectors = np.concatenate([vectors, np.zeros((_FEWEST - n, vectors.shape[1]), np.float32)])
        return product_at_rest(torch.from_numpy(vectors), self._weights, self._bias).numpy()[:n]


class _Int8Matrix(Matrix):
    def __init__(self, weights: np.ndarray, bias: np.ndarray | None) -> None:
        integers, scales = quantized(weights)
        # Strides are not heeded there.
        self._weights = torch.ops.onednn.qlinear_prepack(torch.from_numpy(np.ascontiguousarray(integers)), None)
        self._scales, self._zeros = torch.from_numpy(scales), torch.zeros(len(scales), dtype=torch.int64)
        self._bias = None if bias is None else torch.from_numpy(bias)

    def __call__(self, vectors: np.ndarray) -> np.ndarray:
        of_vectors = torch.from_numpy(vectors), 1 / INT8_SCALE, INT8_ZERO
        of_weights = self._weights, self._scales, self._zeros, self._bias
        found = torch.ops.onednn.qlinear_pointwise(*of_vectors, *of_weights, 1.0, 0, torch.float32, "none", [], "")
        return found.numpy()
