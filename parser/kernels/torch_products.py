"""Matrix products in single precision, by the fastest library that torch includes.

On a CPU, torch.mm uses MKL, which uses AVX-512 only on Intel's processors. oneDNN, which torch
includes for its compiler, uses AVX-512 on any processor that has it, and takes half the time there
(AMD EPYC, one thread, 100 x 600 by 600 x 256). Its operator is not part of torch's public
interface; if it is missing, or on another device, torch.mm multiplies.
"""

from __future__ import annotations

import torch
from torch import Tensor

_ONEDNN = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def product(a: Tensor, b: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return float32[m, n], ``a @ b.T + bias``, contiguous,
    without gradients (torch.mm multiplies other types).

    Args:
        a: float32[m, k], rows or columns contiguous (it may be transposed).
        b: float32[n, k], rows or columns contiguous.
        bias: float32[n].
    """
    if _ONEDNN and a.is_cpu and a.dtype == torch.float32:
        return torch.ops.mkldnn._linear_pointwise(a, b, bias, "none", [], "")
    return a @ b.t() if bias is None else torch.addmm(bias, a, b.t())
