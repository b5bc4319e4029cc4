"""From the bytes of words to the numbers of their attributes, looking every distinct word up in the vocabularies only once.

An *entry* stands for all words with the same bytes in the columns FORM to FEATS, which are all that attributes are read off. A
compiled hash table finds the entries of a chunk's words; what is new in it goes through ``Vocabularies`` as a sentence.
So any attribute that depends only on the word costs nothing more per word. Vocabularies.encode, on the columns that
conllu/stream.py reads, is the reference implementation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock

import numpy as np
from numba import njit

from parser.conllu.chunks import Words
from parser.data.attributes import Columns
from parser.data.sentences import Sentences
from parser.data.vocabularies import Vocabularies
from parser.kernels import kernel

# Entries are forgotten, and made again when they are needed, beyond this many, or this many bytes of text.
MAX_ENTRIES = 200_000
MAX_BYTES = 16 * 2**20

_FREE = -1
_NEWLINE = ord("\n")


@dataclass
class _Entries:
    """The columns that attributes are read off, of the words of a made-up sentence."""

    forms: list[str]
    lemmas: list[str]
    upos: list[str]
    xpos: list[str]
    feats: list[str]


class WordCache:
    """Encodes the words of chunks; threads may ask at the same time.

    Args:
        vocabularies: of the attributes.
        max_entries, max_bytes: entries are forgotten beyond these.
    """

    _n_entries: int
    _n_bytes: int  # of the keys
    _keys: np.ndarray  # uint8, with room for more
    _starts: np.ndarray  # int64[entries + 1], likewise: where the keys begin
    _hashes: np.ndarray  # uint64[entries], likewise
    _values: np.ndarray  # int32[rows, entries], likewise: those of Sentences.values, then of Sentences.unseen
    _slots: np.ndarray  # int32, a power of two of them: the entries where their hashes put them

    def __init__(self, vocabularies: Vocabularies, max_entries: int = MAX_ENTRIES, max_bytes: int = MAX_BYTES) -> None:
        self._vocabularies = vocabularies
        self._root = self._encode([_Entries([], [], [], [], [])])[:, 0]
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._lock = Lock()
        self._forget()

    def encode(self, words: Words) -> Sentences:
        """The words as numbers; as Vocabularies.encode() of the sentences with words."""
        with self._lock:
            if self._n_entries > self._max_entries or self._n_bytes > self._max_bytes:
                self._forget()
            self._make_room(words)
            before, first_byte = self._n_entries, self._n_bytes
            entries, self._n_entries, self._n_bytes = _look_up(
                words.text, words.forms, words.heads, self._keys, self._starts, self._hashes, self._slots, before, first_byte
            )
            if self._n_entries > before:
                # Decoding all at once is decoding one by one: no sequence of UTF-8, whole or broken, goes over a line's end.
                lines = self._keys[first_byte : self._n_bytes].tobytes().decode("utf-8", "surrogateescape").split("\n")[:-1]
                columns = _Entries(*map(list, zip(*(line.split("\t") for line in lines), strict=True)))
                self._values[:, before : self._n_entries] = self._encode([columns])[:, 1:]
            values = self._values
        offsets = words.offsets + np.arange(len(words.offsets))  # a root before each sentence
        rows = _lay_out(values, self._root, entries, words.offsets)
        n_rows = self._vocabularies.n_rows
        return Sentences(rows[:n_rows], offsets, unseen=rows[n_rows:])

    def encode_slowly(self, sentences: Sequence[Columns]) -> Sentences:
        """Vocabularies.encode(), not at the same time as another thread."""
        with self._lock:
            return self._vocabularies.encode(sentences)

    def _encode(self, sentences: Sequence[Columns]) -> np.ndarray:
        """int32[rows, total]."""
        encoded = self._vocabularies.encode(sentences)
        assert encoded.unseen is not None
        return np.concatenate([encoded.values, encoded.unseen])

    def _forget(self) -> None:
        # New arrays: other threads may still be reading the old ones.
        self._n_entries = self._n_bytes = 0
        self._keys = np.empty(0, np.uint8)
        self._starts = np.zeros(1, np.int64)
        self._hashes = np.empty(0, np.uint64)
        self._values = np.empty((self._vocabularies.n_rows + self._vocabularies.n_sets, 0), np.int32)
        self._slots = np.full(1, _FREE, np.int32)

    def _make_room(self, words: Words) -> None:
        """Room for as many new entries as there are words; at least half of the slots stay free."""
        n_bytes = self._n_bytes + len(words.text)
        if n_bytes > len(self._keys):
            self._keys = _longer(self._keys[: self._n_bytes], 2 * n_bytes)
        n_entries = self._n_entries + len(words.forms)
        if n_entries > len(self._hashes):
            self._starts = _longer(self._starts[: self._n_entries + 1], 2 * n_entries + 1)
            self._hashes = _longer(self._hashes[: self._n_entries], 2 * n_entries)
            self._values = _longer(self._values[:, : self._n_entries], 2 * n_entries)
            self._slots = np.full(1 << (4 * n_entries).bit_length(), _FREE, np.int32)
            _fill_slots(self._hashes, self._n_entries, self._slots)


def _longer(array: np.ndarray, size: int) -> np.ndarray:
    """A copy with room for ``size`` along the last axis."""
    copy = np.empty((*array.shape[:-1], size), array.dtype)
    copy[..., : array.shape[-1]] = array
    return copy


@njit(cache=True, nogil=True)
def _look_up(text, forms, heads, keys, starts, hashes, slots, n_entries, n_bytes):
    """The entry of every word, and how many entries and bytes of keys there are now; new ones are added, each with a newline.

    The key of a word are its bytes from FORM to FEATS; the key of entry e is ``keys[starts[e] : starts[e + 1] - 1]``.
    """
    entries = np.empty(len(forms), np.int32)
    mask = np.uint64(len(slots) - 1)
    for word in range(len(forms)):
        begin, end = forms[word], heads[word] - 1  # without the tab
        hashed = np.uint64(0xCBF29CE484222325)  # FNV-1a
        for i in range(begin, end):
            hashed = (hashed ^ np.uint64(text[i])) * np.uint64(0x100000001B3)
        slot = _first_slot(hashed, mask)
        while True:
            entry = slots[slot]
            if entry == _FREE:
                break
            if hashes[entry] == hashed and _same(text, begin, end, keys, starts[entry], starts[entry + 1] - 1):
                break
            slot = (slot + np.uint64(1)) & mask
        if entry == _FREE:
            entry = n_entries
            slots[slot] = entry
            hashes[entry] = hashed
            starts[entry] = n_bytes
            for i in range(begin, end):
                keys[n_bytes + i - begin] = text[i]
            n_bytes += end - begin + 1
            keys[n_bytes - 1] = _NEWLINE
            n_entries += 1
            starts[n_entries] = n_bytes
        entries[word] = entry
    return entries, n_entries, n_bytes


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
def _fill_slots(hashes, n_entries, slots):
    mask = np.uint64(len(slots) - 1)
    for entry in range(n_entries):
        slot = _first_slot(hashes[entry], mask)
        while slots[slot] != _FREE:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = entry


@njit(cache=True, nogil=True)
def _lay_out(values, root, entries, offsets):
    """int32[rows, words + sentences]: the values of the words, those of the root (int32[rows]) before each sentence."""
    n_sentences = len(offsets) - 1
    laid_out = np.empty((len(values), len(entries) + n_sentences), np.int32)
    for a in range(len(values)):
        place = 0
        for s in range(n_sentences):
            laid_out[a, place] = root[a]
            place += 1
            for word in range(offsets[s], offsets[s + 1]):
                laid_out[a, place] = values[a, entries[word]]
                place += 1
    return laid_out
