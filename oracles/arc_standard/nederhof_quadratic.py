"""Optimal steps for projective gold trees in quadratic time: Nederhof 2019, Section 5, Table 5.

For a stack a_0..a_k every pair i < j is looked at once: a_j on top, a_i directly below it, what lay between reduced into
a_j. How, and where this departs from the print: see projective_stack.py, whose loop runs here without skipping.

Complexity: O(k^2 + m) per configuration of k + 1 stack elements and m buffer nodes; O(n) per sentence to bind.
"""

from __future__ import annotations

from typing import ClassVar

from oracles.arc_standard.projective_stack import BoundProjective
from oracles.interface import BoundOracle, Oracle
from oracles.trees import Trees


class NederhofQuadratic(Oracle):
    """Every pair of stack elements, once."""

    name: ClassVar[str] = "nederhof_quadratic"
    needs_projective_gold: ClassVar[bool] = True
    complexity: ClassVar[str] = "O(k^2 + m)"
    source: ClassVar[str] = "Nederhof 2019, Section 5"

    def _bind(self, trees: Trees) -> BoundOracle:
        return BoundProjective(trees, self.strategy, skip=False)
