"""Sparse weights by the keys of features: a hash table with open addressing,
and the outputs of each feature.

A feature's entries (output, weight) are adjacent in a pool. If they fill their capacity, they move
to the end of the pool, with twice the capacity. Kernels take ``Weights``; models save
HashedWeights, in compressed rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oracles.errors import OptimalStepError
from parser.kernels import array_kernel, kernel

# A place in the table holds a key, and (first entry << _SIZE_BITS | entries).
# The capacity for entries is a power of 2.
_SIZE_BITS = np.uint64(24)
_SIZE_MASK = np.uint64((1 << 24) - 1)
MOST_OUTPUTS = 1 << 23

_LEAST_PLACES = 1 << 10


class Weights(NamedTuple):
    """Weights as kernels read them.

    Attributes:
        places: uint64[2^k, 2]: a key, 0 if the place is free, and where its entries are.
        outputs: int32[pool], the output of each entry.
        values: float32[pool], the weight of each entry.
    """

    places: np.ndarray
    outputs: np.ndarray
    values: np.ndarray


class HashedWeights:
    """Weights that no longer change.

    Args:
        keys: uint64[features], ascending, without 0.
        starts: int64[features + 1], where the entries of each feature begin.
        outputs: int32[entries].
        values: float32[entries].
        n_outputs: how many outputs the transition system has.

    Raises:
        OptimalStepError: the arrays do not fit together, as in a damaged file,
            or there are too many outputs.
    """

    def __init__(
        self,
        keys: np.ndarray,
        starts: np.ndarray,
        outputs: np.ndarray,
        values: np.ndarray,
        n_outputs: int,
    ) -> None:
        if n_outputs > MOST_OUTPUTS:
            raise OptimalStepError(
                f"{n_outputs:,} outputs; the linear model takes at most {MOST_OUTPUTS:,}"
            )
        if len(starts) != len(keys) + 1 or len(outputs) != len(values):
            raise OptimalStepError(
                "keys and starts, or outputs and values, are not of the same length"
            )
        if len(keys) and (keys[0] == 0 or not (keys[1:] > keys[:-1]).all()):
            raise OptimalStepError("the keys do not ascend from 1")
        if starts[0] != 0 or starts[-1] != len(outputs) or not (starts[1:] >= starts[:-1]).all():
            raise OptimalStepError("the starts do not ascend from 0 to the number of entries")
        if len(outputs) and (outputs.min() < 0 or outputs.max() >= n_outputs):
            raise OptimalStepError(f"an output is outside 0 to {n_outputs - 1}")
        if len(keys) and np.diff(starts).max() > n_outputs:
            raise OptimalStepError("a feature has more entries than there are outputs")
        if not np.isfinite(values).all():
            raise OptimalStepError("a weight is NaN or infinity")
        self.keys, self.starts, self.outputs, self.values = keys, starts, outputs, values
        self.n_outputs = n_outputs
        self.weights = Weights(new_places(len(keys)), outputs, values)
        _insert(self.weights.places, keys, starts)

    def scores(self, keys: np.ndarray) -> np.ndarray:
        """Return float32[feature rows, outputs], sums of weights of features
        (uint64[feature rows, templates], 0 = none).
        """
        scores = np.zeros((len(keys), self.n_outputs), np.float32)
        add_scores_of_rows(self.weights, keys, scores)
        return scores


def new_places(features: int) -> np.ndarray:
    """Return uint64[2^k, 2], an empty table of which this many features fill at most half."""
    size = _LEAST_PLACES
    while size < 2 * features:
        size *= 2
    return np.zeros((size, 2), np.uint64)


@kernel()
def find(places, key):
    """Return the place of a key, or the free place where it belongs."""
    mask = np.uint64(len(places) - 1)
    place = key & mask
    while places[place, 0] != key and places[place, 0] != 0:
        place = (place + np.uint64(1)) & mask
    return place


@kernel()
def add_scores(weights, keys, places, scores):
    """Add the weights of features to ``scores`` (float32[outputs]);
    ``places`` (uint64[templates]) is workspace.
    """
    for t in range(len(keys)):  # find all keys first: cache misses overlap
        places[t] = find(weights.places, keys[t]) if keys[t] != 0 else 0
    for t in range(len(keys)):
        if keys[t] == 0 or weights.places[places[t], 0] == 0:
            continue
        entries = weights.places[places[t], 1]
        first = np.int64(entries >> _SIZE_BITS)
        for e in range(first, first + np.int64(entries & _SIZE_MASK)):
            scores[weights.outputs[e]] += weights.values[e]


@kernel()
def entry_of(weights, sums, used, key, output):
    """Return the entry of a feature and an output; add one with weight 0 if it is missing.
    The arrays must have room.

    Args:
        sums: float64[pool], moved with the entries.
        used: int64[2], the number of features in the table and of used entries in the pool;
            both grow.
    """
    place = find(weights.places, key)
    if weights.places[place, 0] == 0:
        weights.places[place, 0] = key
        weights.places[place, 1] = np.uint64(used[1]) << _SIZE_BITS
        used[0] += 1
        used[1] += 2
    entries = weights.places[place, 1]
    first, size = np.int64(entries >> _SIZE_BITS), np.int64(entries & _SIZE_MASK)
    for e in range(first, first + size):
        if weights.outputs[e] == output:
            return e
    if size >= 2 and size & (size - 1) == 0:  # the capacity, a power of 2, is full
        for e in range(size):
            weights.outputs[used[1] + e] = weights.outputs[first + e]
            weights.values[used[1] + e] = weights.values[first + e]
            sums[used[1] + e] = sums[first + e]
        first = used[1]
        used[1] += 2 * size
    weights.outputs[first + size] = output
    weights.values[first + size] = 0
    sums[first + size] = 0
    weights.places[place, 1] = np.uint64(first) << _SIZE_BITS | np.uint64(size + 1)
    return first + size


@kernel()
def move_keys(places, larger):
    """Copy the keys of a table into a larger, empty one."""
    for p in range(len(places)):
        if places[p, 0] != 0:
            place = find(larger, places[p, 0])
            larger[place, 0], larger[place, 1] = places[p, 0], places[p, 1]


@kernel()
def list_keys(places, keys, firsts, sizes):
    """Fill in the keys of a table in their order there,
    and the first entry and the number of entries of each.
    """
    count = 0
    for p in range(len(places)):
        if places[p, 0] != 0:
            keys[count] = places[p, 0]
            firsts[count] = np.int64(places[p, 1] >> _SIZE_BITS)
            sizes[count] = np.int64(places[p, 1] & _SIZE_MASK)
            count += 1


@kernel()
def _insert(places, keys, starts):
    for f in range(len(keys)):
        place = find(places, keys[f])
        places[place, 0] = keys[f]
        places[place, 1] = np.uint64(starts[f]) << _SIZE_BITS | np.uint64(starts[f + 1] - starts[f])


@array_kernel()
def add_scores_of_rows(weights, keys, scores):
    """Add the weights of the features of rows (uint64[rows, templates]) to ``scores``
    (float32[rows, outputs]).
    """
    places = np.empty(keys.shape[1], np.uint64)
    for r in range(len(keys)):
        add_scores(weights, keys[r], places, scores[r])
