"""Optimal steps for projective gold trees in linear time: Nederhof 2019, Section 6.

As nederhof_quadratic, but a_j looks only at those a_i below it where a choice is to be made; how, and why this makes the
whole linear, see oracles.arc_standard.projective_stack. Truly linear: no table of (k + 1)^2 entries is kept or cleared.

Complexity: O(k + m) per configuration of k + 1 stack elements and m buffer nodes; O(n) per sentence to bind.
"""

from __future__ import annotations

from typing import ClassVar

from oracles.arc_standard.projective_stack import BoundProjective
from oracles.interface import BoundOracle, Oracle
from oracles.trees import Trees


class NederhofLinear(Oracle):
    """Only the pairs of stack elements that matter; the oracle to train with on projective trees."""

    name: ClassVar[str] = "nederhof_linear"
    needs_projective_gold: ClassVar[bool] = True
    complexity: ClassVar[str] = "O(k + m)"
    source: ClassVar[str] = "Nederhof 2019, Section 6"

    def _bind(self, trees: Trees) -> BoundOracle:
        return BoundProjective(trees, self.strategy, skip=True)
