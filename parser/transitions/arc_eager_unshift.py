"""Arc-eager with unshift (Nivre and Fernandez-Gonzalez 2014): what is left over in the end goes back to the buffer.

As arc_eager.py has it, but for attach:

* unshift moves a_k back to the buffer, as its only token; needs k >= 1 and an empty buffer, and a_k is not linked. What was
  unshifted cannot be shifted again, only be attached, so each token is unshifted at most once.

A sentence of n tokens takes 2n transitions and two for each token that is unshifted.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from parser.data.sentences import NO_NODE
from parser.kernels import kernel
from parser.transitions.arc_eager import LEFT, REDUCE, RIGHT, SHIFT, ArcEager, take_transition
from parser.transitions.configurations import Configurations, remove
from parser.transitions.system import Transitions

UNSHIFT = 4


class ArcEagerUnshift(ArcEager):
    """Arc-eager with unshift: projective trees."""

    name: ClassVar[str] = "arc_eager_unshift"
    oracles: ClassVar[tuple[str, ...]] = ("arc_eager_unshift_chart",)
    gold_oracle: ClassVar[str] = "arc_eager_unshift_chart"
    reorders_buffer: ClassVar[bool] = True

    def __init__(self, n_relations: int, root_relation: int | None = None) -> None:
        super().__init__(n_relations, root_relation)

    def _blocks_with_arcs(self) -> list[bool]:
        return [False, True, True, False, False]

    def eager_order(self, width: int) -> np.ndarray:
        return np.array([LEFT, RIGHT, REDUCE, SHIFT, UNSHIFT])

    def transitions(self, now: Configurations, rows: np.ndarray, single_root: bool = False) -> Transitions:
        found = super().transitions(now, rows, single_root)
        found.rows[_unshifted(now, rows), SHIFT] = NO_NODE
        found.heads[:, UNSHIFT] = found.children[:, UNSHIFT] = NO_NODE
        return found

    def apply(
        self, now: Configurations, rows: np.ndarray, transitions: Transitions, chosen: np.ndarray, relations: np.ndarray
    ) -> None:
        _apply(now, rows, chosen, relations)


def _unshifted(now: Configurations, rows: np.ndarray) -> np.ndarray:
    """bool[m]: whether the buffer holds a token that was unshifted. No token is ever in entry 0 of the buffer: it tells."""
    return now.buffers[rows, 0] != 0


@kernel()
def _apply(now, rows, columns, relations):
    for r in range(len(rows)):
        row, length = rows[r], now.lengths[rows[r]]
        if columns[r] == UNSHIFT:
            now.buffers[row, 0] = now.buffers[row, length] = remove(now, row, 0)
            now.buffer_fronts[row] = length
        else:
            take_transition(now, row, columns[r], relations[r])
            if columns[r] == RIGHT:
                now.buffers[row, 0] = 0
