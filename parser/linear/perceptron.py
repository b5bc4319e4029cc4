"""The averaged perceptron of Algorithm 2 of Goldberg, Sartorio and Satta (2014),
learning at every step of a computation.

    w = 0; in each iteration, for each sentence, until the configuration c is final:
        P = the applicable transition and relation that w scores highest
        O = the highest-scoring optimal transition; its relation is the gold one if the arc is gold,
            else any
        if P is not optimal in this sense: w += phi(O) - phi(P)
        c takes P while exploring, else O

The parser uses the average of w over all steps. It costs O(1) per update: u += steps * delta beside
w += delta; the average is w - u / steps. w is float32, u float64; both hold whole numbers, so they
are exact.

The oracle says what is optimal; everything else in a step is one compiled function, which finds the
features, scores, compares and updates. For Attardi's system, which includes arc-standard, and for
LR-spine it also finds and takes the transitions (attardi_step, lr_spine_step); for other systems
the caller does both, and calls learn() between. training/passes/online.py calls step();
training/fitting/beam_perceptron.py learns from whole computations, by scores() and change().
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from oracles import NOT_APPLICABLE
from oracles.errors import OptimalStepError
from parser.data.sentences import NO_NODE
from parser.kernels import array_kernel, kernel
from parser.linear.templates import Templates, find_keys
from parser.linear.weights import (
    MOST_OUTPUTS,
    HashedWeights,
    Weights,
    add_scores,
    add_scores_of_rows,
    entry_of,
    list_keys,
    move_keys,
    new_places,
)
from parser.transitions import attardi, lr_spine
from parser.transitions.attardi import Attardi
from parser.transitions.configurations import ONLY_ROW, Configurations, is_unfinished
from parser.transitions.lr_spine import LRSpine
from parser.transitions.system import TransitionSystem, behaves_as


class Perceptron:
    """Weights that learn.

    Attributes:
        steps: the number of steps in the average. step() increases it;
            callers of change() must increase it themselves.
    """

    def __init__(self, system: TransitionSystem, templates: Templates) -> None:
        if system.n_outputs > MOST_OUTPUTS:
            raise OptimalStepError(
                f"{system.n_outputs:,} outputs; the linear model takes at most {MOST_OUTPUTS:,}"
            )
        self._system = system
        self._templates = templates
        self.steps = 0
        # The room that a feature row may need: its features, with the entries of each moved once.
        self._features_of_row = len(templates)
        self._entries_of_row = len(templates) * max(2, 2 * system.n_outputs)
        self._used = np.zeros(2, np.int64)
        self._weights = Weights(new_places(0), np.zeros(0, np.int32), np.zeros(0, np.float32))
        self._sums = np.zeros(0, np.float64)
        self._blocks = system.block_starts, system.block_sizes
        self._out = np.zeros(9, np.int32)  # see learn()

    def step(
        self,
        now: Configurations,
        transition_scores: np.ndarray,
        values: np.ndarray,
        start: int,
        gold: tuple[np.ndarray, np.ndarray],
        *,
        canonical: bool,
        follows: bool,
    ) -> tuple[int, int, int, int, int]:
        """Predict the transition P of one configuration, learn from it, and take it,
        or the best optimal transition O.

        Args:
            now: a batch of one configuration.
            transition_scores: int[width], the oracle's scores.
            values: int32[attributes, total], the values of the sentences.
            start: where the sentence begins in ``values``.
            gold: int32[n + 1] heads and relations.
            canonical: only the first optimal transition of the eager order counts as optimal.
            follows: whether the predicted transition is taken.

        Returns:
            1 if P was wrong and the weights have changed; the number of optimal transitions; the
            oracle's scores of O and of P; 1 if the configuration is not final after the transition.
        """
        self._grow(2)
        system, out = self._system, self._out
        order = system.eager_order(len(transition_scores)) if canonical else _ALL
        about = self._blocks, transition_scores, order, (values, start, *gold)
        learned = self._templates.programs, self._weights, self._sums, self._used, self.steps
        if behaves_as(system, Attardi):
            attardi_step(now, system.degree, *about, *learned, follows, out)
        elif behaves_as(system, LRSpine):
            lr_spine_step(now, len(system.candidate_positions), *about, *learned, follows, out)
        else:
            transitions = system.transitions(now, FIRST_ROW)
            candidate_nodes = (
                _NO_CANDIDATE_NODES
                if transitions.candidate_nodes is None
                else transitions.candidate_nodes
            )
            learn(
                now,
                (transitions.rows, transitions.blocks, transitions.heads, transitions.children),
                candidate_nodes,
                *about,
                *learned,
                out,
            )
            taken = 0 if follows else 2
            system.apply(
                now, FIRST_ROW, transitions, out[taken : taken + 1], out[taken + 1 : taken + 2]
            )
            out[8] = len(system.unfinished(now))
        self.steps += 1
        updated, optimal, highest, score, goes_on = out[4:].tolist()
        return updated, optimal, highest, score, goes_on

    def scores(self, keys: np.ndarray) -> np.ndarray:
        """Return float32[feature rows, outputs], by the current weights; see
        HashedWeights.scores().
        """
        scores = np.zeros((len(keys), self._system.n_outputs), np.float32)
        add_scores_of_rows(self._weights, keys, scores)
        return scores

    def change(self, keys: np.ndarray, outputs: np.ndarray, delta: int) -> None:
        """Add to the weights of features; count no step.

        Args:
            keys: uint64[m, templates], feature rows; 0 = none.
            outputs: int[m], the output of each row whose weights change.
            delta: the number to add.
        """
        self._grow(len(keys))
        change_weights(self._weights, self._sums, self._used, keys, outputs, delta, self.steps)

    def begin_average(self) -> None:
        """Restart the average: from here on, it is over the next steps only."""
        self._sums[:] = 0
        self.steps = 0

    def average(self) -> HashedWeights:
        """Return the average of the weights over the steps,
        without weights that are 0 on average.
        """
        features = int(self._used[0])
        keys = np.empty(features, np.uint64)
        firsts = np.empty(features, np.int64)
        sizes = np.empty(features, np.int64)
        list_keys(self._weights.places, keys, firsts, sizes)
        order = np.argsort(keys)
        keys, firsts, sizes = keys[order], firsts[order], sizes[order]
        ends = np.cumsum(sizes)
        entries = np.arange(ends[-1] if features else 0) + np.repeat(firsts - (ends - sizes), sizes)
        averages = (
            self._weights.values[entries] - self._sums[entries] / max(1, self.steps)
        ).astype(np.float32)
        kept = averages != 0
        counts = np.bincount(np.repeat(np.arange(features), sizes)[kept], minlength=features)
        starts = np.concatenate([[0], np.cumsum(counts[counts > 0])]).astype(np.int64)
        return HashedWeights(
            keys[counts > 0],
            starts,
            self._weights.outputs[entries][kept],
            averages[kept],
            self._system.n_outputs,
        )

    def state(self) -> dict[str, np.ndarray]:
        """Return all that the next step depends on; keys as signed numbers with the same bits."""
        used = int(self._used[1])
        return {
            "places": self._weights.places.view(np.int64),
            "outputs": self._weights.outputs[:used],
            "values": self._weights.values[:used],
            "sums": self._sums[:used],
            "counts": np.array([*self._used, self.steps], np.int64),
        }

    def restore(self, state: Mapping[str, np.ndarray]) -> None:
        """Restore a result of state()."""
        places, outputs, values = (state[name].copy() for name in ("places", "outputs", "values"))
        self._weights = Weights(places.view(np.uint64), outputs, values)
        self._sums = state["sums"].copy()
        self._used = state["counts"][:2].copy()
        self.steps = int(state["counts"][2])

    def _grow(self, rows: int) -> None:
        """Grow the table to the room that this many feature rows may need: each feature,
        with its entries moved once.
        """
        features, entries = self._used.tolist()
        places, outputs, values = self._weights
        if 2 * (features + rows * self._features_of_row) > len(places):
            places = new_places(2 * (features + rows * self._features_of_row))
            move_keys(self._weights.places, places)
        if entries + rows * self._entries_of_row > len(outputs):
            more = 2 * entries + rows * self._entries_of_row - len(outputs)
            outputs, values = np.pad(outputs, (0, more)), np.pad(values, (0, more))
            self._sums = np.pad(self._sums, (0, more))
        if places is not self._weights.places or outputs is not self._weights.outputs:
            self._weights = Weights(places, outputs, values)


_NO_CANDIDATE_NODES = np.empty((1, 0), np.int32)
_ALL = np.empty(0, np.int64)


FIRST_ROW = np.zeros(1, np.int64)  # the row of the only configuration


@array_kernel()
def learn(
    now,
    transitions,
    candidate_nodes,
    blocks,
    transition_scores,
    order,
    sentence,
    programs,
    weights,
    sums,
    used,
    steps,
    out,
):
    """Predict, compare and update.

    Args:
        now: a batch of one configuration.
        transitions: its rows, blocks, heads and children; see Transitions.
        candidate_nodes: see Transitions; a row for each feature row. Without candidate nodes,
            one row of length 0.
        blocks: the system's block_starts and block_sizes.
        transition_scores: int[width], the oracle's scores.
        order: columns; only the first optimal one counts as optimal. Empty: all optimal ones count.
        sentence: values, start, and gold heads and relations, see Perceptron.step().
        programs: the templates' programs.
        weights, sums, used, steps: the perceptron's; all but ``steps`` change.
        out: int32[9], filled in: column and relation of P, then of O, then the results of step();
            the caller fills in the last.
    """
    rows, block_of, heads, children = transitions
    block_starts, block_sizes = blocks
    values, start, gold_heads, gold_relations = sentence
    templates = len(programs.templates)
    keys = np.empty((len(candidate_nodes), templates), np.uint64)
    scores = np.zeros((len(candidate_nodes), block_starts[-1] + block_sizes[-1]), np.float32)
    places, atoms = np.empty(templates, np.uint64), np.empty(len(programs.atoms), np.uint64)
    nodes = np.empty(len(programs.positions), np.int32)
    for r in range(len(candidate_nodes)):
        find_keys(now, ONLY_ROW, candidate_nodes[r], values, start, programs, nodes, atoms, keys[r])
        add_scores(weights, keys[r], places, scores[r])

    highest = NOT_APPLICABLE
    for c in range(len(transition_scores)):
        highest = max(highest, transition_scores[c])
    only = NO_NODE  # if set, the only column that counts as optimal
    for i in range(len(order)):
        if transition_scores[order[i]] == highest:
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
        good = transition_scores[c] == highest and only in (NO_NODE, c)
        optimal += transition_scores[c] == highest
        output = block_starts[block_of[0, c]]
        for relation in range(block_sizes[block_of[0, c]]):
            score = scores[row, output + relation]
            right = good and (
                head == NO_NODE or gold_heads[child] != head or gold_relations[child] == relation
            )
            if out[0] == NO_NODE or score > predicted_score:
                predicted_score = score
                out[0], out[1] = c, relation if head != NO_NODE else NO_NODE
                is_right = right
            if right and (out[2] == NO_NODE or score > right_score):
                right_score = score
                out[2], out[3] = c, relation if head != NO_NODE else NO_NODE
    out[4], out[5], out[6], out[7] = not is_right, optimal, highest, transition_scores[out[0]]
    if is_right:
        return
    for side in range(2):
        column = out[2 - 2 * side]
        output = block_starts[block_of[0, column]] + max(out[3 - 2 * side], 0)
        _change_row(weights, sums, used, keys[rows[0, column]], output, 1 - 2 * side, steps)


@kernel()
def change_weights(weights, sums, used, keys, outputs, delta, steps):
    """Add ``delta`` to the weights of each row's features (uint64[rows,
    templates]) for the row's output.
    """
    for r in range(len(keys)):
        _change_row(weights, sums, used, keys[r], outputs[r], delta, steps)


@kernel()
def _change_row(weights, sums, used, keys, output, delta, steps):
    for t in range(len(keys)):
        if keys[t] != 0:
            entry = entry_of(weights, sums, used, keys[t], output)
            weights.values[entry] += np.float32(delta)
            sums[entry] += np.float64(steps) * delta


@array_kernel()
def attardi_step(
    now,
    degree,
    blocks,
    transition_scores,
    order,
    sentence,
    programs,
    weights,
    sums,
    used,
    steps,
    follows,
    out,
):
    """Learn from a configuration of Attardi's system, and take the predicted transition P,
    or O if not ``follows``.
    """
    shape = 1, 1 + 2 * degree
    rows, block_of = np.full(shape, NO_NODE, np.int32), np.empty(shape, np.int32)
    heads, children = np.full(shape, NO_NODE, np.int32), np.full(shape, NO_NODE, np.int32)
    attardi.fill_transitions(now, FIRST_ROW, degree, False, rows, block_of, heads, children)
    transitions = rows, block_of, heads, children
    candidate_nodes = np.empty((1, 0), np.int32)
    learn(
        now,
        transitions,
        candidate_nodes,
        blocks,
        transition_scores,
        order,
        sentence,
        programs,
        weights,
        sums,
        used,
        steps,
        out,
    )
    taken = 0 if follows else 2
    attardi.take_transition(now, ONLY_ROW, out[taken], out[taken + 1])
    out[8] = is_unfinished(now, 0)


@array_kernel()
def lr_spine_step(
    now,
    n_candidate_nodes,
    blocks,
    transition_scores,
    order,
    sentence,
    programs,
    weights,
    sums,
    used,
    steps,
    follows,
    out,
):
    """Learn and take a transition like attardi_step(), for LR-spine; ``n_candidate_nodes`` is the
    number of the system's candidate positions.
    """
    starts = np.zeros(2, np.int64)
    shape = 1, lr_spine.count_transitions(now, FIRST_ROW, False, starts)
    rows, block_of = np.full(shape, NO_NODE, np.int32), np.full(shape, lr_spine.SHIFT, np.int32)
    heads, children = np.full(shape, NO_NODE, np.int32), np.full(shape, NO_NODE, np.int32)
    candidate_nodes = np.full((starts[1], n_candidate_nodes), NO_NODE, np.int32)
    lr_spine.fill_transitions(
        now, FIRST_ROW, False, starts, rows, block_of, heads, children, candidate_nodes
    )
    transitions = rows, block_of, heads, children
    learn(
        now,
        transitions,
        candidate_nodes,
        blocks,
        transition_scores,
        order,
        sentence,
        programs,
        weights,
        sums,
        used,
        steps,
        out,
    )
    taken = 0 if follows else 2
    column = out[taken : taken + 1]
    lr_spine.take_transitions(
        now, FIRST_ROW, heads[0, column], children[0, column], out[taken + 1 : taken + 2]
    )
    out[8] = is_unfinished(now, 0)
