"""Configurations as bit sets for attardi_search: reading and changing them,
and a memo of their losses.

The stack ascends, so a configuration of a sentence of n tokens is the set of its stack nodes and
the front b of its buffer. Bit x < b is set if node x is on the stack (bit 0 always, so no
configuration is all zeros), bit b marks where the buffer begins, and the bits above b are clear;
b = n + 1 if the buffer is empty. So two configurations are equal if and only if their bits are: one
comparison of one word for n <= 62.

A node is *present* if it is on the stack or in the buffer. A gold edge is *alive* if both its ends
are present: it can still be made. A configuration takes ``words_of(n)`` consecutive entries of an
int64 array, from ``base`` on.

For configurations that a search of a sentence has met, the memo keeps a bound of the least loss, or
the loss itself. Each sentence has its own hash table (open addressing, linear probing), in a common
arena. A table that is half full moves to a table of twice the size at the end of the arena. When
the arena is full, all tables are dropped; those in use are soon made again. Entries that do not fit
even then are not kept. Dropping tables costs time, but never exactness.

An entry is the words of the configuration and one more: 2 * bound +
[the bound is the least loss itself]. An entry whose first word is 0 is free.
"""

from __future__ import annotations

import numpy as np

from oracles.kernel_cache import array_kernel

# The product of the multiplier and a 32-bit number fits in 63 bits, so nothing wraps around,
# compiled or not. The multiplier is odd, and its bits are well mixed.
_MULTIPLIER = 0x5BD1E995
_LOW_32 = 0xFFFFFFFF

_FIRST_CAPACITY = 16


@array_kernel()
def words_of(n):
    """Return the number of words of a configuration of n tokens: bits 0..n+1."""
    return (n + 1) // 64 + 1


@array_kernel()
def is_set(words, base, node):
    """Return whether the bit of the node is set."""
    return (words[base + (node >> 6)] >> (node & 63)) & 1 != 0


@array_kernel()
def flip(words, base, node):
    """Set or clear the bit of the node. A shift sets bit b + 1:
    bit b then means that node b is on the stack.
    """
    words[base + (node >> 6)] ^= np.int64(1) << (node & 63)


@array_kernel()
def is_present(words, base, front, node):
    """Return whether the node is on the stack or in the buffer; False for an unknown head,
    which is negative.
    """
    return node >= front or (node >= 0 and is_set(words, base, node))


@array_kernel()
def below(words, base, node):
    """Return the largest stack node smaller than this one, which must not be 0."""
    node -= 1
    while True:
        word = words[base + (node >> 6)] << (63 - (node & 63))
        if word != 0:
            while word > 0:  # until the highest bit, the sign, is set
                word <<= 1
                node -= 1
            return node
        node = (node & ~63) - 1


@array_kernel()
def read_window(words, base, front, degree, window):
    """Write the nodes at depths 0..degree into ``window`` (int64[degree + 1]);
    return how many there are.
    """
    node = front
    for d in range(degree + 1):
        node = below(words, base, node)
        window[d] = node
        if node == 0:
            return d + 1
    return degree + 1


@array_kernel()
def has_alive_children(last_child, sibling, words, base, front, node):
    """Return whether the node has an alive gold child."""
    child = last_child[node]
    while child != 0:
        if is_present(words, base, front, child):
            return True
        child = sibling[child]
    return False


@array_kernel()
def count_alive_children(last_child, sibling, words, base, front, node):
    """Return how many alive gold children the node has."""
    count = 0
    child = last_child[node]
    while child != 0:
        count += is_present(words, base, front, child)
        child = sibling[child]
    return count


@array_kernel()
def waits(single_root, window, front, n):
    """Return whether no node can be removed.

    With ``single_root``, the only node above 0 stays until the buffer is empty.
    """
    return single_root and front <= n and (window[0] == 0 or window[1] == 0)


@array_kernel()
def is_attachable(head, d, window, size, single_root):
    """Return whether the node at depth d can become a child of ``head`` in one transition.

    The node is not one that waits(). With ``single_root``, 0 takes only the last node.
    """
    if d > 0:
        return head == window[0]
    e = 1
    while e < size and window[e] != head:
        e += 1
    return e < size and (e == 1 or head != 0 or not single_root)


