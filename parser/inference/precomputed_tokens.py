"""Precomputed hidden activations of tokens: the contribution of a token to the hidden units at each
position.

The *type* of a token is the combination of the values of all its attributes; a running text has far
fewer types than words. With a static token representation, the contributions of all slots at one
position (precomputed.py) are added up once for each type. With a contextual representation, every
token has its own type. Activations are relative to a configuration without any node: the bias
includes the contributions of ABSENT, and a missing node or relation adds nothing.

The activations of a type do not depend on other types, so a parse depends only on its sentence.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import NamedTuple

import numpy as np

from parser import batch_sizes
from parser.data.sentences import NO_NODE, Sentences
from parser.data.vocabulary import ABSENT, N_RESERVED
from parser.inference.precomputed import SlotPrecomputation
from parser.inference.weights import ClassifierWeights, SentenceEncoder, SlotWeights
from parser.kernels import kernel
from parser.kernels.hash_tables import VectorTable
from parser.transitions.features import TOKEN, FeatureTable

# The rows of types are dropped, and computed again when needed,
# if they would take more bytes than this.
MAX_BYTES = 128 * 2**20


Make = Callable[[np.ndarray, np.ndarray], None]
"""Takes the values of types, int32[attributes, types],
and fills in the first of some rows, float32[rows, width].
"""


@dataclass(frozen=True, eq=False)
class _Batch:
    """Types whose rows are still to be computed.

    Attributes:
        values: int32[attributes, types].
        rows: float32[>= rows of these types, width].
        future: done when the rows are computed, or when that failed; then it has the error.
    """

    values: np.ndarray
    rows: np.ndarray
    future: Future[None]


class TypeRows:
    """Numbers types, and computes their rows once for all threads,
    which may call it at the same time.

    One thread at a time numbers types. Their rows, which take far longer, are computed in batches,
    by any thread that calls meanwhile. A thread returns only when the rows of its types are
    computed, and it waits only if no batch is left to begin. If a batch fails, all threads that
    need it get the error, and all types are dropped.

    Args:
        make: computes the rows of types; the rows of a type must not depend on other types.
        n_attributes: the number of values of a type.
        first: float32[n, width], rows that precede the rows of types.
        per_type: the number of rows of a type.
        max_bytes: the rows of types are dropped if they would take more.
    """

    _types: VectorTable  # numbers the types by their values
    # float32[rows, width]: space for all types until they are dropped;
    # memory that is not used costs nothing.
    _rows: np.ndarray
    _waiting: deque[_Batch]  # not begun by any thread
    _under_way: list[_Batch]  # not done: waiting or begun

    def __init__(
        self,
        make: Make,
        n_attributes: int,
        first: np.ndarray,
        per_type: int = 1,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._make = make
        self._first = first
        self._per_type = per_type
        self._lock = Lock()
        self._waiting, self._under_way = deque(), []
        self._max_types = max_bytes // max(1, per_type * first.shape[1] * first.itemsize)
        self._forget(n_attributes, 0)

    def __call__(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the types of tokens, and the rows of all types.

        Args:
            values: int32[attributes, tokens].

        Returns:
            The types, int32[tokens], and the rows, float32[>= rows in use, width]: first ``first``,
            then the rows of the types. The rows of these tokens' types are computed; others may not
            be yet.
        """
        n_attributes, tokens = values.shape
        with self._lock:
            if len(self._types) + tokens > self._capacity:
                self._forget(n_attributes, tokens)
            before = len(self._types)
            rows = self._rows
            try:
                types = self._types.look_up(values)
                new = []
                for first in range(before, len(self._types), batch_sizes.TYPES_PER_BATCH):
                    last = min(first + batch_sizes.TYPES_PER_BATCH, len(self._types))
                    vectors = np.ascontiguousarray(self._types.vectors[first:last].T)
                    new.append(
                        _Batch(vectors, rows[len(self._first) + first * self._per_type :], Future())
                    )
                self._under_way += new
                self._waiting += new
            except BaseException:
                self._forget(n_attributes, 0)  # new types may have numbers, but no rows
                raise
            # each type of these tokens is in one of these batches, or already has its rows
            needed = [*self._under_way]
        for batch in needed:
            self._compute_until(batch.future)
        return types, rows

    def _compute_until(self, future: Future[None]) -> None:
        """Compute batches, of any thread, until ``future`` is done;
        raise its error if it failed.
        """
        while not future.done():
            try:
                batch = self._waiting.popleft()
            except IndexError:  # another thread computes the batch that is needed
                break
            try:
                self._make(batch.values, batch.rows)
            except BaseException as error:
                with self._lock:
                    self._under_way.remove(batch)
                    # its types have numbers, but no rows
                    self._forget(self._types.vectors.shape[1], 0)
                batch.future.set_exception(error)
                raise
            with self._lock:
                self._under_way.remove(batch)
            batch.future.set_result(None)
        future.result()

    def _forget(self, n_attributes: int, tokens: int) -> None:
        """Start over, with space for the types of at least ``tokens`` tokens."""
        # New arrays: other threads may still be reading and filling the old ones.
        self._capacity = max(self._max_types, tokens)
        self._types = VectorTable(n_attributes)
        self._rows = np.empty(
            (len(self._first) + self._capacity * self._per_type, self._first.shape[1]), np.float32
        )
        self._rows[: len(self._first)] = self._first


