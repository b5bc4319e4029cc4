"""Which step of a search is learned from, and the derivatives of the loss there by the scores of the transitions that led to
it.

The step is the one with the highest loss (max-violation, Huang, Fayong and Guo 2012). The loss of a step is over its items,
those of the beam and those of the gold beam, what is in both counted once: the same configuration with the better score, or,
where nothing is merged, the same computation. With s the scores and G the gold items it is that of a conditional random field,
as in Andor et al. (2016), with a set for the one gold item:

    log(sum(exp(s))) - log(sum(exp(s of G)))

An item's score is the sum of the scores of the transitions of its best computation, so that the derivative of the loss by the
score of a transition is the sum of those by the items that it led to: the beam's marginals minus the gold ones. Where all items
share their first transitions it is zero, and nothing is to be computed there.
"""

from __future__ import annotations

import numpy as np

from parser.data.sentences import NO_NODE
from parser.data.vocabularies import ABSENT, N_RESERVED
from parser.decoding.beam.scores import look_ahead, read_position
from parser.decoding.beam.tree_stacks import top_nodes
from parser.kernels import kernel

# Derivatives that are smaller, in nats, change no weight by what single precision could tell.
_NEGLIGIBLE = 1e-7


@kernel()
def choose_step(steps, merging, beam, gold_beam, by_beam, by_gold):
    """The step of the highest loss, the first of equal ones, and its loss.

    Args:
        steps: how many the search has made.
        merging: whether it has merged equal configurations.
        beam, gold_beam: the two sides of the search.
        by_beam, by_gold: float64[steps + 1, size], for the derivatives of the loss by the items; those of the chosen step
            are filled in, and those of the steps before it are 0.
    """
    chosen, highest = steps, -np.inf
    for m in range(1, steps + 1):
        loss = step_loss(merging, beam, gold_beam, m, by_beam[m], by_gold[m])
        if loss > highest:
            chosen, highest = m, loss
    by_beam[:chosen] = 0.0
    by_gold[:chosen] = 0.0
    return chosen, highest


@kernel()
def step_loss(merging, beam, gold_beam, m, by_beam, by_gold):
    """The loss of step m; its derivatives by the scores of the items go to by_beam and by_gold (float64[size])."""
    _count_once(merging, beam, gold_beam, m, by_beam, by_gold)  # for now: whether an item counts
    count = beam.items.counts[m] + gold_beam.items.counts[m]
    highest, highest_gold = -np.inf, -np.inf
    for i in range(count):
        counts, total, is_gold = _item(beam, gold_beam, m, i, by_beam, by_gold)
        if counts and total > highest:
            highest = total
        if counts and is_gold and total > highest_gold:
            highest_gold = total
    of_all = of_gold = 0.0
    for i in range(count):
        counts, total, is_gold = _item(beam, gold_beam, m, i, by_beam, by_gold)
        if counts:
            of_all += np.exp(total - highest)
            if is_gold:
                of_gold += np.exp(total - highest_gold)
    for i in range(count):
        counts, total, is_gold = _item(beam, gold_beam, m, i, by_beam, by_gold)
        if counts:
            slope = np.exp(total - highest) / of_all
            if is_gold:
                slope -= np.exp(total - highest_gold) / of_gold
            if i < beam.items.counts[m]:
                by_beam[i] = slope
            else:
                by_gold[i - beam.items.counts[m]] = slope
    return (highest + np.log(of_all)) - (highest_gold + np.log(of_gold))


@kernel()
def _count_once(merging, beam, gold_beam, m, by_beam, by_gold):
    """Fills in by_beam and by_gold: 1 for items that count, 0 for those that are on the other side, too."""
    totals, gold_totals = beam.items.totals[m], gold_beam.items.totals[m]
    by_beam[:] = 1.0
    by_gold[:] = 1.0
    for j in range(gold_beam.items.counts[m]):
        for k in range(beam.items.counts[m]):
            # Without merging an item is one computation, which has the same score to the last bit on both sides.
            same = merging or totals[k] == gold_totals[j]
            if same and beam.items.cells[m, k] == gold_beam.items.cells[m, j]:
                if totals[k] >= gold_totals[j]:
                    by_gold[j] = 0.0
                else:
                    by_beam[k] = 0.0
                break


@kernel()
def _item(beam, gold_beam, m, i, by_beam, by_gold):
    """Of item i of both sides together: whether it counts, its score, and whether it is gold."""
    count = beam.items.counts[m]
    if i < count:
        return by_beam[i] > 0, beam.items.totals[m, i], beam.lost[m, i] == 0
    return by_gold[i - count] > 0, gold_beam.items.totals[m, i - count], True


@kernel()
def collect_transitions(chosen, beam, gold_beam, stacks, by_beam, by_gold, workspace, found):
    """Fills in the derivatives of the loss by the scores of the transitions that led to the items of the chosen step.

    Args:
        chosen: the step.
        beam, gold_beam: the two sides of the search.
        stacks: their stacks.
        by_beam, by_gold: float64[steps + 1, size]: the derivatives of the loss by the items, as choose_step() gave them; what
            later steps ask of an item is added.
        workspace: (int32[n] cells, int32[n] outputs, float64[n] derivatives, int32[n] fronts), n the sizes together.
        found: the _ScoreChanges of gold_beam_search.py: configurations and their transitions.

    Returns:
        How many configurations and how many transitions there are.
    """
    cells, outputs, slopes, fronts = workspace
    n_rows = n_transitions = 0
    for m in range(chosen, 0, -1):
        count = 0
        first_row = n_rows
        for side, by_item in ((beam, by_beam), (gold_beam, by_gold)):
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
            found.rows[n_transitions] = row
            found.outputs[n_transitions] = outputs[i]
            found.slopes[n_transitions] = slopes[i]
            n_transitions += 1
    return n_rows, n_transitions


@kernel()
def read_features(cells, fronts, stacks, start, length, values, programs, columns, tops, ahead, nodes, features):
    """Fills in ``features`` (int32[rows, slots]): what the slots read of configurations; see FeatureTable.extract.

    Args:
        cells, fronts: int32[rows], their stacks and the first tokens of their buffers.
        stacks: where the stacks are.
        start: where the sentence begins in ``values``.
        length: its tokens.
        values: int32[attributes, total], see FeatureTable.values.
        programs, columns: see FeatureTable.
        tops, ahead: int32[elements], int32[read_ahead], workspace; see FeatureTable.
        nodes: int32[2, positions], workspace.
    """
    for r in range(len(cells)):
        top_nodes(stacks, cells[r], tops)
        look_ahead(fronts[r], length, ahead)
        for a in range(len(programs)):
            token, relation = read_position(stacks, tops, ahead, programs[a])
            nodes[0, a] = token
            nodes[1, a] = relation
        for c in range(len(columns)):
            token, relation = nodes[0, columns[c, 0]], nodes[1, columns[c, 0]]
            if columns[c, 1] == NO_NODE:
                features[r, c] = ABSENT if relation == NO_NODE else relation + N_RESERVED
            else:
                features[r, c] = ABSENT if token == NO_NODE else values[columns[c, 1], start + token]
