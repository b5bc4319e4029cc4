"""The tabular oracle of Attardi's system of degree 2: Gómez-Rodríguez,
Sartorio and Satta 2014, Algorithm 1, corrected.

This is the slow reference implementation, in plain Python, for gold trees that the system can
parse. A fragment [h1, h2 h3] of the table covers part of the nodes g = stack + reduced buffer; its
computations begin with h1 on top of the stack and end with h2 h3 on top of the stack elements below
h1. T[i,j] holds the fragments over g(i)..g(j-1), each with the fewest nodes that get a head other
than their gold head. Fragments [h1, h2 h3] over i..k and [h3, h4 h5] over k..j, together with one
of the four reductions of the uppermost three elements h2, h4, h5, make a fragment over i..j.

The buffer is reduced first: if nothing in the gold subtree of a buffer node depends on the stack,
only the node itself is kept. The loss of a configuration is the number of its nodes
that cannot get their gold head: T[0,N] at the end, plus the nodes that the reduction dropped
although their gold head is gone.

Corrections of the paper, whose algorithm is wrong in 19 of 2,301 configurations of small sentences:

* E9. A buffer node may be on top of any node that precedes it, not only of its neighbour, and
  fragments are split after the first node or anywhere in the buffer.
* E10. Dropped nodes whose gold head is already removed are lost, and must be counted.
* E11. Nodes whose gold head is on the stack are not dropped.

Complexity: O(|s|^3 |g|^2 |r| + |g|^4 |r|^4), s = the stack and r = the reduced buffer;
O(n^8) at worst.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from oracles.attardi.system import AttardiOracle, UnparseableGoldError, parseable
from oracles.errors import OptimalStepError
from oracles.interface import NOT_APPLICABLE, BoundOracle, Query, Strategy
from oracles.trees import Trees

_BOTTOM = -1  # below node 0, $ in the paper: neither head nor child

Fragments = dict[tuple[int, int, int], int]  # (h1, h2, h3) -> least loss


class AttardiTabular(AttardiOracle):
    """The first exact oracle for Attardi's system, for comparison; use attardi_search."""

    name: ClassVar[str] = "attardi_tabular"
    needs_parseable_gold: ClassVar[bool] = True
    complexity: ClassVar[str] = "O(n^8)"
    source: ClassVar[str] = "Gómez-Rodríguez, Sartorio and Satta 2014, Section 3, Algorithm 1"

    def __init__(self, strategy: Strategy | str | None = None, degree: int = 2) -> None:
        super().__init__(strategy, degree)
        if degree != 2:
            raise OptimalStepError(
                f"oracle {self.name} supports only degree 2, not {degree}; "
                "attardi_search supports all"
            )

    def takes(self, trees: Trees) -> np.ndarray:
        return super().takes(trees) & parseable(trees, self.degree)

    def _bind(self, trees: Trees) -> BoundOracle:
        able = self.takes(trees)
        if not able.all():
            sentence = int(np.flatnonzero(~able)[0])
            raise UnparseableGoldError(
                f"oracle {self.name} needs gold trees that Attardi's system of degree "
                f"{self.degree} can parse, and the tree of sentence {sentence} (counted from 0) "
                "is not one; leave it out, or use attardi_search, exact for any gold tree"
            )
        return _BoundAttardiTabular(trees)


class _BoundAttardiTabular(BoundOracle):
    def score_batch(self, query: Query) -> np.ndarray:
        scores = np.full((len(query), 5), NOT_APPLICABLE, np.int16)
        for row, (s, stack, size, front) in enumerate(zip(*query.arrays, strict=True)):
            heads = [_BOTTOM, *self.trees[s]]
            nodes = stack[:size].tolist()
            if front < len(heads):
                scores[row, 0] = _value(heads, [*nodes, int(front)], int(front) + 1)
            for depth in (1, 2):
                if size > depth:
                    scores[row, 2 * depth - 1] = _value_of_arc(
                        heads, nodes, int(front), nodes[-1 - depth], nodes[-1]
                    )
                if size > depth + 1:
                    scores[row, 2 * depth] = _value_of_arc(
                        heads, nodes, int(front), nodes[-1], nodes[-1 - depth]
                    )
        return scores