class PrecomputedWords(NamedTuple):
    """The types of the tokens of sentences, and the hidden activations of these types.

    Attributes:
        types: int32[total], the type of each token, in the layout of ``Sentences``.
        activations: float32[>= rows in use, hidden]: first the rows of the relations, then the rows
            of types. The rows of these types are computed; others may not be yet.
        first, per_type: see TokenActivations.
    """

    types: np.ndarray
    activations: np.ndarray
    first: int
    per_type: int


def token_activations(
    weights: ClassifierWeights, table: FeatureTable, n_relations: int
) -> TokenActivations:
    """Return the activations of tokens for a classifier with these weights."""
    maker = SlotPrecomputation(weights, table)
    if weights.encoder is None:
        return TypeActivations(maker, table, n_relations)
    token_slots = [part for part in weights.embedded if part.attribute == TOKEN]
    return ContextualActivations(maker, table, n_relations, weights.encoder, token_slots)


class TokenActivations(ABC):
    """Computes the hidden activations of sentences; thread-safe.

    Args:
        maker: computes the activations of single slots.

    Attributes:
        bias: float32[hidden], the hidden layer of a configuration without any node.
        first: the first row of the types; type t has the rows ``first + t * per_type + p``.
        per_type: the number of rows of a type, one for each position at which a token is read.
        places: int32[positions], the row p of a type that the position reads;
            NO_NODE if it reads only the relation.
        relation_rows: int32[positions]; relation r at position a has the row
            ``relation_rows[a] + r``; NO_NODE if no relation is read there.
    """

    # weights may be arbitrarily large; parsing must yield trees anyway
    @np.errstate(over="ignore", invalid="ignore")
    def __init__(self, maker: SlotPrecomputation, table: FeatureTable, n_relations: int) -> None:
        nothing = maker.for_values(np.full((len(table.attributes), 1), ABSENT, np.int32))
        self.bias = nothing.bias.copy()
        with_words = np.unique(table.columns[table.columns[:, 1] != NO_NODE, 0])
        self.per_type = len(with_words)
        self.places = np.full(len(table.programs), NO_NODE, np.int32)
        self.places[with_words] = np.arange(self.per_type)
        self.relation_rows = np.full(len(table.programs), NO_NODE, np.int32)
        self._absent = np.zeros((self.per_type, len(self.bias)), np.float32)
        relations: list[np.ndarray] = []
        for start, (position, attribute) in zip(nothing.starts, table.columns, strict=True):
            absent = nothing.rows[start + ABSENT]
            self.bias += absent
            if attribute == NO_NODE:
                self.relation_rows[position] = n_relations * len(relations)
                relations.append(
                    nothing.rows[start + N_RESERVED : start + N_RESERVED + n_relations] - absent
                )
            else:
                self._absent[self.places[position]] += absent
        self.first = n_relations * len(relations)
        self._relations = np.concatenate([*relations, np.zeros((0, len(self.bias)), np.float32)])

    @abstractmethod
    def __call__(self, sentences: Sentences) -> PrecomputedWords:
        """Return the types of the tokens, and the hidden activations of these types."""


