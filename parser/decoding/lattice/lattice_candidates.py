"""What the items of a search through a lattice can become (lattice_search.py), waiting in lists for their bucket's turn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from parser.data.parses import NO_NODE
from parser.decoding.beam.tree_stacks import NO_ROOM
from parser.kernels import kernel


class Candidates(NamedTuple):
    """What items can become, in lists by bucket; those that have had their turn are used again.

    Attributes:
        totals: float64[room], scores.
        origins: int32[room, 4]: bucket and rank of the item, the output taken (NO_NODE: none), the arc chosen (NO_NODE: none).
        following: int32[room], the next of the same list, or of the free ones.
        lists: int32[buckets, 2], the first and the last of each list; NO_NODE if it is empty.
        state: int64[2], the first free one, and how many have ever been used.
    """

    totals: np.ndarray
    origins: np.ndarray
    following: np.ndarray
    lists: np.ndarray
    state: np.ndarray

    @classmethod
    def room(cls, buckets: int, candidates: int) -> Candidates:
        """For this many buckets, and candidates at a time."""
        lists = np.empty((buckets, 2), np.int32)
        arrays = np.empty(candidates, np.float64), np.empty((candidates, 4), np.int32), np.empty(candidates, np.int32)
        return cls(*arrays, lists, np.zeros(2, np.int64))


@kernel()
def add_candidate(candidates, bucket, total, m, k, output, arc):
    """Adds a candidate at the end of a bucket's list; NO_ROOM if there is none."""
    new = candidates.state[0]
    if new != NO_NODE:
        candidates.state[0] = candidates.following[new]
    elif candidates.state[1] < len(candidates.totals):
        new = candidates.state[1]
        candidates.state[1] += 1
    else:
        return NO_ROOM
    candidates.totals[new] = total
    candidates.origins[new, 0] = m
    candidates.origins[new, 1] = k
    candidates.origins[new, 2] = output
    candidates.origins[new, 3] = arc
    candidates.following[new] = NO_NODE
    of_bucket = candidates.lists[bucket]
    if of_bucket[0] == NO_NODE:
        of_bucket[0] = new
    else:
        candidates.following[of_bucket[1]] = new
    of_bucket[1] = new
    return 0


@kernel()
def clear_candidates(candidates, buckets):
    """Begins a sentence of this many buckets."""
    candidates.lists[:buckets] = NO_NODE
    candidates.state[0] = NO_NODE
    candidates.state[1] = 0


@njit(cache=True, nogil=True)
def candidates_in_order(candidates, bucket):
    """int32[m]: the candidates of a bucket, best first; of equal ones the one that was added first."""
    count, one = 0, candidates.lists[bucket, 0]
    while one != NO_NODE:
        count += 1
        one = candidates.following[one]
    waiting = np.empty(count, np.int32)
    one = candidates.lists[bucket, 0]
    for c in range(count):
        waiting[c] = one
        one = candidates.following[one]
    return waiting[np.argsort(-candidates.totals[waiting], kind="mergesort")]


@kernel()
def free_candidates(candidates, bucket):
    """Gives back the room of a bucket's candidates."""
    if candidates.lists[bucket, 0] != NO_NODE:
        candidates.following[candidates.lists[bucket, 1]] = candidates.state[0]
        candidates.state[0] = candidates.lists[bucket, 0]