@array_kernel()
def normalise(heads, last_child, sibling, degree, single_root, words, base, front, window):
    """Remove nodes, in place, until none can be removed without loss.

    A node x != 0 at depth 0..degree without alive gold children can be removed without loss if it
    can become a child of its gold head at once, or if its own edge is not alive. Every computation
    can continue without x: the other nodes come nearer to each other, and a node that would have
    become a child of x can go elsewhere without loss. With ``single_root``, the computation may
    remove a node while x is the only other one left; then that node stays, in place of x.

    Args:
        heads: int32[n + 1].
        last_child, sibling: int32[n + 1], ``last`` and ``previous`` of GoldChildren.
        degree: D.
        single_root: see AttardiSearch.
        words, base, front: the configuration.
        window: int64[degree + 1], working space.

    Returns:
        The number of nodes in the window; ``window`` holds the nodes at depths 0..degree of the
        result.
    """
    size = read_window(words, base, front, degree, window)
    d = 0
    while d < size and window[d] != 0 and not waits(single_root, window, front, len(heads) - 1):
        node = window[d]
        head = heads[node]
        if (
            is_attachable(head, d, window, size, single_root)
            or not is_present(words, base, front, head)
        ) and not has_alive_children(last_child, sibling, words, base, front, node):
            flip(words, base, node)
            size = read_window(words, base, front, degree, window)
            d = 0
        else:
            d += 1
    return size


@array_kernel()
def sacrifice_cost(heads, last_child, sibling, single_root, words, base, front, window, size, d):
    """Return how many alive gold edges are lost if the node at depth d is removed in the best
    way; >= 1 if normalised.
    """
    node = window[d]
    head = heads[node]
    cost = count_alive_children(last_child, sibling, words, base, front, node)
    if is_present(words, base, front, head) and not is_attachable(
        head, d, window, size, single_root
    ):
        cost += 1
    return cost


@array_kernel()
def _mix(mixed, part):
    """Mix 32 more bits into a hash of 32 bits."""
    product = (mixed ^ part) * _MULTIPLIER
    return (product ^ (product >> 32)) & _LOW_32


@array_kernel()
def hash_of(words, base, width):
    """Return a hash of a configuration; the lowest bits of the hash are well mixed."""
    mixed = np.int64(_LOW_32)
    for w in range(base, base + width):
        mixed = _mix(_mix(mixed, words[w] & _LOW_32), (words[w] >> 32) & _LOW_32)
    return mixed


@array_kernel()
def are_equal(a, a_base, b, b_base, width):
    """Return whether two configurations are equal."""
    w = 0
    while w < width and a[a_base + w] == b[b_base + w]:
        w += 1
    return w == width


@array_kernel()
def _find(arena, begin, capacity, stride, words, base):
    """Return where the entry of the configuration is in the arena, or a free entry to put it in."""
    slot = hash_of(words, base, stride - 1) & (capacity - 1)
    while True:
        entry = begin + slot * stride
        if arena[entry] == 0 or are_equal(arena, entry, words, base, stride - 1):
            return entry
        slot = (slot + 1) & (capacity - 1)


@array_kernel()
def recall(memo, s, width, words, base):
    """Return the memo's number for a configuration of sentence s, 2 * bound + [it is the loss];
    0 if the memo has none.
    """
    arena, begins, capacities, _, _ = memo
    if capacities[s] == 0:
        return np.int64(0)
    entry = _find(arena, begins[s], capacities[s], width + 1, words, base)
    return arena[entry + width] if arena[entry] != 0 else np.int64(0)


@array_kernel()
def remember(memo, s, width, words, base, value):
    """Store 2 * bound + [it is the loss] of a configuration,
    unless the memo has a higher number.
    """
    arena, begins, capacities, counts, _ = memo
    if 2 * counts[s] >= capacities[s] and not _grow(memo, s, width + 1):
        return
    entry = _find(arena, begins[s], capacities[s], width + 1, words, base)
    if arena[entry] == 0:
        for w in range(width):
            arena[entry + w] = words[base + w]
        arena[entry + width] = value
        counts[s] += 1
    else:
        arena[entry + width] = max(arena[entry + width], value)


@array_kernel()
def _grow(memo, s, stride):
    """Give the sentence a table of twice the size, or its first one;
    return False if there is no space for it.
    """
    arena, begins, capacities, counts, end = memo
    capacity = max(_FIRST_CAPACITY, 2 * capacities[s])
    if end[0] + capacity * stride > len(arena):
        capacities[:] = 0
        counts[:] = 0
        end[0] = 0
        capacity = _FIRST_CAPACITY
        if capacity * stride > len(arena):
            return False
    begin = end[0]
    end[0] += capacity * stride
    arena[begin : end[0]] = 0
    for entry in range(begins[s], begins[s] + capacities[s] * stride, stride):
        if arena[entry] != 0:
            target = _find(arena, begin, capacity, stride, arena, entry)
            for w in range(stride):
                arena[target + w] = arena[entry + w]
    begins[s] = begin
    capacities[s] = capacity
    return True
