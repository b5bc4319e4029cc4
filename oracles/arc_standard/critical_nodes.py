"""The buffer nodes that matter to the stack, for projective gold trees,
after Nederhof 2019, Section 5.

The paper calls a node of the buffer B critical if its gold parent or at least one of its gold
descendants is not in B. Properties (1) to (3) of that section show that all other nodes of B can be
left out. This holds only for projective gold trees.

This module keeps a subset of the paper's critical nodes: the nodes with a gold edge to a stack
element, and the ancestors in B of nodes with a gold child on the stack. The paper's other critical
nodes have gold edges only to removed nodes. These edges are lost in any case, so they do not change
the scores (brute force in the tests agrees). The nodes are found from the stack, in time linear in
the number of nodes found and of stack elements.
"""

from __future__ import annotations

import numpy as np

from oracles.kernel_cache import array_kernel

FOUND = -2


@array_kernel()
def critical_nodes(heads, start, stack, k, front, children, position):
    """Return int32[count], the nodes of the buffer front..n that are kept, ascending.

    Args:
        heads: int32[n + 1] of a projective tree.
        start: where the sentence begins in ``children``.
        stack: int32[> k].
        children: the GoldChildren.
        position: int32[> n], -1 except for stack elements; afterwards FOUND for the nodes found.
    """
    nodes = np.empty(len(heads) + 1 - front, np.int32)
    count = 0
    for p in range(k + 1):
        child = children.last[start + stack[p]]
        while child >= front:
            nodes[count] = child
            count += 1
            position[child] = FOUND
            child = children.previous[start + child]
    for p in range(1, k + 1):
        node = heads[stack[p]]
        while node >= front and position[node] != FOUND:
            nodes[count] = node
            count += 1
            position[node] = FOUND
            node = heads[node]
    nodes = nodes[:count]
    nodes.sort()
    return nodes
