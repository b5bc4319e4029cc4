"""The buffer nodes that matter to the stack, for projective gold trees, after Nederhof 2019, Section 5.

The paper calls a node of the buffer B critical if at least one of its gold descendants is not in B or its gold parent is not in
B; properties (1) to (3) of that section show that all other nodes of B can be left out. This holds for projective gold trees
only.

The set that is kept here is ours, a subset of the paper's: the nodes with a gold edge to a stack element, and the ancestors
in B of those that have a gold child on the stack. The paper's other critical nodes are tied only to nodes that are already
removed; edges to those are lost whatever is done, so they change the scores of no transition (brute force in the tests agrees).
They are found from the stack, in time linear in the number of nodes found and of stack elements.
"""

from __future__ import annotations

import numpy as np

from oracles.kernel_cache import array_kernel

FOUND = -2


@array_kernel()
def critical_nodes(heads, start, stack, k, front, children, position):
    """int32[count]: the nodes of the buffer front..n that are kept, ascending.

    Args:
        heads: int32[n + 1] of a projective tree.
        start: where the sentence begins in ``children``.
        stack: int32[> k].
        children: the GoldChildren.
        position: int32[> n], on entry -1 but for stack elements; on return FOUND for the nodes found.
    """
    found = np.empty(len(heads) + 1 - front, np.int32)
    count = 0
    for p in range(k + 1):
        child = children.last[start + stack[p]]
        while child >= front:
            found[count] = child
            count += 1
            position[child] = FOUND
            child = children.previous[start + child]
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
