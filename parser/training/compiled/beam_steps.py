"""Which step of a search is learned from, and what the loss there asks of every move that led to it.

The loss of a step is over its items, those of the beam and those of the guide, what is in both counted once: the same
configuration with the better score, or, where nothing is merged, the same computation. With s the scores and G the gold items:

    perceptron   max(s) - max(s of G)                           Collins and Roark 2004
    crf          log(sum(exp(s))) - log(sum(exp(s of G)))       Andor et al. 2016, with a set for the one gold item

An item's score is the sum of the scores of the moves of its best computation, so that the derivative of the loss by the score
of a move is the sum of those by the items that it led to: what the beam believes less what is gold. Where all items share
their first moves it is zero, and nothing is to be computed there.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from parser.data.parses import NO_NODE
from parser.data.vocabulary import ABSENT, N_RESERVED
from parser.decoding.beam_scores import look_ahead, read_address
from parser.decoding.tree_stacks import top_nodes

PERCEPTRON, CRF = range(2)
EARLY, MAX_VIOLATION, LAST = range(3)

# Derivatives that are smaller, in nats, change no weight by what single precision could tell.
_NEGLIGIBLE = 1e-7


@njit(cache=True, nogil=True)
def choose_step(steps, first_lost, objective, update, merging, beam, guide, by_beam, by_guide):
    """The step that is learned from, and its loss; the derivatives there go to ``by_beam`` and ``by_guide``.

    Args:
        steps: how many the search has made.
        first_lost: the first step at which the beam has no gold item; NO_NODE if it always has one.
        objective: PERCEPTRON or CRF.
        update: EARLY: at the first step without a gold item, or the last; MAX_VIOLATION: at the step of the highest loss, the
            first of equal ones; LAST.
        merging: whether the search has merged equal configurations.
        beam, guide: the two sides of the search.
        by_beam, by_guide: float64[steps + 1, size], room; see step_loss().
    """
    chosen, highest = steps, -np.inf
    if update == MAX_VIOLATION:
        for m in range(1, steps + 1):
            loss = step_loss(objective, merging, beam, guide, m, by_beam[m], by_guide[m])
            if loss > highest:
                chosen, highest = m, loss
    elif update == EARLY and first_lost != NO_NODE:
        chosen = first_lost
    return chosen, step_loss(objective, merging, beam, guide, chosen, by_beam[chosen], by_guide[chosen])


@njit(cache=True, nogil=True)
def step_loss(objective, merging, beam, guide, m, by_beam, by_guide):
    """The loss of step m; its derivatives by the scores of the items go to by_beam and by_guide (float64[size])."""
    n_beam, n_guide = beam.items.counts[m], guide.items.counts[m]
    totals, gold_totals = beam.items.totals[m], guide.items.totals[m]
    by_beam[:] = 1.0  # for now: whether an item counts
    by_guide[:] = 1.0
    for j in range(n_guide):
        for k in range(n_beam):
            # Without merging an item is one computation, which has the same score to the last bit on both sides.
            same = merging or totals[k] == gold_totals[j]
            if same and beam.items.cells[m, k] == guide.items.cells[m, j]:
                if totals[k] >= gold_totals[j]:
                    by_guide[j] = 0.0
                else:
                    by_beam[k] = 0.0
                break
    best, best_gold, gold_in_beam = _best_items(beam, guide, m, by_beam, by_guide)
    highest = max(totals[best], gold_totals[0])
    highest_gold = totals[best_gold] if gold_in_beam else gold_totals[best_gold]
    if objective == PERCEPTRON:
        by_beam[:] = 0.0
        by_guide[:] = 0.0
        if highest > highest_gold:
            by_beam[best] = 1.0
            if gold_in_beam:
                by_beam[best_gold] = -1.0
            else:
                by_guide[best_gold] = -1.0
        return highest - highest_gold
    total = gold = 0.0
    for k in range(n_beam):
        if by_beam[k] > 0:
            total += np.exp(totals[k] - highest)
            if beam.lost[m, k] == 0:
                gold += np.exp(totals[k] - highest_gold)
    for j in range(n_guide):
        if by_guide[j] > 0:
            total += np.exp(gold_totals[j] - highest)
            gold += np.exp(gold_totals[j] - highest_gold)
    for k in range(n_beam):
        share = np.exp(totals[k] - highest_gold) / gold if beam.lost[m, k] == 0 else 0.0
        by_beam[k] *= np.exp(totals[k] - highest) / total - share
    for j in range(n_guide):
        by_guide[j] *= np.exp(gold_totals[j] - highest) / total - np.exp(gold_totals[j] - highest_gold) / gold
    return (highest + np.log(total)) - (highest_gold + np.log(gold))


@njit(cache=True, nogil=True)
def _best_items(beam, guide, m, in_beam, in_guide):
    """The best item of the beam, the best gold item, and whether that one is of the beam too."""
    best, best_gold, gold_in_beam = 0, NO_NODE, False
    highest = -np.inf
    for k in range(beam.items.counts[m]):
        if in_beam[k] > 0 and beam.lost[m, k] == 0 and beam.items.totals[m, k] > highest:
            best_gold, gold_in_beam, highest = k, True, beam.items.totals[m, k]
    for j in range(guide.items.counts[m]):
        if in_guide[j] > 0 and guide.items.totals[m, j] > highest:
            best_gold, gold_in_beam, highest = j, False, guide.items.totals[m, j]
    return best, best_gold, gold_in_beam


@njit(cache=True, nogil=True)
def collect_moves(chosen, beam, guide, stacks, by_beam, by_guide, room, found):
    """Fills in what the loss asks of the moves that led to the items of the chosen step.

    Args:
        chosen: the step.
        beam, guide: the two sides of the search.
        stacks: their stacks.
        by_beam, by_guide: float64[steps + 1, size]: the derivatives of the loss by the items of the chosen step; those of the
            steps before are filled in.
        room: (int32[n] cells, int32[n] outputs, float64[n] derivatives, int32[n] fronts), n the sizes together.
        found: a Moves of beam_updates.py: configurations and their moves.

    Returns:
        How many configurations and how many moves there are.
    """
    cells, outputs, slopes, fronts = room
    n_rows = n_moves = 0
    for m in range(chosen):
        by_beam[m] = 0.0
        by_guide[m] = 0.0
    for m in range(chosen, 0, -1):
        count = 0
        first_row = n_rows
        for side, by_item in ((beam, by_beam), (guide, by_guide)):
            items = side.items
            for k in range(items.counts[m]):
                slope = by_item[m, k]
                if abs(slope) <= _NEGLIGIBLE:
                    continue
                parent, output = items.parents[m, k], items.outputs[m, k]
                by_item[m - 1, parent] += slope
                cell = items.cells[m - 1, parent]
                i = 0
                while i < count and not (cells[i] == cell and outputs[i] == output):
                    i += 1
                if i == count:
                    cells[i], outputs[i], slopes[i], fronts[i] = cell, output, 0.0, items.fronts[m - 1, parent]
                    count += 1
                slopes[i] += slope
        for i in range(count):
            if abs(slopes[i]) <= _NEGLIGIBLE:
                continue
            row = NO_NODE
            for r in range(first_row, n_rows):
                if found.cells[r] == cells[i]:
                    row = r
            if row == NO_NODE:
                row = n_rows
                found.cells[row] = cells[i]
                found.fronts[row] = fronts[i]
                n_rows += 1
            found.rows[n_moves] = row
            found.outputs[n_moves] = outputs[i]
            found.slopes[n_moves] = slopes[i]
            n_moves += 1
    return n_rows, n_moves


@njit(cache=True, nogil=True)
def read_features(cells, fronts, stacks, start, length, values, programs, columns, tops, ahead, nodes, features):
    """Fills in ``features`` (int32[rows, slots]): what the slots read of configurations; see FeatureTable.extract.

    Args:
        cells, fronts: int32[rows], their stacks and the first tokens of their buffers.
        stacks: where the stacks are.
        start: where the sentence begins in ``values``.
        length: its tokens.
        values: int32[attributes, total], see FeatureTable.values.
        programs, columns: see FeatureTable.
        tops, ahead: int32[elements], int32[read_ahead], room; see FeatureTable.
        nodes: int32[2, addresses], room.
    """
    for r in range(len(cells)):
        top_nodes(stacks, cells[r], tops)
        look_ahead(fronts[r], length, ahead)
        for a in range(len(programs)):
            token, relation = read_address(stacks, tops, ahead, programs[a])
            nodes[0, a] = token
            nodes[1, a] = relation
        for c in range(len(columns)):
            token, relation = nodes[0, columns[c, 0]], nodes[1, columns[c, 0]]
            if columns[c, 1] == NO_NODE:
                features[r, c] = ABSENT if relation == NO_NODE else relation + N_RESERVED
            else:
                features[r, c] = ABSENT if token == NO_NODE else values[columns[c, 1], start + token]
