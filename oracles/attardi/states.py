"""Configurations as bit sets: what attardi_search reads of a configuration, does to one, and remembers of it.

A configuration of a sentence of n tokens is the set of its stack nodes and the front b of its buffer, since the stack
ascends. Bit x < b says that node x is on the stack (bit 0 always, so no configuration is all zeros), bit b is set to mark
where the buffer begins, and the bits above b are clear; b = n + 1 if the buffer is empty. So two configurations are the same
iff their bits are: one comparison of one word for n <= 62, exact for any n.

A node is *present* if it is on the stack or in the buffer, a gold edge *alive* if both its ends are: it can still be made.
A configuration lies in ``words_of(n)`` consecutive entries of an int64 array, from ``base`` on.

Of a sentence, the memo keeps for configurations that a search met a bound of the least loss, or the loss itself.
Each sentence has a hash table (open addressing, linear probing) of its own, in an arena that all share; a table that is half
full moves into one of twice the size at the end of the arena. Where the arena ends, all sentences are forgotten at once: the
tables that are in use come back soon, the others are not missed. What does not fit even then is not remembered.
Forgetting costs time, never exactness.

An entry is the words of the configuration and one more: 2 * bound + [the bound is the least loss itself]. An entry whose first
word is 0 is free.
"""

from __future__ import annotations

import numpy as np

from oracles.kernel_cache import array_kernel

# The product of 32 bits and this fits in 63, so that nothing wraps around, compiled or not. Odd, its bits well mixed.
_MULTIPLIER = 0x5BD1E995
_LOW_32 = 0xFFFFFFFF

_FIRST_CAPACITY = 16


@array_kernel()
def words_of(n):
    """The words of a configuration of n tokens: bits 0..n+1."""
    return (n + 1) // 64 + 1


@array_kernel()
def is_set(words, base, node):
    """Whether the bit of the node is set."""
    return (words[base + (node >> 6)] >> (node & 63)) & 1 != 0


@array_kernel()
def flip(words, base, node):
    """Sets the bit of the node, or clears it. To shift is to set bit b + 1: bit b now stands for the node on the stack."""
    words[base + (node >> 6)] ^= np.int64(1) << (node & 63)


@array_kernel()
def is_present(words, base, front, node):
    """Whether the node is on the stack or in the buffer; an unknown head, which is negative, is not."""
    return node >= front or (node >= 0 and is_set(words, base, node))


@array_kernel()
def below(words, base, node):
    """The largest stack node smaller than this one, which is not 0."""
    node -= 1
    while True:
        word = words[base + (node >> 6)] << (63 - (node & 63))
        if word != 0:
            while word > 0:  # until the highest bit is set, which is the sign
                word <<= 1
                node -= 1
            return node
        node = (node & ~63) - 1


@array_kernel()
def read_window(words, base, front, degree, window):
    """Writes the nodes at depths 0..degree into ``window`` (int64[degree + 1]); returns how many there are."""
    node = front
    for d in range(degree + 1):
        node = below(words, base, node)
        window[d] = node
        if node == 0:
            return d + 1
    return degree + 1


@array_kernel()
def has_alive_children(last_child, sibling, words, base, front, node):
    """Whether an alive gold edge leads from the node to a child."""
    child = last_child[node]
    while child != 0:
        if is_present(words, base, front, child):
            return True
        child = sibling[child]
    return False


@array_kernel()
def count_alive_children(last_child, sibling, words, base, front, node):
    """How many alive gold edges lead from the node to a child."""
    count = 0
    child = last_child[node]
    while child != 0:
        count += is_present(words, base, front, child)
        child = sibling[child]
    return count


@array_kernel()
def is_attachable(head, d, window, size):
    """Whether the node at depth d can become a child of ``head`` in one transition."""
    if d > 0:
        return head == window[0]
    e = 1
    while e < size and window[e] != head:
        e += 1
    return e < size


