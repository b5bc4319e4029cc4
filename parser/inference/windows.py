"""How a pretrained encoder reads a sentence: in windows of pieces,
from which the vectors of words are made.

A window begins and ends with the special tokens of the encoder. A sentence that is longer than the
encoder's window is read in windows that overlap by half; the vector of a word is from the window in
which the word is further from the ends. The root has the vector of the special token at the start
of a sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np

from parser.data.vocabulary import N_RESERVED

# Added to a variance, as torch's layer_norm does.
_EPSILON = np.float32(1e-5)


class Window(NamedTuple):
    """Words of a sentence that are read together.

    Attributes:
        first, last: the first word, and the end.
        kept, end: the first word whose vector is from this window, and the end.
    """

    first: int
    last: int
    kept: int
    end: int


def windows(sizes: np.ndarray, room: int) -> list[Window]:
    """Return windows over the words of a sentence.

    Args:
        sizes: int[words], how many pieces each has, at most ``room``.
        room: how many pieces a window has.
    """
    ends, n = np.cumsum(sizes), len(sizes)
    spans: list[tuple[int, int]] = []
    first = 0
    while True:
        before = int(ends[first] - sizes[first]) if n else 0
        last = int(np.searchsorted(ends, before + room, side="right"))
        if not spans or last > spans[-1][1]:
            spans.append((first, last))
        if last >= n:
            break
        middle = before + (int(ends[last - 1]) - before) // 2
        first = max(first + 1, int(np.searchsorted(ends, middle, side="right")))
    borders = [0, *((after[0] + span[1]) // 2 for span, after in pairwise(spans)), n]
    return [Window(*span, *kept) for span, kept in zip(spans, pairwise(borders), strict=True)]


@dataclass(frozen=True)
class PieceWindows:
    """The windows over some sentences.

    Attributes:
        pieces: for each window, int[pieces], the numbers of its pieces, with the special tokens.
        places: int64[m], the places of the pieces whose vectors count,
            among the pieces of all windows side by side.
        tokens: int64[m], the token of each; in order, because the pieces of a token are neighbours.
        n_tokens: how many tokens the sentences have, roots included.
    """

    pieces: list[np.ndarray]
    places: np.ndarray
    tokens: np.ndarray
    n_tokens: int

    @classmethod
    def over(
        cls,
        pieces: np.ndarray,
        lengths: np.ndarray,
        room: int,
        before: Sequence[int] = (),
        after: Sequence[int] = (),
    ) -> Self:
        """Return the windows over sentences.

        Args:
            pieces: int32[longest, tokens], see FormPart.encode().
            lengths: int[sentences], how many tokens each has, including the root.
            room: how many pieces a window has, without the special tokens.
            before, after: the numbers of the special tokens that a window begins and ends with.
        """
        columns = pieces.T
        is_piece = columns >= N_RESERVED
        numbers, sizes = columns[is_piece] - N_RESERVED, is_piece.sum(axis=1)
        ends = np.cumsum(sizes)
        of_windows: list[np.ndarray] = []
        places: list[np.ndarray] = []
        tokens: list[np.ndarray] = []
        shift = 0
        for root, length in zip(
            (np.cumsum(lengths) - lengths).tolist(), lengths.tolist(), strict=True
        ):
            word_sizes = sizes[root + 1 : root + length]
            bounds = ends[root] + np.concatenate([[0], np.cumsum(word_sizes)])
            for number, window in enumerate(windows(word_sizes, room)):
                begin, end = int(bounds[window.first]), int(bounds[window.last])
                kept, kept_end = int(bounds[window.kept]), int(bounds[window.end])
                words = np.repeat(
                    np.arange(window.kept, window.end), word_sizes[window.kept : window.end]
                )
                if number == 0 and before:
                    places.append(np.array([shift]))
                    tokens.append(np.array([root]))
                places.append(shift + len(before) + np.arange(kept - begin, kept_end - begin))
                tokens.append(root + 1 + words)
                of_windows.append(
                    np.concatenate([[*before], numbers[begin:end], [*after]]).astype(np.int64)
                )
                shift += len(of_windows[-1])
        nothing = np.zeros(0, np.int64)
        return cls(
            of_windows,
            np.concatenate([nothing, *places]),
            np.concatenate([nothing, *tokens]),
            len(columns),
        )

    def vectors(self, of_pieces: np.ndarray) -> np.ndarray:
        """Return float32[tokens, width]: the mean vector of each token's pieces,
        normalized to mean 0 and variance 1.

        Args:
            of_pieces: float32[pieces, width],
                the vectors of the pieces of all windows side by side.
        """
        means = np.zeros((self.n_tokens, of_pieces.shape[1]), np.float32)
        if len(self.tokens):
            firsts = np.flatnonzero(np.diff(self.tokens, prepend=-1))
            sums = np.add.reduceat(of_pieces[self.places], firsts, axis=0)
            counts = np.diff(firsts, append=len(self.tokens))
            means[self.tokens[firsts]] = sums / counts[:, None].astype(np.float32)
        centred = means - means.mean(axis=1, keepdims=True, dtype=np.float32)
        variances = np.square(centred).mean(axis=1, keepdims=True, dtype=np.float32)
        return np.asarray(centred / np.sqrt(variances + _EPSILON), np.float32)
