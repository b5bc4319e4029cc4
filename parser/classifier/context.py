"""The attribute ``context``: what a sentence encoder (sentence_encoder.py) says of a token after reading all of its sentence.

Its value is the token's place among the sentences at hand, and the matrix of its vectors is what the encoder makes of these
sentences. So features, walks and greedy parsing read it like any other attribute, from sentences that they were made for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from parser.data.vocabulary import N_RESERVED, Columns, Encoder, Sentences

CONTEXT = "context"


class ContextEncoder(Encoder):
    """An Encoder that adds ``context`` as the last attribute: N_RESERVED plus the token's place in the flat layout."""

    @property
    def attributes(self) -> list[str]:
        """The names of the attributes, in the order of ``Sentences.values``."""
        return [*self.vocabularies, CONTEXT]

    def encode(self, sentences: Sequence[Columns]) -> Sentences:
        """Encodes the words of the sentences; see Encoder.encode."""
        return _with_places(super().encode(sentences))

    def unknown_counts(self, sentences: Sentences) -> dict[str, int]:
        """By attribute that has a vocabulary: how many tokens have a value that training never saw."""
        return super().unknown_counts(Sentences(sentences.values[:-1], sentences.offsets))


def spans(sentences: Sentences, tokens: int) -> Iterator[tuple[int, int]]:
    """Cuts sentences up in their order, the artificial roots counted as tokens.

    Yields:
        The first and the last sentence (exclusive) of as many as have at most ``tokens`` tokens together, or of one.
    """
    first = 0
    while first < len(sentences):
        end = sentences.offsets[first] + tokens
        last = max(first + 1, int(np.searchsorted(sentences.offsets, end, side="right")) - 1)
        yield first, last
        first = last


def part(sentences: Sentences, first: int, last: int) -> Sentences:
    """The sentences from number ``first`` to before ``last``, their places counted anew, whatever ``context`` held before."""
    offsets = sentences.offsets[first : last + 1]
    values = sentences.values[:-1, offsets[0] : offsets[-1]]
    return _with_places(Sentences(values, offsets - offsets[0]))


def places_of(sentences: Sentences, numbers: np.ndarray) -> np.ndarray:
    """int64[tokens]: the places of the tokens of some sentences (int[m]), one sentence behind the other."""
    lengths = np.diff(sentences.offsets)[numbers]
    return np.arange(lengths.sum()) + np.repeat(sentences.offsets[numbers] - (np.cumsum(lengths) - lengths), lengths)


def _with_places(sentences: Sentences) -> Sentences:
    places = np.arange(N_RESERVED, N_RESERVED + sentences.offsets[-1], dtype=np.int32)
    return Sentences(np.concatenate([sentences.values, places[None]]), sentences.offsets)
