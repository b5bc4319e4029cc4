"""Matrix products in single precision, by the fastest library that torch brings along.

torch.mm hands products on a CPU to MKL, which uses AVX-512 only on Intel's processors. oneDNN, which torch includes for
its compiler, uses it on any that has it, and takes half the time there (AMD EPYC, one thread, 100 x 600 by 600 x 256). Its
operator is not part of torch's public interface, so where it is missing, or on another device, torch.mm does the work.
"""

from __future__ import annotations

import torch
from torch import Tensor

_ONEDNN = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def product(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    """float32[m, n]: ``a @ b.T + bias``, contiguous, without a gradient to follow (other types are torch.mm's).

    Args:
        a: float32[m, k], rows or columns contiguous (a transposed matrix is as good as any).
        b: float32[n, k], the same.
        bias: float32[n].
    """
    if _ONEDNN and a.is_cpu and a.dtype == torch.float32:
        return torch.ops.mkldnn._linear_pointwise(a, b, bias, "none", [], "")
    return a @ b.t() if bias is None else torch.addmm(bias, a, b.t())
