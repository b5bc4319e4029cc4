"""Hash tables that number their keys, without a Python object for each: byte strings in a larger
array, such as the words of a file, and vectors of integers, such as the attributes of words.

A common table for both, for sequences of any length, would take a third longer for short vectors.
Tables inside kernels are separate: linear/weights.py moves entries instead of numbering them, and
decoding/beam/tree_stacks.py makes no arrays.
"""

from __future__ import annotations

import numpy as np

from parser.kernels import kernel

_FREE = -1
_NEWLINE = ord("\n")


class ByteTable:
    """A hash table that numbers strings in the order of their first occurrence.

    Attributes:
        keys: uint8, with spare capacity: the numbered strings, each followed by a newline.
        starts: int64[strings + 1], with spare capacity: where the strings begin.
        n_bytes: the number of bytes of ``keys`` in use.
    """

    _hashes: np.ndarray  # uint64[strings], with spare capacity
    # int32[a power of two], the numbers of strings, at places that their hashes determine
    _slots: np.ndarray

    def __init__(self) -> None:
        self._n = self.n_bytes = 0
        self.keys = np.empty(0, np.uint8)
        self.starts = np.zeros(1, np.int64)
        self._hashes = np.empty(0, np.uint64)
        self._slots = _free_slots(0)

    def __len__(self) -> int:
        """Return how many strings are numbered."""
        return self._n

    def look_up(self, text: np.ndarray, begins: np.ndarray, ends: np.ndarray) -> np.ndarray:
        """Return the numbers, int32[n], of the strings ``text[begins[i] : ends[i]]``;
        new strings get the next numbers.

        Args:
            text: uint8; the strings have no newlines.
            begins, ends: int64[n].
        """
        self._grow(len(begins), int(ends.sum() - begins.sum()) + len(begins))
        text = text.view()
        # A file's bytes are read-only. For another array type, numba would compile the kernels once
        # more.
        text.flags.writeable = False
        numbers = np.empty(len(begins), np.int32)
        self._n, self.n_bytes = _look_up(
            text,
            begins,
            ends,
            self.keys,
            self.starts,
            self._hashes,
            self._slots,
            self._n,
            self.n_bytes,
            numbers,
        )
        return numbers

    def strings(self, first: int) -> list[str]:
        """Return the strings from number ``first`` on, decoded;
        bytes that are not UTF-8 become surrogates.
        """
        # Decoding all at once gives the same as one by one: no UTF-8 sequence,
        # valid or not, contains a newline.
        return (
            self.keys[self.starts[first] : self.n_bytes]
            .tobytes()
            .decode("utf-8", "surrogateescape")
            .split("\n")[:-1]
        )

    def _grow(self, more: int, more_bytes: int) -> None:
        """Make space for more strings and bytes; at least half of the slots stay free."""
        n_bytes, n = self.n_bytes + more_bytes, self._n + more
        if n_bytes > len(self.keys):
            self.keys = longer(self.keys[: self.n_bytes], 2 * n_bytes)
        if n > len(self._hashes):
            self.starts = longer(self.starts[: self._n + 1], 2 * n + 1)
            self._hashes = longer(self._hashes[: self._n], 2 * n)
            self._slots = _free_slots(n)
            _fill_slots(self._hashes, self._n, self._slots)


class VectorTable:
    """A hash table that numbers vectors of integers in the order of their first occurrence.

    Args:
        width: the length of each vector.

    Attributes:
        vectors: int32[vectors, width], with spare capacity: the numbered vectors.
    """

    # int32[a power of two], the numbers of vectors, at places that their hashes determine
    _slots: np.ndarray

    def __init__(self, width: int) -> None:
        self._n = 0
        self.vectors = np.empty((0, width), np.int32)
        self._slots = _free_slots(0)

    def __len__(self) -> int:
        """Return how many vectors are numbered."""
        return self._n

    def look_up(self, columns: np.ndarray) -> np.ndarray:
        """Return int32[n], the numbers of the columns of int32[width, n];
        new columns get the next numbers.
        """
        if (n := self._n + columns.shape[1]) > len(self.vectors):
            vectors, slots = np.empty((2 * n, self.vectors.shape[1]), np.int32), _free_slots(n)
            old_columns = np.ascontiguousarray(self.vectors[: self._n].T)
            # in order, so numbers stay the same
            _look_up_columns(old_columns, vectors, slots, 0, np.empty(self._n, np.int32))
            self.vectors, self._slots = vectors, slots
        numbers = np.empty(columns.shape[1], np.int32)
        self._n = _look_up_columns(
            np.ascontiguousarray(columns), self.vectors, self._slots, self._n, numbers
        )
        return numbers


