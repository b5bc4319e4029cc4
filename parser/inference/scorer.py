"""What a classifier is to everything that asks for scores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Scorer = Callable[[np.ndarray], np.ndarray]
"""From features, int32[m, slots], to scores of outputs, float32[m, outputs]."""
