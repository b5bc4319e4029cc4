"""Hash tables that number what they meet, without an object for each: strings of bytes that lie in a larger array, such as the
words of a file, and vectors of integers, such as the values of the attributes of words.

One table for both, of sequences of any length, takes a third longer to look up short vectors. Tables inside kernels, whose
entries are not numbered but moved (linear/weights.py), or that make no arrays (decoding/beam/tree_stacks.py), are their own.
"""

from __future__ import annotations

import numpy as np

from parser.kernels import kernel

_FREE = -1
_NEWLINE = ord("\n")


class ByteTable:
    """A hash table: strings are numbered as they are first met.

    Attributes:
        keys: uint8, with spare capacity: the strings that are numbered, each with a newline after it.
        starts: int64[strings + 1], likewise: where they begin.
        n_bytes: of the keys in use.
    """

    _hashes: np.ndarray  # uint64[strings], with spare capacity
    _slots: np.ndarray  # int32, a power of two of them: the strings where their hashes put them

    def __init__(self) -> None:
        self._n = self.n_bytes = 0
        self.keys = np.empty(0, np.uint8)
        self.starts = np.zeros(1, np.int64)
        self._hashes = np.empty(0, np.uint64)
        self._slots = _free_slots(0)

    def __len__(self) -> int:
        """How many strings are numbered."""
        return self._n

    def look_up(self, text: np.ndarray, begins: np.ndarray, ends: np.ndarray) -> np.ndarray:
        """The numbers of the strings ``text[begins[i] : ends[i]]``, without newlines; those that are new get the next ones.

        Args:
            text: uint8.
            begins, ends: int64[n].

        Returns:
            int32[n].
        """
        self._grow(len(begins), int(ends.sum() - begins.sum()) + len(begins))
        text = text.view()
        text.flags.writeable = False  # as that of a file is: for another kind of array all would be compiled once more
        numbers = np.empty(len(begins), np.int32)
        self._n, self.n_bytes = _look_up(
            text, begins, ends, self.keys, self.starts, self._hashes, self._slots, self._n, self.n_bytes, numbers
        )
        return numbers

    def strings(self, first: int) -> list[str]:
        """The strings from number ``first`` on, decoded; they have no newline. Bytes that are not UTF-8 become surrogates."""
        # Decoding all at once is decoding one by one: no sequence of UTF-8, whole or broken, goes over a line's end.
        return self.keys[self.starts[first] : self.n_bytes].tobytes().decode("utf-8", "surrogateescape").split("\n")[:-1]

    def _grow(self, more: int, more_bytes: int) -> None:
        """At least half of the slots stay free."""
        n_bytes, n = self.n_bytes + more_bytes, self._n + more
        if n_bytes > len(self.keys):
            self.keys = longer(self.keys[: self.n_bytes], 2 * n_bytes)
        if n > len(self._hashes):
            self.starts = longer(self.starts[: self._n + 1], 2 * n + 1)
            self._hashes = longer(self._hashes[: self._n], 2 * n)
            self._slots = _free_slots(n)
            _fill_slots(self._hashes, self._n, self._slots)


class VectorTable:
    """A hash table: vectors of integers are numbered as they are first met.

    Args:
        width: of each vector.

    Attributes:
        vectors: int32[vectors, width], with spare capacity: those that are numbered.
    """

    _slots: np.ndarray  # int32, a power of two of them: the vectors where their hashes put them

    def __init__(self, width: int) -> None:
        self._n = 0
        self.vectors = np.empty((0, width), np.int32)
        self._slots = _free_slots(0)

    def __len__(self) -> int:
        """How many vectors are numbered."""
        return self._n

    def look_up(self, columns: np.ndarray) -> np.ndarray:
        """int32[n]: the numbers of the columns of int32[width, n]; those that are new get the next ones."""
        if (n := self._n + columns.shape[1]) > len(self.vectors):
            vectors, slots = np.empty((2 * n, self.vectors.shape[1]), np.int32), _free_slots(n)
            known = np.ascontiguousarray(self.vectors[: self._n].T)
            _look_up_columns(known, vectors, slots, 0, np.empty(self._n, np.int32))  # they get the same numbers
            self.vectors, self._slots = vectors, slots
        numbers = np.empty(columns.shape[1], np.int32)
        self._n = _look_up_columns(np.ascontiguousarray(columns), self.vectors, self._slots, self._n, numbers)
        return numbers


def _free_slots(n: int) -> np.ndarray:
    """For n entries, of which at least half stay free."""
    return np.full(1 << (4 * n).bit_length(), _FREE, np.int32)


def longer(array: np.ndarray, size: int) -> np.ndarray:
    """A copy with capacity for ``size`` along the last axis."""
    copy = np.empty((*array.shape[:-1], size), array.dtype)
    copy[..., : array.shape[-1]] = array
    return copy


@kernel()
def _look_up(text, begins, ends, keys, starts, hashes, slots, n, n_bytes, numbers):
    """Fills in the number of every string; how many strings and bytes of keys there are now."""
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
            if hashes[number] == hashed and _same(text, begin, end, keys, starts[number], starts[number + 1] - 1):
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
    """Fills in the number of every column; how many vectors there are now. New ones are added."""
    for i in range(columns.shape[1]):
        slot = _slot_of_column(columns, i, vectors, slots)
        if slots[slot] == _FREE:
            for a in range(len(columns)):  # assigning a slice compiles the text of an error, which takes longer than all else
                vectors[n, a] = columns[a, i]
            slots[slot] = n
            n += 1
        numbers[i] = slots[slot]
    return n


@kernel()
def _slot_of_column(columns, i, vectors, slots):
    """The slot of the vector that column i is, or the free one where it belongs."""
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