@array_kernel()
def normalise(heads, last_child, sibling, degree, words, base, front, window):
    """Removes, in place, what can be removed at no loss, until there is no such node.

    That is a node x != 0 at depth 0..degree without alive gold children that can become a child of its gold head at once, or
    whose own edge is not alive. To remove it never does harm: every computation can continue without x, the other nodes only
    come nearer to each other, and a node that would have become a child of x can go elsewhere at no loss.

    Args:
        heads: int32[n + 1].
        last_child, sibling: int32[n + 1], ``last`` and ``previous`` of GoldChildren.
        degree: D.
        words, base, front: the configuration.
        window: int64[degree + 1], working space.

    Returns:
        How many nodes are in the window; ``window`` holds the nodes at depths 0..degree of the result.
    """
    size = read_window(words, base, front, degree, window)
    d = 0
    while d < size and window[d] != 0:
        node = window[d]
        head = heads[node]
        if (is_attachable(head, d, window, size) or not is_present(words, base, front, head)) and not has_alive_children(
            last_child, sibling, words, base, front, node
        ):
            flip(words, base, node)
            size = read_window(words, base, front, degree, window)
            d = 0
        else:
            d += 1
    return size


@array_kernel()
def sacrifice_cost(heads, last_child, sibling, words, base, front, window, size, d):
    """How many alive gold edges are lost if the node at depth d is removed now, in the best way. At least 1 if normalised."""
    node = window[d]
    head = heads[node]
    cost = count_alive_children(last_child, sibling, words, base, front, node)
    if is_present(words, base, front, head) and not is_attachable(head, d, window, size):
        cost += 1
    return cost


@array_kernel()
def _mix(mixed, part):
    """Takes 32 more bits into a hash of 32 bits."""
    product = (mixed ^ part) * _MULTIPLIER
    return (product ^ (product >> 32)) & _LOW_32


@array_kernel()
def hash_of(words, base, width):
    """A hash of a configuration, of which the lowest bits are as good as any."""
    mixed = np.int64(_LOW_32)
    for w in range(base, base + width):
        mixed = _mix(_mix(mixed, words[w] & _LOW_32), (words[w] >> 32) & _LOW_32)
    return mixed


@array_kernel()
def are_equal(a, a_base, b, b_base, width):
    """Whether two configurations are the same."""
    w = 0
    while w < width and a[a_base + w] == b[b_base + w]:
        w += 1
    return w == width


@array_kernel()
def _find(arena, begin, capacity, stride, words, base):
    """Where in the arena the entry of the configuration is, or a free one where it belongs."""
    slot = hash_of(words, base, stride - 1) & (capacity - 1)
    while True:
        entry = begin + slot * stride
        if arena[entry] == 0 or are_equal(arena, entry, words, base, stride - 1):
            return entry
        slot = (slot + 1) & (capacity - 1)


@array_kernel()
def recall(memo, s, width, words, base):
    """What is known of the configuration of sentence s: 2 * bound + [it is the loss]; 0 if nothing is."""
    arena, begins, capacities, _, _ = memo
    if capacities[s] == 0:
        return np.int64(0)
    entry = _find(arena, begins[s], capacities[s], width + 1, words, base)
    return arena[entry + width] if arena[entry] != 0 else np.int64(0)


@array_kernel()
def remember(memo, s, width, words, base, known):
    """Stores what is known of the configuration, if it is more than before."""
    arena, begins, capacities, counts, _ = memo
    if 2 * counts[s] >= capacities[s] and not _grow(memo, s, width + 1):
        return
    entry = _find(arena, begins[s], capacities[s], width + 1, words, base)
    if arena[entry] == 0:
        for w in range(width):
            arena[entry + w] = words[base + w]
        arena[entry + width] = known
        counts[s] += 1
    else:
        arena[entry + width] = max(arena[entry + width], known)


@array_kernel()
def _grow(memo, s, stride):
    """Gives the sentence a table of twice the size, or the first one; returns False if there is no room for it."""
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
