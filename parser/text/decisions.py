"""Linear decisions over hashed conjunctions: what the tokenizer learns,
in two bytes for each feature.

A decision, such as whether a token ends at a place, has atoms: numbers that describe it, 0 where
there is nothing to describe. A template is a conjunction of atoms. A feature is a template with the
values of its atoms; if an atom is missing, so is the feature. The key of a feature is a hash of
template and values. The score of a decision is the sum of the weights of its features. If the score
is above a threshold, the answer is yes.

``Weights`` is a hash table whose entries are 16 bits: a check of 8 bits of the key, and the weight
as one of 255 steps. About one in 200 features that were never seen in training gets the weight of
another feature.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parser.kernels import kernel
from parser.kernels.interpreted import Briefly

# A weight is a number of these steps, from -127 to 127.
STEP = 0.04
# More atoms than any template has.
_MOST = 6
_LEAST_BITS = 10
# Features with smaller weights than these are left out: a table has at most half a megabyte.
_MOST_FEATURES = (1 << 17) - 1
NO_ATOM = -1


def compiled_templates(templates: Sequence[str], atoms: Sequence[str]) -> np.ndarray:
    """Return int32[templates, most atoms]: the numbers of the atoms that each template names;
    spaces separate the names.
    """
    numbers = {name: number for number, name in enumerate(atoms)}
    table = np.full((len(templates), _MOST), NO_ATOM, np.int32)
    for row, template in zip(table, templates, strict=True):
        names = template.split()
        row[: len(names)] = [numbers[name] for name in names]
    return table


@kernel(forceinline=True)
def key_of(atoms, templates, number):
    """Return the key of a feature, uint64; 0 if an atom is missing."""
    key = np.uint64(number + 1)
    for i in range(_MOST):
        atom = templates[number, i]
        if atom == NO_ATOM:
            break
        if atoms[atom] == 0:
            return np.uint64(0)
        key = (key ^ atoms[atom]) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    # as at the end of splitmix64
    key = (key ^ (key >> np.uint64(32))) * np.uint64(0xBF58476D1CE4E5B9)
    key ^= key >> np.uint64(31)
    return key | np.uint64(1 << 63)


@kernel()
def score(weights, atoms, templates, keys):
    """Return the sum of the weights of a decision's features, in steps.

    All features look at their first entry of the table. Then those that found another feature's
    entry look at the next one, and so on. When features were looked up one after the other, waiting
    for memory and mispredicted branches took most of the time.

    Args:
        weights: uint16[2^k]; see packed().
        atoms: uint64[atoms].
        templates: int32[templates, most atoms].
        keys: uint64[templates], workspace.
    """
    n = np.int64(0)
    for number in range(len(templates)):
        key = key_of(atoms, templates, number)
        keys[n] = key
        n += np.int64(key != 0)
    mask = np.uint64(len(weights) - 1)
    total = np.int64(0)
    distance = np.uint64(0)
    while n > 0:
        left = np.int64(0)
        for i in range(n):
            key = keys[i]
            entry = np.int64(weights[(key + distance) & mask])
            is_found = (entry != 0) & (
                entry >> 8 == np.int64((key >> np.uint64(40)) & np.uint64(0xFF))
            )
            total += ((entry & 0xFF) - 128) * np.int64(is_found)
            keys[left] = key
            left += np.int64((entry != 0) & (not is_found))
        n = left
        distance += np.uint64(1)
    return total


def are_known(weights: np.ndarray, templates: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return bool[n]: whether the first template, of a single atom, has a weight for each value.

    ``values`` is uint64[n], not 0. For ``weights`` and ``templates``, see score().
    """
    atoms, keys = np.zeros(templates.max() + 1, np.uint64), np.empty(1, np.uint64)
    known = np.empty(len(values), np.bool_)
    with Briefly()(0):  # too little to compile it for
        for place, value in enumerate(values):
            atoms[templates[0, 0]] = value
            known[place] = score(weights, atoms, templates[:1], keys) != 0
    return known


