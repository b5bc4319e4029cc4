"""Whether kernels are compiled, or run as plain Python (NUMBA_DISABLE_JIT=1),
where tests are smaller.
"""

import os

COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
