"""From the bytes of words to the numbers of their attributes,
looking up every distinct word in the vocabularies only once.

An *entry* stands for all words with the same bytes in the columns FORM to FEATS; attributes are
read from no other columns. A compiled hash table (``ByteTable``) finds the entry of each word. For
new entries, one table for each column finds the values of their attributes. Only new values of a
column pass through ``Vocabularies``, which is Python code. The reference implementation is
Vocabularies.encode() on the columns that conllu/stream.py reads.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

import numpy as np

from parser.conllu.checks import FEATS, FORM
from parser.conllu.chunks import WordPositions
from parser.data.attributes import COLUMN_NUMBERS, AttributeColumns
from parser.data.sentences import Sentences
from parser.data.vocabularies import Vocabularies
from parser.kernels import kernel
from parser.kernels.hash_tables import ByteTable, longer

# Beyond this many entries, or bytes of their text, all entries are dropped;
# words that come again get new ones.
MAX_ENTRIES = 200_000
MAX_BYTES = 16 * 2**20

_N_COLUMNS = FEATS - FORM + 1
_TAB = ord("\t")


class _SameColumns:
    """A made-up sentence with the same values in every column; only one of its columns is read."""

    def __init__(self, values: list[str]) -> None:
        self.forms = self.lemmas = self.upos = self.xpos = self.feats = values


class WordCache:
    """Encodes the words of chunks; thread-safe.

    Args:
        max_entries, max_bytes: beyond these, all entries are dropped.
    """

    _entries: ByteTable
    _columns: list[_ColumnValues]
    # int32[rows, >= entries]: the rows of Sentences.values, then of Sentences.unseen
    _values: np.ndarray

    def __init__(
        self, vocabularies: Vocabularies, max_entries: int = MAX_ENTRIES, max_bytes: int = MAX_BYTES
    ) -> None:
        self._vocabularies = vocabularies
        self._root = _encode(vocabularies, [])[:, 0]
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._lock = Lock()
        self._forget()

    def encode(self, words: WordPositions) -> Sentences:
        """Return the sentences that have words, encoded as Vocabularies.encode() does."""
        with self._lock:
            if len(self._entries) > self._max_entries or self._entries.n_bytes > self._max_bytes:
                self._forget()
            before = len(self._entries)
            try:
                # without the last tab
                entries = self._entries.look_up(words.text, words.forms, words.heads - 1)
                self._encode_entries(before)
            except BaseException:
                self._forget()  # new entries may have no values yet
                raise
            values = self._values
        offsets = words.offsets + np.arange(len(words.offsets))  # one root before each sentence
        rows = np.empty((len(values), len(entries) + len(words.offsets) - 1), np.int32)
        _lay_out(values, self._root, entries, words.offsets, rows)
        n_rows = self._vocabularies.n_rows
        return Sentences(rows[:n_rows], offsets, unseen=rows[n_rows:])

    def encode_slowly(self, sentences: Sequence[AttributeColumns]) -> Sentences:
        """Return Vocabularies.encode(), which only one thread may run at a time."""
        with self._lock:
            return self._vocabularies.encode(sentences)

    def _forget(self) -> None:
        # New arrays: other threads may still be reading the old ones.
        self._entries = ByteTable()
        self._columns = [_ColumnValues(name, self._vocabularies) for name in COLUMN_NUMBERS]
        self._values = np.empty((len(self._root), 0), np.int32)

    def _encode_entries(self, first: int) -> None:
        """Fill in the values of the entries from number ``first`` on."""
        n, keys = len(self._entries), self._entries.keys
        if n > self._values.shape[1]:
            self._values = longer(self._values[:, :first], 2 * n)
        if n > first:
            begins, ends = np.empty((2, _N_COLUMNS, n - first), np.int64)
            _find_columns(keys, self._entries.starts[first : n + 1], begins, ends)
            for column in self._columns:
                if len(column.rows):
                    self._values[column.rows, first:n] = column.encode(
                        keys, begins[column.place], ends[column.place]
                    )


class _ColumnValues:
    """The values of the attributes that are read from one column.

    Attributes:
        place: the index of the column in an entry.
        rows: int64[rows], the rows of these attributes in ``WordCache._values``.
    """

    def __init__(self, name: str, vocabularies: Vocabularies) -> None:
        self.place = COLUMN_NUMBERS[name] - FORM
        self._vocabularies, self.rows = vocabularies.for_column(name)
        self._table = ByteTable()
        self._values = np.empty((len(self.rows), 0), np.int32)

    def encode(self, text: np.ndarray, begins: np.ndarray, ends: np.ndarray) -> np.ndarray:
        """Return int32[rows, n], the attributes of n values,
        whose bytes ``begins`` and ``ends`` delimit.
        """
        before = len(self._table)
        numbers = self._table.look_up(text, begins, ends)
        n = len(self._table)
        if n > self._values.shape[1]:
            self._values = longer(self._values[:, :before], 2 * n)
        if n > before:
            self._values[:, before:n] = _encode(
                self._vocabularies, list(self._table.strings(before))
            )[:, 1:]
        return self._values[:, numbers]


def _encode(vocabularies: Vocabularies, values: list[str]) -> np.ndarray:
    """Return int32[rows, 1 + values]: the root, and words with these values."""
    encoded = vocabularies.encode([_SameColumns(values)])
    assert encoded.unseen is not None
    return np.concatenate([encoded.values, encoded.unseen])


@kernel()
def _find_columns(keys, starts, begins, ends):
    """Fill in ``begins`` and ``ends``, int64[columns, entries]:
    where the columns of each entry begin and end.

    Args:
        keys: uint8, the columns of entries, separated by tabs; a newline ends each entry.
        starts: int64[entries + 1], where the entries begin.
    """
    for entry in range(len(starts) - 1):
        column = 0
        begins[0, entry] = starts[entry]
        for place in range(starts[entry], starts[entry + 1] - 1):
            if keys[place] == _TAB:
                ends[column, entry] = place
                column += 1
                begins[column, entry] = place + 1
        ends[column, entry] = starts[entry + 1] - 1


@kernel()
def _lay_out(values, root, entries, offsets, laid_out):
    """Fill in ``laid_out``, int32[rows, words + sentences]: before each sentence, the values of the
    root; then of its words.
    """
    n_sentences = len(offsets) - 1
    for a in range(len(values)):
        place = 0
        for s in range(n_sentences):
            laid_out[a, place] = root[a]
            place += 1
            for word in range(offsets[s], offsets[s + 1]):
                laid_out[a, place] = values[a, entries[word]]
                place += 1
