"""What attardi_search remembers of a sentence: for configurations that it met, a bound of the least loss, or the loss itself.

Each sentence has a hash table (open addressing, linear probing) of its own, in an arena that all share; a table that is half
full moves into one of twice the size at the end of the arena. Where the arena ends, all sentences are forgotten at once: the
tables that are in use come back soon, the others are not missed. What does not fit even then is not remembered.
Forgetting costs time, never exactness.

An entry is the words of the configuration and one more: 2 * bound + [the bound is the least loss itself]. An entry whose first
word is 0 is free.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from oracles.attardi.states import are_equal, hash_of

_FIRST_CAPACITY = 16


@njit(cache=True, nogil=True)
def _find(arena, begin, capacity, stride, words, base):
    """Where in the arena the entry of the configuration is, or a free one where it belongs."""
    slot = hash_of(words, base, stride - 1) & (capacity - 1)
    while True:
        entry = begin + slot * stride
        if arena[entry] == 0 or are_equal(arena, entry, words, base, stride - 1):
            return entry
        slot = (slot + 1) & (capacity - 1)


@njit(cache=True, nogil=True)
def recall(memo, s, width, words, base):
    """What is known of the configuration of sentence s: 2 * bound + [it is the loss]; 0 if nothing is."""
    arena, begins, capacities, _, _ = memo
    if capacities[s] == 0:
        return np.int64(0)
    entry = _find(arena, begins[s], capacities[s], width + 1, words, base)
    return arena[entry + width] if arena[entry] != 0 else np.int64(0)


@njit(cache=True, nogil=True)
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


@njit(cache=True, nogil=True)
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
