"""The compiled best-first search of attardi_search;
the algorithm is described in oracles.attardi.search.

The working space of a search holds the states found so far, and the order in which to visit them.
"""

from __future__ import annotations

import numpy as np

from oracles.attardi.states import (
    are_equal,
    flip,
    hash_of,
    normalise,
    read_window,
    recall,
    remember,
    sacrifice_cost,
    waits,
)
from oracles.kernel_cache import array_kernel

# The fields of a state, int32 each: the cost of the path to it, the state before it, the next state
# in its bucket, the cost of the sacrifices to try next (0: the shift), a lower bound of the loss
# from it on, its slot in the hash table, the front of its buffer, and its status.
COST, BEFORE, NEXT, STAGE, BOUND, SLOT, FRONT, STATUS = range(8)
_FIELDS = 8

# A state is WAITING until it leaves its bucket, OPEN while its successors are being made, SOLVED if
# its loss is known, and REPLACED if a cheaper path to it was found.
WAITING, OPEN, SOLVED, REPLACED = range(4)

_FIRST_CAPACITY = 256


@array_kernel()
def new_space(width, longest, degree):
    """Make working space of searches: words of the states, their fields, a hash table of state
    number + 1, the two ends of each bucket, and three windows.
    """
    words = np.empty(_FIRST_CAPACITY * width, np.int64)
    states = np.empty((_FIRST_CAPACITY, _FIELDS), np.int32)
    slots = np.zeros(4 * _FIRST_CAPACITY, np.int32)
    buckets = np.full((longest + 2, 2), -1, np.int32)
    return words, states, slots, buckets, np.empty((3, degree + 1), np.int64)


@array_kernel()
def _find(words, slots, width, base):
    """Return the slot of the state whose words begin at ``base``, or a free slot to put it in."""
    slot = hash_of(words, base, width) & (len(slots) - 1)
    while slots[slot] != 0 and not are_equal(words, (slots[slot] - 1) * width, words, base, width):
        slot = (slot + 1) & (len(slots) - 1)
    return slot


@array_kernel()
def grow(words, states, slots, count, width):
    """Copy the workspace into one for twice as many states."""
    more_words = np.empty(2 * len(words), np.int64)
    for w in range(count * width):
        more_words[w] = words[w]
    more_states = np.empty((2 * len(states), _FIELDS), np.int32)
    more_slots = np.zeros(2 * len(slots), np.int32)
    for u in range(count):
        for field in range(_FIELDS):
            more_states[u, field] = states[u, field]
        if states[u, STATUS] != REPLACED:
            slot = _find(more_words, more_slots, width, u * width)
            more_slots[slot] = u + 1
            more_states[u, SLOT] = slot
    return more_words, more_states, more_slots


@array_kernel()
def push(states, buckets, u, value, in_front):
    """Put a state into a bucket, at its front or its end."""
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


@array_kernel()
def add(memo, s, width, space, u, front, is_final, cost, before, value, least):
    """Add the normalised state whose words are at place u, unless it is known at this cost or less;
    its loss is at least ``least``.

    Returns:
        Whether it was added, and its bucket; -1 if it ends the search, because its loss is known
        and no state can be cheaper.
    """
    words, states, slots, buckets, _ = space
    base = u * width
    slot = _find(words, slots, width, base)
    occupant = slots[slot] - 1
    if occupant >= 0:
        if states[occupant, COST] <= cost:
            return False, 0
        bound = np.int64(states[occupant, BOUND])
        solved = states[occupant, STATUS] == SOLVED
        states[occupant, STATUS] = REPLACED
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


