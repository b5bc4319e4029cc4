"""Rows of numbers worked out once for each token signature, and kept for all threads.

The *signature* of a token is the combination of the values of all its attributes; a running text has far fewer signatures than
words.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Lock

import numpy as np

from parser.kernels.hash_tables import VectorTable

# The rows of signatures are forgotten, and computed again when needed, when they would take more bytes than these.
MAX_BYTES = 128 * 2**20

# Signatures in a batch. With few, more of what they have in common is computed several times.
_IN_BATCH = 512

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
            signatures = self._known.look_up(values)
            rows = self._rows
            for first in range(before, len(self._known), _IN_BATCH):
                new = np.ascontiguousarray(self._known.vectors[first : min(first + _IN_BATCH, len(self._known))].T)
                batch = _Batch(new, rows[len(self._first) + first * self._per_signature :], Future())
                self._waiting.append(batch)
                self._under_way.append(batch)
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
