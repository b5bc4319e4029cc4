"""Stacks of trees that share their parts: the configurations of a beam, without copying.

Following Goldberg, Zhao and Huang (2013), Section 3, a step makes one cell of a stack and one node
of a tree, however long the sentence is. Equal parts are stored only once: cells, nodes and lists of
children are triples of numbers, and a hash table finds an existing triple. So two items are the
same configuration if and only if their stacks have the same number.

    cell   (node, cell below or NO_NODE, 0)
    node   (token, list of its left children, list of its right children);
           token t without children is node t
    list   (child's node, its relation, list of the next children towards the head);
           the outermost child first

Attardi's system makes arcs between elements that are not neighbours. So a new child may lie between
existing children and the head; then the lists of all children outside of it are made again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parser.data.sentences import NO_NODE
from parser.kernels import kernel

# A kernel returns this if its workspace is full; it is called again with a larger one.
FULL = -2

_FREE = -1


class Triples(NamedTuple):
    """Distinct triples, numbered from 0.

    Attributes:
        keys: int32[capacity, 3].
        slots: int32[a power of two], the numbers of the triples,
            at places that their hashes determine.
        state: int64[2], the number of triples, and the number of slots in use minus 1. The slots in
            use are a power of two, and double when they are half full.
    """

    keys: np.ndarray
    slots: np.ndarray
    state: np.ndarray

    @classmethod
    def allocate(cls, size: int) -> Triples:
        """Allocate for ``size`` triples."""
        slots = 1 << (2 * size).bit_length()
        return cls(np.empty((size, 3), np.int32), np.empty(slots, np.int32), np.zeros(2, np.int64))


class TreeStacks(NamedTuple):
    """The parts of all stacks of a sentence."""

    cells: Triples
    nodes: Triples
    lists: Triples

    @classmethod
    def allocate(cls, tokens: int, steps: int) -> TreeStacks:
        """Allocate for a sentence of ``tokens`` tokens, and ``steps`` steps of all items together.

        Attardi's system may need more if its degree is above 1.
        """
        return cls(
            Triples.allocate(steps + 1),
            Triples.allocate(tokens + 1 + steps),
            Triples.allocate(steps + 1),
        )


@kernel()
def clear(stacks, length, steps):
    """Begin a sentence of ``length`` tokens and about ``steps`` steps: make nodes 0 to length and
    cell 0, the initial stack.
    """
    for triples in (stacks.cells, stacks.nodes, stacks.lists):
        used = len(triples.slots)
        while used > 8 * (steps + length + 1):
            used //= 2
        triples.state[0] = 0
        triples.state[1] = used - 1
        triples.slots[:used] = _FREE
    for token in range(length + 1):
        stacks.nodes.keys[token, 0] = token
        stacks.nodes.keys[token, 1] = NO_NODE
        stacks.nodes.keys[token, 2] = NO_NODE
    stacks.nodes.state[0] = length + 1
    return number(stacks.cells, 0, NO_NODE, 0)


@kernel()
def number(triples, first, second, third):
    """Return the number of a triple, adding it if it is new; FULL if no more fit."""
    slot = _slot_of(triples, first, second, third)
    if triples.slots[slot] != _FREE:
        return np.int64(triples.slots[slot])
    new = triples.state[0]
    if new == len(triples.keys):
        return np.int64(FULL)
    if 2 * new > triples.state[1]:
        if not _use_more_slots(triples):
            return np.int64(FULL)
        slot = _slot_of(triples, first, second, third)
    triples.slots[slot] = new
    triples.keys[new, 0] = first
    triples.keys[new, 1] = second
    triples.keys[new, 2] = third
    triples.state[0] = new + 1
    return new


@kernel()
def _slot_of(triples, first, second, third):
    """Return the slot of a triple, or the free slot to put it in."""
    hashed = np.uint64(first) * np.uint64(0x9E3779B97F4A7C15)
    hashed = (hashed ^ (hashed >> np.uint64(29)) ^ np.uint64(second + 2)) * np.uint64(
        0xBF58476D1CE4E5B9
    )
    hashed = (hashed ^ (hashed >> np.uint64(32)) ^ np.uint64(third + 2)) * np.uint64(
        0x94D049BB133111EB
    )
    mask = triples.state[1]
    slot = np.int64(hashed >> np.uint64(33)) & mask
    keys = triples.keys
    while True:
        triple = triples.slots[slot]
        if triple == _FREE or (
            keys[triple, 0] == first and keys[triple, 1] == second and keys[triple, 2] == third
        ):
            return slot
        slot = (slot + 1) & mask


@kernel()
def _use_more_slots(triples):
    """Spread the triples over twice as many slots; return False if there are no more slots."""
    used = 2 * (triples.state[1] + 1)
    if used > len(triples.slots):
        return False
    triples.state[1] = used - 1
    triples.slots[:used] = _FREE
    keys = triples.keys
    for old in range(triples.state[0]):
        triples.slots[_slot_of(triples, keys[old, 0], keys[old, 1], keys[old, 2])] = old
    return True


@kernel()
def attach(stacks, head, child, relation, path):
    """Return the node that ``head`` becomes with a new child; FULL if no more parts fit.

    Args:
        head, child: nodes.
        relation: the child's.
        path: int32[>= tokens], workspace for the lists of the children outside of the new one.
    """
    nodes, lists = stacks.nodes.keys, stacks.lists.keys
    token = nodes[child, 0]
    side = 1 if token < nodes[head, 0] else 2
    inner = nodes[head, side]
    count = 0
    while inner != NO_NODE and (nodes[lists[inner, 0], 0] < token) == (side == 1):
        path[count] = inner
        count += 1
        inner = lists[inner, 2]
    children = number(stacks.lists, child, relation, inner)
    while count and children != FULL:
        count -= 1
        children = number(stacks.lists, lists[path[count], 0], lists[path[count], 1], children)
    if children == FULL:
        return np.int64(FULL)
    if side == 1:
        return number(stacks.nodes, nodes[head, 0], children, nodes[head, 2])
    return number(stacks.nodes, nodes[head, 0], nodes[head, 1], children)


@kernel()
def take_transition(stacks, cell, front, column, relation, elements, path):
    """Return the stack after a transition of Attardi's system;
    see transitions/attardi.py for the columns.

    Args:
        cell: the stack before the transition.
        front: the first token of the buffer.
        column: the transition, which must be applicable.
        relation: the relation of the new arc.
        elements: int32[>= degree], workspace for the elements above the deep end of the arc.
        path: see attach().
    """
    if column == 0:
        return number(stacks.cells, front, cell, 0)
    cells = stacks.cells.keys
    depth = (column + 1) // 2
    below = cell
    for d in range(depth):
        elements[d] = cells[below, 0]
        below = cells[below, 1]
    deep, below = cells[below, 0], cells[below, 1]
    if column % 2 == 1:  # the top becomes a child of the deep element
        changed = attach(stacks, deep, elements[0], relation, path)
        if changed == FULL:
            return np.int64(FULL)
        result = number(stacks.cells, changed, below, 0)
        last = 1
    else:
        changed = attach(stacks, elements[0], deep, relation, path)
        if changed == FULL:
            return np.int64(FULL)
        elements[0] = changed
        result = np.int64(below)
        last = 0
    for d in range(depth - 1, last - 1, -1):
        if result != FULL:
            result = number(stacks.cells, elements[d], result, 0)
    return result


@kernel()
def top_nodes(stacks, cell, nodes):
    """Fill in ``nodes`` (int32[elements]): the nodes of the stack from the top down,
    NO_NODE after the last.
    """
    for d in range(len(nodes)):
        if cell == NO_NODE:
            nodes[d] = NO_NODE
        else:
            nodes[d] = stacks.cells.keys[cell, 0]
            cell = stacks.cells.keys[cell, 1]


@kernel()
def find(stacks, tops, program):
    """Return the node at a position that begins in the stack, and its relation;
    NO_NODE where there is none.

    Args:
        tops: see top_nodes().
        program: int32[9], the position; see FeatureTable.
    """
    return descend(stacks.nodes.keys, stacks.lists.keys, tops[program[1]], NO_NODE, program, 2, 0)


@kernel()
def descend(nodes, lists, node, relation, program, descent, before):
    """Follow a position's descents to children; return the last node and its relation,
    NO_NODE where there is none.

    Args:
        nodes, lists: the keys of the nodes and lists of TreeStacks; passing a whole TreeStacks
            would take longer than reading.
        node: the node to begin at, or NO_NODE.
        relation: the relation of this node, returned if there are no descents.
        program: int32[9], the position; see FeatureTable.
        descent: the index of the first descent in ``program``.
        before: how many new outermost children, not in the tree yet, the first descent counts.
    """
    while node != NO_NODE and program[descent] >= 0:
        children = nodes[node, 1 + program[descent]]
        for _ in range(program[descent + 1] - 1 - before):
            if children != NO_NODE:
                children = lists[children, 2]
        if children == NO_NODE:
            return NO_NODE, NO_NODE
        node, relation = lists[children, 0], lists[children, 1]
        descent += 2
        before = 0
    return node, relation


@kernel()
def read_trees(stacks, cell, heads, relations, path):
    """Fill in the heads and relations of all tokens of a stack's trees.

    Args:
        cell: the stack.
        heads, relations: int32[tokens + 1], NO_NODE where there is none.
        path: int32[>= tokens + 1], workspace for nodes.
    """
    heads[:] = NO_NODE
    relations[:] = NO_NODE
    nodes, lists = stacks.nodes.keys, stacks.lists.keys
    count = 0
    while cell != NO_NODE:
        path[count] = stacks.cells.keys[cell, 0]
        count += 1
        cell = stacks.cells.keys[cell, 1]
    while count:
        count -= 1
        node = path[count]
        for side in range(1, 3):
            children = nodes[node, side]
            while children != NO_NODE:
                child = lists[children, 0]
                token = nodes[child, 0]
                heads[token] = nodes[node, 0]
                relations[token] = lists[children, 1]
                path[count] = child
                count += 1
                children = lists[children, 2]