def _search(
    tree, degree, single_root, memo, s, width, space, guide, front, lower, upper, max_states
):
    """Return the least number of alive gold edges lost from the configuration in the first words of
    ``space``.

    Args:
        tree, degree, single_root, memo, s, width: see least_loss().
        front, lower, upper, max_states: see least_loss().
        space: see new_space().
        guide: another space and the result of _losses_of_buffers(),
            for the bounds of a guided search; None: unguided.

    Returns:
        The loss, -1 if it needs more than ``max_states``; the space and the guide, which may have
        grown; and how many states were expanded.
    """
    # numba omits branches on ``guide is None`` only if the argument is never assigned to
    guiding = guide
    words, states, slots, buckets, windows = space
    heads, last_child, sibling = tree
    n = len(heads) - 1
    window, other, costs = windows[0], windows[1], windows[2]
    size = normalise(heads, last_child, sibling, degree, single_root, words, 0, front, window)
    if front > n and size == 1:
        return np.int64(0), space, guiding, 0
    memo_value = recall(memo, s, width, words, 0)
    if memo_value & 1 != 0:
        return memo_value >> 1, space, guiding, 0
    value = max(lower, memo_value >> 1)
    if value == upper:
        remember(memo, s, width, words, 0, 2 * upper + 1)
        return upper, space, guiding, 0
    add(memo, s, width, space, 0, front, False, 0, -1, value, np.int64(0))
    highest = value
    count = 1
    taken = 0
    end = -1
    refused = False
    while end < 0:
        u = buckets[value, 0]
        if u < 0:
            value += 1
            if value == upper:
                break
            continue
        buckets[value, 0] = states[u, NEXT]
        if states[u, STATUS] == REPLACED:
            continue
        if states[u, STATUS] == SOLVED:
            end = u
            break
        if count > max_states:
            refused = True
            break
        taken += 1
        if count + degree + 2 > len(states):
            words, states, slots = grow(words, states, slots, count, width)
            space = words, states, slots, buckets, windows
        base = u * width
        front = states[u, FRONT]
        cost = states[u, COST]
        stage = states[u, STAGE]
        states[u, STATUS] = OPEN
        if stage == 0:
            # A sacrifice costs at least 1, so sacrifices wait, and the shift, pushed in front,
            # goes first.
            next_stage = 1
            size = 0
            if front <= n:
                costs[0] = 0
                window[0] = front + 1  # the bit that a shift sets
                size = 1
        else:
            next_stage = n + 1
            size = read_window(words, base, front, degree, window)
            if waits(single_root, window, front, n):
                size = 0
            for d in range(size):
                costs[d] = 0
                if window[d] != 0:
                    costs[d] = sacrifice_cost(
                        heads, last_child, sibling, single_root, words, base, front, window, size, d
                    )
                    if costs[d] > stage:
                        next_stage = min(next_stage, costs[d])
        if next_stage <= n:
            states[u, STAGE] = next_stage
            bucket = max(value, cost + next_stage)
            highest = max(highest, bucket)
            push(states, buckets, u, bucket, False)
        after = front + (stage == 0)
        for d in range(size):
            if costs[d] != stage or window[d] == 0 or end >= 0:
                continue
            target = count * width
            for w in range(width):
                words[target + w] = words[base + w]
            flip(words, target, window[d])
            is_last = (
                normalise(
                    heads, last_child, sibling, degree, single_root, words, target, after, other
                )
                == 1
                and after > n
            )
            least = np.int64(0)
            if guide is not None:
                least, guiding, more = _loss_of_parts(
                    tree,
                    degree,
                    single_root,
                    memo,
                    s,
                    width,
                    words,
                    target,
                    after,
                    guiding,
                    max_states,
                )
                taken += more
            added, bucket = add(
                memo, s, width, space, count, after, is_last, cost + stage, u, value, least
            )
            if added:
                if bucket < 0:
                    end = count
                highest = max(highest, bucket)
                count += 1
    if end < 0:
        loss = value
        u = np.int64(-1 if refused else 0)
    else:
        loss = np.int64(states[end, COST] + states[end, BOUND])
        u = end
    while u >= 0:
        remember(memo, s, width, words, u * width, 2 * (loss - states[u, COST]) + 1)
        u = states[u, BEFORE]
    for u in range(count):
        # A state reached at cost c loses at least loss - c.
        if states[u, STATUS] == OPEN and loss - states[u, COST] > states[u, BOUND]:
            remember(memo, s, width, words, u * width, 2 * (loss - states[u, COST]))
        slots[states[u, SLOT]] = 0
    buckets[: highest + 1] = -1
    return np.int64(-1) if refused else loss, space, guiding, taken


