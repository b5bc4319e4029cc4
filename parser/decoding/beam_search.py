"""Beam search in one compiled loop over the sentences, for arc-standard and Attardi's system; see beam.py.

An item of step m is a configuration after m moves, with the score of the best computation that leads to it. All items of a
step are expanded: of each at most as many outputs as the beam has items are looked at, best first; of all together the best
new items are kept, in the order of their scores. So the items of a step are in order, and an item is made only if it is kept.
lockstep_beam.py is the reference implementation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from parser.data.parses import NO_NODE
from parser.decoding.compiled import activate_units, scores_of_units, sum_rows
from parser.decoding.log_partition import log_partition
from parser.decoding.tree_stacks import NO_ROOM, clear, find, read_trees, take_move, top_nodes
from parser.transitions.attardi import MAX_DEGREE, applicable, forced_output

_BUFFER = 1  # see features._program
_LOWEST, _HIGHEST = np.float32(np.finfo(np.float32).min), np.float32(np.finfo(np.float32).max)


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
        """For a sentence of so many tokens."""
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
        """For a sentence of so many tokens; ``elements`` of the stack that features can see."""
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
    """Room for one configuration: see compiled.py, log_partition() and tree_stacks.take_move()."""

    picked: np.ndarray
    hidden: np.ndarray
    active: np.ndarray
    shares: np.ndarray
    powers: np.ndarray
    elements: np.ndarray
    path: np.ndarray

    @classmethod
    def room(cls, tokens: int, addresses: int, units: int, outputs: int) -> Scratch:
        """For sentences of at most so many tokens."""
        return cls(
            np.empty(2 * addresses, np.int64),
            np.empty(units, np.float32),
            np.empty(units, np.int32),
            np.empty(outputs, np.float32),
            np.empty(outputs, np.float32),
            np.empty(MAX_DEGREE, np.int32),
            np.empty(tokens + 1, np.int32),
        )


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


@njit(cache=True, nogil=True)
def score_item(words, start, length, of_buffer, others, layers, rules, local, stacks, items, m, k, expansion, scratch):
    """Fills in scores, norm and best output of item k of step m."""
    front = items.fronts[m, k]
    size = 2 * front - 1 - m
    buffered = front <= length
    outputs = 1 + 2 * rules.degree * rules.n_relations
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
            row[:] = expansion.scores[other]
            expansion.norms[k] = expansion.norms[other]
            expansion.best[k] = highest_output(row)
            return
    if not expansion.summed[front]:
        expansion.summed[front] = True
        count = 0
        for a in range(len(of_buffer.programs)):
            token = front + of_buffer.programs[a, 1]
            if token <= length:
                scratch.picked[count] = words.first + words.types[start + token] * words.per_type + of_buffer.places[a]
                count += 1
        sum_rows(layers.hidden_bias, words.contributions, scratch.picked, count, expansion.sums[front])
    count = 0
    for a in range(len(others.programs)):
        token, relation = np.int64(NO_NODE), np.int64(NO_NODE)
        if others.programs[a, 0] != _BUFFER:
            node, relation = find(stacks, tops, others.programs[a])
            if node != NO_NODE:
                token = stacks.nodes.keys[node, 0]
        elif others.programs[a, 2] == NO_NODE and front + others.programs[a, 1] <= length:
            token = front + others.programs[a, 1]
        if token != NO_NODE:
            if others.places[a] != NO_NODE:
                scratch.picked[count] = words.first + words.types[start + token] * words.per_type + others.places[a]
                count += 1
            if others.relation_rows[a] != NO_NODE and relation != NO_NODE:
                scratch.picked[count] = others.relation_rows[a] + relation
                count += 1
    sum_rows(expansion.sums[front], words.contributions, scratch.picked, count, scratch.hidden)
    active = activate_units(scratch.hidden, layers.activation, scratch.active)
    scores_of_units(scratch.hidden, layers.weights, layers.bias, scratch.active, active, row)
    mask_scores(row, outputs, rules, size, buffered)
    best = highest_output(row)
    expansion.best[k] = best
    expansion.norms[k] = log_partition(row, row[best], scratch.shares, scratch.powers) if local else 0.0


@njit(cache=True, nogil=True)
def mask_scores(row, outputs, rules, size, buffered):
    """Makes the scores of outputs that are not applicable minus infinity, and all others finite."""
    for o in range(outputs):
        score = row[o]
        score = score if score >= _LOWEST else _LOWEST  # also instead of NaN
        row[o] = score if score <= _HIGHEST else _HIGHEST
    row[outputs:] = -np.inf
    for column in range(1 + 2 * rules.degree):
        first = 0 if column == 0 else 1 + (column - 1) * rules.n_relations
        last = 1 if column == 0 else first + rules.n_relations
        if not applicable(column, size, buffered, rules.single_root):
            row[first:last] = -np.inf
        elif column > 0 and rules.single_root and rules.root_relation >= 0:
            of_root = row[first + rules.root_relation]
            if column % 2 == 1 and size == (column + 1) // 2 + 1:
                row[first:last] = -np.inf
                row[first + rules.root_relation] = of_root
            else:
                row[first + rules.root_relation] = -np.inf


@njit(cache=True, nogil=True)
def highest_output(row):
    """The output with the highest score; of equal ones the one with the lowest number."""
    best = 0
    highest = row[0]
    for o in range(1, len(row)):
        if row[o] > highest:
            highest = row[o]
            best = o
    return best


@njit(cache=True, nogil=True)
def _next_output(expansion, k, total):
    """Finds the best output of item k behind the one that was taken last; of equal ones the lower number is better."""
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


@njit(cache=True, nogil=True)
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
        column = 0 if output == 0 else 1 + (output - 1) // rules.n_relations
        relation = (output - 1) % rules.n_relations
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
