"""What compiled kernels do on this processor, for those who run without numba and LLVM: how they
round, and the sizes of their tiles.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable
from importlib import import_module
from typing import Any

import numpy as np

# How many numbers a vector has.
WIDTH = 16


def _has(feature: str, in_numpy: str) -> bool:
    """Return whether numba compiles for a feature of x86 processors: if this processor has it,
    unless the environment names another one.
    """
    if (names := os.environ.get("NUMBA_CPU_FEATURES")) is not None:
        return f"+{feature}" in names.split(",")
    if os.environ.get("NUMBA_CPU_NAME", "host") != "host":
        return False
    try:
        features = import_module("numpy._core._multiarray_umath").__cpu_features__
    except (ImportError, AttributeError):  # another version of NumPy
        from llvmlite.binding import get_host_cpu_features

        return bool(get_host_cpu_features().get(feature))
    return bool(features.get(in_numpy))


# How many vectors of sums fit in registers beside the factors: AVX-512 has 32 registers, one for
# each vector; AVX2 has 16, two for each vector.
ROWS = 8 if _has("avx512f", "AVX512F") else 6

# Whether compiled kernels multiply and add in one operation, with one rounding.
_IS_FUSED = platform.machine() not in ("x86_64", "AMD64", "i686") or _has("fma", "FMA3")


def fused(left: Any, right: Any, term: Any) -> Any:
    """Return ``left * right + term`` of float32 in NumPy, rounded as in compiled kernels. (Products
    of float32 are exact in float64; the sum is rounded twice, which matters once in 2 ** 29 sums.)
    """
    if _IS_FUSED:
        return (np.multiply(left, right, dtype=np.float64) + term).astype(np.float32)
    return left * right + term


def add_in_numpy(total: Any, left: Iterable[Any], right: Iterable[Any]) -> Any:
    """Do in NumPy what add_floats() does."""
    first, *others = zip(left, right, strict=True)
    if not others:
        return fused(*first, total)
    products = others[0][0] * others[0][1]
    for pair in (first, *others[1:]):
        products = fused(*pair, products)
    return total + products
