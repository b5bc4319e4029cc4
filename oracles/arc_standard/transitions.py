"""Arc-standard's transitions and strategies for compiled code:
the configuration after a transition.
"""

from __future__ import annotations

from typing import NamedTuple

from oracles.interface import REDUCE_LEFT, SHIFT, Strategy
from oracles.kernel_cache import array_kernel

LEFT_BEFORE_RIGHT, STRICT, RIGHT_BEFORE_LEFT, ANY = range(4)

CODES = {
    Strategy.LEFT_BEFORE_RIGHT: LEFT_BEFORE_RIGHT,
    Strategy.STRICT_LEFT_BEFORE_RIGHT: STRICT,
    Strategy.RIGHT_BEFORE_LEFT: RIGHT_BEFORE_LEFT,
    Strategy.ANY: ANY,
}


class AfterTransition(NamedTuple):
    """The configuration after a transition; its stack a_0..a_k is in the array that
    after_transition() changed.

    Attributes:
        applicable: whether the transition is applicable; if not, the other fields mean nothing.
        k: the place of the top.
        front: the first token of the buffer.
        head, child: the edge that the transition makes; 0 and 0 if it makes none.
        closed_from, closed_to: the first and the last place on the stack whose element may take no
            more left children under the strategy; ``closed_to`` is -1 if there is none.
        top_takes_right: whether the strategy allows the top more right children.
    """

    applicable: bool
    k: int
    front: int
    head: int
    child: int
    closed_from: int
    closed_to: int
    top_takes_right: bool


@array_kernel()
def after_transition(transition, strategy, stack, k, front, n):
    """Take a transition on ``stack`` (int32[> k + 1], a_0..a_k), and return an AfterTransition.

    All transitions of one configuration can be tried in order on one array: shift writes above the
    top, reduce_left writes nothing, and reduce_right is the last.
    """
    applicable = front <= n if transition == SHIFT else k >= (1 if transition == REDUCE_LEFT else 2)
    new_k, new_front = (k + 1, front + 1) if transition == SHIFT else (k - 1, front)
    head = child = closed_from = 0
    closed_to = -1
    top_takes_right = True
    if not applicable:
        pass
    elif transition == SHIFT:
        stack[k + 1] = front
        if strategy == LEFT_BEFORE_RIGHT:
            closed_from = k
        if strategy in (LEFT_BEFORE_RIGHT, STRICT):
            closed_to = k
    elif transition == REDUCE_LEFT:
        head, child = int(stack[k - 1]), int(stack[k])
        if strategy == STRICT:
            closed_to = k - 1  # the new top was below the top, so strict forbids it left children
    else:
        head, child = int(stack[k]), int(stack[k - 1])
        stack[k - 1] = stack[k]
        if strategy == STRICT:
            closed_to = k - 2
        top_takes_right = strategy != RIGHT_BEFORE_LEFT
    return AfterTransition(
        applicable,
        int(new_k),
        int(new_front),
        head,
        child,
        int(closed_from),
        int(closed_to),
        top_takes_right,
    )
