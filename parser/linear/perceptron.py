"""The averaged perceptron of Algorithm 2 of Goldberg, Sartorio and Satta (2014), learning at every step of a computation.

    w = 0; in each iteration, for each sentence, until the configuration c is final:
        P = the applicable move and relation that w scores highest
        O = the same among the optimal moves, with the gold relation where the arc is gold (any relation where it is not)
        if P is not such a one: w += phi(O) - phi(P)
        c goes on by P while exploring, else by O

The average of w over all steps is what parses. It is kept in O(1) per update: u += steps * delta beside w += delta; the
average is w - u / steps. w is float32, u float64; whole numbers, so that they are exact.

The step is one compiled function: it finds the features, scores, compares and updates. What the system can do and what is
optimal come from outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numba import njit

from oracles import NOT_APPLICABLE
from parser.data.parses import NO_NODE
from parser.linear.templates import Templates, find_keys
from parser.linear.weights import MOST_OUTPUTS, HashedWeights, Weights, add_scores, entry_of, list_keys, move_keys, new_places
from parser.transitions.configurations import Configurations
from parser.transitions.system import Moves, TransitionSystem

# Feature rows of a configuration that there is room for at first.
_ROWS = 64


class Step:
    """What the perceptron says of a configuration; the next step writes over it.

    Attributes:
        predicted: int32[1] column and int32[1] relation of P, as TransitionSystem.apply takes them.
        right: those of O.
    """

    def __init__(self) -> None:
        self.out = np.empty(8, np.int32)
        self.predicted = self.out[0:1], self.out[1:2]
        self.right = self.out[2:3], self.out[3:4]

    def counts(self) -> tuple[int, int, int, int]:
        """1 if P was not right, so that the weights have changed; how many moves were optimal; the scores of O and of P."""
        updated, optimal, highest, score = self.out[4:].tolist()
        return updated, optimal, highest, score


class _Room(NamedTuple):
    """Where a step works: uint64[rows, templates], float32[rows, outputs], uint64[templates], int32[nodes], uint64[atoms]."""

    keys: np.ndarray
    scores: np.ndarray
    found: np.ndarray
    nodes: np.ndarray
    atoms: np.ndarray


class Perceptron:
    """Weights that learn.

    Args:
        system: the transition system.
        templates: the features.

    Attributes:
        steps: how many steps the average is over.
    """

    def __init__(self, system: TransitionSystem, templates: Templates) -> None:
        if system.n_outputs > MOST_OUTPUTS:
            raise ValueError(f"{system.n_outputs:,} outputs; the linear model takes {MOST_OUTPUTS:,} at most")
        self._system = system
        self._templates = templates
        self.steps = 0
        # What one update can take: two rows of features, the entries of each moved once.
        self._features_of_update = 2 * len(templates)
        self._entries_of_update = 2 * len(templates) * max(2, 2 * system.n_outputs)
        self._used = np.zeros(2, np.int64)
        self._weights = Weights(new_places(0), np.zeros(0, np.int32), np.zeros(0, np.float32))
        self._sums = np.zeros(0, np.float64)
        self._room = self._new_room(_ROWS)
        self._blocks = system.block_starts, system.block_sizes
        self._step = Step()

    def step(
        self,
        now: Configurations,
        moves: Moves,
        move_scores: np.ndarray,
        values: np.ndarray,
        start: int,
        gold: tuple[np.ndarray, np.ndarray],
        order: np.ndarray | None = None,
    ) -> Step:
        """Predicts the move of one configuration, and learns from it.

        Args:
            now: a batch of one configuration.
            moves: its moves.
            move_scores: int[width], the oracle's.
            values: int32[attributes, total], those of the sentences.
            start: where the sentence begins there.
            gold: int32[n + 1] heads and relations.
            order: int[width], columns: only the first optimal one counts as optimal; None: all count.
        """
        self._make_room(1 if moves.anchors is None else len(moves.anchors))
        _step(
            now,
            (moves.rows, moves.blocks, moves.heads, moves.children),
            _NO_ANCHORS if moves.anchors is None else moves.anchors,
            self._blocks,
            move_scores,
            _ALL if order is None else order,
            values,
            start,
            gold,
            self._templates.programs,
            self._room,
            self._weights,
            self._sums,
            self._used,
            self.steps,
            self._step.out,
        )
        self.steps += 1
        return self._step

    def average(self) -> HashedWeights:
        """The average of the weights over the steps; weights that are 0 on average are left out."""
        features = int(self._used[0])
        keys, firsts, sizes = np.empty(features, np.uint64), np.empty(features, np.int64), np.empty(features, np.int64)
        list_keys(self._weights.places, keys, firsts, sizes)
        order = np.argsort(keys)
        keys, firsts, sizes = keys[order], firsts[order], sizes[order]
        ends = np.cumsum(sizes)
        entries = np.arange(ends[-1] if features else 0) + np.repeat(firsts - (ends - sizes), sizes)
        averages = (self._weights.values[entries] - self._sums[entries] / max(1, self.steps)).astype(np.float32)
        kept = averages != 0
        counts = np.bincount(np.repeat(np.arange(features), sizes)[kept], minlength=features)
        starts = np.concatenate([[0], np.cumsum(counts[counts > 0])]).astype(np.int64)
        return HashedWeights(
            keys[counts > 0], starts, self._weights.outputs[entries][kept], averages[kept], self._system.n_outputs
        )

    def state(self) -> dict[str, np.ndarray]:
        """All that the next step depends on; keys as signed numbers of the same bits."""
        used = int(self._used[1])
        return {
            "places": self._weights.places.view(np.int64),
            "outputs": self._weights.outputs[:used],
            "values": self._weights.values[:used],
            "sums": self._sums[:used],
            "counts": np.array([*self._used, self.steps], np.int64),
        }

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Puts back what state() of such a perceptron gave."""
        places, outputs, values = (state[name].copy() for name in ("places", "outputs", "values"))
        self._weights = Weights(places.view(np.uint64), outputs, values)
        self._sums = state["sums"].copy()
        self._used = state["counts"][:2].copy()
        self.steps = int(state["counts"][2])

    def _make_room(self, rows: int) -> None:
        if rows > len(self._room.keys):
            self._room = self._new_room(2 * rows)
        features, entries = self._used.tolist()
        places, outputs, values = self._weights
        if 2 * (features + self._features_of_update) > len(places):
            places = new_places(2 * (features + self._features_of_update))
            move_keys(self._weights.places, places)
        if entries + self._entries_of_update > len(outputs):
            more = 2 * entries + self._entries_of_update - len(outputs)
            outputs, values = np.pad(outputs, (0, more)), np.pad(values, (0, more))
            self._sums = np.pad(self._sums, (0, more))
        if places is not self._weights.places or outputs is not self._weights.outputs:
            self._weights = Weights(places, outputs, values)

    def _new_room(self, rows: int) -> _Room:
        templates, programs = len(self._templates), self._templates.programs
        return _Room(
            np.empty((rows, templates), np.uint64),
            np.empty((rows, self._system.n_outputs), np.float32),
            np.empty(templates, np.uint64),
            np.empty(len(programs.addresses), np.int32),
            np.empty(len(programs.atoms), np.uint64),
        )


