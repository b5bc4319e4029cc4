"""Precomputed hidden activations of tokens: what each adds to the hidden units at each position.

The *signature* of a token is the combination of the values of all its attributes; a running text has far fewer signatures than
words. With a static token representation, what all slots at one position add (precomputed.py) is added up once for a signature;
with a contextual one, every token has a signature of its own. All are relative to a configuration without any node: what ABSENT
adds is in the bias, and a position at which there is no node, or a relation that is not there, adds nothing at all.

The activations of a signature are the same whatever others they are computed together with: a parse depends only on its
sentence.
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

# The rows of signatures are forgotten, and computed again when needed, when they would take more bytes than these.
MAX_BYTES = 128 * 2**20


Make = Callable[[np.ndarray, np.ndarray], None]
"""From the values of signatures (int32[attributes, signatures]), fills in the first of some rows (float32[rows, width])."""


@dataclass(frozen=True, eq=False)
class _Batch:
    """Signatures whose rows are to be computed.

    Attributes:
        values: int32[attributes, signatures].
        rows: float32[at least the rows of these signatures, width].
        made: done when they are there, or could not be computed; then it has the error.
    """

    values: np.ndarray
    rows: np.ndarray
    made: Future[None]


class SignatureRows:
    """The signatures are numbered, and their rows computed once for all threads, which may ask at the same time.

    Signatures are numbered by one thread at a time. Their rows, which take far longer, are computed in batches, each by any
    thread that is asking meanwhile: a thread does not return before the rows of its signatures are there, and does not begin to
    wait while there is a batch that none has begun. Where one cannot be computed, all that need it have the error, and all
    signatures are forgotten.

    Args:
        make: computes the rows of signatures; those of a signature must not depend on the others.
        n_attributes: values of a signature.
        first: float32[n, width], rows that stand before those of signatures.
        per_signature: rows of a signature.
        max_bytes: the rows of signatures are forgotten when they would take more.
    """

    _known: VectorTable  # the values of the signatures, which it numbers
    # float32[rows, width]: room for all signatures until they are forgotten; memory that is not used costs nothing.
    _rows: np.ndarray
    _waiting: deque[_Batch]  # that no thread has begun
    _under_way: list[_Batch]  # those, and those that are begun, but not done

    def __init__(
        self, make: Make, n_attributes: int, first: np.ndarray, per_signature: int = 1, max_bytes: int = MAX_BYTES
    ) -> None:
        self._make = make
        self._first = first
        self._per_signature = per_signature
        self._lock = Lock()
        self._waiting, self._under_way = deque(), []
        self._max_signatures = max_bytes // max(1, per_signature * first.shape[1] * first.itemsize)
        self._forget(n_attributes, 0)

    def __call__(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The signatures of tokens, and the rows of all of them.

        Args:
            values: int32[attributes, tokens].

        Returns:
            int32[tokens], and float32[at least the rows in use, width]: first those that stand before the signatures', then
            those of the signatures, as far as they are computed; those of the signatures here are.
        """
        n_attributes, tokens = values.shape
        with self._lock:
            if len(self._known) + tokens > self._capacity:
                self._forget(n_attributes, tokens)
            before = len(self._known)
            rows = self._rows
            try:
                signatures = self._known.look_up(values)
                new = []
                for first in range(before, len(self._known), batch_sizes.SIGNATURES_PER_BATCH):
                    last = min(first + batch_sizes.SIGNATURES_PER_BATCH, len(self._known))
                    vectors = np.ascontiguousarray(self._known.vectors[first:last].T)
                    new.append(_Batch(vectors, rows[len(self._first) + first * self._per_signature :], Future()))
                self._under_way += new
                self._waiting += new
            except BaseException:
                self._forget(n_attributes, 0)  # the signatures have numbers, but no rows
                raise
            needed = [*self._under_way]  # all signatures that have been met, and so those here, are in them
        for batch in needed:
            self._compute_until(batch.made)
        return signatures, rows

    def _compute_until(self, made: Future[None]) -> None:
        """Computes batches, whoever has met their signatures, until one is made; raises what has kept it from being made."""
        while not made.done():
            try:
                batch = self._waiting.popleft()
            except IndexError:  # the one that is needed is another thread's
                break
            try:
                self._make(batch.values, batch.rows)
            except BaseException as error:
                with self._lock:
                    self._under_way.remove(batch)
                    self._forget(self._known.vectors.shape[1], 0)  # the signatures have numbers, but no rows
                batch.made.set_exception(error)
                raise
            with self._lock:
                self._under_way.remove(batch)
            batch.made.set_result(None)
        made.result()

    def _forget(self, n_attributes: int, tokens: int) -> None:
        """Starts over, with room for the signatures of at least this many tokens."""
        # New arrays: other threads may still be reading and filling the old ones.
        self._capacity = max(self._max_signatures, tokens)
        self._known = VectorTable(n_attributes)
        self._rows = np.empty((len(self._first) + self._capacity * self._per_signature, self._first.shape[1]), np.float32)
        self._rows[: len(self._first)] = self._first


class PrecomputedWords(NamedTuple):
    """The signatures of the tokens of sentences, and the hidden activations of these signatures.

    Attributes:
        signatures: int32[total], that of each token, in the layout of ``Sentences``.
        activations: float32[at least the rows in use, hidden]: first those of the relations, then those of signatures, as far
            as they are computed; those of the signatures here are.
        first, per_signature: see TokenActivations.
    """

    signatures: np.ndarray
    activations: np.ndarray
    first: int
    per_signature: int