def _free_slots(n: int) -> np.ndarray:
    """Return free slots for n entries, at least half of which stay free."""
    return np.full(1 << (4 * n).bit_length(), _FREE, np.int32)


def longer(array: np.ndarray, size: int) -> np.ndarray:
    """Return a copy with capacity for ``size`` along the last axis."""
    copy = np.empty((*array.shape[:-1], size), array.dtype)
    copy[..., : array.shape[-1]] = array
    return copy


@kernel()
def _look_up(text, begins, ends, keys, starts, hashes, slots, n, n_bytes, numbers):
    """Fill in the number of every string; return how many strings and bytes of keys there are
    now.
    """
    mask = np.uint64(len(slots) - 1)
    for i in range(len(begins)):
        begin, end = begins[i], ends[i]
        hashed = np.uint64(0xCBF29CE484222325)  # FNV-1a
        for place in range(begin, end):
            hashed = (hashed ^ np.uint64(text[place])) * np.uint64(0x100000001B3)
        slot = _first_slot(hashed, mask)
        while True:
            number = slots[slot]
            if number == _FREE:
                break
            if hashes[number] == hashed and _same(
                text, begin, end, keys, starts[number], starts[number + 1] - 1
            ):
                break
            slot = (slot + np.uint64(1)) & mask
        if number == _FREE:
            number = n
            slots[slot] = number
            hashes[number] = hashed
            starts[number] = n_bytes
            for place in range(begin, end):
                keys[n_bytes + place - begin] = text[place]
            n_bytes += end - begin + 1
            keys[n_bytes - 1] = _NEWLINE
            n += 1
            starts[n] = n_bytes
        numbers[i] = number
    return n, n_bytes


@kernel()
def _first_slot(hashed, mask):
    return (hashed ^ (hashed >> np.uint64(32))) & mask


@kernel()
def _same(text, begin, end, keys, key_begin, key_end):
    if end - begin != key_end - key_begin:
        return False
    same = True
    for i in range(end - begin):
        same &= text[begin + i] == keys[key_begin + i]
    return same


@kernel()
def _fill_slots(hashes, n, slots):
    mask = np.uint64(len(slots) - 1)
    for number in range(n):
        slot = _first_slot(hashes[number], mask)
        while slots[slot] != _FREE:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = number


@kernel()
def _look_up_columns(columns, vectors, slots, n, numbers):
    """Fill in the number of every column, adding new vectors;
    return how many vectors there are now.
    """
    for i in range(columns.shape[1]):
        slot = _slot_of_column(columns, i, vectors, slots)
        if slots[slot] == _FREE:
            # assigning a slice takes long to compile (oracles/kernel_cache.py)
            for a in range(len(columns)):
                vectors[n, a] = columns[a, i]
            slots[slot] = n
            n += 1
        numbers[i] = slots[slot]
    return n


@kernel()
def _slot_of_column(columns, i, vectors, slots):
    """Return the slot of the vector in column i, or the free slot to put it in."""
    hashed = np.uint64(0xCBF29CE484222325)
    for a in range(len(columns)):
        hashed = (hashed ^ np.uint64(columns[a, i])) * np.uint64(0x100000001B3)
    mask = np.uint64(len(slots) - 1)
    slot = (hashed ^ (hashed >> np.uint64(29))) & mask
    while slots[slot] != _FREE:
        same = True
        for a in range(len(columns)):
            same &= vectors[slots[slot], a] == columns[a, i]
        if same:
            break
        slot = (slot + np.uint64(1)) & mask
    return slot