_NO_ANCHORS = np.empty((1, 0), np.int32)
_ALL = np.empty(0, np.int64)


@njit(cache=True, nogil=True)
def _step(
    now, moves, anchors, blocks, move_scores, order, values, start, gold, programs, room, weights, sums, used, steps, out
):
    rows, block_of, heads, children = moves
    block_starts, block_sizes = blocks
    gold_heads, gold_relations = gold
    for r in range(len(anchors)):
        find_keys(now, 0, anchors[r], values, start, programs, room.nodes, room.atoms, room.keys[r])
        room.scores[r] = 0
        add_scores(weights, room.keys[r], room.found, room.scores[r])

    highest = NOT_APPLICABLE
    for c in range(len(move_scores)):
        highest = max(highest, move_scores[c])
    only = NO_NODE  # the column that alone counts as optimal
    for i in range(len(order)):
        if move_scores[order[i]] == highest:
            only = order[i]
            break

    out[:] = NO_NODE
    predicted_score = right_score = np.float32(-np.inf)
    is_right = False
    optimal = 0
    for c in range(rows.shape[1]):
        row = rows[0, c]
        if row == NO_NODE:
            continue
        head, child = heads[0, c], children[0, c]
        good = move_scores[c] == highest and only in (NO_NODE, c)
        optimal += move_scores[c] == highest
        output = block_starts[block_of[0, c]]
        for relation in range(block_sizes[block_of[0, c]]):
            score = room.scores[row, output + relation]
            right = good and (head == NO_NODE or gold_heads[child] != head or gold_relations[child] == relation)
            if out[0] == NO_NODE or score > predicted_score:
                predicted_score = score
                out[0], out[1] = c, relation if head != NO_NODE else NO_NODE
                is_right = right
            if right and (out[2] == NO_NODE or score > right_score):
                right_score = score
                out[2], out[3] = c, relation if head != NO_NODE else NO_NODE
    out[4], out[5], out[6], out[7] = not is_right, optimal, highest, move_scores[out[0]]
    if is_right:
        return
    for side in range(2):
        column = out[2 - 2 * side]
        row = rows[0, column]
        output = block_starts[block_of[0, column]] + max(out[3 - 2 * side], 0)
        delta = 1 - 2 * side
        for t in range(room.keys.shape[1]):
            key = room.keys[row, t]
            if key != 0:
                entry = entry_of(weights, sums, used, key, output)
                weights.values[entry] += np.float32(delta)
                sums[entry] += np.float64(steps) * delta
