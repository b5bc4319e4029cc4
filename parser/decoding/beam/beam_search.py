"""Beam search in one compiled loop over the sentences, for arc-standard and Attardi's system; see beam.py.

An item of step m (beam_items.py) is a configuration after m moves, with the score of the best computation that leads to it.
All items of a step are expanded: of each at most as many outputs as the beam has items are looked at, best first; of all
together the best new items are kept, in the order of their scores. So the items of a step are in order, and an item is made
only if it is kept.
lockstep_beam.py is the reference implementation.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from parser.data.parses import NO_NODE
from parser.decoding.beam.beam_scores import highest_output, look_ahead, pick_rows, score_outputs
from parser.decoding.beam.tree_stacks import NO_ROOM, clear, read_trees, take_move, top_nodes
from parser.decoding.greedy.compiled import sum_rows
from parser.kernels import assign, kernel
from parser.transitions.attardi import forced_output, move_of


@njit(cache=True, nogil=True)
def parse_sentences(
    offsets, words, of_buffer, others, layers, rules, search, stacks, items, expansion, scratch, first, all_heads, all_relations
):
    """Parses the sentences from ``first`` on into ``all_heads`` and ``all_relations``; returns the first that lacks room.

    Args:
        offsets: int64[sentences + 1], where they begin; see Sentences.
        words: their words.
        of_buffer, others: the addresses.
        layers: the classifier.
        rules: of the transition system.
        search: (size, whether equal configurations are merged, whether scores are local).
        stacks, items, expansion, scratch: room; those of the last sentence are left there.
        first: the number of a sentence.
        all_heads, all_relations: int32[total].
    """
    size, merging, local = search
    heads = np.empty(items.cells.shape[0] // 2 + 1, np.int32)
    relations = heads.copy()
    for s in range(first, len(offsets) - 1):
        start = offsets[s]
        length = offsets[s + 1] - start - 1
        items.cells[0, 0] = clear(stacks, length, 2 * length * size)
        items.fronts[0, 0] = 1
        items.totals[0, 0] = 0.0
        items.counts[0] = 1
        expansion.summed[: length + 2] = False
        for m in range(2 * length):
            for k in range(items.counts[m]):
                score_item(
                    words, start, length, of_buffer, others, layers, rules, local, stacks, items, m, k, expansion, scratch
                )
            made = select_items(rules, size, merging, stacks, items, m, expansion, scratch)
            if made == NO_ROOM:
                return s
            items.counts[m + 1] = made
        read_trees(stacks, items.cells[2 * length, 0], heads[: length + 1], relations[: length + 1], scratch.path)
        for i in range(1, length + 1):
            all_heads[start + i] = heads[i]
            all_relations[start + i] = relations[i]
    return len(offsets) - 1


@kernel()
def score_item(words, start, length, of_buffer, others, layers, rules, local, stacks, items, m, k, expansion, scratch):
    """Fills in scores, norm and best output of item k of step m."""
    front = items.fronts[m, k]
    size = 2 * front - 1 - m
    buffered = front <= length
    row = expansion.scores[k]
    if local:
        forced = forced_output(rules.degree, size, buffered, rules.root_relation, rules.single_root)
        if forced != NO_NODE:
            row[:] = -np.inf
            row[forced] = 0
            expansion.norms[k] = 0.0
            expansion.best[k] = forced
            expansion.tops[k, 0] = NO_NODE  # no other item takes its scores from here
            return
    tops = expansion.tops[k]
    top_nodes(stacks, items.cells[m, k], tops)
    for other in range(k):
        same = items.fronts[m, other] == front
        for d in range(len(tops)):
            same &= expansion.tops[other, d] == tops[d]
        if same:
            assign(row, expansion.scores[other])
            expansion.norms[k] = expansion.norms[other]
            expansion.best[k] = highest_output(row)
            return
    look_ahead(front, length, scratch.ahead)
    if not expansion.summed[front]:
        expansion.summed[front] = True
        count = pick_rows(start, stacks, tops, scratch.ahead, of_buffer, words, scratch.picked, 0)
        sum_rows(layers.hidden_bias, words.contributions, scratch.picked, count, expansion.sums[front])
    count = pick_rows(start, stacks, tops, scratch.ahead, others, words, scratch.picked, 0)
    sum_rows(expansion.sums[front], words.contributions, scratch.picked, count, scratch.hidden)
    expansion.best[k], expansion.norms[k] = score_outputs(layers, rules, size, buffered, local, scratch, row)


@kernel()
def _next_output(expansion, k, total):
    """Finds the best output of item k after the one that was taken last; of equal ones the lower number is better."""
    row = expansion.scores[k]
    last = expansion.best[k]
    limit = row[last]
    highest = np.float32(-np.inf)
    best = NO_NODE
    for o in range(len(row)):
        score = row[o]
        if score > highest and (score < limit or (score == limit and o > last)):
            highest = score
            best = o
    expansion.best[k] = best
    if best != NO_NODE:
        expansion.totals[k] = (total - expansion.norms[k]) + np.float64(row[best])


@kernel()
def select_items(rules, size, merging, stacks, items, m, expansion, scratch):
    """Makes the items of step m + 1, best first, and returns how many; NO_ROOM if there is none.

    Of equal scores the item that was made from the better one comes first, then the better output of the classifier.
    """
    for k in range(items.counts[m]):
        expansion.taken[k] = 0
        best = np.float64(expansion.scores[k, expansion.best[k]])
        expansion.totals[k] = (items.totals[m, k] - expansion.norms[k]) + best
    made = 0
    while made < size:
        chosen = NO_NODE
        highest = -np.inf
        for k in range(items.counts[m]):
            if expansion.best[k] != NO_NODE and (chosen == NO_NODE or expansion.totals[k] > highest):
                chosen = k
                highest = expansion.totals[k]
        if chosen == NO_NODE:
            break
        output = expansion.best[chosen]
        front = items.fronts[m, chosen]
        column, relation = move_of(output, rules.n_relations)
        cell = take_move(stacks, items.cells[m, chosen], front, column, relation, scratch.elements, scratch.path)
        if cell == NO_ROOM:
            return NO_ROOM
        is_new = True
        if merging:
            for other in range(made):
                # The same stack after as many moves has the same buffer.
                is_new &= items.cells[m + 1, other] != cell
        if is_new:
            items.cells[m + 1, made] = cell
            items.fronts[m + 1, made] = front + 1 if output == 0 else front
            items.totals[m + 1, made] = highest
            items.parents[m + 1, made] = chosen
            items.outputs[m + 1, made] = output
            made += 1
        expansion.taken[chosen] += 1
        if expansion.taken[chosen] == size:
            expansion.best[chosen] = NO_NODE
        elif made < size:
            _next_output(expansion, chosen, items.totals[m, chosen])
    return made
