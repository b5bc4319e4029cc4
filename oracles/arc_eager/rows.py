"""Optimal transitions for arc-eager parsing, any gold tree, by stack rows: see oracles/charts/stack_rows.py.

The system (Nivre 2003), from the stack [0] and the buffer 1..n to the stack [0] and an empty buffer, in 2n transitions, in this
order, b = first token of the buffer; an element of the stack is *linked* if it has a head, which then lies below it:

* shift ("sh"): pushes b. Applicable if the buffer is not empty.
* left ("la"): the top becomes a child of b and is popped. Applicable if the top is not 0 and not linked, and there is a buffer.
* right ("ra"): b becomes a child of the top and is pushed. Applicable if the buffer is not empty.
* reduce ("re"): pops the top. Applicable if it is linked.
* attach ("at"): the top becomes a child of the element below it and is popped. Applicable if the top is not 0 and not linked,
  and the buffer is empty. It takes the place of attaching to the artificial root what is left over in the end.

With ``single_root`` there is no reduce and no attach at stack size 2 while there is a buffer: the child of the artificial root
stays to the end. With ``nonmonotonic`` (Honnibal, Goldberg and Johnson 2013) attach is applicable at any time, and left also to
a linked top, whose edge is undone; scores are net, so undoing a gold edge counts -1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from oracles.charts.stack_rows import ARC_EAGER, MAX_BYTES, NONMONOTONIC, BoundStackRows
from oracles.interface import NO_NODE, BoundOracle, Oracle, Query, Strategy, by_name, front_of
from oracles.trees import Trees


class ArcEagerRows(Oracle):
    """The oracle to train arc-eager with: exact for any gold tree, and fast along the computation of a parser.

    Args:
        strategy: any.
        single_root: whether only computations count in which the artificial root gets one child.
        nonmonotonic: whether edges can be undone, see above.
        max_bytes: how much memory the rows and charts of all bound sentences may take.
    """

    name: ClassVar[str] = "arc_eager_rows"
    system: ClassVar[str] = "arc_eager"
    transition_names = ("sh", "la", "ra", "re", "at")
    needs_projective_gold: ClassVar[bool] = False
    strategies: ClassVar[tuple[Strategy, ...]] = (Strategy.ANY,)
    complexity: ClassVar[str] = "O(n^2), amortised over a computation"
    source: ClassVar[str] = "this project"

    def __init__(
        self,
        strategy: Strategy | str | None = None,
        single_root: bool = False,
        nonmonotonic: bool = False,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        super().__init__(strategy)
        self.single_root = single_root
        self.nonmonotonic = nonmonotonic
        self.max_bytes = max_bytes

    def _bind(self, trees: Trees) -> BoundOracle:
        return BoundStackRows(trees, NONMONOTONIC if self.nonmonotonic else ARC_EAGER, self.single_root, self.max_bytes)

    def step_scores(
        self, heads: Sequence[int], stack: Sequence[int], buffer: Sequence[int], made: Sequence[int | None] = ()
    ) -> dict[str, int]:
        """See Oracle; ``made``: the head that each token has been given so far, None where it has none."""
        heads_made = np.full((1, len(heads) + 1), NO_NODE, np.int32)
        for token, head in enumerate(made, 1):
            if head is not None:
                heads_made[0, token] = head
        query = Query.single(stack, front_of(len(heads), buffer), made=heads_made)
        return by_name(self.transition_names, self.bind(Trees.from_heads([heads])).score_batch(query)[0])
