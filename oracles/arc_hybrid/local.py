"""Optimal transitions for arc-hybrid parsing, projective gold trees:
Goldberg and Nivre 2013 (TACL 1), Section 4.

The transition system (Kuhlmann, Gómez-Rodríguez and Satta 2011) leads from the stack [0] and the
buffer 1..n to the stack [0] and an empty buffer in 2n transitions. The transitions, in order, with
b = first token of the buffer:

* shift ("sh"): pushes b. Applicable if the buffer is not empty.
* left ("la"): the top becomes a child of b and is popped.
  Applicable if the top is not 0 and the buffer is not empty.
* right ("ra"): the top becomes a child of the element below it and is popped.
  Applicable if there is one.

Arc-hybrid is arc-decomposable: edges of one projective tree can be made together if each of them
can be made alone. So for a projective gold tree, the edges that a transition loses can be counted
one by one:

    shift   h(b), if it is on the stack below the top, and the gold children of b on the stack
    left    h(top), if it is the element below the top or in the buffer after b, and the gold
            children of the top in the buffer
    right   h(top), if it is in the buffer, and the gold children of the top in the buffer

The edges that can still be made are h(x) for each x > 0 on the stack whose head is the element
below it or in the buffer, and h(x) for each x in the buffer whose head is on the stack or in the
buffer. The score of a transition is their number minus its loss.

For a gold tree that is not projective, these sums are not exact, although Aufrant, Wisniewski and
Yvon (2018) use them; such trees are refused.

Complexity: O(k + c) per configuration of k + 1 stack elements with c gold children in the buffer;
O(n) per sentence to bind.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from oracles.interface import NOT_APPLICABLE, BoundOracle, Oracle, Query, Strategy
from oracles.kernel_cache import array_kernel
from oracles.trees import GoldChildren, Trees

SHIFT, LEFT, RIGHT = range(3)
N_TRANSITIONS = 3


class ArcHybridLocal(Oracle):
    """Counts the edges that a transition loses; exact for projective gold trees."""

    name: ClassVar[str] = "arc_hybrid_local"
    system: ClassVar[str] = "arc_hybrid"
    transition_names = ("sh", "la", "ra")
    needs_projective_gold: ClassVar[bool] = True
    alternatives: ClassVar[tuple[str, ...]] = ("arc_hybrid_rows", "arc_hybrid_tabular")
    strategies: ClassVar[tuple[Strategy, ...]] = (Strategy.ANY,)
    complexity: ClassVar[str] = "O(k)"
    source: ClassVar[str] = "Goldberg and Nivre 2013, Section 4"

    def _bind(self, trees: Trees) -> BoundOracle:
        return _BoundArcHybrid(trees)


class _BoundArcHybrid(BoundOracle):
    def __init__(self, trees: Trees) -> None:
        super().__init__(trees)
        self.children = GoldChildren.of(trees)

    def score_batch(self, query: Query) -> np.ndarray:
        return _score_batch(self.trees.heads, self.trees.offsets, self.children, *query.arrays)


@array_kernel()
def _score_batch(all_heads, offsets, children, sentences, stacks, stack_sizes, buffer_fronts):
    """Return the scores defined in this module's docstring; see BoundOracle.score_batch()."""
    scores = np.full((len(sentences), N_TRANSITIONS), NOT_APPLICABLE, np.int16)
    for row in range(len(sentences)):
        start = offsets[sentences[row]]
        n = offsets[sentences[row] + 1] - start - 1
        front = buffer_fronts[row]
        top_place = stack_sizes[row] - 1

        reachable = children.edges_from[start + front] if front <= n else 0
        shift_loss = 0
        # how many gold children of the current element are in the buffer; after the loop, the
        # current element is the top
        awaited = 0
        for place in range(top_place + 1):
            node = stacks[row, place]
            awaited = 0
            child = children.last[start + node]
            while child >= front:
                awaited += 1
                if child == front and place < top_place:
                    shift_loss += 1
                child = children.previous[start + child]
            reachable += awaited
            if place > 0:
                head = all_heads[start + node]
                if head == stacks[row, place - 1]:
                    reachable += 1
                elif head >= front:
                    reachable += 1
                    if head == front:
                        shift_loss += 1

        if front <= n:
            scores[row, SHIFT] = reachable - shift_loss
        if top_place > 0:
            top = stacks[row, top_place]
            head = all_heads[start + top]
            below = stacks[row, top_place - 1]
            if front <= n:
                scores[row, LEFT] = reachable - awaited - (head == below or head > front)
            scores[row, RIGHT] = reachable - awaited - (head >= front)
    return scores
