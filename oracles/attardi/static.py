"""The static oracle of Attardi's system: the transition of a gold computation,
for the first pass of training.

The canonical computation attaches as soon as possible, the nearest nodes first, and shifts
otherwise. A node that has all its gold children is attached to its gold head as soon as possible
(by la_1, ra_1, la_2, ra_2, ... in this order); if there is no such node, the next token is pushed.
This parses every tree that the system can parse.

A tree that the system cannot parse is not refused, because the first pass needs a computation of
every sentence. bind() replaces it by a tree that the system can parse, with as many gold edges as
possible. attardi_search builds this tree from the initial configuration; among its best
transitions, the first in the same order is taken (attachments before shift, the nearest attachment
first). This computation is the canonical computation of the new tree, because each attachment is
optimal as soon as it can be made.

Off the path of the canonical computation this oracle is NOT guaranteed to be optimal. It follows
the same rules, and its transition is always applicable: if the rules say shift and the buffer is
empty, it is ra_1, which leads to the final configuration. Use it for gold computations, and
attardi_search elsewhere.

Its scores are 1 for its transition and 0 for other applicable ones, not numbers of edges.

Complexity: O(k + D) per configuration, k = size of the stack; O(n) per sentence to bind, and a
search if the system cannot parse its tree.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from oracles.attardi.search import AttardiSearch
from oracles.attardi.system import AttardiOracle, parseable
from oracles.interface import NOT_APPLICABLE, BoundOracle, Query
from oracles.kernel_cache import array_kernel
from oracles.trees import ROOT_HEAD, GoldChildren, Trees


class AttardiStatic(AttardiOracle):
    """The transition of the canonical gold computation."""

    name: ClassVar[str] = "attardi_static"
    complexity: ClassVar[str] = "O(k + D), k = size of the stack"
    source: ClassVar[str] = "Attardi 2006; Gómez-Rodríguez, Sartorio and Satta 2014, Section 2"

    def _bind(self, trees: Trees) -> BoundOracle:
        return _BoundAttardiStatic(nearest_parseable(trees, self.degree), self.degree)


class _BoundAttardiStatic(BoundOracle):
    def __init__(self, trees: Trees, degree: int) -> None:
        super().__init__(trees)
        self.degree = degree
        self.last_child = GoldChildren.of(trees).last

    def score_batch(self, query: Query) -> np.ndarray:
        trees = self.trees
        return _score_batch(trees.heads, trees.offsets, self.last_child, self.degree, *query.arrays)


def nearest_parseable(trees: Trees, degree: int) -> Trees:
    """Return the trees; replace those that the system cannot parse by parseable trees with as many
    of their edges as possible.

    Raises:
        OptimalStepError: attardi_search needs more than ``max_states`` for such a tree;
            the message names the sentence.
    """
    beyond = np.flatnonzero(~parseable(trees, degree))
    if not len(beyond):
        return trees
    bound = AttardiSearch(degree=degree).bind(trees)
    heads = trees.heads.copy()
    for s in beyond:
        heads[trees.offsets[s] : trees.offsets[s + 1]] = _made_by(
            bound, int(s), int(trees.lengths[s]), degree
        )
    return Trees(heads, trees.offsets)


def _made_by(bound: BoundOracle, s: int, n: int, degree: int) -> np.ndarray:
    """Return int32[n + 1], the heads made by the best computation of sentence s; ties go to
    attachments over shift, and to the nearest attachment.
    """
    order = np.array(
        [*(transition for d in range(1, degree + 1) for transition in (2 * d, 2 * d - 1)), 0]
    )
    heads = np.full(n + 1, ROOT_HEAD, np.int32)
    stack, front = [0], 1
    while front <= n or len(stack) > 1:
        scores = bound.score_batch(Query.single(stack, front, sentence=s))[0]
        transition = int(order[scores[order].argmax()])
        if transition == 0:
            stack.append(front)
            front += 1
            continue
        deeper = stack[-1 - (transition + 1) // 2]
        head, child = (stack[-1], deeper) if transition % 2 == 0 else (deeper, stack[-1])
        heads[child] = head
        stack.remove(child)
    return heads


@array_kernel()
def _is_complete(heads, start, last_child, stack, k, front, node):
    """Return whether no gold child of the node is on the stack or in the buffer."""
    d = 1
    while d <= k and heads[start + stack[d]] != node:
        d += 1
    return d > k and last_child[start + node] < front


@array_kernel()
def _score_batch(heads, offsets, last_child, degree, sentences, stacks, stack_sizes, buffer_fronts):
    scores = np.full((len(sentences), 1 + 2 * degree), NOT_APPLICABLE, np.int16)
    for row in range(len(sentences)):
        start = offsets[sentences[row]]
        n = offsets[sentences[row] + 1] - start - 1
        front = buffer_fronts[row]
        k = stack_sizes[row] - 1
        stack = stacks[row]
        top = stack[k]
        chosen = 0 if front <= n else 1
        for d in range(min(degree, k), 0, -1):  # the nearest comes last, and wins
            below = stack[k - d]
            scores[row, 2 * d - 1] = 0
            if heads[start + top] == below and _is_complete(
                heads, start, last_child, stack, k, front, top
            ):
                chosen = 2 * d - 1
            if d < k:
                scores[row, 2 * d] = 0
                if heads[start + below] == top and _is_complete(
                    heads, start, last_child, stack, k, front, below
                ):
                    chosen = 2 * d
        if front <= n:
            scores[row, 0] = 0
        if front <= n or k >= 1:
            scores[row, chosen] = 1
    return scores
