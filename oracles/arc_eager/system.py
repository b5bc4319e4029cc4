"""Arc-eager parsing (Nivre 2003), and the base class of its oracles.

A computation leads from the stack [0] and the buffer 1..n to the stack [0] and an empty buffer, in
2n transitions. An element of the stack is *linked* if it has a head, which is then the element
below it. The transitions, in order, with b = first token of the buffer:

* shift ("sh"): pushes b. Applicable if the buffer is not empty.
* left ("la"): the top becomes a child of b and is popped. Applicable if the top is not 0 and not
  linked, and the buffer is not empty.
* right ("ra"): b becomes a child of the top and is pushed. Applicable if the buffer is not empty.
* reduce ("re"): pops the top. Applicable if it is linked.
* attach ("at"): the top becomes a child of the element below it and is popped. Applicable if the
  top is not 0 and not linked, and the buffer is empty. Other versions of arc-eager attach such
  elements to the artificial root.

With ``single_root``, reduce and attach are not applicable at stack size 2 while the buffer is not
empty: the child of the artificial root stays to the end. With ``nonmonotonic`` (Honnibal, Goldberg
and Johnson 2013), attach is applicable at any time, and left also to a linked top, whose edge is
undone. Scores are net: undoing a gold edge counts -1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from oracles.interface import (
    NO_NODE,
    NOT_APPLICABLE,
    Oracle,
    Query,
    Strategy,
    ascending,
    by_name,
    front_of,
    heads_made,
)
from oracles.kernel_cache import array_kernel
from oracles.trees import integers

SHIFT, LEFT, RIGHT, REDUCE, ATTACH = range(5)
N_TRANSITIONS = 5


class ArcEagerOracle(Oracle):
    """The base class of the oracles of arc-eager.

    Args:
        strategy: ``any``; there is no other.
        single_root: whether only computations count in which the artificial root gets one child.
        nonmonotonic: whether edges can be undone.
    """

    system: ClassVar[str] = "arc_eager"
    transition_names = ("sh", "la", "ra", "re", "at")
    alternatives: ClassVar[tuple[str, ...]] = ("arc_eager_rows",)
    strategies: ClassVar[tuple[Strategy, ...]] = (Strategy.ANY,)

    def __init__(
        self,
        strategy: Strategy | str | None = None,
        single_root: bool = False,
        nonmonotonic: bool = False,
    ) -> None:
        super().__init__(strategy)
        self.single_root = single_root
        self.nonmonotonic = bool(nonmonotonic)

    def step_scores(
        self,
        heads: Sequence[int],
        stack: Sequence[int],
        buffer: Sequence[int],
        made: Sequence[int | None] = (),
    ) -> dict[str, int]:
        """Return the scores; ``made``: the head that each token has been given so far,
        None where it has none.

        Raises:
            OptimalStepError: the heads are not a tree,
                or the other arguments are not a configuration of the sentence.
        """
        heads = integers(heads, "heads").tolist()
        front = front_of(len(heads), buffer)
        query = Query.single(ascending(stack, front), front, made=heads_made(len(heads), made))
        return by_name(self.transition_names, self._scores_of(heads, query))


@array_kernel()
def fill_applicable(made_heads, stack, k, front, n, single_root, nonmonotonic, scores):
    """Set the scores (int16[N_TRANSITIONS]) of applicable transitions to 0,
    all others to NOT_APPLICABLE.
    """
    scores[:] = NOT_APPLICABLE
    buffered = front <= n
    if buffered:
        scores[SHIFT] = scores[RIGHT] = 0
    if k > 0:
        linked = made_heads[stack[k]] != NO_NODE
        if buffered and (nonmonotonic or not linked):
            scores[LEFT] = 0
        if not (single_root and k == 1 and buffered):
            if linked:
                scores[REDUCE] = 0
            elif nonmonotonic or not buffered:
                scores[ATTACH] = 0
