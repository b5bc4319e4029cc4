"""Optimal transitions for arc-hybrid parsing, any gold tree, by stack rows: see
oracles/charts/stack_rows.py.
"""

from __future__ import annotations

from typing import ClassVar

from oracles.charts.stack_rows import ARC_HYBRID, MAX_BYTES, BoundStackRows
from oracles.interface import BoundOracle, Oracle, Strategy
from oracles.trees import Trees


class ArcHybridRows(Oracle):
    """The oracle to train arc-hybrid with: exact for any gold tree,
    and fast along the computation of a parser.

    Args:
        strategy: ``any``; there is no other.
        single_root: whether only computations count in which the artificial root gets one child.
            It does not change the scores of the transitions that such a computation may take.
        max_bytes: the most memory for the rows and charts of all bound sentences.
    """

    name: ClassVar[str] = "arc_hybrid_rows"
    system: ClassVar[str] = "arc_hybrid"
    transition_names = ("sh", "la", "ra")
    needs_projective_gold: ClassVar[bool] = False
    takes_partial_gold: ClassVar[bool] = True
    strategies: ClassVar[tuple[Strategy, ...]] = (Strategy.ANY,)
    complexity: ClassVar[str] = "O(n^2), amortised over a computation"
    source: ClassVar[str] = "this project"

    def __init__(
        self,
        strategy: Strategy | str | None = None,
        single_root: bool = False,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        super().__init__(strategy)
        self.single_root = single_root
        self.max_bytes = max_bytes

    def _bind(self, trees: Trees) -> BoundOracle:
        return BoundStackRows(trees, ARC_HYBRID, self.single_root, self.max_bytes)
