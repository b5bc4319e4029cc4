"""The search of attardi_search, compiled: see oracles.attardi.search for what it does and why."""

from __future__ import annotations

import numpy as np
from numba import njit

from oracles.attardi.memo import recall, remember
from oracles.attardi.states import (
    are_equal,
    flip,
    hash_of,
    normalise,
    read_window,
    sacrifice_cost,
)

# Of a state that a search has found, int32 each: the cost of the way to it, the state before it, the next state in its bucket,
# the cost of the sacrifices to be tried next (0: the shift), a lower bound of the loss from here, its place in the hash
# table, the front of its buffer, and what has become of it.
_COST, _BEFORE, _NEXT, _STAGE, _BOUND, _SLOT, _FRONT, _STATUS = range(8)
_FIELDS = 8

# A state waits until it is taken out of its bucket; is open once its successors are being made; solved if its loss is known;
# and replaced if a cheaper way to it was found.
_WAITING, _OPEN, _SOLVED, _REPLACED = range(4)

_FIRST_CAPACITY = 256


@njit(cache=True, nogil=True)
def new_space(width, longest):
    """Working space of searches: words of the states, their fields, a hash table of state number + 1, the buckets' two ends."""
    words = np.empty(_FIRST_CAPACITY * width, np.int64)
    states = np.empty((_FIRST_CAPACITY, _FIELDS), np.int32)
    slots = np.zeros(4 * _FIRST_CAPACITY, np.int32)
    buckets = np.full((longest + 2, 2), -1, np.int32)
    return words, states, slots, buckets


@njit(cache=True, nogil=True)
def _find(words, slots, width, base):
    """The slot of the state whose words begin at ``base``, or a free one where it belongs."""
    slot = hash_of(words, base, width) & (len(slots) - 1)
    while slots[slot] != 0 and not are_equal(words, (slots[slot] - 1) * width, words, base, width):
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@njit(cache=True, nogil=True)
def _grow(words, states, slots, count, width):
    """Room for twice as many states."""
    more_words = np.empty(2 * len(words), np.int64)
    more_words[: count * width] = words[: count * width]
    more_states = np.empty((2 * len(states), _FIELDS), np.int32)
    more_states[:count] = states[:count]
    more_slots = np.zeros(2 * len(slots), np.int32)
    for u in range(count):
        if states[u, _STATUS] != _REPLACED:
            slot = _find(more_words, more_slots, width, u * width)
            more_slots[slot] = u + 1
            more_states[u, _SLOT] = slot
    return more_words, more_states, more_slots


@njit(cache=True, nogil=True)
def _push(states, buckets, u, value, in_front):
    """Puts a state into a bucket, in front of all that are there or behind them."""
    first, last = buckets[value]
    if first < 0:
        states[u, _NEXT] = -1
        buckets[value, 0] = buckets[value, 1] = u
    elif in_front:
        states[u, _NEXT] = first
        buckets[value, 0] = u
    else:
        states[u, _NEXT] = -1
        states[last, _NEXT] = u
        buckets[value, 1] = u


@njit(cache=True, nogil=True)
def _add(memo, s, width, space, u, front, is_final, cost, before, value):
    """Adds the normalised state whose words are at place u, unless it is known at no more cost.

    Returns:
        Whether it was added, and its bucket: -1 if it ends the search, as its loss is known and nothing can be cheaper.
    """
    words, states, slots, buckets = space
    base = u * width
    slot = _find(words, slots, width, base)
    known = slots[slot] - 1
    if known >= 0:
        if states[known, _COST] <= cost:
            return False, 0
        bound = np.int64(states[known, _BOUND])
        solved = states[known, _STATUS] == _SOLVED
        states[known, _STATUS] = _REPLACED
    elif is_final:
        bound = np.int64(0)
        solved = True
    else:
        remembered = recall(memo, s, width, words, base)
        bound = remembered >> 1
        solved = remembered & 1 != 0
    slots[slot] = u + 1
    states[u, _COST] = cost
    states[u, _BEFORE] = before
    states[u, _STAGE] = 0
    states[u, _BOUND] = bound
    states[u, _SLOT] = slot
    states[u, _FRONT] = front
    states[u, _STATUS] = _SOLVED if solved else _WAITING
    bucket = max(value, cost + bound)
    if solved and bucket == value:
        return True, -1
    _push(states, buckets, u, bucket, True)
    return True, bucket


