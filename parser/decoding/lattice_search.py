"""Beam search through a word lattice in one compiled loop: which words there are is decided along with their tree.

A configuration has, instead of a buffer, the next L arcs of a path that are decided (``ahead``). A shift moves the first of
them onto the stack and *chooses* one more, of those that start where the last one ends; a reduction leaves them. A choice is
scored by an output of its own (``choice``), in the configuration after it: local scores are its logarithmic share among the
candidates, global ones the score as it is; a classifier without that output has no opinion, and all choices cost 0.

Paths differ in the number of their words, so that items are not compared by the steps that they took but by a clock: to shift
an arc adds its length, the nodes that it advances by, and so does removing it from the stack as a child. All complete
computations end at 2N. In the beginning, L choices are made before the first step, while the clock stands still: they have
buckets of their own, 0 to L - 1, and the bucket of a configuration is L and its clock from then on.

An item is a configuration in a bucket, with the best score that leads to it. Candidates, what items can become, wait in lists
until the clock reaches their bucket; then the best of them become items. Of equal scores the one that was found first is the
better one; so on a lattice with a single path of unit arcs everything is as in beam_search.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from parser.data.parses import NO_NODE
from parser.decoding.beam_search import highest_output, mask_scores
from parser.decoding.compiled import activate_units, scores_of_units, sum_rows
from parser.decoding.log_partition import log_partition
from parser.decoding.tree_stacks import NO_ROOM, clear, take_move, top_nodes
from parser.decoding.tree_stacks import find as find_in_stack
from parser.transitions.attardi import MAX_DEGREE, forced_output

_BUFFER = 1  # see features._program
_LOWEST, _HIGHEST = np.float64(np.finfo(np.float32).min), np.float64(np.finfo(np.float32).max)


class Arcs(NamedTuple):
    """The arcs of a lattice as tokens 1 to A; token 0 is the artificial root.

    Attributes:
        ends: int32[A + 1], the node at which each ends; 0 for the root.
        first: int32[N + 2], the arcs that start from node v are ``first[v]`` to ``first[v + 1] - 1``.
        ticks: int32[A + 1], what each adds to the clock: its length.
    """

    ends: np.ndarray
    first: np.ndarray
    ticks: np.ndarray


class Search(NamedTuple):
    """Items of a bucket, whether equal ones merge, whether scores are local, L, and the output of choices or NO_NODE."""

    size: int
    merging: bool
    local: bool
    lookahead: int
    choice: int


class LatticeItems(NamedTuple):
    """The items of a sentence; row m of each array holds those of bucket m, best first.

    Attributes:
        counts: int32[buckets], how many there are.
        cells: int32[buckets, size], their stacks.
        depths: int32[buckets, size], how many elements these have.
        ahead: int32[buckets, size, L], the arcs that are decided, NO_NODE behind the last.
        totals: float64[buckets, size], their scores.
    """

    counts: np.ndarray
    cells: np.ndarray
    depths: np.ndarray
    ahead: np.ndarray
    totals: np.ndarray

    @classmethod
    def room(cls, buckets: int, size: int, lookahead: int) -> LatticeItems:
        """For so many buckets."""
        cells, depths = np.empty((2, buckets, size), np.int32)
        ahead = np.empty((buckets, size, lookahead), np.int32)
        return cls(np.zeros(buckets, np.int32), cells, depths, ahead, np.empty((buckets, size), np.float64))


class Candidates(NamedTuple):
    """What items can become, in lists by bucket; those that have had their turn are used again.

    Attributes:
        totals: float64[room], scores.
        origins: int32[room, 4]: bucket and rank of the item, the output taken (NO_NODE: none), the arc chosen (NO_NODE: none).
        following: int32[room], the next of the same list, or of the free ones.
        lists: int32[buckets, 2], the first and the last of each list; NO_NODE if it is empty.
        state: int64[2], the first free one, and how many have ever been used.
    """

    totals: np.ndarray
    origins: np.ndarray
    following: np.ndarray
    lists: np.ndarray
    state: np.ndarray

    @classmethod
    def room(cls, buckets: int, candidates: int) -> Candidates:
        """For so many buckets, and candidates at a time."""
        lists = np.empty((buckets, 2), np.int32)
        arrays = np.empty(candidates, np.float64), np.empty((candidates, 4), np.int32), np.empty(candidates, np.int32)
        return cls(*arrays, lists, np.zeros(2, np.int64))


class Scratch(NamedTuple):
    """Room for one configuration: see beam_search.Scratch; ``tops`` and ``ahead`` are those of a shift's result."""

    scores: np.ndarray
    picked: np.ndarray
    sums: np.ndarray
    hidden: np.ndarray
    active: np.ndarray
    shares: np.ndarray
    powers: np.ndarray
    elements: np.ndarray
    path: np.ndarray
    tops: np.ndarray
    next_tops: np.ndarray
    next_ahead: np.ndarray
    choices: np.ndarray

    @classmethod
    def room(cls, arcs: int, widest: int, addresses: int, units: int, outputs: int, elements: int, lookahead: int) -> Scratch:
        """For lattices of at most so many arcs, ``widest`` of them from one node."""
        return cls(
            np.empty(outputs, np.float32),
            np.empty(2 * addresses, np.int64),
            np.empty(units, np.float32),
            np.empty(units, np.float32),
            np.empty(units, np.int32),
            np.empty(outputs, np.float32),
            np.empty(outputs, np.float32),
            np.empty(MAX_DEGREE, np.int32),
            np.empty(arcs + 1, np.int32),
            np.empty(elements, np.int32),
            np.empty(elements, np.int32),
            np.empty(lookahead, np.int32),
            np.empty(widest, np.float64),
        )


