"""Beam search through a word lattice in one compiled loop: which words there are is decided along with their tree.

A configuration has, instead of a buffer, the next L arcs of a path that are decided (``ahead``). A shift moves the first of
them onto the stack and *chooses* one more, of those that start where the last one ends; a reduction leaves them. A choice is
scored by an output of its own (``choice``), in the configuration after it: local scores are its logarithmic share among the
candidates, global ones the score as it is; a classifier without that output has no opinion, and all choices cost 0.

Paths differ in the number of their words, so that items are not compared by the steps that they took but by a clock: to shift
an arc adds its length, the nodes that it advances by, and so does removing it from the stack as a child. All complete
computations end at 2N. In the beginning, L choices are made before the first step, while the clock stands still: they have
buckets of their own, 0 to L - 1, and the bucket of a configuration is L and its clock from then on.

An item (lattice_items.py) is a configuration in a bucket, with the best score that leads to it. What items can become waits as
candidates (lattice_candidates.py) until the clock reaches their bucket; then the best of them become items. Of equal scores the
one that was found first is the better one; so on a lattice with a single path of unit arcs everything is as in beam_search.py.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from parser.data.parses import NO_NODE
from parser.decoding.beam.scores import finite_number, highest_output, pick_rows, score_outputs
from parser.decoding.beam.tree_stacks import NO_ROOM, clear, take_move, top_nodes
from parser.decoding.greedy.compiled import sum_rows
from parser.decoding.lattice.lattice_candidates import add_candidate, candidates_in_order, clear_candidates, free_candidates
from parser.kernels import assign, highest, kernel
from parser.kernels.active_units import activate_units
from parser.transitions.attardi import forced_output, move_of


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
    clear_candidates(candidates, last + 1)
    items.counts[0] = 1
    items.cells[0, 0] = clear(stacks, len(arcs.ends) - 1, (last + 1) * search.size)
    items.depths[0, 0] = 1
    items.ahead[0, 0] = NO_NODE
    items.totals[0, 0] = 0.0
    model = words, of_buffer, others, layers
    for m in range(last + 1):
        if m > 0:
            order = candidates_in_order(candidates, m)
            if _select(rules, search, stacks, items, m, order, candidates, scratch) == NO_ROOM:
                return NO_ROOM
        if m == last:
            break
        for k in range(items.counts[m]):
            if m < search.lookahead:
                top_nodes(stacks, items.cells[m, k], scratch.next_tops)
                assign(scratch.next_ahead, items.ahead[m, k])
                node = 0 if m == 0 else _end(arcs, scratch.next_ahead[m - 1])
                room = _choose(
                    start, arcs, model, search, stacks, m + 1, m, items.totals[m, k], m, k, NO_NODE, node, candidates, scratch
                )
            else:
                room = _expand(start, arcs, model, rules, search, stacks, items, m, k, candidates, scratch)
            if room == NO_ROOM:
                return NO_ROOM
    return 0


@kernel()
def _end(arcs, arc):
    """The node at which an arc ends; the last node for none, which follows on the last arc."""
    return len(arcs.first) - 2 if arc == NO_NODE else np.int64(arcs.ends[arc])


@kernel()
def _sum_hidden(start, model, stacks, tops, ahead, scratch):
    """Fills in the hidden layer of a configuration, before its activation."""
    words, of_buffer, others, layers = model
    one = scratch.one
    count = pick_rows(start, stacks, tops, ahead, of_buffer, words, one.picked, 0)
    sum_rows(layers.hidden_bias, words.contributions, one.picked, count, scratch.sums)
    count = pick_rows(start, stacks, tops, ahead, others, words, one.picked, 0)
    sum_rows(scratch.sums, words.contributions, one.picked, count, one.hidden)


@kernel()
def _add_arc(start, model, stacks, place, arc, scratch):
    """Fills in the hidden layer: ``scratch.sums`` and what an arc adds that is element ``place`` of those ahead."""
    words, of_buffer, others, _ = model
    one = scratch.one
    scratch.only[place] = arc
    count = pick_rows(start, stacks, scratch.no_tops, scratch.only, of_buffer, words, one.picked, 0)
    count = pick_rows(start, stacks, scratch.no_tops, scratch.only, others, words, one.picked, count)
    scratch.only[place] = NO_NODE
    sum_rows(scratch.sums, words.contributions, one.picked, count, one.hidden)


@kernel()
def _choose(start, arcs, model, search, stacks, bucket, place, total, m, k, output, node, candidates, scratch):
    """Adds candidates: item k of bucket m, after an output, and the choice of each arc from ``node``; none from the last node.

    ``scratch`` has the stack and the arcs ahead that there are after the output; the one to choose goes to their ``place``.
    """
    first, end = arcs.first[node], arcs.first[node + 1]
    if first == end:
        return add_candidate(candidates, bucket, total, m, k, output, NO_NODE)
    choices = scratch.choices[: end - first]
    choices[:] = 0.0
    if search.choice != NO_NODE and (end - first > 1 or not search.local):
        _, _, _, layers = model
        scratch.next_ahead[place] = NO_NODE
        _sum_hidden(start, model, stacks, scratch.next_tops, scratch.next_ahead, scratch)
        one = scratch.one
        assign(scratch.sums, one.hidden)  # of all that the candidates have in common
        for c in range(end - first):
            _add_arc(start, model, stacks, place, first + c, scratch)
            active = activate_units(one.hidden, layers.activation, one.active)
            score = np.float64(layers.bias[search.choice])
            for u in range(active):
                unit = one.active[u]
                score += one.hidden[unit] * layers.weights[unit, search.choice]
            choices[c] = finite_number(score)
        if search.local:
            best = highest(choices)
            shares = 0.0
            for c in range(end - first):
                shares += np.exp(choices[c] - best)
            norm = best + np.log(shares)
            for c in range(end - first):
                choices[c] -= norm
    for c in range(end - first):
        if add_candidate(candidates, bucket, total + choices[c], m, k, output, first + c) == NO_ROOM:
            return NO_ROOM
    return 0


@kernel()
def _expand(start, arcs, model, rules, search, stacks, items, m, k, candidates, scratch):
    """Adds what item k of bucket m can become."""
    _, _, _, layers = model
    cell, depth, ahead = items.cells[m, k], items.depths[m, k], items.ahead[m, k]
    buffered = ahead[0] != NO_NODE
    top_nodes(stacks, cell, scratch.tops)
    row, norm = scratch.scores, 0.0
    forced = NO_NODE
    if search.local:
        forced = forced_output(rules.degree, depth, buffered, rules.root_relation, rules.single_root)
    if forced != NO_NODE:
        row[:] = -np.inf
        row[forced] = 0
    else:
        _sum_hidden(start, model, stacks, scratch.tops, ahead, scratch)
        _, norm = score_outputs(layers, rules, depth, buffered, search.local, scratch.one, row)
    for _ in range(search.size):
        output = highest_output(row)
        if row[output] == -np.inf:
            break
        total = (items.totals[m, k] - norm) + np.float64(row[output])
        row[output] = -np.inf
        if output == 0:
            scratch.next_tops[0] = ahead[0]  # a token without children is the node of its number
            assign(scratch.next_tops[1:], scratch.tops)
            _shift_ahead(ahead, scratch.next_ahead)
            node, bucket = _end(arcs, ahead[search.lookahead - 1]), m + arcs.ticks[ahead[0]]
            place = search.lookahead - 1
            room = _choose(start, arcs, model, search, stacks, bucket, place, total, m, k, 0, node, candidates, scratch)
        else:
            column, _ = move_of(output, rules.n_relations)
            child = _removed(stacks, cell, column)
            room = add_candidate(candidates, m + arcs.ticks[child], total, m, k, output, NO_NODE)
        if room == NO_ROOM:
            return NO_ROOM
    return 0


@kernel()
def _shift_ahead(ahead, shifted):
    """Fills in the arcs ahead without the first one."""
    assign(shifted[:-1], ahead[1:])
    shifted[-1] = NO_NODE


@kernel()
def _removed(stacks, cell, column):
    """The token that a reduction takes off the stack as a child."""
    cells = stacks.cells.keys
    if column % 2 == 0:
        for _ in range((column + 1) // 2):
            cell = cells[cell, 1]
    return stacks.nodes.keys[cells[cell, 0], 0]


@kernel()
def _select(rules, search, stacks, items, m, order, candidates, scratch):
    """Makes the items of bucket m of its candidates, ``order`` best first; NO_ROOM if there is too little for their stacks."""
    made = 0
    for one in order:
        if made == search.size:
            break
        origin = candidates.origins[one]
        before, rank, output, arc = origin[0], origin[1], origin[2], origin[3]
        cell, depth, ahead = items.cells[before, rank], items.depths[before, rank], items.ahead[before, rank]
        new = items.ahead[m, made]
        assign(new, ahead)
        place = before  # of the choices before the first step
        if output == 0:
            _shift_ahead(ahead, new)
            place = search.lookahead - 1
        if arc != NO_NODE:
            new[place] = arc
        new_cell = np.int64(cell)
        if output != NO_NODE:
            column, relation = move_of(output, rules.n_relations)
            room = scratch.one
            new_cell = take_move(stacks, cell, np.int64(ahead[0]), column, relation, room.elements, room.path)
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
            items.totals[m, made] = candidates.totals[one]
            made += 1
    items.counts[m] = made
    free_candidates(candidates, m)
    return made