class ContextualActivations(TokenActivations):
    """Activations with a contextual representation: computed for each call,
    with one type for each token.

    Each position has one slot, which reads the token,
    so one product makes the rows of all tokens in their order.

    Args:
        maker, table, n_relations: see TokenActivations.
        encoder: computes the vectors of tokens.
        token_slots: the weights of the slots that read them, if any.
    """

    def __init__(
        self,
        maker: SlotPrecomputation,
        table: FeatureTable,
        n_relations: int,
        encoder: SentenceEncoder,
        token_slots: list[SlotWeights],
    ) -> None:
        super().__init__(maker, table, n_relations)
        self._encoder = encoder
        self._matrix = None
        for part in token_slots:
            by_place = np.empty_like(part.weights, order="C")
            by_place[self.places[table.columns[part.columns, 0]]] = part.weights
            self._matrix = encoder.arithmetic.matrix(
                by_place.reshape(-1, by_place.shape[2]), -self._absent.reshape(-1)
            )
            # The rows of relations take the places of some made-up tokens before the first one.
            self._lead = -(-self.first // self.per_type)
            self.first = self._lead * self.per_type

    def __call__(self, sentences: Sentences) -> PrecomputedWords:
        types = np.arange(sentences.offsets[-1], dtype=np.int32)
        if self._matrix is None:
            return PrecomputedWords(types, self._relations, self.first, self.per_type)
        vectors = self._encoder.encode(sentences)
        lead = np.zeros((self._lead, vectors.shape[1]), vectors.dtype)
        rows = self._matrix(np.concatenate([lead, vectors])).reshape(-1, len(self.bias))
        rows[: len(self._relations)] = self._relations
        return PrecomputedWords(types, rows, self.first, self.per_type)


class TypeActivations(TokenActivations):
    """Activations with a static representation, computed once for each type, for all threads.

    Args:
        maker, table, n_relations: see TokenActivations.
        max_bytes: the activations of types are dropped if they would take more.
    """

    def __init__(
        self,
        maker: SlotPrecomputation,
        table: FeatureTable,
        n_relations: int,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        super().__init__(maker, table, n_relations)
        word_slots = np.flatnonzero(table.columns[:, 1] != NO_NODE)
        places = self.places[table.columns[word_slots, 0]]
        slots = [word_slots[places == place].tolist() for place in range(self.per_type)]
        make = partial(add_up_slots, maker, slots, self._absent)
        self._rows = TypeRows(
            make, len(table.attributes), self._relations, self.per_type, max_bytes
        )

    def __call__(self, sentences: Sentences) -> PrecomputedWords:
        return PrecomputedWords(*self._rows(sentences.values), self.first, self.per_type)


def add_up_slots(
    maker: SlotPrecomputation,
    slots: Sequence[Sequence[int]],
    absent: np.ndarray,
    values: np.ndarray,
    rows: np.ndarray,
) -> None:
    """Fill in the first of ``rows`` with the contributions of slots to hidden units.

    Args:
        maker: has the weights, of a static representation.
        slots: for each position, its slots, in the order of addition.
        absent: float32[positions, hidden], subtracted from the sums of each position.
        values: int32[attributes, types].
        rows: float32[>= types * positions, hidden], the result,
            with the positions of a type one after the other.
    """
    n, added = values.shape[1], maker.by_slot(values)
    by_place = rows[: n * len(absent)].reshape(n, *absent.shape)
    for place, columns in enumerate(slots):
        total = np.tile(-absent[place], (n, 1))
        for column in columns:
            _add_rows(total, *added(column))
        by_place[:, place] = total


@kernel()
def _add_rows(total, rows, numbers):
    for t in range(len(total)):
        row, sum_of_token = rows[numbers[t]], total[t]
        for h in range(total.shape[1]):
            sum_of_token[h] += row[h]