def token_activations(weights: ClassifierWeights, table: FeatureTable, n_relations: int) -> TokenActivations:
    """Those of a classifier with these weights."""
    maker = SlotPrecomputation(weights, table)
    if weights.encoder is None:
        return SignatureActivations(maker, table, n_relations)
    of_tokens = [part for part in weights.embedded if part.attribute == TOKEN]
    return ContextualActivations(maker, table, n_relations, weights.encoder, of_tokens)


class TokenActivations(ABC):
    """Computes the hidden activations of sentences; thread-safe.

    Args:
        maker: computes those of single slots.
        table: the features.
        n_relations: number of relations.

    Attributes:
        bias: float32[hidden]: the hidden layer of a configuration without any node.
        first: the first row of the signatures; signature t has the rows ``first + t * per_signature + p``.
        per_signature: rows of a signature, one for each position at which a token is read.
        places: int32[positions]: which of them, p, the position reads; NO_NODE if it reads only the relation.
        relation_rows: int32[positions]: relation r at the position has the row ``relation_rows[a] + r``; NO_NODE if it is not
            read there.
    """

    @np.errstate(over="ignore", invalid="ignore")  # weights may be of any size; there will be trees anyway
    def __init__(self, maker: SlotPrecomputation, table: FeatureTable, n_relations: int) -> None:
        nothing = maker.of_values(np.full((len(table.attributes), 1), ABSENT, np.int32))
        self.bias = nothing.bias.copy()
        with_words = np.unique(table.columns[table.columns[:, 1] != NO_NODE, 0])
        self.per_signature = len(with_words)
        self.places = np.full(len(table.programs), NO_NODE, np.int32)
        self.places[with_words] = np.arange(self.per_signature)
        self.relation_rows = np.full(len(table.programs), NO_NODE, np.int32)
        self._absent = np.zeros((self.per_signature, len(self.bias)), np.float32)
        relations: list[np.ndarray] = []
        for start, (position, attribute) in zip(nothing.starts, table.columns, strict=True):
            absent = nothing.rows[start + ABSENT]
            self.bias += absent
            if attribute == NO_NODE:
                self.relation_rows[position] = n_relations * len(relations)
                relations.append(nothing.rows[start + N_RESERVED : start + N_RESERVED + n_relations] - absent)
            else:
                self._absent[self.places[position]] += absent
        self.first = n_relations * len(relations)
        self._relations = np.concatenate([*relations, np.zeros((0, len(self.bias)), np.float32)])

    @abstractmethod
    def __call__(self, sentences: Sentences) -> PrecomputedWords:
        """The signatures of the tokens, and the hidden activations of all of them."""


class ContextualActivations(TokenActivations):
    """Those of a contextual representation: computed for any sentences, each token having a signature of its own.

    There is one slot at each position, which reads the token, so that one product makes the rows of all tokens as they lie.

    Args:
        maker, table, n_relations: see TokenActivations.
        encoder: makes the vectors of tokens.
        of_tokens: the weights of the slots that read them, where there are any.
    """

    def __init__(
        self,
        maker: SlotPrecomputation,
        table: FeatureTable,
        n_relations: int,
        encoder: SentenceEncoder,
        of_tokens: list[SlotWeights],
    ) -> None:
        super().__init__(maker, table, n_relations)
        self._encoder = encoder
        self._matrix = None
        for part in of_tokens:
            by_place = np.empty_like(part.weights, order="C")
            by_place[self.places[table.columns[part.columns, 0]]] = part.weights
            self._matrix = encoder.arithmetic.matrix(by_place.reshape(-1, by_place.shape[2]), -self._absent.reshape(-1))
            # The rows of relations take the places of those of some tokens that are not there.
            self._lead = -(-self.first // self.per_signature)
            self.first = self._lead * self.per_signature

    def __call__(self, sentences: Sentences) -> PrecomputedWords:
        signatures = np.arange(sentences.offsets[-1], dtype=np.int32)
        if self._matrix is None:
            return PrecomputedWords(signatures, self._relations, self.first, self.per_signature)
        vectors = self._encoder.encode(sentences)
        lead = np.zeros((self._lead, vectors.shape[1]), vectors.dtype)
        rows = self._matrix(np.concatenate([lead, vectors])).reshape(-1, len(self.bias))
        rows[: len(self._relations)] = self._relations
        return PrecomputedWords(signatures, rows, self.first, self.per_signature)


class SignatureActivations(TokenActivations):
    """Those of a static representation, computed once for each signature and all threads.

    Args:
        maker, table, n_relations: see TokenActivations.
        max_bytes: the activations of signatures are forgotten when they would take more.
    """

    def __init__(self, maker: SlotPrecomputation, table: FeatureTable, n_relations: int, max_bytes: int = MAX_BYTES) -> None:
        super().__init__(maker, table, n_relations)
        of_words = np.flatnonzero(table.columns[:, 1] != NO_NODE)
        places = self.places[table.columns[of_words, 0]]
        slots = [of_words[places == place].tolist() for place in range(self.per_signature)]
        make = partial(add_up_slots, maker, slots, self._absent)
        self._rows = SignatureRows(make, len(table.attributes), self._relations, self.per_signature, max_bytes)

    def __call__(self, sentences: Sentences) -> PrecomputedWords:
        return PrecomputedWords(*self._rows(sentences.values), self.first, self.per_signature)


def add_up_slots(
    maker: SlotPrecomputation, slots: Sequence[Sequence[int]], absent: np.ndarray, values: np.ndarray, rows: np.ndarray
) -> None:
    """Fills in the first of some rows, float32[signatures * positions or more, hidden], with what slots add to hidden units.

    Args:
        maker: of a static representation; has the weights.
        slots: of each position, the slots, in the order in which they are added up.
        absent: float32[positions, hidden], what is subtracted from the sums of each.
        values: int32[attributes, signatures].
        rows: filled in, those of all positions of a signature one after the other.
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
