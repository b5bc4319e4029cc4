"""Arc-standard parsing, with the steps of Nederhof (2019), Table 1.

Steps of a configuration with stack a_0..a_k (a_0 = 0, the artificial root) and buffer b..n, in the order of their columns:

* shift pushes b; needs a buffer.
* reduce_left makes a_k a child of a_{k-1} and pops it; needs k >= 1.
* reduce_right makes a_{k-1} a child of a_k and removes it; needs k >= 2, so the root never gets a head.

It is Attardi's system of degree 1, and runs through the same compiled code (attardi.py).
"""

from __future__ import annotations

from typing import ClassVar

from parser.transitions.attardi import Attardi


class ArcStandard(Attardi):
    """Arc-standard."""

    name: ClassVar[str] = "arc_standard"
    projective: ClassVar[bool] = True
    oracles: ClassVar[tuple[str, ...]] = (
        "context_rows",
        "nederhof_cubic",
        "nederhof_quadratic",
        "nederhof_linear",
        "goldberg_tabular",
        "static",
        "arc_standard_tabular",
    )
    gold_oracle: ClassVar[str] = "static"

    def __init__(self, n_relations: int, root_relation: int | None = None) -> None:
        super().__init__(n_relations, root_relation, degree=1)
        self.options = {}