# Compiled twice, because one calls the other: a function that calls itself, even with other
# argument types, crashes when numba (0.68) loads it from disk.
_guided_search = array_kernel()(_search)
_unguided_search = array_kernel()(_search)


@array_kernel()
def _loss_of_parts(
    tree, degree, single_root, memo, s, width, words, base, front, guide, max_states
):
    """Return a lower bound of a configuration's loss: the least loss among its stack nodes plus the
    least loss in its buffer.

    Args:
        words, base, front: the configuration.
        guide: a space, which is written to, and the result of _losses_of_buffers().

    Returns:
        The bound; the guide; and how many states were expanded.
    """
    space, buffer_losses = guide
    n = len(tree[0]) - 1
    stack = space[0]
    for w in range(width):
        stack[w] = words[base + w]
    if front <= n:
        flip(stack, 0, front)
        flip(stack, 0, n + 1)
    nothing, most = np.int64(0), np.int64(n + 1)
    loss, space, _, expanded = _unguided_search(
        tree, degree, single_root, memo, s, width, space, None, n + 1, nothing, most, max_states
    )
    return max(loss, nothing) + buffer_losses[front], (space, buffer_losses), expanded


@array_kernel()
def _losses_of_buffers(tree, degree, single_root, memo, s, width, space, front, max_states):
    """Return lower bounds of the loss of all buffers, with only 0 on the stack.

    A longer buffer never loses less. So for each number of edges, bisection finds the last front
    whose buffer loses as many.

    Returns:
        int64[n + 2] by the front of the buffer, from ``front`` on; the space;
        and how many states were expanded.
    """
    n = len(tree[0]) - 1
    losses = np.zeros(n + 2, np.int64)
    expanded = 0
    end = n + 1  # buffers from here on lose fewer edges
    for lost in range(1, n + 1):
        begin = front - 1  # buffers up to here lose as many
        while end - begin > 1:
            middle = (begin + end) // 2
            words = space[0]
            words[:width] = 0
            flip(words, 0, 0)
            flip(words, 0, middle)
            lower, upper = np.int64(lost - 1), np.int64(n + 1)
            loss, space, _, taken = _unguided_search(
                tree,
                degree,
                single_root,
                memo,
                s,
                width,
                space,
                None,
                middle,
                lower,
                upper,
                max_states,
            )
            expanded += taken
            if loss >= lost:
                begin = middle
            else:
                end = middle
        if begin < front:
            break
        losses[front : begin + 1] = lost
        end = begin + 1
    return losses, space, expanded


@array_kernel()
def least_loss(
    tree, degree, single_root, memo, s, width, spaces, front, lower, upper, unguided, max_states
):
    """Return the least number of alive gold edges lost from the configuration in the first words of
    the first space.

    Args:
        tree: heads, last_child, sibling of the sentence, int32[n + 1] each.
        degree: D.
        single_root: see AttardiSearch.
        memo: see oracles.attardi.states.
        s: the number of the sentence.
        width: words of a configuration.
        spaces: two results of new_space().
        front: the front of the buffer.
        lower, upper: bounds of the loss.
        unguided: how many states a search may find, besides two for each token,
            before it begins again, guided.
        max_states: how many states a search may find.

    Returns:
        The loss, -1 if it needs more than ``max_states``; the spaces, which may have grown; and how
        many states were expanded.
    """
    space, other_space = spaces
    # a computation without loss finds about two states for each token
    most = unguided + 2 * len(tree[0])
    loss = np.int64(-1)
    expanded = 0
    start = space[0][:width].copy()
    if unguided > 0:
        first = min(most, max_states)
        loss, space, _, expanded = _unguided_search(
            tree, degree, single_root, memo, s, width, space, None, front, lower, upper, first
        )
    if loss < 0 and (unguided == 0 or max_states > most):
        buffer_losses, space, taken = _losses_of_buffers(
            tree, degree, single_root, memo, s, width, space, front, most
        )
        expanded += taken
        space[0][:width] = start
        guide = other_space, buffer_losses
        loss, space, guide, taken = _guided_search(
            tree, degree, single_root, memo, s, width, space, guide, front, lower, upper, max_states
        )
        expanded += taken
        other_space = guide[0]
    return loss, (space, other_space), expanded
