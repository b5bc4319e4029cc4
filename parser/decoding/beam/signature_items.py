"""What a beam search keeps whose items merge by signature (signature_search.py), and room for what is worked out of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from parser.data.parses import NO_NODE
from parser.decoding.beam.signature import visible_parts
from parser.transitions.features import ADDRESS_LENGTH, Slot, program_of


class Parts(NamedTuple):
    """What must be equal for two items to merge, besides their places: what is read at some addresses (signature.py).

    Attributes:
        programs: int32[parts, 9], the addresses; see FeatureTable.
        of_relation: bool[parts], whether the relation is read there, or the token.
        newest: int32[3], by column of the move, the part that reads the relation of the arc just made; NO_NODE: none does.
    """

    programs: np.ndarray
    of_relation: np.ndarray
    newest: np.ndarray

    @classmethod
    def of(cls, slots: Sequence[Slot]) -> Parts:
        """Those of a table of features, for arc-standard."""
        found = sorted(
            (depth, len(moves), moves, of_relation)
            for depth, part in enumerate(visible_parts(slots))
            for moves, of_relation in part
        )
        addresses = [f"s{depth}" + "".join(f".{side}{rank}" for side, rank in moves) for depth, _, moves, _ in found]
        programs = [program_of(address) for address in addresses]
        newest = np.full(3, NO_NODE, np.int32)
        for column, side in ((1, "r"), (2, "l")):  # reduce_left, reduce_right
            if (relation := (0, 1, ((side, 1),), True)) in found:
                newest[column] = found.index(relation)
        of_relation = np.array([part[-1] for part in found], np.bool_)
        return cls(np.array(programs, np.int32).reshape(-1, ADDRESS_LENGTH), of_relation, newest)

    @property
    def elements(self) -> int:
        """How many elements of the stack they are in, at least one."""
        return 1 + int(self.programs[:, 1].max(initial=0))


class SignatureItems(NamedTuple):
    """The items of a sentence; row m of each array holds those of step m, best first. See merging_items.py.

    The tails of an item are all of one step, that before the first token of s0 was shifted, and the score of the shift out of
    them is theirs; so a tail is the number of an item of that step.

    Attributes:
        counts: int32[steps + 1], how many there are.
        cells: int32[steps + 1, size], the stacks of their best computations.
        tops: int32[steps + 1, size, elements], the nodes at the top of these; NO_NODE after the last.
        begins: int32[steps + 1, size], the first token of s0.
        fronts: int32[steps + 1, size], the first token of the buffer.
        prefixes, insides: float64[steps + 1, size].
        shifts: float64[steps + 1, size], what a shift costs, where it is among the moves that were looked at.
        tail_counts, tail_starts: int32 and int64[steps + 1, size], how many of ``tails`` are theirs, and from which on.
        tails: int32[room], numbers of items.
        reductions: int32[steps + 1, size, 3], the first and the last way to make them by a reduction, and the best one.
        ways: int32[room, 4], of each reduction the numbers of the item and of the tail, the output, and the next reduction.
        costs: float64[room], what the move of each costs.
        used: int64[2], how much of the room of tails and of reductions is in use.
    """

    counts: np.ndarray
    cells: np.ndarray
    tops: np.ndarray
    begins: np.ndarray
    fronts: np.ndarray
    prefixes: np.ndarray
    insides: np.ndarray
    shifts: np.ndarray
    tail_counts: np.ndarray
    tail_starts: np.ndarray
    tails: np.ndarray
    reductions: np.ndarray
    ways: np.ndarray
    costs: np.ndarray
    used: np.ndarray

    @classmethod
    def room(cls, tokens: int, size: int, elements: int, times: int) -> SignatureItems:
        """For a sentence of this many tokens; ``times`` as many tails, and as many reductions, as items."""
        shape = 2 * tokens + 1, size
        most = times * shape[0] * size
        return cls(
            np.empty(shape[0], np.int32),
            np.empty(shape, np.int32),
            np.empty((*shape, elements), np.int32),
            np.empty(shape, np.int32),
            np.empty(shape, np.int32),
            np.empty(shape),
            np.empty(shape),
            np.empty(shape),
            np.empty(shape, np.int32),
            np.empty(shape, np.int64),
            np.empty(most, np.int32),
            np.empty((*shape, 3), np.int32),
            np.empty((most, 4), np.int32),
            np.empty(most),
            np.zeros(2, np.int64),
        )


class Streams(NamedTuple):
    """What the items of a step can become: for each of them and each of its tails a stream of items, best first.

    Attributes:
        items: int32[streams], the item that is reduced, or shifted out of.
        below: int32[streams], its tail; NO_NODE: the stream is the shift.
        at: int32[streams], the place of the next output among those of the item; NO_NODE after the last.
        prefixes, insides: float64[streams], of what it makes.
        outputs: int32[size, size], of each item the best outputs, best first.
        n_outputs: int32[size], how many.
        seen: int32[size, parts], of each new item what must be equal for another to merge with it.
        tails: int32[size, size], the tails of the new items.
        n_tails: int32[size], how many.
        pending: int32[tokens + 1, 4], room for items of a tree that is read: step, number, and the arc to it.
    """

    items: np.ndarray
    below: np.ndarray
    at: np.ndarray
    prefixes: np.ndarray
    insides: np.ndarray
    outputs: np.ndarray
    n_outputs: np.ndarray
    seen: np.ndarray
    tails: np.ndarray
    n_tails: np.ndarray
    pending: np.ndarray

    @classmethod
    def room(cls, tokens: int, size: int, parts: int) -> Streams:
        """For a sentence of this many tokens."""
        most = size * (size + 1)
        return cls(
            np.empty(most, np.int32),
            np.empty(most, np.int32),
            np.empty(most, np.int32),
            np.empty(most),
            np.empty(most),
            np.empty((size, size), np.int32),
            np.empty(size, np.int32),
            np.empty((size, parts), np.int32),
            np.empty((size, size), np.int32),
            np.empty(size, np.int32),
            np.empty((tokens + 1, 4), np.int32),
        )
