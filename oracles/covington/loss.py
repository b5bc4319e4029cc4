"""Optimal transitions for Covington's system, for any gold tree,
by counting the edges that are lost.

The system (Covington 2001; Gómez-Rodríguez and Fernández-González 2015) compares the first token j
of the buffer with the tokens before it, from j - 1 down. The stack is 0..i, and i is compared next.
Transitions, in order:

* shift ("sh"): the stack becomes 0..j. Applicable if the buffer is not empty.
* no_arc ("na"): i is passed, the stack becomes 0..i-1. Applicable if i >= 1.
* left ("la"): i becomes a child of j and is passed. Applicable if i >= 1, the buffer is not empty,
  i has no head, and i is not an ancestor of j.
* right ("ra"): j becomes a child of i, and i is passed. Applicable if i >= 1, the buffer is not
  empty, j has no head, and j is not an ancestor of i.

In the last phase the buffer is empty, and the top is a token without a head. While the artificial
root has no child, root ("ro") makes the top that child, and no_arc moves on to the next token below
without a head, if there is one. Then, until all tokens have heads, attach ("at") makes the last
token without a head a child of the child of the artificial root.

The value of a configuration is the most gold edges that can still be made. With h = gold head, a
token x without a head is *open* if h(x) > 0 and the pair x, h(x) is still to come: max(x, h(x)) >
j, or max(x, h(x)) = j and min(x, h(x)) <= i. Let f(x) be the head that was made for x, else h(x) if
x is open or h(x) = 0, else none. A node has at most one edge of f, so cycles of f are disjoint.
Each cycle has open edges, and exactly one of these must be lost. All other open edges can be made
when their pairs come. An edge that is not open can be made late, if its head t becomes the child of
the artificial root; until then, t must have no head:

    value = open tokens - cycles of f + max over t without head of:
            [h(t) = 0] + (tokens without head, not open, whose gold head is t) -
            [t is open and on no cycle]

In the last phase nothing is open, and t is one of the tokens that were not passed. Once the
artificial root has its child t, the value is the number of tokens without head whose gold head is
t. A transition's score is its own edge plus the value after it. For gold trees with several
children of the artificial root, one of them counts.

Gómez-Rodríguez and Fernández-González (2015) count edges and cycles like this,
for computations without a last phase.

Many transitions are optimal only because the last phase can make edges late. So ``ties="commit"``
prefers, among the optimal transitions, those that are optimal by "open tokens - cycles of f" alone.
Among these, it prefers a gold arc to shift, and shift to no_arc.

Complexity: O(n) per configuration.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from oracles.covington import TIES
from oracles.errors import OptimalStepError
from oracles.interface import (
    NO_NODE,
    NOT_APPLICABLE,
    BoundOracle,
    Oracle,
    Query,
    Strategy,
    by_name,
    front_of,
    heads_made,
)
from oracles.kernel_cache import array_kernel, kernel
from oracles.trees import Trees, integers

SHIFT, NO_ARC, LEFT, RIGHT, ROOT, ATTACH = range(6)
N_TRANSITIONS = 6

_OPEN, _ON_CYCLE = 1, 2  # bits about a token without head


class CovingtonLoss(Oracle):
    """Exact for any gold tree.

    Args:
        strategy: ``any``; there is no other.
        single_root: has no effect, because all computations end with one child of the artificial
            root.
        ties: "commit", see this module's docstring; None: no optimal transition is preferred.
    """

    name: ClassVar[str] = "covington_loss"
    system: ClassVar[str] = "covington"
    transition_names = ("sh", "na", "la", "ra", "ro", "at")
    needs_projective_gold: ClassVar[bool] = False
    takes_partial_gold: ClassVar[bool] = True
    strategies: ClassVar[tuple[Strategy, ...]] = (Strategy.ANY,)
    complexity: ClassVar[str] = "O(n)"
    source: ClassVar[str] = "this project, from Gómez-Rodríguez and Fernández-González 2015"

    def __init__(
        self,
        strategy: Strategy | str | None = None,
        single_root: bool = False,
        ties: str | None = None,
    ) -> None:
        super().__init__(strategy)
        if ties not in (None, *TIES):
            raise OptimalStepError(
                f"oracle {self.name} has no ties {ties!r}; choose one of: {', '.join(TIES)}"
            )
        self.ties = ties

    def _bind(self, trees: Trees) -> BoundOracle:
        return _BoundLoss(trees, True) if self.ties is None else _Committing(trees)

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
        heads, stack = integers(heads, "heads").tolist(), integers(stack, "stack").tolist()
        front = front_of(len(heads), buffer)
        if stack != list(range(len(stack))) or not 0 < len(stack) <= front:
            raise OptimalStepError(
                f"the stack must hold the first nodes 0..i of the sentence, i < {front}, "
                f"not {stack}"
            )
        query = Query.single(stack, front, made=heads_made(len(heads), made))
        return by_name(self.transition_names, self._scores_of(heads, query))


class _Committing(BoundOracle):
    """The scores with ``ties="commit"``."""

    gold_weight = 8

    def __init__(self, trees: Trees) -> None:
        super().__init__(trees)
        self._exact, self._early = _BoundLoss(trees, True), _BoundLoss(trees, False)

    def score_batch(self, query: Query) -> np.ndarray:
        exact = self._exact.score_batch(query).astype(np.int32)
        early = self._early.score_batch(query)
        starts, lengths = self.trees.offsets[query.sentences], self.trees.lengths[query.sentences]
        tops = query.stacks[np.arange(len(query)), query.stack_sizes - 1]
        # with an empty buffer, left and right are not applicable
        fronts = np.minimum(query.buffer_fronts, lengths)
        scores = 8 * exact + 4 * (early == early.max(axis=1, keepdims=True))
        scores[:, (SHIFT, NO_ARC)] += (2, 1)
        scores[:, LEFT] += 3 * (self.trees.heads[starts + tops] == fronts)
        scores[:, RIGHT] += 3 * (self.trees.heads[starts + fronts] == tops)
        return np.where(exact == NOT_APPLICABLE, NOT_APPLICABLE, scores)


class _BoundLoss(BoundOracle):
    def __init__(self, trees: Trees, waits: bool) -> None:
        super().__init__(trees)
        self._waits = waits

    def score_batch(self, query: Query) -> np.ndarray:
        return _score_batch(
            self.trees.heads, self.trees.offsets, self._waits, query.made, *query.arrays
        )


@kernel()
def _is_ancestor(made_heads, node, other):
    """Return whether a node is the other one, or its ancestor by the heads made."""
    while other != node and other != NO_NODE:
        other = made_heads[other]
    return other == node


@kernel()
def _score_last_phase(heads, made_heads, top, n, scores):
    """Fill in the scores of the transitions of the last phase, with a top other than 0."""
    child = 0  # the child of the artificial root
    for token in range(1, n + 1):
        if made_heads[token] == 0:
            child = token
    if child > 0:
        scores[ATTACH] = _late(heads, made_heads, child, n)
        return
    scores[ROOT] = (heads[top] == 0) + _late(heads, made_heads, top, n)
    for token in range(1, top):
        if made_heads[token] == NO_NODE:
            scores[NO_ARC] = max(
                scores[NO_ARC], (heads[token] == 0) + _late(heads, made_heads, token, n)
            )


@kernel()
def _late(heads, made_heads, root, n):
    """Return how many tokens without head are gold children of ``root``."""
    late = 0
    for token in range(1, n + 1):
        late += made_heads[token] == NO_NODE and heads[token] == root
    return late


@kernel()
def _value(heads, made_heads, i, j, n, waits, work):
    """Return the value of a configuration with the stack 0..i and the buffer j..n,
    which is empty if j > n; O(n).

    Args:
        heads: int32[n + 1], the gold tree.
        made_heads: int32[>= n + 1], the heads made.
        i, j, n: the configuration.
        waits: whether edges that are made late count.
        work: int32[4, > n].
    """
    f, bits, late, seen = work[0], work[1], work[2], work[3]
    value = 0
    for x in range(n + 1):
        late[x] = seen[x] = bits[x] = 0
    for x in range(1, n + 1):
        f[x] = made_heads[x]
        if made_heads[x] == NO_NODE:
            head = heads[x]
            if head > 0 and (max(x, head) > j or (max(x, head) == j and min(x, head) <= i)):
                bits[x] = _OPEN
                f[x] = head
                value += 1
            elif head > 0:
                late[head] += 1
    if value > 0:
        for x in range(1, n + 1):
            node = np.int32(x)
            while node > 0 and seen[node] == 0:
                seen[node] = x
                node = f[node]
            if node > 0 and seen[node] == x:  # reached again from x: a new cycle
                value -= 1
                while bits[node] & _ON_CYCLE == 0:
                    bits[node] |= _ON_CYCLE
                    node = f[node]
    if not waits:
        return value
    best = -1
    for t in range(1, n + 1):
        if made_heads[t] == NO_NODE:
            best = max(best, (heads[t] == 0) + late[t] - (bits[t] == _OPEN))
    return value + best


@array_kernel()
def _score_batch(
    all_heads, offsets, waits, all_made_heads, sentences, stacks, stack_sizes, buffer_fronts
):
    scores = np.full((len(sentences), N_TRANSITIONS), NOT_APPLICABLE, np.int16)
    work = np.empty((4, all_made_heads.shape[1]), np.int32)
    made_heads = np.empty(all_made_heads.shape[1], np.int32)
    for row in range(len(sentences)):
        heads = all_heads[offsets[sentences[row]] : offsets[sentences[row] + 1]]
        n = len(heads) - 1
        i, j = np.int32(stack_sizes[row] - 1), np.int32(buffer_fronts[row])
        for node in range(n + 1):
            made_heads[node] = all_made_heads[row, node]
        if j > n:
            if i > 0:
                _score_last_phase(heads, made_heads, i, n, scores[row])
            continue
        scores[row, SHIFT] = _value(heads, made_heads, j, j + 1, n, waits, work)
        if i == 0:
            continue
        scores[row, NO_ARC] = _value(heads, made_heads, i - 1, j, n, waits, work)
        if made_heads[i] == NO_NODE and not _is_ancestor(made_heads, i, j):
            made_heads[i] = j
            scores[row, LEFT] = (heads[i] == j) + _value(
                heads, made_heads, i - 1, j, n, waits, work
            )
            made_heads[i] = NO_NODE
        if made_heads[j] == NO_NODE and not _is_ancestor(made_heads, j, i):
            made_heads[j] = i
            scores[row, RIGHT] = (heads[j] == i) + _value(
                heads, made_heads, i - 1, j, n, waits, work
            )
            made_heads[j] = NO_NODE
    return scores
