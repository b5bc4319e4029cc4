"""Trees that share their parts, as Python objects; tree_stacks.py has them as numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from parser.data.parses import NO_NODE


class Node(NamedTuple):
    """A tree whose parts are shared: its token, and its children on either side, the outermost first."""

    token: int
    left: Children | None = None
    right: Children | None = None


class Children(NamedTuple):
    """A child, its relation, and the next children towards the head."""

    child: Node
    relation: int
    rest: Children | None


def join(below: Node, top: Node, left: bool, relation: int) -> Node:
    """The tree that a reduction of arc-standard makes of s1 and s0: with ``left``, s0 becomes a child of s1."""
    if left:
        return below._replace(right=Children(top, relation, below.right))
    return top._replace(left=Children(below, relation, top.left))


def find(node: Node | None, address: Sequence[tuple[str, int]]) -> tuple[int, int]:
    """The token at an address below a node, and its relation; NO_NODE where there is none."""
    relation = NO_NODE
    for side, rank in address:
        children = None if node is None else node.left if side == "l" else node.right
        for _ in range(rank - 1):
            children = children and children.rest
        if children is None:
            return NO_NODE, NO_NODE
        node, relation = children.child, children.relation
    return (NO_NODE, NO_NODE) if node is None else (node.token, relation)


def arcs_of(root: Node, tokens: int) -> tuple[np.ndarray, np.ndarray]:
    """int32[tokens] heads and relations, NO_NODE of the root and of tokens that are not in the tree."""
    heads = np.full(tokens, NO_NODE, np.int32)
    relations = heads.copy()
    waiting = [root]
    while waiting:
        node = waiting.pop()
        for side in (node.left, node.right):
            children = side
            while children is not None:
                heads[children.child.token], relations[children.child.token] = node.token, children.relation
                waiting.append(children.child)
                children = children.rest
    return heads, relations
