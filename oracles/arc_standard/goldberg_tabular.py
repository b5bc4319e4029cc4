"""Optimal transitions for projective gold trees, tabular: Goldberg, Sartorio and Satta 2014 (TACL
2), Section 4, Algorithm 1.

A fragment that contains the stack top is extended, one node at a time: on its left by the next
stack element, on its right by the next element of the right stack. T[i,j](h) is the least number of
gold edges lost in a fragment of the i uppermost stack elements and the first j elements of the
right stack, headed by h:

    T[i+1,j](h)        <- T[i,j](h) + delta(h -> next stack element)
    T[i+1,j](next)     <- min over h: T[i,j](h) + delta(next -> h)
    T[i,j+1](...)         the same with the next element of the right stack

with delta = 0 for a gold edge, 1 for any other. The value of a configuration is the number of its
nodes that still need a head, minus T of all nodes, headed by the root.

Complexity: O(k r (k + r)) for k stack elements and r elements of the right stack. This is cubic,
but r is small, and the inner loops over h run over contiguous 16-bit entries. O(n) per sentence to
bind.

Names here and in the paper: a row ``lost[j]`` at stack index p is T[i,j] with i = k + 1 - p. The
nodes are in the order of the sentence, first the stack a_0..a_k, then the right stack, so the heads
of a fragment are contiguous.

Departures from the paper:

* T[1,1] = 0. The paper sets it to the gold edges that the top lost before, and counts them again at
  the end (line 13); its set of optimal transitions is wrong in 27% of random configurations. In
  this package edges lost before are not counted at all: they are the same for all transitions.
* The right stack holds the buffer nodes that oracles.arc_standard.critical_nodes keeps. The paper's
  right stack also holds nodes without a gold edge to the stack. These make no difference, because
  each of their edges is lost either in any case or never.
* The paper counts all computations, which is the strategy ``any``. For the other strategies, a
  stack element that may take no left child is not extended to the left. Under right_before_left,
  the top takes no right child after reduce_right, so it loses its gold children in the buffer;
  other nodes take these without further loss.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from oracles.arc_standard.critical_nodes import critical_nodes
from oracles.arc_standard.transitions import CODES, after_transition
from oracles.interface import N_TRANSITIONS, NOT_APPLICABLE, SHIFT, BoundOracle, Oracle, Query
from oracles.kernel_cache import array_kernel
from oracles.trees import GoldChildren, Trees

# The loss of an impossible fragment. Twice the longest sentence; losses added to it fit in 16 bits.
_IMPOSSIBLE = 20000


class GoldbergTabular(Oracle):
    """The first exact oracle for arc-standard parsing."""

    name: ClassVar[str] = "goldberg_tabular"
    needs_projective_gold: ClassVar[bool] = True
    complexity: ClassVar[str] = "O(n^3)"
    source: ClassVar[str] = "Goldberg, Sartorio and Satta 2014, Section 4, Algorithm 1"

    def _bind(self, trees: Trees) -> BoundOracle:
        return _BoundGoldberg(trees, CODES[self.strategy])


class _BoundGoldberg(BoundOracle):
    def __init__(self, trees: Trees, strategy: int) -> None:
        super().__init__(trees)
        self.strategy = strategy
        self.children = GoldChildren.of(trees)

    def score_batch(self, query: Query) -> np.ndarray:
        return _score_batch(
            self.trees.heads,
            self.trees.offsets,
            self.children,
            self.strategy,
            *query.arrays,
        )


@array_kernel()
def _score_batch(
    all_heads, offsets, children, strategy, sentences, stacks, stack_sizes, buffer_fronts
):
    """Score each applicable transition by the value of the configuration after it."""
    scores = np.full((len(sentences), N_TRANSITIONS), NOT_APPLICABLE, np.int16)
    longest = 0
    for s in sentences:
        longest = max(longest, offsets[s + 1] - offsets[s])
    position = np.full(longest, -1, np.int32)
    stack = np.empty(stacks.shape[1] + 1, np.int32)
    for row in range(len(sentences)):
        start, end = offsets[sentences[row]], offsets[sentences[row] + 1]
        heads = all_heads[start:end]
        k = stack_sizes[row] - 1
        front = buffer_fronts[row]
        for i in range(k + 1):
            stack[i] = stacks[row, i]
        for transition in range(N_TRANSITIONS):
            new = after_transition(transition, strategy, stack, k, front, end - start - 1)
            if not new.applicable:
                continue
            value = _value(
                heads,
                start,
                children,
                stack,
                new.k,
                new.front,
                new.closed_from,
                new.closed_to,
                position,
            )
            if not new.top_takes_right:
                child = children.last[start + new.head]
                while child >= front:
                    value -= 1
                    child = children.previous[start + child]
            scores[row, transition] = (
                value if transition == SHIFT else value + (heads[new.child] == new.head)
            )
    return scores


@array_kernel()
def _value(heads, start, children, stack, k, front, closed_from, closed_to, position):
    """Return the most gold edges that can still be made from stack[0..k] and the buffer front..n.

    ``position`` (int32[> n], all -1) maps a token to its place among the nodes during the call.
    """
    for p in range(k + 1):
        position[stack[p]] = p
    right_stack = critical_nodes(heads, start, stack, k, front, children, position)
    size = k + 1 + len(right_stack)
    head_at = np.empty(size, np.int32)
    value = children.edges_from[start + front] if front < len(heads) else 0
    for x in range(len(right_stack)):
        position[right_stack[x]] = k + 1 + x
    for x in range(len(right_stack)):
        head_at[k + 1 + x] = position[heads[right_stack[x]]]
        # Gold edges in the buffer outside the right stack are never lost;
        # the table counts the edges inside it.
        value -= head_at[k + 1 + x] > k
    head_at[0] = -1
    for p in range(1, k + 1):
        head_at[p] = position[heads[stack[p]]]
    value += size - 1 - _least_loss(head_at, k, closed_from, closed_to)
    for p in range(k + 1):
        position[stack[p]] = -1
    for node in right_stack:
        position[node] = -1
    return value


@array_kernel()
def _least_loss(head_at, top, closed_from, closed_to):
    """Return the fewest nodes without their gold head in a tree over 0..len(head_at)-1,
    of which 0..top are the stack.

    Fragments in which the root 0 is a child occur too,
    but no fragment headed by 0 is made from them.
    """
    size = len(head_at)
    # lost[j, h]: a fragment p..top+j headed by h
    lost = np.full((size - top, size), _IMPOSSIBLE, np.int16)
    lost[0, top] = 0
    for p in range(top, -1, -1):
        for j in range(size - top):
            end = top + 1 + j
            row = lost[j]
            if p < top:
                _extend(row, p + 1, end, p, head_at)
                for h in range(max(closed_from, p + 1), min(closed_to, top) + 1):
                    row[h] = _IMPOSSIBLE
            if j > 0:
                _extend_from(lost[j - 1], row, p, end - 1, head_at)
    return lost[size - top - 1, 0]


@array_kernel()
def _extend(row, begin, end, new, head_at):
    """Extend fragments with heads begin..end-1, in place, by ``new``,
    as the head or as a child of the head.
    """
    best = np.int16(_IMPOSSIBLE)
    for h in range(begin, end):
        best = min(best, np.int16(row[h] + (head_at[h] != new)))
        row[h] = min(np.int16(_IMPOSSIBLE), np.int16(row[h] + 1))
    row[new] = best
    head = head_at[new]
    if begin <= head < end:
        row[head] -= np.int16(1)


@array_kernel()
def _extend_from(source, target, begin, new, head_at):
    """Extend to the right, as _extend() does to the left;
    ``target`` keeps lower losses that it holds already.
    """
    best = target[new]
    head = head_at[new]
    for h in range(begin, new):
        best = min(best, np.int16(source[h] + (head_at[h] != new)))
        target[h] = min(target[h], np.int16(source[h] + (h != head)))
    target[new] = best
