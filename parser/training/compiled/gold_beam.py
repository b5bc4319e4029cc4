"""The search of global training, in a compiled loop: a beam and a second beam of gold items go
through one sentence.

Many items can be gold. ``lost`` counts an item's words that can no longer be right: words that
cannot get their gold head, by an oracle that is exact for any gold tree, and words with the gold
head and another relation. Words that are already lost at the start, because no projective tree has
all gold arcs, do not count. An item is gold if its ``lost`` is 0. So the model itself chooses among
the many computations of one tree, and among several best trees.

``lost`` never falls along a computation, so gold items are made only from gold items. The gold beam
takes only transitions that lose nothing; there is always one. Its best item is the best gold item
that it finds, also after the other beam has lost all gold items. Both are beams of
parser/decoding/beam/compiled.py and share one set of stacks: items with the same cell have the same
configuration.

Training learns from the step with the highest loss (max-violation, Huang, Fayong and Guo 2012). The
loss of a step is over the items of both beams. An item that is in both beams counts once. With
merging, items are the same if their configurations are, and the better score counts; without
merging, if their computations are. With s the scores and G the gold items, the loss is that of a
conditional random field, as in Andor et al. (2016), with a set in place of their one gold item:

    log(sum(exp(s))) - log(sum(exp(s of G)))

An item's score is the sum of the scores of the transitions in its best computation. So the
derivative of the loss with respect to a transition's score is a sum over the items that the
transition led to: the beam's marginals minus the gold ones. For the first transitions, if all items
share them, the derivative is zero, and nothing is computed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from oracles.arc_standard.context_rows import score_batch
from oracles.arc_standard.transitions import ANY
from parser.data.sentences import NO_NODE
from parser.data.vocabulary import ABSENT, N_RESERVED
from parser.decoding.beam.compiled import BeamWorkspace, Expansion, Items, score_item, select_items
from parser.decoding.beam.scores import highest_output, look_ahead, read_position
from parser.decoding.beam.tree_stacks import FULL, clear, top_nodes
from parser.decoding.greedy.compiled import Layers
from parser.kernels import array_kernel, highest, kernel, lowest
from parser.transitions.attardi import transition_of
from parser.transitions.features import FeatureTable

# Smaller derivatives, in nats, change no weight noticeably in single precision.
_NEGLIGIBLE = 1e-7


class CompiledGold(NamedTuple):
    """Gold trees, sentence by sentence at ``offsets``, and the oracle's data about them.

    Attributes:
        heads: int32[total], see Trees.
        offsets: int64[sentences + 1].
        relations: int32[total]; a negative one is unknown to the model:
            there any relation counts as right.
        memory: see oracles.arc_standard.context_rows.
    """

    heads: np.ndarray
    offsets: np.ndarray
    relations: np.ndarray
    memory: tuple


class CompiledSide(NamedTuple):
    """One of the two beams.

    Attributes:
        size: how many items it keeps.
        items, expansion: see decoding/beam/compiled.py.
        lost: int32[steps + 1, size], ``lost`` of the items.
    """

    size: int
    items: Items
    expansion: Expansion
    lost: np.ndarray

    @classmethod
    def allocate(cls, tokens: int, size: int, layers: Layers, table: FeatureTable) -> CompiledSide:
        """Allocate a side for a sentence of this many tokens,
        and the classifier's layers and features.
        """
        items = Items.allocate(tokens, size)
        expansion = Expansion.allocate(tokens, size, layers, table)
        return cls(
            size=size,
            items=items,
            expansion=expansion,
            lost=np.empty((2 * tokens + 1, size), np.int32),
        )


class OracleQueries(NamedTuple):
    """Workspace for the oracle queries of a step's items, one configuration per row; see
    BoundOracle.score_batch.
    """

    sentences: np.ndarray
    stacks: np.ndarray
    sizes: np.ndarray
    fronts: np.ndarray

    @classmethod
    def allocate(cls, tokens: int, size: int) -> OracleQueries:
        """Allocate workspace for this many items of a sentence of this many tokens."""
        sentences, sizes, fronts = np.empty((3, size), np.int32)
        return cls(
            sentences=sentences,
            stacks=np.empty((size, tokens + 1), np.int32),
            sizes=sizes,
            fronts=fronts,
        )


@array_kernel()
def search_with_gold(
    sentence, start, length, model, rules, merging, gold, stacks, beam, gold_beam, queries, scratch
):
    """Search a sentence with both beams; their items stay in the beams.

    Args:
        sentence: the number of the sentence among the gold trees.
        start: where the sentence begins in ``words``.
        length: the number of its tokens.
        model, rules: see decoding/beam/compiled.py; the system must be arc-standard.
        merging: whether equal configurations are merged.
        gold: the gold trees.
        stacks: the stacks of both beams.
        beam, gold_beam: the two sides.
        queries, scratch: workspace.

    Returns:
        Whether the beam had no gold item at some step; FULL if the stacks are full.
    """
    for side in (beam, gold_beam):
        side.items.fronts[0, 0] = 1
        side.items.totals[0, 0] = 0.0
        side.items.counts[0] = 1
        side.lost[0, 0] = 0
        side.expansion.summed[: length + 2] = False
    cell = clear(stacks, length, 2 * length * (beam.size + gold_beam.size))
    beam.items.cells[0, 0] = cell
    gold_beam.items.cells[0, 0] = cell
    all_lost = 0
    for m in range(2 * length):
        is_gold_beam = False
        for side in (beam, gold_beam):
            items, expansion = side.items, side.expansion
            workspace = BeamWorkspace(stacks, items, expansion, scratch)
            for k in range(items.counts[m]):
                score_item(model, rules, False, start, length, workspace, m, k)
            attainable = _attainable(sentence, gold, stacks, items, m, queries)
            if is_gold_beam:
                for k in range(items.counts[m]):
                    _mask_losing_outputs(
                        expansion,
                        k,
                        attainable[k],
                        sentence,
                        gold,
                        stacks,
                        items.cells[m, k],
                        rules,
                    )
            count = select_items(rules, side.size, merging, workspace, m)
            if count == FULL:
                return FULL
            items.counts[m + 1] = count
            for k in range(count):
                parent = items.parents[m + 1, k]
                output, cell = items.outputs[m + 1, k], items.cells[m, parent]
                loss = lost_by(output, attainable[parent], sentence, gold, stacks, cell, rules)
                side.lost[m + 1, k] = side.lost[m, parent] + loss
            is_gold_beam = True
        if lowest(beam.lost[m + 1, : beam.items.counts[m + 1]]) > 0:
            all_lost = 1
    return all_lost


@array_kernel()
def _attainable(sentence, gold, stacks, items, m, queries):
    """Return int16[items, 3]: the oracle's scores of the transitions of the items of step m."""
    count = items.counts[m]
    cells, nodes = stacks.cells.keys, stacks.nodes.keys
    for k in range(count):
        front = items.fronts[m, k]
        size = 2 * front - 1 - m
        cell = items.cells[m, k]
        for d in range(size - 1, -1, -1):
            queries.stacks[k, d] = nodes[cells[cell, 0], 0]
            cell = cells[cell, 1]
        queries.sentences[k] = sentence
        queries.sizes[k] = size
        queries.fronts[k] = front
    return score_batch(
        gold.heads,
        gold.offsets,
        gold.memory,
        ANY,
        (),
        queries.sentences[:count],
        queries.stacks[:count],
        queries.sizes[:count],
        queries.fronts[:count],
    )