@njit(cache=True, nogil=True)
def search_lattice(start, arcs, words, of_buffer, others, layers, rules, search, stacks, items, candidates, scratch):
    """Fills in the items of a lattice; those of the last bucket are of whole parses. NO_ROOM if there is too little, else 0.

    Args:
        start: where the lattice begins in ``words``.
        arcs: the lattice.
        words: its arcs as words.
        of_buffer, others: the addresses.
        layers: the classifier.
        rules: of the transition system.
        search: how to search.
        stacks, items, candidates, scratch: room.
    """
    last = 2 * (len(arcs.first) - 2) + search.lookahead
    items.counts[: last + 1] = 0
    candidates.lists[: last + 1] = NO_NODE
    candidates.state[0] = NO_NODE
    candidates.state[1] = 0
    items.counts[0] = 1
    items.cells[0, 0] = clear(stacks, len(arcs.ends) - 1, (last + 1) * search.size)
    items.depths[0, 0] = 1
    items.ahead[0, 0] = NO_NODE
    items.totals[0, 0] = 0.0
    model = words, of_buffer, others, layers
    for m in range(last + 1):
        if m > 0 and _select(arcs, rules, search, stacks, items, m, candidates, scratch) == NO_ROOM:
            return NO_ROOM
        if m == last:
            break
        for k in range(items.counts[m]):
            if m < search.lookahead:
                top_nodes(stacks, items.cells[m, k], scratch.next_tops)
                scratch.next_ahead[:] = items.ahead[m, k]
                node = 0 if m == 0 else _end(arcs, scratch.next_ahead[m - 1])
                room = _choose(
                    start, arcs, model, search, stacks, m + 1, m, items.totals[m, k], m, k, NO_NODE, node, candidates, scratch
                )
            else:
                room = _expand(start, arcs, model, rules, search, stacks, items, m, k, last, candidates, scratch)
            if room == NO_ROOM:
                return NO_ROOM
    return 0


@njit(cache=True, nogil=True)
def _end(arcs, arc):
    """The node at which an arc ends; the last node for none, which follows on the last arc."""
    return len(arcs.first) - 2 if arc == NO_NODE else np.int64(arcs.ends[arc])


@njit(cache=True, nogil=True)
def _hidden(start, model, stacks, tops, ahead, scratch):
    """Fills in the hidden layer of a configuration, before its activation."""
    words, of_buffer, others, layers = model
    count = 0
    for a in range(len(of_buffer.programs)):
        index = of_buffer.programs[a, 1]
        if index < len(ahead) and ahead[index] != NO_NODE:
            scratch.picked[count] = words.first + words.types[start + ahead[index]] * words.per_type + of_buffer.places[a]
            count += 1
    sum_rows(layers.hidden_bias, words.contributions, scratch.picked, count, scratch.sums)
    count = 0
    for a in range(len(others.programs)):
        token, relation = np.int64(NO_NODE), np.int64(NO_NODE)
        if others.programs[a, 0] != _BUFFER:
            node, relation = find_in_stack(stacks, tops, others.programs[a])
            if node != NO_NODE:
                token = stacks.nodes.keys[node, 0]
        elif others.programs[a, 2] == NO_NODE and others.programs[a, 1] < len(ahead):
            token = ahead[others.programs[a, 1]]
        if token != NO_NODE:
            if others.places[a] != NO_NODE:
                scratch.picked[count] = words.first + words.types[start + token] * words.per_type + others.places[a]
                count += 1
            if others.relation_rows[a] != NO_NODE and relation != NO_NODE:
                scratch.picked[count] = others.relation_rows[a] + relation
                count += 1
    sum_rows(scratch.sums, words.contributions, scratch.picked, count, scratch.hidden)


