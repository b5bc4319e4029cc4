"""Optimal transitions of LR-spine parsing for projective gold trees: Goldberg, Sartorio and Satta
2014 (TACL 2), Section 6.

This is the tabular reference implementation of the exact oracle. A fragment that contains the top
is extended, one element at a time: on its left by the next stack element, on its right by the next
element of the right stack. T[i,j] maps the spines (ls, rs) of a fragment of the i uppermost stack
elements and j - 1 elements of the right stack to the least number of gold edges lost in it; T[1,1]
holds the spines of the top, with loss 0. Two neighbours, A on the left and C on the right, can be
joined:

    la    the root of A becomes a child of ls_C[k];  new spines (ls_C[..k] + ls_A, rs_C)
    ra    the root of C becomes a child of rs_A[k];  new spines (ls_A, rs_A[..k] + rs_C)

where k is the place of the gold head in that spine, without loss; if it is not there, k is the last
place of the spine, with loss 1. The right stack holds, in order, the tokens of the buffer whose
gold head is not in the buffer, or that have a gold child among the roots of the stack or in the
right stack. All other gold edges inside the buffer can be made in any case.

Two reductions keep T small. Left spines keep only nodes with a gold child among the roots of the
stack, and right spines only nodes with a gold child in the buffer; the root of the fragment stays
in any case. Spines are dropped if others have the same root, contain all their nodes, and lose no
more.

The value of a configuration is the number of its nodes that still need a head, minus the least loss
of all elements together, headed by 0. The score of a transition is 1 if its edge is gold, plus the
value of the configuration after it.

For gold trees that are not projective this would be wrong (lr_spine_chart is exact for them);
they are refused.

Complexity: at worst exponential in the spines,
in practice |T[i,j]| grows linearly with i + j (Section 6, Figure 3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple

import numpy as np

from oracles.interface import NO_NODE, NOT_APPLICABLE, BoundOracle, Query
from oracles.lr_spine.configuration import LEFT_SPINE, RIGHT_SPINE, LRSpineOracle
from oracles.trees import Trees

Spine = tuple[int, ...]


class Spines(NamedTuple):
    """The spines of a stack element or a fragment, both with the root first."""

    left: Spine
    right: Spine

    @property
    def root(self) -> int:
        """The root of the element."""
        return self.left[0]


class LRSpineTabular(LRSpineOracle):
    """The slow reference implementation; lr_spine_chart gives the same scores."""

    name: ClassVar[str] = "lr_spine_tabular"
    needs_projective_gold: ClassVar[bool] = True
    complexity: ClassVar[str] = "at worst exponential"
    source: ClassVar[str] = "Goldberg, Sartorio and Satta 2014, Section 6"

    def _bind(self, trees: Trees) -> BoundOracle:
        return _BoundLRSpineTabular(trees)


class _BoundLRSpineTabular(BoundOracle):
    def score_batch(self, query: Query) -> np.ndarray:
        rows = []
        for s, roots, size, front, children in zip(*query.arrays, query.children, strict=True):
            heads = [NO_NODE, *self.trees[int(s)]]
            stack = [elements_of(children, int(root)) for root in roots[:size]]
            rows.append(list(scores_of_transitions(heads, stack, int(front))))
        width = max(map(len, rows), default=1)
        return np.array(
            [row + [NOT_APPLICABLE] * (width - len(row)) for row in rows], np.int16
        ).reshape(-1, width)


def elements_of(children: np.ndarray, root: int) -> Spines:
    """Return the spines of the element with that root; ``children``: int32[n + 1, 2]."""
    spines = []
    for side in (LEFT_SPINE, RIGHT_SPINE):
        spine = [root]
        while (child := int(children[spine[-1], side])) != NO_NODE:
            spine.append(child)
        spines.append(tuple(spine))
    return Spines(*spines)


def scores_of_transitions(
    heads: Sequence[int], stack: Sequence[Spines], front: int
) -> Iterator[int]:
    """Yield the scores of shift, la_1..la_p, ra_1..ra_s; heads[x] is the gold head of x,
    heads[0] = NO_NODE.
    """
    shifted = Spines((front,), (front,))
    yield value(heads, [*stack, shifted], front + 1) if front < len(heads) else NOT_APPLICABLE
    if len(stack) < 2:
        return
    second, top = stack[-2:]
    for k, head in enumerate(top.left):
        after = [*stack[:-2], _la(second, top, k)]
        yield (
            (heads[second.root] == head) + value(heads, after, front)
            if second.root
            else NOT_APPLICABLE
        )
    for k, head in enumerate(second.right):
        after = [*stack[:-2], _ra(second, top, k)]
        yield (heads[top.root] == head) + value(heads, after, front)


def value(heads: Sequence[int], stack: Sequence[Spines], front: int) -> int:
    """Return the most gold edges that can still be made."""
    *_, whole = fragments(heads, stack, front).values()
    wanting_heads = len(stack) - 1 + len(heads) - front
    return wanting_heads - min(loss for spines, loss in whole.items() if spines.root == 0)


def fragments(
    heads: Sequence[int], stack: Sequence[Spines], front: int
) -> dict[tuple[int, int], dict[Spines, int]]:
    """Return T, keyed by the numbers of stack elements and of right stack elements, besides the
    top; the last entry covers all of them.
    """
    roots = {element.root for element in stack}
    has_child_on_stack = {heads[root] for root in roots}
    has_child_in_buffer = set(heads[front:])
    right_stack: list[int] = []
    for x in range(front, len(heads)):
        if (
            heads[x] < front
            or x in has_child_on_stack
            or any(heads[child] == x for child in right_stack)
        ):
            right_stack.append(x)

    def pruned(spines: Spines) -> Spines:
        left = tuple(x for x in spines.left[1:] if x in has_child_on_stack)
        right = tuple(x for x in spines.right[1:] if x in has_child_in_buffer)
        return Spines((spines.root, *left), (spines.root, *right))

    below = list(reversed(stack[:-1]))
    table: dict[tuple[int, int], dict[Spines, int]] = {}
    for i in range(len(stack)):
        for j in range(len(right_stack) + 1):
            cell: dict[Spines, int] = {pruned(stack[-1]): 0} if i == j == 0 else {}
            pairs = []
            if i:
                pairs += [
                    (below[i - 1], fragment, loss) for fragment, loss in table[i - 1, j].items()
                ]
            if j:
                x = right_stack[j - 1]
                pairs += [
                    (fragment, Spines((x,), (x,)), loss)
                    for fragment, loss in table[i, j - 1].items()
                ]
            for a, c, loss in pairs:
                for new, lost in _joined(heads, a, c):
                    spines = pruned(new)
                    cell[spines] = min(loss + lost, cell.get(spines, len(heads)))
            table[i, j] = _undominated(cell)
    return table


def _la(a: Spines, c: Spines, k: int) -> Spines:
    return Spines(c.left[: k + 1] + a.left, c.right)


def _ra(a: Spines, c: Spines, k: int) -> Spines:
    return Spines(a.left, a.right[: k + 1] + c.right)


def _joined(heads: Sequence[int], a: Spines, c: Spines) -> Iterator[tuple[Spines, int]]:
    """Yield both ways to join two neighbours: the new spines, and the number of gold edges lost."""
    if a.root != 0:
        gold = heads[a.root]
        yield (
            (_la(a, c, c.left.index(gold)), 0)
            if gold in c.left
            else (_la(a, c, len(c.left) - 1), 1)
        )
    gold = heads[c.root]
    yield (
        (_ra(a, c, a.right.index(gold)), 0) if gold in a.right else (_ra(a, c, len(a.right) - 1), 1)
    )


def _undominated(cell: dict[Spines, int]) -> dict[Spines, int]:
    """Drop spines if others have the same root, contain all their nodes, and lose no more."""
    return {
        spines: loss
        for spines, loss in cell.items()
        if not any(
            rival != spines
            and rival.root == spines.root
            and lost <= loss
            and set(rival.left) >= set(spines.left)
            and set(rival.right) >= set(spines.right)
            for rival, lost in cell.items()
        )
    }