@kernel()
def _right_relation(column, sentence, gold, stacks, cell):
    """Return the relation that a transition's arc must have to lose no word. It is NO_NODE if there
    is no arc, or if the arc may have any relation.
    """
    if column == 0:
        return NO_NODE
    cells, nodes = stacks.cells.keys, stacks.nodes.keys
    head = nodes[cells[cells[cell, 1], 0], 0]
    child = nodes[cells[cell, 0], 0]
    if column == 2:
        head, child = child, head
    place = gold.offsets[sentence] + child
    if gold.heads[place] != head or gold.relations[place] < 0:
        return NO_NODE
    return gold.relations[place]


@kernel()
def lost_by(output, attainable, sentence, gold, stacks, cell, rules):
    """Return how many words an output loses.

    Args:
        output: the output, whose transition is applicable.
        attainable: int16[3], the oracle's scores of the transitions.
        sentence, gold, stacks, rules: see search_with_gold().
        cell: the stack.
    """
    column, relation = transition_of(output, rules.n_relations)
    loss = np.int32(highest(attainable) - attainable[column])
    right = _right_relation(column, sentence, gold, stacks, cell)
    if right != NO_NODE and relation != right:
        loss += 1
    return loss


@kernel()
def _mask_losing_outputs(expansion, k, attainable, sentence, gold, stacks, cell, rules):
    """Set the scores of all outputs that lose a word to minus infinity."""
    row = expansion.scores[k]
    most = highest(attainable)
    for column in range(3):
        first = 0 if column == 0 else 1 + (column - 1) * rules.n_relations
        last = 1 if column == 0 else first + rules.n_relations
        if attainable[column] != most:
            row[first:last] = -np.inf
            continue
        right = _right_relation(column, sentence, gold, stacks, cell)
        if right != NO_NODE:
            score = row[first + right]
            row[first:last] = -np.inf
            row[first + right] = score
    expansion.best[k] = highest_output(row)


