"""What a beam search keeps (beam_search.py): the items of each step, and room for what is worked out of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parser.transitions.attardi import MAX_DEGREE


class Items(NamedTuple):
    """The items of a sentence; row m of each array holds those of step m, best first.

    Attributes:
        counts: int32[steps + 1], how many there are.
        cells: int32[steps + 1, size], their stacks.
        fronts: int32[steps + 1, size], the first token of the buffer.
        totals: float64[steps + 1, size], their scores.
        parents: int32[steps + 1, size], the item of the step before that each was made from.
        outputs: int32[steps + 1, size], and the output that was taken there.
    """

    counts: np.ndarray
    cells: np.ndarray
    fronts: np.ndarray
    totals: np.ndarray
    parents: np.ndarray
    outputs: np.ndarray

    @classmethod
    def room(cls, tokens: int, size: int) -> Items:
        """For a sentence of this many tokens."""
        shape = 2 * tokens + 1, size
        integers = [np.empty(shape, np.int32) for _ in range(4)]
        return cls(np.empty(shape[0], np.int32), integers[0], integers[1], np.empty(shape, np.float64), *integers[2:])


class Expansion(NamedTuple):
    """What is known of the items of a step while they are expanded.

    Attributes:
        scores: float32[size, outputs], of the classifier; minus infinity where an output is not applicable.
        norms: float64[size], what is subtracted from the score of an output.
        best: int32[size], the best output that has not been taken yet; NO_NODE if there is none left.
        totals: float64[size], the score of the item that it makes.
        taken: int32[size], outputs looked at.
        tops: int32[size, elements], the nodes that features can see.
        sums: float32[tokens + 2, units], what the buffer contributes to the hidden layer, by its front.
        summed: bool[tokens + 2], whether that is known.
    """

    scores: np.ndarray
    norms: np.ndarray
    best: np.ndarray
    totals: np.ndarray
    taken: np.ndarray
    tops: np.ndarray
    sums: np.ndarray
    summed: np.ndarray

    @classmethod
    def room(cls, tokens: int, size: int, outputs: int, elements: int, units: int) -> Expansion:
        """For a sentence of this many tokens; ``elements`` of the stack that features can see."""
        return cls(
            np.empty((size, outputs), np.float32),
            np.empty(size, np.float64),
            np.empty(size, np.int32),
            np.empty(size, np.float64),
            np.empty(size, np.int32),
            np.empty((size, elements), np.int32),
            np.empty((tokens + 2, units), np.float32),
            np.empty(tokens + 2, np.bool_),
        )


class Scratch(NamedTuple):
    """Room for one configuration: see beam_scores.py, compiled.py, log_partition() and tree_stacks.take_move()."""

    ahead: np.ndarray
    picked: np.ndarray
    hidden: np.ndarray
    active: np.ndarray
    shares: np.ndarray
    powers: np.ndarray
    elements: np.ndarray
    path: np.ndarray

    @classmethod
    def room(cls, tokens: int, addresses: int, units: int, outputs: int, read_ahead: int) -> Scratch:
        """For sentences of at most this many tokens; ``read_ahead`` of the buffer that features can see."""
        return cls(
            np.empty(read_ahead, np.int32),
            np.empty(2 * addresses, np.int64),
            np.empty(units, np.float32),
            np.empty(units, np.int32),
            np.empty(outputs, np.float32),
            np.empty(outputs, np.float32),
            np.empty(MAX_DEGREE, np.int32),
            np.empty(tokens + 1, np.int32),
        )