@njit(cache=True, nogil=True)
def least_loss(tree, degree, memo, s, width, space, windows, front, lower, upper, max_states):
    """The least number of alive gold edges lost from the configuration in the first words of ``space``.

    Args:
        tree: heads, last_child, sibling of the sentence, int32[n + 1] each.
        degree: D.
        memo: see oracles.attardi.memo.
        s: the number of the sentence.
        width: words of a configuration.
        space: see new_space.
        windows: int64[3, degree + 1], working space.
        front: the front of the buffer.
        lower, upper: what the loss is known to be at least and at most.
        max_states: how many states the search may find.

    Returns:
        The loss, -1 if that was not enough; the working space, which may have grown; and how often a state was expanded.
    """
    words, states, slots, buckets = space
    heads, last_child, sibling = tree
    n = len(heads) - 1
    window, other, costs = windows[0], windows[1], windows[2]
    size = normalise(heads, last_child, sibling, degree, words, 0, front, window)
    if front > n and size == 1:
        return np.int64(0), space, 0
    known = recall(memo, s, width, words, 0)
    if known & 1 != 0:
        return known >> 1, space, 0
    value = max(lower, known >> 1)
    if value == upper:
        remember(memo, s, width, words, 0, 2 * upper + 1)
        return upper, space, 0
    _add(memo, s, width, space, 0, front, False, 0, -1, value)
    highest = value
    count = 1
    taken = 0
    end = -1
    while end < 0:
        u = buckets[value, 0]
        if u < 0:
            value += 1
            if value == upper:
                break
            continue
        buckets[value, 0] = states[u, _NEXT]
        if states[u, _STATUS] == _REPLACED:
            continue
        if states[u, _STATUS] == _SOLVED:
            end = u
            break
        taken += 1
        if count + degree + 2 > len(states):
            if count > max_states:
                return np.int64(-1), space, taken
            words, states, slots = _grow(words, states, slots, count, width)
            space = words, states, slots, buckets
        base = u * width
        front = states[u, _FRONT]
        cost = states[u, _COST]
        stage = states[u, _STAGE]
        states[u, _STATUS] = _OPEN
        if stage == 0:
            # A sacrifice costs at least 1, so all of them wait while the shift, pushed in front, goes first.
            next_stage = 1
            size = 0
            if front <= n:
                costs[0] = 0
                window[0] = front + 1  # the bit to be set
                size = 1
        else:
            next_stage = n + 1
            size = read_window(words, base, front, degree, window)
            for d in range(size):
                costs[d] = 0
                if window[d] != 0:
                    costs[d] = sacrifice_cost(heads, last_child, sibling, words, base, front, window, size, d)
                    if costs[d] > stage:
                        next_stage = min(next_stage, costs[d])
        if next_stage <= n:
            states[u, _STAGE] = next_stage
            bucket = max(value, cost + next_stage)
            highest = max(highest, bucket)
            _push(states, buckets, u, bucket, False)
        after = front + (stage == 0)
        for d in range(size):
            if costs[d] != stage or window[d] == 0 or end >= 0:
                continue
            target = count * width
            for w in range(width):
                words[target + w] = words[base + w]
            flip(words, target, window[d])
            is_last = normalise(heads, last_child, sibling, degree, words, target, after, other) == 1 and after > n
            added, bucket = _add(memo, s, width, space, count, after, is_last, cost + stage, u, value)
            if added:
                if bucket < 0:
                    end = count
                highest = max(highest, bucket)
                count += 1
    if end < 0:
        loss = upper
        u = 0
    else:
        loss = np.int64(states[end, _COST] + states[end, _BOUND])
        u = end
    while u >= 0:
        remember(memo, s, width, words, u * width, 2 * (loss - states[u, _COST]) + 1)
        u = states[u, _BEFORE]
    for u in range(count):
        # What could be reached at that cost loses at least the rest.
        if states[u, _STATUS] == _OPEN and loss - states[u, _COST] > states[u, _BOUND]:
            remember(memo, s, width, words, u * width, 2 * (loss - states[u, _COST]))
        slots[states[u, _SLOT]] = 0
    buckets[: highest + 1] = -1
    return loss, space, taken