@njit(cache=True, nogil=True)
def _add_arc(start, model, place, arc, scratch):
    """Fills in the hidden layer: ``scratch.sums`` and what an arc adds that is element ``place`` of those ahead."""
    words, of_buffer, others, _ = model
    count = 0
    for a in range(len(of_buffer.programs)):
        if of_buffer.programs[a, 1] == place:
            scratch.picked[count] = words.first + words.types[start + arc] * words.per_type + of_buffer.places[a]
            count += 1
    for a in range(len(others.programs)):
        in_buffer = others.programs[a, 0] == _BUFFER and others.programs[a, 2] == NO_NODE
        if in_buffer and others.programs[a, 1] == place and others.places[a] != NO_NODE:
            scratch.picked[count] = words.first + words.types[start + arc] * words.per_type + others.places[a]
            count += 1
    sum_rows(scratch.sums, words.contributions, scratch.picked, count, scratch.hidden)


@njit(cache=True, nogil=True)
def _choose(start, arcs, model, search, stacks, bucket, place, total, m, k, output, node, candidates, scratch):
    """Adds candidates: item k of bucket m, after an output, and the choice of each arc from ``node``; none from the last node.

    ``scratch`` has the stack and the arcs ahead that there are after the output; the one to choose goes to their ``place``.
    """
    first, end = arcs.first[node], arcs.first[node + 1]
    if first == end:
        return _add(candidates, bucket, total, m, k, output, NO_NODE)
    choices = scratch.choices[: end - first]
    choices[:] = 0.0
    if search.choice != NO_NODE and (end - first > 1 or not search.local):
        _, _, _, layers = model
        scratch.next_ahead[place] = NO_NODE
        _hidden(start, model, stacks, scratch.next_tops, scratch.next_ahead, scratch)
        scratch.sums[:] = scratch.hidden  # of all that the candidates have in common
        for c in range(end - first):
            _add_arc(start, model, place, first + c, scratch)
            active = activate_units(scratch.hidden, layers.activation, scratch.active)
            score = np.float64(layers.bias[search.choice])
            for u in range(active):
                unit = scratch.active[u]
                score += scratch.hidden[unit] * layers.weights[unit, search.choice]
            score = score if score >= _LOWEST else _LOWEST  # also instead of NaN
            choices[c] = score if score <= _HIGHEST else _HIGHEST
        if search.local:
            highest = choices.max()
            choices -= highest + np.log(np.exp(choices - highest).sum())
    for c in range(end - first):
        if _add(candidates, bucket, total + choices[c], m, k, output, first + c) == NO_ROOM:
            return NO_ROOM
    return 0


@njit(cache=True, nogil=True)
def _expand(start, arcs, model, rules, search, stacks, items, m, k, last, candidates, scratch):
    """Adds what item k of bucket m can become."""
    _, _, _, layers = model
    cell, depth, ahead = items.cells[m, k], items.depths[m, k], items.ahead[m, k]
    buffered = ahead[0] != NO_NODE
    if depth == 1 and not buffered:  # with a clock of steps, it is complete before the last bucket
        return _add(candidates, last, items.totals[m, k], m, k, NO_NODE, NO_NODE)
    top_nodes(stacks, cell, scratch.tops)
    row, norm = scratch.scores, 0.0
    forced = NO_NODE
    if search.local:
        forced = forced_output(rules.degree, depth, buffered, rules.root_relation, rules.single_root)
    if forced != NO_NODE:
        row[:] = -np.inf
        row[forced] = 0
    else:
        _hidden(start, model, stacks, scratch.tops, ahead, scratch)
        active = activate_units(scratch.hidden, layers.activation, scratch.active)
        scores_of_units(scratch.hidden, layers.weights, layers.bias, scratch.active, active, row)
        mask_scores(row, 1 + 2 * rules.degree * rules.n_relations, rules, depth, buffered)
        if search.local:
            norm = log_partition(row, row[highest_output(row)], scratch.shares, scratch.powers)
    for _ in range(search.size):
        output = highest_output(row)
        if row[output] == -np.inf:
            break
        total = (items.totals[m, k] - norm) + np.float64(row[output])
        row[output] = -np.inf
        if output == 0:
            scratch.next_tops[0] = ahead[0]  # a token without children is the node of its number
            scratch.next_tops[1:] = scratch.tops[:-1]
            _shift_ahead(ahead, scratch.next_ahead)
            node, bucket = _end(arcs, ahead[search.lookahead - 1]), m + arcs.ticks[ahead[0]]
            place = search.lookahead - 1
            room = _choose(start, arcs, model, search, stacks, bucket, place, total, m, k, 0, node, candidates, scratch)
        else:
            column = 1 + (output - 1) // rules.n_relations
            child = _removed(stacks, cell, column)
            room = _add(candidates, m + arcs.ticks[child], total, m, k, output, NO_NODE)
        if room == NO_ROOM:
            return NO_ROOM
    return 0