def _value_of_arc(heads: list[int], stack: list[int], front: int, head: int, child: int) -> int:
    """Return the most gold edges that can be made if ``child`` is attached to ``head`` now,
    including this edge.
    """
    return (heads[child] == head) + _value(heads, [node for node in stack if node != child], front)


def _value(heads: list[int], stack: list[int], front: int) -> int:
    """Return the most gold edges that can still be made:
    the number of nodes that still need a head, minus the loss.
    """
    return len(stack) - 1 + len(heads) - front - _loss(heads, stack, front)


def _loss(heads: list[int], stack: list[int], front: int) -> int:
    """Return how many nodes of the configuration cannot get their gold head."""
    kept = _reduced_buffer(heads, stack, front)
    present = {*stack, *range(front, len(heads))}
    dropped = set(range(front, len(heads))) - set(kept)
    return _loss_of_fragments(heads, stack, kept) + sum(
        heads[node] not in present for node in dropped
    )


def _reduced_buffer(heads: list[int], stack: list[int], front: int) -> list[int]:
    """Return the buffer nodes that remain when reducible subtrees are replaced by their roots."""
    kept = list(range(front, len(heads)))
    for root in range(front, len(heads)):
        if root not in kept:
            continue
        subtree = [node for node in range(1, len(heads)) if _descends(heads, node, root)]
        inside = [node for node in subtree if node >= front]
        others = [node for node in inside if node != root]
        takes_from_stack = any(heads[node] in others for node in stack if node in subtree)
        gives_to_stack = any(heads[node] in stack for node in others)
        contiguous = inside[-1] - inside[0] == len(inside) - 1
        if contiguous and not takes_from_stack and not gives_to_stack:
            kept = [node for node in kept if node not in others]
    return kept


def _descends(heads: list[int], node: int, root: int) -> bool:
    while node not in (root, 0):
        node = heads[node]
    return node == root


def _loss_of_fragments(heads: list[int], stack: Sequence[int], buffer: Sequence[int]) -> int:
    """Return T[0,N][$, $ 0]."""
    g = [*stack, *buffer]
    bottom, size = len(stack), len(g)
    in_buffer = set(buffer)
    table: dict[tuple[int, int], Fragments] = {(0, 1): {(_BOTTOM, _BOTTOM, 0): 0}}
    for i in range(1, size):
        below = [g[i - 1]] if i < bottom else g[:i]
        table[i, i + 1] = {(node, node, g[i]): 0 for node in below}

    for width in range(2, size + 1):
        for i in range(max(0, bottom - width), size - width + 1):
            j = i + width
            best: Fragments = {}
            for k in dict.fromkeys([i + 1, *range(max(i + 2, bottom), j)]):
                after = defaultdict(list)
                for (h3, h4, h5), lost in table[k, j].items():
                    after[h3].append((h4, h5, lost))
                for (h1, h2, h3), lost in table[i, k].items():
                    for h4, h5, more in after[h3]:
                        for head, child, item in (
                            (h5, h4, (h1, h2, h5)),  # la_1
                            (h4, h5, (h1, h2, h4)),  # ra_1
                            (h5, h2, (h1, h4, h5)),  # la_2
                            (h2, h5, (h1, h2, h4)),  # ra_2
                        ):
                            if head == _BOTTOM or child in (0, _BOTTOM):
                                continue
                            wrong = heads[child] != head
                            if i < bottom or not wrong or head not in in_buffer:
                                total = lost + more + wrong
                                best[item] = min(best.get(item, total), total)
            table[i, j] = best
    return table[0, size][_BOTTOM, _BOTTOM, 0]
