"""Sentences and predicted trees as integers, one after the other in flat arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Sentences:
    """Encoded sentences. Sentence s has its root at ``offsets[s]`` and token i at
    ``offsets[s] + i``.

    Attributes:
        values: int32[rows, total], total = sum of (n + 1); the attributes have the first rows,
            followed by the rows of the other word parts (parts/).
        offsets: int64[sentences + 1].
        vectors: [total, size], the encoder's vectors of the tokens, as it stores them;
            None if it has not run yet.
        unseen: int32[attributes that are sets, total], 1 if the value has an element unseen in
            training; ``values`` then has the number of a similar value. None if it is not needed.
        fixed_tags: for each predicted column, int32[total], the numbers of tags that are given and
            not to be predicted; NO_NODE where the tag is to be predicted. None: all are predicted.
    """

    values: np.ndarray
    offsets: np.ndarray
    vectors: np.ndarray | None = None
    unseen: np.ndarray | None = None
    fixed_tags: Mapping[str, np.ndarray] | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray:
        """int32[sentences]: the number of tokens n of each sentence, without the root."""
        return (np.diff(self.offsets) - 1).astype(np.int32)

    def span(self, first: int, last: int) -> Sentences:
        """Return the sentences ``first`` to ``last - 1`` as views, without copying."""
        start, end = self.offsets[first], self.offsets[last]
        vectors = None if self.vectors is None else self.vectors[start:end]
        unseen = None if self.unseen is None else self.unseen[:, start:end]
        fixed = (
            None
            if self.fixed_tags is None
            else {column: tags[start:end] for column, tags in self.fixed_tags.items()}
        )
        return Sentences(
            self.values[:, start:end],
            self.offsets[first : last + 1] - start,
            vectors,
            unseen,
            fixed,
        )

    def spans(self, tokens: int) -> Iterator[tuple[int, int]]:
        """Yield spans (first, last) of sentences of at most this many tokens;
        a longer sentence is a span of its own.
        """
        first = 0
        while first < len(self):
            last = (
                int(np.searchsorted(self.offsets, self.offsets[first] + tokens, side="right")) - 1
            )
            yield first, (last := max(last, first + 1))
            first = last

    def take(self, numbers: np.ndarray) -> Sentences:
        """Return the sentences with these numbers (int[m]), in their order."""
        offsets = np.concatenate([[0], np.cumsum(np.diff(self.offsets)[numbers])])
        places = self.places(numbers)
        vectors = None if self.vectors is None else self.vectors[places]
        unseen = None if self.unseen is None else self.unseen[:, places]
        fixed = (
            None
            if self.fixed_tags is None
            else {column: tags[places] for column, tags in self.fixed_tags.items()}
        )
        return Sentences(self.values[:, places], offsets, vectors, unseen, fixed)

    def places(self, numbers: np.ndarray) -> np.ndarray:
        """Return int64[tokens], the places of the tokens of some sentences (int[m]),
        one sentence after the other.
        """
        lengths = np.diff(self.offsets)[numbers]
        return np.arange(lengths.sum()) + np.repeat(
            self.offsets[numbers] - (np.cumsum(lengths) - lengths), lengths
        )


# The number in integer arrays for no node, no relation, no row or no output.
NO_NODE = -1


@dataclass(frozen=True)
class Parses:
    """Predicted trees in the layout of ``Sentences``: the entries of the roots are NO_NODE.

    Attributes:
        heads: int32[total].
        relations: int32[total].
        offsets: int64[sentences + 1].
    """

    heads: np.ndarray
    relations: np.ndarray
    offsets: np.ndarray

    @classmethod
    def allocate(cls, offsets: np.ndarray) -> Parses:
        """Allocate parses of sentences that begin at these offsets, without heads."""
        heads = np.full(offsets[-1], NO_NODE, np.int32)
        return cls(heads, heads.copy(), offsets)

    def span(self, first: int, last: int) -> Parses:
        """Return the parses of the sentences ``first`` to ``last - 1`` as views, without
        copying.
        """
        start, end = self.offsets[first], self.offsets[last]
        return Parses(
            self.heads[start:end], self.relations[start:end], self.offsets[first : last + 1] - start
        )
