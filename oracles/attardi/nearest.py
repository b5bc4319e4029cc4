"""Exact optimal moves of Attardi's system, those over other elements of the stack last.

Where a shift or a move between neighbours is optimal, too, nothing is lost by waiting with an arc over other elements: what is
between may be gone by then. A parser that is taught all optimal moves alike learns to reach further than it must, and makes
non-projective arcs where there are none. Here, of the moves that attardi_search finds optimal, those of the least degree are
ahead; a shift counts as a move between neighbours. So an arc is made over other elements where every other move loses an edge.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from oracles.attardi.search import AttardiSearch, BoundSearch
from oracles.interface import NOT_APPLICABLE, BoundOracle
from oracles.trees import Trees


class AttardiNearest(AttardiSearch):
    """attardi_search, with scores that put near moves first: D times a score of attardi_search + D - the degree of the move."""

    name: ClassVar[str] = "attardi_nearest"

    def _bind(self, trees: Trees) -> BoundOracle:
        return _BoundNearest(trees, self.degree, self.max_states, self.max_bytes)


class _BoundNearest(BoundSearch):
    def __init__(self, trees: Trees, degree: int, max_states: int, max_bytes: int) -> None:
        super().__init__(trees, degree, max_states, max_bytes)
        self.gold_weight = degree
        degrees = np.maximum(1, (np.arange(1 + 2 * degree) + 1) // 2)
        self._ahead = (degree - degrees).astype(np.int32)

    def score_batch(
        self,
        sentences: np.ndarray,
        stacks: np.ndarray,
        stack_sizes: np.ndarray,
        buffer_fronts: np.ndarray,
        children: np.ndarray | None = None,
        buffers: np.ndarray | None = None,
    ) -> np.ndarray:
        """As BoundSearch.score_batch, int32[batch, 1 + 2 * degree]."""
        found = super().score_batch(sentences, stacks, stack_sizes, buffer_fronts, children, buffers).astype(np.int32)
        return np.where(found == NOT_APPLICABLE, NOT_APPLICABLE, self.gold_weight * found + self._ahead)