@kernel()
def choose_step(steps, merging, beam, gold_beam, by_beam, by_gold):
    """Return the step of the highest loss, the first of equal ones, and its loss.

    Args:
        steps: the number of steps in the search.
        merging: whether equal configurations were merged.
        beam, gold_beam: the two sides of the search.
        by_beam, by_gold: float64[steps + 1, size], derivatives of the loss with respect to the
            scores of the items: filled in for the chosen step, 0 for the steps before it.
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
    """Return the loss of step m; its derivatives with respect to the scores of the items go to
    by_beam and by_gold (float64[size]).
    """
    # by_beam and by_gold say which items count, until the derivatives overwrite them
    _count_once(merging, beam, gold_beam, m, by_beam, by_gold)
    count = beam.items.counts[m] + gold_beam.items.counts[m]
    highest, highest_gold = -np.inf, -np.inf
    for i in range(count):
        counts, total, is_gold = _item(beam, gold_beam, m, i, by_beam, by_gold)
        if counts and total > highest:
            highest = total
        if counts and is_gold and total > highest_gold:
            highest_gold = total
    sum_all = sum_gold = 0.0
    for i in range(count):
        counts, total, is_gold = _item(beam, gold_beam, m, i, by_beam, by_gold)
        if counts:
            sum_all += np.exp(total - highest)
            if is_gold:
                sum_gold += np.exp(total - highest_gold)
    for i in range(count):
        counts, total, is_gold = _item(beam, gold_beam, m, i, by_beam, by_gold)
        if counts:
            slope = np.exp(total - highest) / sum_all
            if is_gold:
                slope -= np.exp(total - highest_gold) / sum_gold
            if i < beam.items.counts[m]:
                by_beam[i] = slope
            else:
                by_gold[i - beam.items.counts[m]] = slope
    return (highest + np.log(sum_all)) - (highest_gold + np.log(sum_gold))


@kernel()
def _count_once(merging, beam, gold_beam, m, by_beam, by_gold):
    """Fill in by_beam and by_gold: 1 for items that count,
    0 for items that count on the other side.
    """
    totals, gold_totals = beam.items.totals[m], gold_beam.items.totals[m]
    by_beam[:] = 1.0
    by_gold[:] = 1.0
    for j in range(gold_beam.items.counts[m]):
        for k in range(beam.items.counts[m]):
            # Without merging an item is one computation,
            # whose score is the same on both sides to the last bit.
            same = merging or totals[k] == gold_totals[j]
            if same and beam.items.cells[m, k] == gold_beam.items.cells[m, j]:
                if totals[k] >= gold_totals[j]:
                    by_gold[j] = 0.0
                else:
                    by_beam[k] = 0.0
                break


@kernel()
def _item(beam, gold_beam, m, i, by_beam, by_gold):
    """Return whether item i counts, its score, and whether it is gold; the beam's items are
    numbered first, then the gold beam's.
    """
    count = beam.items.counts[m]
    if i < count:
        return by_beam[i] > 0, beam.items.totals[m, i], beam.lost[m, i] == 0
    return by_gold[i - count] > 0, gold_beam.items.totals[m, i - count], True


@kernel()
def collect_transitions(chosen, beam, gold_beam, by_beam, by_gold, workspace, changes):
    """Fill in the derivatives of the loss with respect to the scores of the transitions that led to
    the items of the chosen step.

    Args:
        chosen: the step.
        beam, gold_beam: the two sides of the search.
        by_beam, by_gold: float64[steps + 1, size]: the derivatives of the loss with respect to the
            scores of the items, from choose_step(); those of later items are added to those of
            their parents.
        workspace: (int32[n] cells, int32[n] outputs, float64[n] derivatives, int32[n] fronts),
            n the sum of both sizes.
        changes: the _ScoreChanges of beam_objective.py: configurations and their transitions.

    Returns:
        The numbers of configurations and of transitions.
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
                    cells[i] = cell
                    outputs[i] = output
                    slopes[i] = 0.0
                    fronts[i] = items.fronts[m - 1, parent]
                    count += 1
                slopes[i] += slope
        for i in range(count):
            if abs(slopes[i]) <= _NEGLIGIBLE:
                continue
            row = NO_NODE
            for r in range(first_row, n_rows):
                if changes.cells[r] == cells[i]:
                    row = r
            if row == NO_NODE:
                row = n_rows
                changes.cells[row] = cells[i]
                changes.fronts[row] = fronts[i]
                n_rows += 1
            changes.rows[n_transitions] = row
            changes.outputs[n_transitions] = outputs[i]
            changes.slopes[n_transitions] = slopes[i]
            n_transitions += 1
    return n_rows, n_transitions


@kernel()
def read_features(
    cells, fronts, stacks, start, length, values, programs, columns, tops, ahead, nodes, features
):
    """Fill in ``features`` (int32[rows, slots]): the values that the slots read in configurations;
    see FeatureTable.extract.

    Args:
        cells, fronts: int32[rows], the stacks of the configurations and the first tokens of their
            buffers.
        start, length: where the sentence begins in ``values``, and how many tokens it has.
        values, programs, columns: see FeatureTable.
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
                features[r, c] = (
                    ABSENT if token == NO_NODE else values[columns[c, 1], start + token]
                )
