"""What a search of attardi_search has found so far: its states, and in what order they are looked at."""

from __future__ import annotations

import numpy as np
from numba import njit

from oracles.attardi.memo import recall
from oracles.attardi.states import are_equal, hash_of

# Of a state that a search has found, int32 each: the cost of the way to it, the state before it, the next state in its bucket,
# the cost of the sacrifices to be tried next (0: the shift), a lower bound of the loss from here, its place in the hash
# table, the front of its buffer, and what has become of it.
COST, BEFORE, NEXT, STAGE, BOUND, SLOT, FRONT, STATUS = range(8)
_FIELDS = 8

# A state waits until it is taken out of its bucket; is open once its successors are being made; solved if its loss is known;
# and replaced if a cheaper way to it was found.
WAITING, OPEN, SOLVED, REPLACED = range(4)

_FIRST_CAPACITY = 256


@njit(cache=True, nogil=True)
def new_space(width, longest, degree):
    """Working space of searches: words of the states, their fields, a hash table of state number + 1, the buckets' two ends,
    and three windows."""
    words = np.empty(_FIRST_CAPACITY * width, np.int64)
    states = np.empty((_FIRST_CAPACITY, _FIELDS), np.int32)
    slots = np.zeros(4 * _FIRST_CAPACITY, np.int32)
    buckets = np.full((longest + 2, 2), -1, np.int32)
    return words, states, slots, buckets, np.empty((3, degree + 1), np.int64)


@njit(cache=True, nogil=True)
def _find(words, slots, width, base):
    """The slot of the state whose words begin at ``base``, or a free one where it belongs."""
    slot = hash_of(words, base, width) & (len(slots) - 1)
    while slots[slot] != 0 and not are_equal(words, (slots[slot] - 1) * width, words, base, width):
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@njit(cache=True, nogil=True)
def grow(words, states, slots, count, width):
    """Room for twice as many states."""
    more_words = np.empty(2 * len(words), np.int64)
    more_words[: count * width] = words[: count * width]
    more_states = np.empty((2 * len(states), _FIELDS), np.int32)
    more_states[:count] = states[:count]
    more_slots = np.zeros(2 * len(slots), np.int32)
    for u in range(count):
        if states[u, STATUS] != REPLACED:
            slot = _find(more_words, more_slots, width, u * width)
            more_slots[slot] = u + 1
            more_states[u, SLOT] = slot
    return more_words, more_states, more_slots


@njit(cache=True, nogil=True)
def push(states, buckets, u, value, in_front):
    """Puts a state into a bucket, in front of all that are there or after them."""
    first, last = buckets[value]
    if first < 0:
        states[u, NEXT] = -1
        buckets[value, 0] = buckets[value, 1] = u
    elif in_front:
        states[u, NEXT] = first
        buckets[value, 0] = u
    else:
        states[u, NEXT] = -1
        states[last, NEXT] = u
        buckets[value, 1] = u


@njit(cache=True, nogil=True)
def add(memo, s, width, space, u, front, is_final, cost, before, value, least):
    """Adds the normalised state whose words are at place u, unless it is known at no more cost; its loss is at least ``least``.

    Returns:
        Whether it was added, and its bucket: -1 if it ends the search, as its loss is known and nothing can be cheaper.
    """
    words, states, slots, buckets, _ = space
    base = u * width
    slot = _find(words, slots, width, base)
    known = slots[slot] - 1
    if known >= 0:
        if states[known, COST] <= cost:
            return False, 0
        bound = np.int64(states[known, BOUND])
        solved = states[known, STATUS] == SOLVED
        states[known, STATUS] = REPLACED
    elif is_final:
        bound = np.int64(0)
        solved = True
    else:
        remembered = recall(memo, s, width, words, base)
        bound = max(remembered >> 1, least)
        solved = remembered & 1 != 0
    slots[slot] = u + 1
    states[u, COST] = cost
    states[u, BEFORE] = before
    states[u, STAGE] = 0
    states[u, BOUND] = bound
    states[u, SLOT] = slot
    states[u, FRONT] = front
    states[u, STATUS] = SOLVED if solved else WAITING
    bucket = max(value, cost + bound)
    if solved and bucket == value:
        return True, -1
    push(states, buckets, u, bucket, True)
    return True, bucket
