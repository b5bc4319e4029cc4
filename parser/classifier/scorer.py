"""Scores of configurations, as exploration and decoding ask for them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Scorer = Callable[[np.ndarray], np.ndarray]
"""From features, int32[m, slots], to scores of actions, float32[m, actions]."""
