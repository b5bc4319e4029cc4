"""What the static swaps follow: the projective order of a gold tree, and its maximal projective components."""

from __future__ import annotations

import numpy as np

from oracles.interface import NO_NODE
from oracles.kernel_cache import array_kernel


@array_kernel()
def projective_orders(all_heads, offsets):
    """int32[total]: the place of each node in the inorder traversal of its gold tree, 0 for the artificial root.

    A node comes after its left children and their descendants, and before its right ones (Nivre 2009, Section 4).
    In this order every tree is projective.
    """
    ranks = np.zeros(len(all_heads), np.int32)
    for s in range(len(offsets) - 1):
        start = offsets[s]
        n = offsets[s + 1] - start - 1
        heads = all_heads[start : start + n + 1]
        # The children of a node form a list in order; a node itself is met between its left and its right ones.
        first = np.full(n + 1, NO_NODE, np.int32)
        following = np.full(n + 1, NO_NODE, np.int32)
        for child in range(n, 0, -1):
            following[child] = first[heads[child]]
            first[heads[child]] = child
        passed = np.zeros(n + 1, np.bool_)
        count = 0
        node = np.int32(0)
        while node != NO_NODE:
            child = first[node]
            if not passed[node] and (child == NO_NODE or child > node):
                ranks[start + node] = count
                count += 1
                passed[node] = True
            if child != NO_NODE:
                first[node] = following[child]
                node = child
            else:
                node = heads[node]
    return ranks


@array_kernel()
def projective_components(all_heads, offsets):
    """int32[total]: for each node, the node that heads its maximal projective component (Nivre, Kuhlmann and Hall 2009).

    The components are what the eager arc-standard computation of the gold tree makes without any swap.
    """
    component = np.zeros(len(all_heads), np.int32)
    for s in range(len(offsets) - 1):
        start = offsets[s]
        n = offsets[s + 1] - start - 1
        heads = all_heads[start : start + n + 1]
        awaited = np.zeros(n + 1, np.int32)  # children that are not attached yet
        for child in range(1, n + 1):
            awaited[heads[child]] += 1
        attached = np.zeros(n + 1, np.bool_)
        stack = np.zeros(n + 1, np.int32)
        size = 1
        for node in range(1, n + 1):
            stack[size] = node
            size += 1
            while size >= 2:
                top = stack[size - 1]
                below = stack[size - 2]
                if below != 0 and heads[below] == top and awaited[below] == 0:
                    attached[below] = True
                    awaited[top] -= 1
                    stack[size - 2] = top
                elif heads[top] == below and awaited[top] == 0:
                    attached[top] = True
                    awaited[below] -= 1
                else:
                    break
                size -= 1
        for node in range(n + 1):
            root = node
            while attached[root]:
                root = heads[root]
            component[start + node] = root
    return component
