"""Optimal transitions for projective gold trees in quadratic and in linear time:
Nederhof 2019 (N19), Sections 5 and 6.

For a stack a_0..a_k, nederhof_quadratic visits every pair i < j once: a_j on top, a_i directly
below it, the elements between them reduced into a_j. nederhof_linear visits only the pairs where
there is a choice. It is truly linear: no table of (k + 1)^2 entries is kept or cleared.

Complexity: O(k^2 + m) and O(k + m) per configuration of k + 1 stack elements and m buffer nodes;
O(n) per sentence to bind.

The value of a configuration is the most gold edges that can still be made from a stack a_0..a_k and
a buffer b..n. Two facts about projective gold trees make it cheap to compute:

* All edges inside the buffer can be made, except those given up for others;
  edges_inside(b) counts them.
* The buffer nodes with a gold child on the stack are ancestors of each other or nested around each
  other. So they form a chain: the further right a chain node is, the lower are its stack children.
  Everything between a chain node x and its stack children descends from x.

So a computation moves down the stack and up the chain at the same time. Its state is the top of the
stack, and which chain node can still take children. With a_i directly below the top, let chain(i)
be the last chain node that has a stack child above a_i. The chain nodes before it have no stack
children left, and the nodes after it are untouched. So three cases remain:

    FRESH   chain(i) can still take a_i and the elements below it as left children,
            and these elements can still take the whole rest of the buffer as right children
    SPENT   chain(i) became a child of a stack element and lost its own gold edge (cost 1);
            the chain after it is fresh
    GONE    the root of chain(i)'s component in the buffer became a child of a stack element (no
            cost now; but if its gold head is on the stack, that head has one gold child less)

The states and their steps (with the value of a step in brackets):

    above(j), for FRESH, SPENT, GONE: a_j is the top, and none of a_0..a_j has been reduced
        going down from i = j - 1: a_j becomes a child of a_i [w(i,j) + nchildren(i)], or of its
        gold head in the chain [1], or takes a_i as its left child [w(j,i)] and continues with i - 1
    under(j): chain(j) is the top, above a_0..a_j
        a_j becomes a left child of chain(j) [1 if gold];
        or chain(j) or the root of its component becomes a child of a_j

where w(i,j) = 1 if a_i is the gold head of a_j. nchildren(i) is the number of gold children of a_i
in the buffer: once a_i is the top, it takes all of them without any loss.

In the quadratic algorithm, a_j visits all i < j. The linear one skips some (N19, Section 6):

    lambda  no gold edge joins a_j to a node below a_i, and a_i is not its gold child: stop, a_j may
            as well be a child of a_i
    w(i,j)  a_i is the gold head of a_j: stop, since this is the last gold edge of a_j on its left
    kappa   a_i has gold edges further down, the lowest to a_l: edges do not cross, so a_j has none
            to a_{l+1}..a_{i-1}; if a_j takes a_i, it takes all of these too, and continues with l

So every level i is visited for a bounded number of j. Only two of these come down to i step by
step: the first j above i with gold edges below i, and the gold head of a_i. All others stop above
i, or jump to the lower end of an edge.

An example, after reduce_left in docs/oracles_and_systems.md: heads 2 4 4 0 7 7 4 4, a_0..a_2 = 0 1
2, buffer 4..8. The gold head of a_2 is 4, so chain(1) = chain(0) = 4, the root of its component in
the buffer. Four edges are inside the buffer:

    level  token  FRESH  SPENT  GONE  under
        2      2      0      -     -      -
        1      1      0      -     1      1
        0      0      3      -     -      2

    above(2)  2 is the top, without gold children in the buffer: FRESH 0
        i = 1  2 becomes a child of 1: FRESH 0. Or it becomes a child of 4,
               which is gold: under(1) = 1
        i = 0  2 has taken 1, which is gold. It becomes a child of 0, which then takes 4, its gold
               child: FRESH 1 + 1. Or it becomes a child of 4: under(0) = 1 + 1
    under(1)  4 is the top, above 0 1. It becomes a child of 1, which then is the top: GONE 1, as 4
              is the root of its component. SPENT never occurs here: chain(1) would need a gold head
              inside the buffer
    above(1)  1 becomes a child of 0: from FRESH 0 + 1, from GONE 1 + 1 - 1,
              as 0 has lost its gold child 4
    under(0)  4 becomes a child of 0, which is gold: FRESH 2 + 1 = 3, the best

The value is 3 + 4 = 7. reduce_left made no gold edge, so this is its score.

Names here and in the paper: lowest[i] is the least index joined to a_i by a gold edge, i if there
is none below (for lambda and kappa); ``above``, ``under`` = score, score'. The cases N, C and F of
Table 5 are not the three cases here; FRESH is not F. Departures from the paper: the table is filled
from the top down, so no memo table of (k + 1)^2 entries has to be cleared; critical buffer nodes
need not be found; ``under`` has one state for each level, so the paper's lambda', which skips
states of score', is not needed.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from oracles.arc_standard.transitions import CODES, after_transition
from oracles.interface import (
    N_TRANSITIONS,
    NOT_APPLICABLE,
    SHIFT,
    BoundOracle,
    Oracle,
    Query,
    Strategy,
)
from oracles.kernel_cache import array_kernel
from oracles.trees import GoldChildren, Trees

# The state of chain(i).
FRESH, SPENT, GONE = range(3)

# The value of an impossible computation. Sums of a few of these stay far from the bounds of int32.
IMPOSSIBLE = -(2**20)

# Rows of working space, one entry per stack element.
_STACK, _PARENT, _HEAD_IN_BUFFER, _NCHILDREN, _LOWEST, _CHAIN, _ROOT, _ANCHOR, _UNDER, _ABOVE = (
    range(10)
)
_ROWS = _ABOVE + 3


class NederhofQuadratic(Oracle):
    """Visits every pair of stack elements once."""

    name: ClassVar[str] = "nederhof_quadratic"
    needs_projective_gold: ClassVar[bool] = True
    complexity: ClassVar[str] = "O(k^2 + m)"
    source: ClassVar[str] = "Nederhof 2019, Section 5"

    def _bind(self, trees: Trees) -> BoundOracle:
        return BoundProjective(trees, self.strategy, skip=False)


class NederhofLinear(Oracle):
    """Visits only the pairs of stack elements that matter;
    the oracle to train with on projective trees.
    """

    name: ClassVar[str] = "nederhof_linear"
    needs_projective_gold: ClassVar[bool] = True
    complexity: ClassVar[str] = "O(k + m)"
    source: ClassVar[str] = "Nederhof 2019, Section 6"

    def _bind(self, trees: Trees) -> BoundOracle:
        return BoundProjective(trees, self.strategy, skip=True)


class BoundProjective(BoundOracle):
    """Scores of all transitions, with or without skipping;
    memory and time of binding are linear in the number of tokens.
    """

    def __init__(self, trees: Trees, strategy: Strategy, skip: bool) -> None:
        super().__init__(trees)
        self.strategy = CODES[strategy]
        self.skip = skip
        self.children = GoldChildren.of(trees)

    def score_batch(self, query: Query) -> np.ndarray:
        """Score a batch in one compiled loop; see BoundOracle.score_batch()."""
        return _score_batch(
            self.trees.heads,
            self.trees.offsets,
            self.children,
            self.strategy,
            self.skip,
            *query.arrays,
        )


@array_kernel()
def _describe_stack(heads, start, children, k, front, where, work):
    """Look up all gold edges of the stack work[_STACK, 0..k]; O(k + number of buffer nodes).

    ``where`` maps a token to its place on the stack. It is never cleared: an entry is valid if the
    stack has the token there.
    """
    stack = work[_STACK]
    parent = work[_PARENT]
    head_in_buffer = work[_HEAD_IN_BUFFER]
    nchildren = work[_NCHILDREN]
    lowest = work[_LOWEST]
    for i in range(k + 1):
        where[stack[i]] = i
        lowest[i] = i
    for i in range(k + 1):
        node = stack[i]
        head = heads[node]
        parent[i] = -1
        head_in_buffer[i] = 0
        if head >= front:
            head_in_buffer[i] = head
        elif head >= 0:
            p = where[head]
            if p <= k and stack[p] == head:
                parent[i] = p
                lowest[i] = min(lowest[i], p)
                lowest[p] = min(lowest[p], i)
        count = 0
        child = children.last[start + node]
        while child >= front:
            count += 1
            child = children.previous[start + child]
        nchildren[i] = count

    chain = work[_CHAIN]
    root = work[_ROOT]  # the root of chain(i)'s component in the buffer
    anchor = work[_ANCHOR]  # the gold head of that root
    chain[k] = 0
    root[k] = 0
    anchor[k] = 0
    for i in range(k - 1, -1, -1):
        x = head_in_buffer[i + 1]
        if x > chain[i + 1]:
            chain[i] = x
            if x > root[i + 1]:
                while heads[x] >= front:
                    x = heads[x]
                root[i] = x
                anchor[i] = heads[x]
                continue
        else:
            chain[i] = chain[i + 1]
        root[i] = root[i + 1]
        anchor[i] = anchor[i + 1]


@array_kernel()
def _case_at(work, case, level, lower):
    """Return the case at a lower level. It is FRESH if that level has another chain node (for
    SPENT) or another component (for GONE); otherwise the case stays.
    """
    if case == SPENT and work[_CHAIN, lower] != work[_CHAIN, level]:
        return FRESH
    if case == GONE and work[_ROOT, lower] != work[_ROOT, level]:
        return FRESH
    return case


@array_kernel()
def _becomes_child_of(work, i, case, value):
    """Record that the element above a_i became its child: a_i is the top, and takes its gold
    children from the buffer.
    """
    if value < 0:
        return
    value += work[_NCHILDREN, i]
    if case != FRESH:
        node = work[_STACK, i]
        if node <= work[_ANCHOR, i]:
            # No element at or below the anchor has its gold head in this component.
            if case == GONE and node == work[_ANCHOR, i]:
                value -= 1
            case = FRESH
        else:
            case = _case_at(work, case, i, i - 1)
    work[_ABOVE + case, i] = max(work[_ABOVE + case, i], value)


@array_kernel()
def _value(heads, start, children, k, front, closed_from, closed_to, skip, where, work):
    """Return the most gold edges that can still be made from the stack work[_STACK,
    0..k] and the buffer front..n.

    Elements closed_from..closed_to take no left child. O(k + m) with ``skip``, O(k^2 + m) without.
    """
    _describe_stack(heads, start, children, k, front, where, work)
    stack = work[_STACK]
    parent = work[_PARENT]
    head_in_buffer = work[_HEAD_IN_BUFFER]
    lowest = work[_LOWEST]
    chain = work[_CHAIN]
    root = work[_ROOT]
    under = work[_UNDER]
    above = work[_ABOVE:]
    for i in range(k + 1):
        under[i] = IMPOSSIBLE
        for case in range(3):
            above[case, i] = IMPOSSIBLE
    above[FRESH, k] = work[_NCHILDREN, k]

    for j in range(k, 0, -1):
        if under[j] >= 0:
            if stack[j] <= work[_ANCHOR, j]:
                _becomes_child_of(work, j, FRESH, under[j])
                under[j - 1] = max(under[j - 1], under[j])
            else:
                _becomes_child_of(work, j, GONE, under[j])
                if chain[j] != root[j]:
                    _becomes_child_of(work, j, SPENT, under[j] - 1)
                under[j - 1] = max(under[j - 1], under[j] + (head_in_buffer[j] > 0))

        fresh = above[FRESH, j]
        spent = above[SPENT, j]
        gone = above[GONE, j]
        if max(fresh, max(spent, gone)) < 0:
            continue
        i = j - 1
        while True:
            gold = np.int32(parent[j] == i)
            _becomes_child_of(work, i, FRESH, fresh + gold)
            _becomes_child_of(work, i, SPENT, spent + gold)
            _becomes_child_of(work, i, GONE, gone + gold)
            if head_in_buffer[j] > 0 and fresh >= 0:
                under[i] = max(under[i], fresh + 1)
            if i == 0 or closed_from <= j <= closed_to:
                break
            is_child = parent[i] == j
            lower = i - 1
            if skip:
                if gold or not (is_child or lowest[j] < i):
                    break
                if not is_child and lowest[i] < i:
                    lower = lowest[i]
            if chain[lower] != chain[i]:
                fresh = max(fresh, spent)
                spent = np.int32(IMPOSSIBLE)
                if root[lower] != root[i]:
                    fresh = max(fresh, gone)
                    gone = np.int32(IMPOSSIBLE)
            if is_child:
                fresh += 1
                spent += 1
                gone += 1
            i = lower
    if k > 0:
        _becomes_child_of(work, 0, FRESH, under[0])
    edges_inside = children.edges_from[start + front] if front < len(heads) else 0
    return edges_inside + above[FRESH, 0]


@array_kernel()
def _score_batch(
    all_heads, offsets, children, strategy, skip, sentences, stacks, stack_sizes, buffer_fronts
):
    """Score each applicable transition by the value of the configuration after it."""
    scores = np.full((len(sentences), N_TRANSITIONS), NOT_APPLICABLE, np.int16)
    longest = 0
    for s in sentences:
        longest = max(longest, offsets[s + 1] - offsets[s])
    where = np.zeros(longest, np.int32)
    work = np.empty((_ROWS, stacks.shape[1] + 2), np.int32)
    stack = work[_STACK]
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
                new.k,
                new.front,
                new.closed_from,
                new.closed_to,
                skip,
                where,
                work,
            )
            if not new.top_takes_right:
                value -= work[_NCHILDREN, new.k]
            scores[row, transition] = (
                value if transition == SHIFT else value + (heads[new.child] == new.head)
            )
    return scores
