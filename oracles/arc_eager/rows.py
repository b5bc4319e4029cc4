"""Optimal transitions for arc-eager parsing (system.py), any gold tree, by stack rows: see
oracles/charts/stack_rows.py.

``ties`` names a second oracle: among the optimal transitions, those that the second oracle also
calls optimal are preferred:

* "monotonic": arc-eager without undoing edges. With ``nonmonotonic``, shift and right always tie,
  because each can be undone; so the set of optimal transitions does not tell which to take.
* "commit": Goldberg and Nivre's sums (local.py). These count edges to stack elements as lost even
  if they can still be made at the end; so a shift that relies on the end is not preferred.

A score is then twice the number of edges, plus 1 for preferred transitions.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from oracles.arc_eager import TIES
from oracles.arc_eager.local import ArcEagerSums
from oracles.arc_eager.system import ArcEagerOracle
from oracles.charts.stack_rows import ARC_EAGER, MAX_BYTES, NONMONOTONIC, BoundStackRows
from oracles.errors import OptimalStepError
from oracles.interface import NOT_APPLICABLE, BoundOracle, Query, Strategy
from oracles.trees import Trees


class ArcEagerRows(ArcEagerOracle):
    """The oracle to train arc-eager with: exact for any gold tree,
    and fast along the computation of a parser.

    Args:
        strategy, single_root, nonmonotonic: see ArcEagerOracle.
        ties: one of TIES, see this module's docstring; None: no optimal transition is preferred.
        max_bytes: the most memory for the rows and charts of all bound sentences.
    """

    name: ClassVar[str] = "arc_eager_rows"
    needs_projective_gold: ClassVar[bool] = False
    takes_partial_gold: ClassVar[bool] = True
    complexity: ClassVar[str] = "O(n^2), amortised over a computation"
    source: ClassVar[str] = "this project"

    def __init__(
        self,
        strategy: Strategy | str | None = None,
        single_root: bool = False,
        nonmonotonic: bool = False,
        ties: str | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        super().__init__(strategy, single_root, nonmonotonic)
        if ties not in (None, *TIES):
            raise OptimalStepError(
                f"oracle {self.name} has no ties {ties!r}; choose one of: {', '.join(TIES)}"
            )
        self.ties = ties
        self.max_bytes = max_bytes

    def _bind(self, trees: Trees) -> BoundOracle:
        rows = BoundStackRows(
            trees,
            NONMONOTONIC if self.nonmonotonic else ARC_EAGER,
            self.single_root,
            self.max_bytes,
        )
        if self.ties == "monotonic":
            return _Preferring(
                rows, BoundStackRows(trees, ARC_EAGER, self.single_root, self.max_bytes)
            )
        if self.ties == "commit":
            return _Preferring(rows, ArcEagerSums(single_root=self.single_root).bind(trees))
        return rows


class _Preferring(BoundOracle):
    """The scores of one oracle; among equal scores,
    transitions that are optimal by a second oracle are preferred.
    """

    gold_weight = 2

    def __init__(self, exact: BoundOracle, preferred: BoundOracle) -> None:
        super().__init__(exact.trees)
        self._exact, self._preferred = exact, preferred

    def score_batch(self, query: Query) -> np.ndarray:
        exact, preferred = self._exact.score_batch(query), self._preferred.score_batch(query)
        marked = preferred == preferred.max(axis=1, keepdims=True)
        return np.where(exact == NOT_APPLICABLE, NOT_APPLICABLE, 2 * exact + marked).astype(
            np.int32
        )
