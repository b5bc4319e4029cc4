"""What an item will be told apart by before it is made, for the search of signature_search.py.

A signature is what the features read of a configuration (signature.py). What they will read after a move is read in the stacks
from before it: for a shift one place further down, for a reduction in the nodes that it joins.
"""

from __future__ import annotations

import numpy as np

from parser.data.parses import NO_NODE
from parser.decoding.beam.signature_streams import step_of_tails
from parser.decoding.beam.tree_stacks import descend
from parser.kernels import kernel


@kernel(inline="always")
def describe_move(items, m, k, below, column):
    """What there is to know of a move to tell what it makes.

    Returns:
        The column, the first tokens of s0 and of the buffer after the move, the nodes at the top of the stack before it, and
        those of the tail ``below``.
    """
    front, tops = items.fronts[m, k], items.tops[m, k]
    if column == 0:
        return np.int64(0), front, np.int32(front + 1), tops, tops
    tails = step_of_tails(items, m, k)
    return np.int64(column), items.begins[tails, below], front, tops, items.tops[tails, below]


@kernel(inline="always")
def read_after(parts, nodes, lists, moved, relation, p):
    """What part p reads after a move, of which nothing is made for this: the token, or the relation."""
    column, begin, _, tops, under = moved
    program = parts.programs[p]
    depth = program[1]
    node, of_node, place, before = np.int64(NO_NODE), np.int64(NO_NODE), 2, 0
    if column == 0:
        node = np.int64(begin if depth == 0 else tops[depth - 1])  # a token without children is its own node
    elif depth > 0:
        node = np.int64(under[depth])
    else:
        left = column == 1  # s0 becomes a child of s1
        node = np.int64(under[0] if left else tops[0])
        if program[2] == left:
            if program[3] == 1:
                node, of_node, place = np.int64(tops[0] if left else under[0]), np.int64(relation), 4
            else:
                before = 1
    node, of_node = descend(nodes, lists, node, of_node, program, place, before)
    if parts.of_relation[p]:
        return np.int64(of_node)
    return np.int64(NO_NODE if node == NO_NODE else nodes[node, 0])


@kernel()
def find_same(parts, nodes, lists, seen, begins, fronts, first, made, moved, relation):
    """The first item from ``first`` to before ``made`` that has the signature of what a move makes; NO_NODE if none has.

    Args:
        parts: what must be equal besides the places.
        nodes, lists: of TreeStacks.
        seen, begins, fronts: of the items.
        first, made: their numbers.
        moved: see describe_move().
        relation: of the arc that the move makes.
    """
    _, begin, front, _, _ = moved
    for other in range(first, made):
        if begins[other] == begin and fronts[other] == front:
            p = 0
            while p < len(parts.programs) and seen[other, p] == read_after(parts, nodes, lists, moved, relation, p):
                p += 1
            if p == len(parts.programs):
                return np.int64(other)
    return np.int64(NO_NODE)
