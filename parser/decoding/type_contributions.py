"""What tokens contribute to the hidden layer at each address, precomputed, so that a step adds one row per address.

A *word type* is a distinct combination of the values of all attributes; a running text has far fewer word types than words.
With a static token representation, the contributions of all slots at one address (hidden_contributions.py) are added up once
for a word type; with a contextual one, every token is a word type of its own. All are relative to a configuration without
any node: what ABSENT contributes is in the bias, and an address at which there is no node, or a relation that is not there,
adds nothing at all.

The contributions of a word type are the same whatever other types they are computed together with: with a static
representation, a parse depends on its sentence alone.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from threading import Event, Lock

import numpy as np
from numba import njit

from parser.classifier.hidden_contributions import ContributionMaker, HiddenContributions
from parser.classifier.weights import ClassifierWeights
from parser.data.parses import NO_NODE
from parser.data.vocabulary import ABSENT, N_RESERVED, Sentences
from parser.transitions.features import FeatureTable

# The contributions of word types are forgotten, and computed again when needed, when they would take more bytes than these.
MAX_BYTES = 128 * 2**20

_FREE = -1


@dataclass(frozen=True)
class TypedSentences:
    """Sentences as word types, and the contributions of these types.

    Attributes:
        types: int32[total], the type of each token, in the layout of ``Sentences``.
        contributions: float32[at least the rows in use, hidden]: first those of the relations, then those of the types, as
            far as they are computed; those of the types here are.
    """

    types: np.ndarray
    contributions: np.ndarray


def address_contributions(weights: ClassifierWeights, table: FeatureTable, n_relations: int) -> AddressContributions:
    """Those of a classifier with these weights."""
    kind = TokenContributions if weights.contextual else TypeContributions
    return kind(ContributionMaker(weights, table), table, n_relations)


class AddressContributions(ABC):
    """Computes the contributions of sentences; threads may ask at the same time.

    Args:
        maker: computes the contributions of single slots.
        table: the features.
        n_relations: number of relations.

    Attributes:
        bias: float32[hidden]: the hidden layer of a configuration without any node.
        first: the first row of the word types; type t has the rows ``first + t * per_type + p``.
        per_type: rows of a word type, one for each address at which a token is read.
        places: int32[addresses]: which of them, p, the address reads; NO_NODE if it reads the relation alone.
        relation_rows: int32[addresses]: relation r at the address has the row ``relation_rows[a] + r``; NO_NODE if the address
            does not read it.
    """

    @np.errstate(over="ignore", invalid="ignore")  # weights may be of any size; there will be trees all the same
    def __init__(self, maker: ContributionMaker, table: FeatureTable, n_relations: int) -> None:
        self._maker = maker
        self._columns = table.columns
        nothing = maker.of_values(np.full((len(table.attributes), 1), ABSENT, np.int32))
        self.bias = nothing.bias.copy()
        with_words = np.unique(table.columns[table.columns[:, 1] != NO_NODE, 0])
        self.per_type = len(with_words)
        self.places = np.full(len(table.programs), NO_NODE, np.int32)
        self.places[with_words] = np.arange(self.per_type)
        self.relation_rows = np.full(len(table.programs), NO_NODE, np.int32)
        self._absent = np.zeros((self.per_type, len(self.bias)), np.float32)
        relations: list[np.ndarray] = []
        for start, (address, attribute) in zip(nothing.starts, table.columns, strict=True):
            absent = nothing.rows[start + ABSENT]
            self.bias += absent
            if attribute == NO_NODE:
                self.relation_rows[address] = n_relations * len(relations)
                relations.append(nothing.rows[start + N_RESERVED : start + N_RESERVED + n_relations] - absent)
            else:
                self._absent[self.places[address]] += absent
        self.first = n_relations * len(relations)
        self._relations = np.concatenate([*relations, np.zeros((0, len(self.bias)), np.float32)])

    @abstractmethod
    def __call__(self, sentences: Sentences) -> TypedSentences:
        """The word types of the tokens, and the contributions of all of them."""

    def _room_for(self, n_types: int) -> np.ndarray:
        """float32[rows, hidden]: the rows of the relations, and those of so many word types to fill in."""
        rows = np.empty((self.first + n_types * self.per_type, len(self.bias)), np.float32)
        rows[: self.first] = self._relations
        return rows

    def _add_up(self, made: HiddenContributions, rows: np.ndarray) -> None:
        """Fills in the first of ``rows``, from what the slots contribute for some word types."""
        _add_up(made.values, made.rows, made.starts, self._columns, self.places, self._absent, rows)


class TokenContributions(AddressContributions):
    """Contributions of a contextual representation: computed for any sentences, a token being a word type of its own."""

    def __call__(self, sentences: Sentences) -> TypedSentences:
        """See AddressContributions."""
        tokens = int(sentences.offsets[-1])
        rows = self._room_for(tokens)
        self._add_up(self._maker.of_sentences(sentences), rows[self.first :])
        return TypedSentences(np.arange(tokens, dtype=np.int32), rows)


class TypeContributions(AddressContributions):
    """Contributions of a static representation: the word types are numbered, and theirs computed once for all threads.

    Types are numbered by one thread at a time. Their contributions, which take far longer, are computed by the thread that
    met them first; others that meet them wait for it at the end of their own.

    Args:
        maker, table, n_relations: see AddressContributions.
        max_bytes: contributions of word types are forgotten when they would take more.
    """

    _n_types: int
    _known: np.ndarray  # int32[types, attributes], with room for more: the values of the types
    # float32[rows, hidden]: room for all types until they are forgotten; memory that is not used costs nothing.
    _rows: np.ndarray
    _slots: np.ndarray  # int32, a power of two of them: the types where the hashes of their values put them
    _under_way: list[Event]  # one for each thread that is computing contributions

    def __init__(self, maker: ContributionMaker, table: FeatureTable, n_relations: int, max_bytes: int = MAX_BYTES) -> None:
        super().__init__(maker, table, n_relations)
        self._lock = Lock()
        self._max_types = max_bytes // max(1, self._absent.nbytes)
        self._forget(len(table.attributes), 0)

    def __call__(self, sentences: Sentences) -> TypedSentences:
        """See AddressContributions."""
        n_attributes, tokens = sentences.values.shape
        made = Event()
        with self._lock:
            if self._n_types + tokens > self._capacity:
                self._forget(n_attributes, tokens)
            self._make_room(self._n_types + tokens)
            before = self._n_types
            types, self._n_types = _number(sentences.values, self._known, self._slots, before)
            new = np.ascontiguousarray(self._known[before : self._n_types].T)
            rows, under_way = self._rows, self._under_way
            of_others = [*under_way]
            under_way.append(made)
        try:
            if new.shape[1]:
                self._add_up(self._maker.of_values(new), rows[self.first + before * self.per_type :])
        finally:
            made.set()
            with self._lock:
                under_way.remove(made)
        for others in of_others:
            others.wait()
        return TypedSentences(types, rows)

    def _forget(self, n_attributes: int, tokens: int) -> None:
        """Starts over, with room for the types of so many tokens at least."""
        # New arrays: other threads may still be reading and filling the old ones.
        self._n_types = 0
        self._under_way = []
        self._capacity = max(self._max_types, tokens)
        self._known = np.empty((0, n_attributes), np.int32)
        self._slots = np.full(1, _FREE, np.int32)
        self._rows = self._room_for(self._capacity)

    def _make_room(self, n_types: int) -> None:
        """Lets so many types be numbered; at least half of the slots stay free."""
        if n_types > len(self._known):
            known = np.empty((2 * n_types, self._known.shape[1]), np.int32)
            known[: self._n_types] = self._known[: self._n_types]
            self._known = known
            self._slots = np.full(1 << (4 * n_types).bit_length(), _FREE, np.int32)
            _fill_slots(self._known, self._n_types, self._slots)


@njit(cache=True, nogil=True)
def _slot_of(values, column, known, slots):
    """The slot of the type with the values in the given column, or the free one where it belongs."""
    hashed = np.uint64(0xCBF29CE484222325)
    for a in range(len(values)):
        hashed = (hashed ^ np.uint64(values[a, column])) * np.uint64(0x100000001B3)
    mask = np.uint64(len(slots) - 1)
    slot = (hashed ^ (hashed >> np.uint64(29))) & mask
    while slots[slot] != _FREE:
        same = True
        for a in range(len(values)):
            same &= known[slots[slot], a] == values[a, column]
        if same:
            break
        slot = (slot + np.uint64(1)) & mask
    return slot


@njit(cache=True, nogil=True)
def _fill_slots(known, n_types, slots):
    values = known.T
    for t in range(n_types):
        slots[_slot_of(values, t, known, slots)] = t


@njit(cache=True, nogil=True)
def _number(values, known, slots, n_types):
    """The type of every column of ``values``, and how many types there are now; new ones are added to ``known``."""
    types = np.empty(values.shape[1], np.int32)
    for i in range(values.shape[1]):
        slot = _slot_of(values, i, known, slots)
        if slots[slot] == _FREE:
            known[n_types] = values[:, i]
            slots[slot] = n_types
            n_types += 1
        types[i] = slots[slot]
    return types, n_types


@njit(cache=True, nogil=True)
def _add_up(values, slot_rows, starts, columns, places, absent, rows):
    """Fills in the first of ``rows``: for each type, at each address, what its slots contribute less what ABSENT does."""
    per_type = len(absent)
    for t in range(values.shape[1]):
        first = t * per_type
        for p in range(per_type):
            for h in range(rows.shape[1]):
                rows[first + p, h] = -absent[p, h]
        for c in range(len(columns)):
            if columns[c, 1] != NO_NODE:
                row = first + places[columns[c, 0]]
                slot_row = starts[c] + values[columns[c, 1], t]
                for h in range(rows.shape[1]):
                    rows[row, h] += slot_rows[slot_row, h]
