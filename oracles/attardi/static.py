"""The static oracle of Attardi's system: the one transition that a gold computation takes, for the first pass of training.

The canonical computation attaches as soon as possible, the nearest first, and shifts otherwise: a node that has all its gold
children goes to its gold head as soon as it can (la_1, ra_1, la_2, ra_2, ... in this order), and if there is no such node
the next token is pushed. If the system can parse a tree at all, this parses it.

A tree that the system cannot parse is not refused, for the first pass needs a computation of every sentence: it is replaced,
when it is bound, by one that the system can parse and that has as many gold edges as possible, the one made by attardi_search
from the start, its best transition first in the same order (attachments, the nearest first, then shift). The canonical
computation of that tree is this very computation: each attachment is optimal as soon as it can be made.

Off the path of the canonical computation this oracle has NO claim to be optimal. It answers by the same rule, so its transition
is always applicable and always the same; where the rule says shift and the buffer is empty, it answers ra_1, which leads to the
final configuration. Use it for gold computations, and attardi_search elsewhere.

Its scores are 1 for its transition, 0 for the other applicable ones: not numbers of edges, which only the other oracles give.

Complexity: O(k + D) per configuration, k = size of the stack; O(n) per sentence to bind, and a search where the system cannot
parse its tree.
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
    """The same trees, but for each that the system cannot parse, a parseable one with as many of its edges as possible.

    Raises:
        ValueError: attardi_search cannot score a configuration of such a tree within its max_states; names the sentence.
    """
    beyond = np.flatnonzero(~parseable(trees, degree))
    if not len(beyond):
        return trees
    bound = AttardiSearch(degree=degree).bind(trees)
    heads = trees.heads.copy()
    for s in beyond:
        heads[trees.offsets[s] : trees.offsets[s + 1]] = _made_by(bound, int(s), int(trees.lengths[s]), degree)
    return Trees(heads, trees.offsets)


def _made_by(bound: BoundOracle, s: int, n: int, degree: int) -> np.ndarray:
    """int32[n + 1]: the heads that the best computation of sentence s makes, attachments first, the nearest first."""
    order = np.array([*(transition for d in range(1, degree + 1) for transition in (2 * d, 2 * d - 1)), 0])
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
    """Whether no gold child of the node is on the stack or in the buffer."""
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
        for d in range(min(degree, k), 0, -1):  # the nearest comes last, and stays
            below = stack[k - d]
            scores[row, 2 * d - 1] = 0
            if heads[start + top] == below and _is_complete(heads, start, last_child, stack, k, front, top):
                chosen = 2 * d - 1
            if d < k:
                scores[row, 2 * d] = 0
                if heads[start + below] == top and _is_complete(heads, start, last_child, stack, k, front, below):
                    chosen = 2 * d
        if front <= n:
            scores[row, 0] = 0
        if front <= n or k >= 1:
            scores[row, chosen] = 1
    return scores
