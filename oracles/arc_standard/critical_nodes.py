"""The buffer nodes that matter to the stack, for projective gold trees: Nederhof 2019, Section 4.

A buffer node is critical if it has a gold edge to a stack element, or lies on the gold path between two such nodes inside
the buffer. All gold edges of the other buffer nodes to buffer nodes can be kept whatever is done, so these nodes need not be
looked at. This holds for projective gold trees only.

Where it departs from the print: the nodes are found from the stack, in time linear in what is found: its gold children in
the buffer, its gold heads in the buffer and all their ancestors there. Those above the last critical one are not critical,
but keeping them is as exact and simpler.
"""

from __future__ import annotations

import numpy as np
from numba import njit

FOUND = -2


@njit(cache=True, nogil=True)
def critical_nodes(heads, start, stack, k, front, children, position):
    """int32[count]: the critical nodes of the buffer front..n, ascending.

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