@njit(cache=True, nogil=True)
def _shift_ahead(ahead, shifted):
    """Fills in the arcs ahead without the first one."""
    shifted[:-1] = ahead[1:]
    shifted[-1] = NO_NODE


@njit(cache=True, nogil=True)
def _removed(stacks, cell, column):
    """The token that a reduction takes off the stack as a child."""
    cells = stacks.cells.keys
    if column % 2 == 0:
        for _ in range((column + 1) // 2):
            cell = cells[cell, 1]
    return stacks.nodes.keys[cells[cell, 0], 0]


@njit(cache=True, nogil=True)
def _add(candidates, bucket, total, m, k, output, arc):
    """Adds a candidate at the end of a bucket's list; NO_ROOM if there is none."""
    new = candidates.state[0]
    if new != NO_NODE:
        candidates.state[0] = candidates.following[new]
    elif candidates.state[1] < len(candidates.totals):
        new = candidates.state[1]
        candidates.state[1] += 1
    else:
        return NO_ROOM
    candidates.totals[new] = total
    candidates.origins[new, 0] = m
    candidates.origins[new, 1] = k
    candidates.origins[new, 2] = output
    candidates.origins[new, 3] = arc
    candidates.following[new] = NO_NODE
    of_bucket = candidates.lists[bucket]
    if of_bucket[0] == NO_NODE:
        of_bucket[0] = new
    else:
        candidates.following[of_bucket[1]] = new
    of_bucket[1] = new
    return 0


@njit(cache=True, nogil=True)
def _select(arcs, rules, search, stacks, items, m, candidates, scratch):
    """Makes the items of bucket m of its candidates, best first; NO_ROOM if there is too little for their stacks."""
    count, one = 0, candidates.lists[m, 0]
    while one != NO_NODE:
        count += 1
        one = candidates.following[one]
    waiting = np.empty(count, np.int32)
    one = candidates.lists[m, 0]
    for c in range(count):
        waiting[c] = one
        one = candidates.following[one]
    made = 0
    for c in np.argsort(-candidates.totals[waiting], kind="mergesort"):
        if made == search.size:
            break
        origin = candidates.origins[waiting[c]]
        before, rank, output, arc = origin[0], origin[1], origin[2], origin[3]
        cell, depth, ahead = items.cells[before, rank], items.depths[before, rank], items.ahead[before, rank]
        new = items.ahead[m, made]
        new[:] = ahead
        place = before  # of the choices before the first step
        if output == 0:
            _shift_ahead(ahead, new)
            place = search.lookahead - 1
        if arc != NO_NODE:
            new[place] = arc
        new_cell = np.int64(cell)
        if output != NO_NODE:
            column = 0 if output == 0 else 1 + (output - 1) // rules.n_relations
            relation = (output - 1) % rules.n_relations
            new_cell = take_move(stacks, cell, np.int64(ahead[0]), column, relation, scratch.elements, scratch.path)
            if new_cell == NO_ROOM:
                return NO_ROOM
            depth += 1 if output == 0 else -1
        is_new = True
        if search.merging:
            for other in range(made):
                same = items.cells[m, other] == new_cell
                for a in range(search.lookahead):
                    same &= items.ahead[m, other, a] == new[a]
                is_new &= not same
        if is_new:
            items.cells[m, made] = new_cell
            items.depths[m, made] = depth
            items.totals[m, made] = candidates.totals[waiting[c]]
            made += 1
    items.counts[m] = made
    if count:
        candidates.following[candidates.lists[m, 1]] = candidates.state[0]
        candidates.state[0] = candidates.lists[m, 0]
    return made
