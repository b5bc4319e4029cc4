"""Predicted trees as integers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# No such node, relation, row or output: what fills integer arrays where there is nothing.
NO_NODE = -1


@dataclass(frozen=True)
class Parses:
    """Predicted trees in the layout of ``Sentences``: the entries of the roots are NO_NODE.

    Attributes:
        heads: int32[total].
        relations: int32[total].
        offsets: int64[sentences + 1].
    """

    heads: np.ndarray
    relations: np.ndarray
    offsets: np.ndarray
