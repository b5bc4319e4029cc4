"""A step of the perceptron as one compiled function: it finds the features, scores, compares, updates and goes on.

What is optimal comes from outside. For Attardi's system, of which arc-standard is one, and LR-spine, the transitions are found
and taken here (attardi_step, lr_spine_step); for others the caller does both, and calls learn() between.
"""

from __future__ import annotations

import numpy as np

from oracles import NOT_APPLICABLE
from parser.data.sentences import NO_NODE
from parser.kernels import array_kernel, kernel
from parser.linear.templates import find_keys
from parser.linear.weights import add_scores, entry_of
from parser.transitions import attardi, lr_spine
from parser.transitions.configurations import ONLY_ROW, is_unfinished

FIRST_ROW = np.zeros(1, np.int64)  # the row of the only configuration


@array_kernel()
def learn(
    now, transitions, candidate_nodes, blocks, transition_scores, order, sentence, programs, weights, sums, used, steps, out
):
    """Predicts, compares and updates.

    Args:
        now: a batch of one configuration.
        transitions: its rows, blocks, heads and children, as Transitions has them.
        candidate_nodes: those of Transitions, a row for each feature row; without any, a row of length 0.
        blocks: the system's block_starts and block_sizes.
        transition_scores: int[width], the oracle's.
        order: columns, of which the first that is optimal alone counts as optimal; empty: all that are.
        sentence: values, start, and gold heads and relations, see Perceptron.step().
        programs: of the templates.
        weights, sums, used, steps: of the perceptron, which change but for ``steps``.
        out: int32[9], filled in: column and relation of P, those of O, then what Step.counts() names. The last is the caller's.
    """
    rows, block_of, heads, children = transitions
    block_starts, block_sizes = blocks
    values, start, gold_heads, gold_relations = sentence
    templates = len(programs.templates)
    keys = np.empty((len(candidate_nodes), templates), np.uint64)
    scores = np.zeros((len(candidate_nodes), block_starts[-1] + block_sizes[-1]), np.float32)
    found, atoms = np.empty(templates, np.uint64), np.empty(len(programs.atoms), np.uint64)
    nodes = np.empty(len(programs.positions), np.int32)
    for r in range(len(candidate_nodes)):
        find_keys(now, ONLY_ROW, candidate_nodes[r], values, start, programs, nodes, atoms, keys[r])
        add_scores(weights, keys[r], found, scores[r])

    highest = NOT_APPLICABLE
    for c in range(len(transition_scores)):
        highest = max(highest, transition_scores[c])
    only = NO_NODE  # the column that alone counts as optimal
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
            right = good and (head == NO_NODE or gold_heads[child] != head or gold_relations[child] == relation)
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
    """Adds ``delta`` to the weights that the features of each row (uint64[rows, templates]) have for the output of that row."""
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
def attardi_step(now, degree, blocks, transition_scores, order, sentence, programs, weights, sums, used, steps, follows, out):
    """Learns from a configuration of Attardi's system, and takes the predicted transition, or else the right one."""
    shape = 1, 1 + 2 * degree
    rows, block_of = np.full(shape, NO_NODE, np.int32), np.empty(shape, np.int32)
    heads, children = np.full(shape, NO_NODE, np.int32), np.full(shape, NO_NODE, np.int32)
    attardi.fill_transitions(now, FIRST_ROW, degree, False, rows, block_of, heads, children)
    transitions = rows, block_of, heads, children
    candidate_nodes = np.empty((1, 0), np.int32)
    learn(
        now, transitions, candidate_nodes, blocks, transition_scores, order, sentence, programs, weights, sums, used, steps, out
    )
    taken = 0 if follows else 2
    attardi.take_transition(now, ONLY_ROW, out[taken], out[taken + 1])
    out[8] = is_unfinished(now, 0)


@array_kernel()
def lr_spine_step(
    now, n_candidate_nodes, blocks, transition_scores, order, sentence, programs, weights, sums, used, steps, follows, out
):
    """As attardi_step(), for LR-spine; ``n_candidate_nodes``: how many positions of its own the system has."""
    starts = np.zeros(2, np.int64)
    shape = 1, lr_spine.count_transitions(now, FIRST_ROW, False, starts)
    rows, block_of = np.full(shape, NO_NODE, np.int32), np.full(shape, lr_spine.SHIFT, np.int32)
    heads, children = np.full(shape, NO_NODE, np.int32), np.full(shape, NO_NODE, np.int32)
    candidate_nodes = np.full((starts[1], n_candidate_nodes), NO_NODE, np.int32)
    lr_spine.fill_transitions(now, FIRST_ROW, False, starts, rows, block_of, heads, children, candidate_nodes)
    transitions = rows, block_of, heads, children
    learn(
        now, transitions, candidate_nodes, blocks, transition_scores, order, sentence, programs, weights, sums, used, steps, out
    )
    taken = 0 if follows else 2
    column = out[taken : taken + 1]
    lr_spine.take_transitions(now, FIRST_ROW, heads[0, column], children[0, column], out[taken + 1 : taken + 2])
    out[8] = is_unfinished(now, 0)