def packed(keys: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return uint16[2^k], the table of features with their weights, at most half full.

    Args:
        keys: uint64[features], each once; if two with the same check meet in the table,
            the first one counts.
        weights: float[features]; weights that round to 0 steps are left out, and if there are more
            than _MOST_FEATURES, the smallest ones.
    """
    steps = np.clip(np.rint(weights / STEP), -127, 127).astype(np.int64)
    order = np.argsort(-np.abs(steps), kind="stable")
    order = order[steps[order] != 0][:_MOST_FEATURES]
    bits = max(_LEAST_BITS, int(2 * len(order)).bit_length())
    table = np.zeros(1 << bits, np.uint16)
    _insert(table, keys[order], steps[order])
    return table


@kernel()
def _insert(table, keys, steps):
    mask = np.uint64(len(table) - 1)
    for number in range(len(keys)):
        key = keys[number]
        check = np.uint16((key >> np.uint64(40)) & np.uint64(0xFF))
        place = key & mask
        while table[place] != 0 and table[place] >> 8 != check:
            place = (place + np.uint64(1)) & mask
        if table[place] == 0:
            table[place] = np.uint16(np.int64(check) << 8 | (steps[number] + 128))


# ------------------------------------------------------------------------------ what forms are like
# What training says of a form, in 16 bits: how often it was a token; its odds to end a sentence, to
# begin one, and to have a capital within one; and whether it is a known abbreviation. Each constant
# is the first bit of its field. A table has 32 bits for each form: 16 bits of check, which is never
# 0, and these 16 bits.
KNOWN, ENDS, BEGINS, CAPITALS, LISTED = 0, 2, 6, 10, 12
# The known abbreviations: of a list, of a list where a name or a number follows,
# and of the user's own list.
ABBREVIATION, BEFORE_NAME, OWN_ABBREVIATION = 1, 2, 3


def packed_forms(hashes: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return uint32[2^k], the table of forms (uint64[forms], each once) with their values
    (uint16[forms]), half empty.
    """
    bits = max(_LEAST_BITS, int(2 * len(hashes)).bit_length())
    table = np.zeros(1 << bits, np.uint32)
    _insert_forms(table, hashes, values.astype(np.int64))
    return table


@kernel()
def _insert_forms(table, hashes, values):
    mask = np.uint64(len(table) - 1)
    for number in range(len(hashes)):
        mixed = _mixed(hashes[number])
        place = mixed & mask
        while table[place] != 0:
            place = (place + np.uint64(1)) & mask
        table[place] = np.uint32(_check(mixed) << np.uint64(16) | np.uint64(values[number]))


def with_listed(table: np.ndarray, hashes: np.ndarray, kinds: np.ndarray) -> np.ndarray:
    """Return a copy of a table of forms in which these forms are abbreviations. The copy is larger
    if needed, so that a quarter of it stays empty.

    Args:
        table: uint32[2^k]; see packed_forms().
        hashes: uint64[abbreviations].
        kinds: uint16[abbreviations], such as OWN_ABBREVIATION.
    """
    used = np.count_nonzero(table)
    copies = 1
    # Each copy has all entries in their order,
    # so that a form is found wherever its hash sends it in the larger table.
    while 4 * (copies * used + len(hashes)) > 3 * copies * len(table):
        copies *= 2
    larger = np.tile(table, copies)
    _list_forms(larger, hashes, kinds.astype(np.int64))
    return larger


@kernel()
def _list_forms(table, hashes, kinds):
    mask = np.uint64(len(table) - 1)
    for number in range(len(hashes)):
        mixed = _mixed(hashes[number])
        place, check = mixed & mask, _check(mixed)
        while table[place] != 0 and np.uint64(table[place]) >> np.uint64(16) != check:
            place = (place + np.uint64(1)) & mask
        value = np.uint64(table[place]) & ~np.uint64(3 << LISTED) & np.uint64(0xFFFF)
        table[place] = np.uint32(
            check << np.uint64(16) | value | np.uint64(kinds[number] << LISTED)
        )


@kernel(forceinline=True)
def form_value(table, hashed):
    """Return the statistics of the form with a hash, int64; 0 if it was never seen in training."""
    mixed = _mixed(hashed)
    mask, check = np.uint64(len(table) - 1), _check(mixed)
    place = mixed & mask
    while table[place] != 0:
        if np.uint64(table[place]) >> np.uint64(16) == check:
            return np.int64(table[place] & np.uint32(0xFFFF))
        place = (place + np.uint64(1)) & mask
    return np.int64(0)


@kernel(forceinline=True)
def _mixed(hashed):
    mixed = (hashed ^ (hashed >> np.uint64(32))) * np.uint64(0xBF58476D1CE4E5B9)
    return mixed ^ (mixed >> np.uint64(29))


@kernel(forceinline=True)
def _check(mixed):
    return (mixed >> np.uint64(44)) & np.uint64(0xFFFF) | np.uint64(1)
