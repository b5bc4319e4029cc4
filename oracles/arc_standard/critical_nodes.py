"""The buffer nodes that matter to the stack, for projective gold trees, after Nederhof 2019, Section 5.

The paper calls a node of the buffer B critical if at least one of its gold descendants is not in B or its gold parent is not in
B; properties (1) to (3) of that section show that all other nodes of B can be left out. This holds for projective gold trees
only.

The set that is kept here is ours, a subset of the paper's: the nodes with a gold edge to a stack element, and the ancestors
in B of those that have a gold child on the stack. The paper's other critical nodes are tied only to nodes that are already
removed; edges to those are lost whatever is done, so they change the scores of no step (brute force in the tests agrees).
They are found from the stack, in time linear in the number of nodes found and of stack elements.
"""

from __future__ import annotations

import numpy as np
from numba import njit

FOUND = -2


@njit(cache=True)
def children_and_internal_edges(all_heads, offsets):
    """Facts of the sentences that ``critical_nodes`` wants, each packed like the heads.

    Returns:
        last_child: int32[total], the last gold child of a node, 0 if none.
        previous: int32[total], the sibling before a node, 0 if none.
        internal: int32[total], at b the number of gold edges inside the buffer b..n.
    """
    last_child = np.zeros(len(all_heads), np.int32)
    previous = np.zeros(len(all_heads), np.int32)
    internal = np.zeros(len(all_heads), np.int32)
    for s in range(len(offsets) - 1):
        start = offsets[s]
        n = offsets[s + 1] - start - 1
        for i in range(1, n + 1):
            head = all_heads[start + i]
            previous[start + i] = last_child[start + head]
            last_child[start + head] = i
            internal[start + min(i, head)] += 1
        for b in range(n - 1, -1, -1):
            internal[start + b] += internal[start + b + 1]
    return last_child, previous, internal


@njit(cache=True, nogil=True)
def critical_nodes(heads, start, stack, k, front, facts, position):
    """int32[count]: the nodes of the buffer front..n that are kept, ascending.

    Args:
        heads: int32[n + 1] of a projective tree.
        start: where the sentence begins in the facts.
        stack: int32[> k].
        facts: see ``children_and_internal_edges``.
        position: int32[> n], on entry -1 but for stack elements; on return FOUND for the nodes found.
    """
    last_child, previous, _ = facts
    found = np.empty(len(heads) + 1 - front, np.int32)
    count = 0
    for p in range(k + 1):
        child = last_child[start + stack[p]]
        while child >= front:
            found[count] = child
            count += 1
            position[child] = FOUND
            child = previous[start + child]
    for p in range(1, k + 1):
        node = heads[stack[p]]
        while node >= front and position[node] != FOUND:
            found[count] = node
            count += 1
            position[node] = FOUND
            node = heads[node]
    found = found[:count]
    found.sort()
    return found
