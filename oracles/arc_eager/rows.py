"""Optimal transitions for arc-eager parsing (system.py), any gold tree, by stack rows: see oracles/charts/stack_rows.py."""

from __future__ import annotations

from typing import ClassVar

from oracles.arc_eager.system import ArcEagerOracle
from oracles.charts.stack_rows import ARC_EAGER, MAX_BYTES, NONMONOTONIC, BoundStackRows
from oracles.interface import BoundOracle, Strategy
from oracles.trees import Trees


class ArcEagerRows(ArcEagerOracle):
    """The oracle to train arc-eager with: exact for any gold tree, and fast along the computation of a parser.

    Args:
        strategy, single_root, nonmonotonic: see ArcEagerOracle.
        max_bytes: how much memory the rows and charts of all bound sentences may take.
    """

    name: ClassVar[str] = "arc_eager_rows"
    needs_projective_gold: ClassVar[bool] = False
    complexity: ClassVar[str] = "O(n^2), amortised over a computation"
    source: ClassVar[str] = "this project"

    def __init__(
        self,
        strategy: Strategy | str | None = None,
        single_root: bool = False,
        nonmonotonic: bool = False,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        super().__init__(strategy, single_root, nonmonotonic)
        self.max_bytes = max_bytes

    def _bind(self, trees: Trees) -> BoundOracle:
        return BoundStackRows(trees, NONMONOTONIC if self.nonmonotonic else ARC_EAGER, self.single_root, self.max_bytes)
