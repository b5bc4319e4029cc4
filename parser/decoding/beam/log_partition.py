"""The logarithm of a sum of exponentials, many at a time: the exponential of the Cephes library in single precision.

numba calls the exponential of the C library number by number, which takes longer than a step of greedy parsing.
"""

from __future__ import annotations

import numpy as np

from parser.kernels import kernel

_LOG2_E = np.float32(1.44269504)
# The logarithm of 2 in two parts, the first of few digits, so that a whole number times it is exact.
_LN2_HIGH, _LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
_ROUNDING = np.float32(1.5 * 2**23)  # a number that is added to this becomes whole
_LOWEST = np.float32(-87)  # below, exp(x) would be denormal
_P0, _P1, _P2, _P3, _P4, _P5 = (
    np.float32(p) for p in (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 0.5)
)
_ONE = np.float32(1)
_BIAS, _MANTISSA = np.int32(127), np.int32(23)


@kernel()
def log_partition(scores, highest, shares, powers):
    """log(sum(exp(scores))), with a relative error of the sum of about 1e-7.

    Args:
        scores: float32[outputs]; minus infinity counts nothing.
        highest: the highest of them.
        shares, powers: float32[outputs], room.
    """
    _exponentials(scores, highest, shares, powers)
    bits = powers.view(np.int32)
    for o in range(len(bits)):
        bits[o] = (bits[o] + _BIAS) << _MANTISSA  # 2 to the power of the whole number
    return np.float64(highest) + np.log(_products(shares, powers))


@kernel(fastmath={"contract", "nnan", "nsz"})
def _exponentials(scores, highest, shares, powers):
    """exp(scores - highest) = shares * 2^k, where k stands in the last bits of ``powers``."""
    for o in range(len(scores)):
        x = scores[o] - highest
        x = x if x > _LOWEST else _LOWEST
        shifted = x * _LOG2_E + _ROUNDING
        whole = shifted - _ROUNDING
        x = x - whole * _LN2_HIGH
        x = x - whole * _LN2_LOW
        y = _P0 * x + _P1
        y = y * x + _P2
        y = y * x + _P3
        y = y * x + _P4
        y = y * x + _P5
        shares[o] = y * x * x + x + _ONE
        powers[o] = shifted


@kernel(fastmath={"contract", "nnan", "nsz", "reassoc"})
def _products(shares, powers):
    total = 0.0
    for o in range(len(shares)):
        total += np.float64(shares[o] * powers[o])
    return total
