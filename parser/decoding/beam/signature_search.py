"""Beam search with items that merge by signature, in one compiled loop over the sentences, for arc-standard.

What an item is, and what it costs, is said in merging_search.py, the reference implementation. Of a step, the best items that
can be made are taken one by one: from each item and each of its tails comes a stream of them (signature_streams.py). One whose
signature is new (signature_of_move.py) is made, as long as there is room in the beam; any other is a further way to make an
item that is there, or is lost. When the beam is full, what the streams still hold is compared with its items: all moves that
differ only in their relation at once, as at most one of these relations is that of the item.
"""

from __future__ import annotations

import numpy as np

from parser.data.parses import NO_NODE
from parser.decoding.beam.compiled import score_item
from parser.decoding.beam.signature_of_move import describe_move, find_same, read_after
from parser.decoding.beam.signature_streams import best_stream, gain_of, look, open_streams, step_of_tails
from parser.decoding.beam.tree_stacks import NO_ROOM, attach, clear, number, top_nodes
from parser.kernels import assign, kernel
from parser.transitions.attardi import move_of


@kernel()
def parse_sentences(
    offsets,
    words,
    of_buffer,
    others,
    layers,
    rules,
    search,
    parts,
    stacks,
    items,
    expansion,
    streams,
    scratch,
    first,
    all_heads,
    all_relations,
):
    """Parses the sentences from ``first`` on into ``all_heads`` and ``all_relations``; returns the first that lacks room.

    Args:
        offsets: int64[sentences + 1], where they begin; see Sentences.
        words: their words.
        of_buffer, others: the addresses.
        layers: the classifier.
        rules: of the transition system.
        search: (size, whether scores are local).
        parts: what of a stack must be equal for items to merge.
        stacks, items, expansion, streams, scratch: room; those of the last sentence are left there.
        first: the number of a sentence.
        all_heads, all_relations: int32[total].
    """
    size, local = search
    for s in range(first, len(offsets) - 1):
        start = offsets[s]
        length = offsets[s + 1] - start - 1
        _begin(stacks, items, length, size)
        expansion.summed[: length + 2] = False
        for m in range(2 * length):
            for k in range(items.counts[m]):
                score_item(
                    words, start, length, of_buffer, others, layers, rules, local, stacks, items, m, k, expansion, scratch
                )
            if _make_items(rules, size, parts, stacks, items, m, expansion, streams, scratch.path) == NO_ROOM:
                return s
        best = 0
        for k in range(1, items.counts[2 * length]):
            if items.insides[2 * length, k] > items.insides[2 * length, best]:
                best = k
        _read_tree(items, 2 * length, best, rules, streams.pending, start, all_heads, all_relations)
    return len(offsets) - 1


@kernel()
def _begin(stacks, items, length, size):
    """Makes the item of step 0."""
    items.cells[0, 0] = clear(stacks, length, 2 * length * size)
    top_nodes(stacks, items.cells[0, 0], items.tops[0, 0])
    items.begins[0, 0] = 0
    items.fronts[0, 0] = 1
    items.prefixes[0, 0] = 0.0
    items.insides[0, 0] = 0.0
    items.tail_counts[0, 0] = 0
    items.reductions[0, 0] = NO_NODE
    items.counts[0] = 1
    items.used[:] = 0


@kernel()
def _make_items(rules, size, parts, stacks, items, m, expansion, streams, path):
    """Makes the items of step m + 1, best first; NO_ROOM if there is none."""
    count = open_streams(size, items, m, expansion, streams)
    nodes, lists, begins, fronts = stacks.nodes.keys, stacks.lists.keys, items.begins[m + 1], items.fronts[m + 1]
    made = 0
    while made < size:
        s = best_stream(streams, count)
        if s == NO_NODE:
            break
        k, below = streams.items[s], streams.below[s]
        output = streams.outputs[k, streams.at[s]]
        column, relation = move_of(output, rules.n_relations)
        moved = describe_move(items, m, k, below, column)
        other = find_same(parts, nodes, lists, streams.seen, begins, fronts, 0, made, moved, relation)
        if other == NO_NODE:
            other = made
            if _make_item(stacks, items, streams, m, s, column, relation, made, path) == NO_ROOM:
                return np.int64(NO_ROOM)
            for p in range(len(parts.programs)):
                streams.seen[made, p] = read_after(parts, nodes, lists, moved, relation, p)
            made += 1
        if _join(items, expansion, streams, m, s, output, other) == NO_ROOM:
            return np.int64(NO_ROOM)
        look(items, m, expansion, streams, s, streams.at[s] + 1)
    items.counts[m + 1] = made
    if _join_all(rules, parts, stacks, items, m, expansion, streams, count) == NO_ROOM:
        return np.int64(NO_ROOM)
    return _keep_tails(items, streams, m + 1)


@kernel()
def _make_item(stacks, items, streams, m, s, column, relation, new, path):
    """Makes item ``new`` of step m + 1 of what a stream makes next, so far in no way; NO_ROOM if there is none."""
    k, below = streams.items[s], streams.below[s]
    front = items.fronts[m, k]
    tails = step_of_tails(items, m, k)
    if column == 0:
        cell = number(stacks.cells, front, items.cells[m, k], 0)
    else:
        under, top = items.tops[tails, below, 0], items.tops[m, k, 0]
        joined = attach(stacks, under, top, relation, path) if column == 1 else attach(stacks, top, under, relation, path)
        if joined == NO_ROOM:
            return np.int64(NO_ROOM)
        cell = number(stacks.cells, joined, stacks.cells.keys[items.cells[tails, below], 1], 0)
    if cell == NO_ROOM:
        return np.int64(NO_ROOM)
    items.cells[m + 1, new] = cell
    top_nodes(stacks, cell, items.tops[m + 1, new])
    items.begins[m + 1, new] = front if column == 0 else items.begins[tails, below]
    items.fronts[m + 1, new] = front + 1 if column == 0 else front
    items.prefixes[m + 1, new] = streams.prefixes[s]
    items.insides[m + 1, new] = streams.insides[s]
    items.reductions[m + 1, new] = NO_NODE
    streams.n_tails[new] = 0
    return np.int64(new)


@kernel()
def _join(items, expansion, streams, m, s, output, new):
    """Makes item ``new`` of step m + 1 in one more way: by an output of a stream; NO_ROOM if there is none."""
    k, below = streams.items[s], streams.below[s]
    if below == NO_NODE:
        _add_tail(streams, new, k)
        return np.int64(new)
    tails = step_of_tails(items, m, k)
    first = items.tail_starts[tails, below]
    for t in range(first, first + items.tail_counts[tails, below]):
        _add_tail(streams, new, items.tails[t])
    way = items.used[1]
    if way == len(items.ways):
        return np.int64(NO_ROOM)
    items.used[1] = way + 1
    items.ways[way, 0], items.ways[way, 1], items.ways[way, 2], items.ways[way, 3] = k, below, output, NO_NODE
    items.costs[way] = np.float64(expansion.scores[k, output]) - expansion.norms[k]
    inside = items.insides[tails, below] + gain_of(items, m, expansion, k, below, output)
    ways = items.reductions[m + 1, new]
    if ways[0] == NO_NODE:
        ways[0] = ways[2] = way
    else:
        items.ways[ways[1], 3] = way
        if inside > items.insides[m + 1, new]:
            items.insides[m + 1, new] = inside
            ways[2] = way
    ways[1] = way
    return np.int64(new)


@kernel()
def _add_tail(streams, new, tail):
    for t in range(streams.n_tails[new]):
        if streams.tails[new, t] == tail:
            return
    streams.tails[new, streams.n_tails[new]] = tail
    streams.n_tails[new] += 1


@kernel()
def _join_all(rules, parts, stacks, items, m, expansion, streams, count):
    """Joins all that streams still hold with the items of step m + 1 that have its signature; NO_ROOM if there is none."""
    nodes, lists, begins, fronts = stacks.nodes.keys, stacks.lists.keys, items.begins[m + 1], items.fronts[m + 1]
    made = items.counts[m + 1]
    for s in range(count):
        if streams.at[s] == NO_NODE:
            continue
        k, below = streams.items[s], streams.below[s]
        row, outputs = expansion.scores[k], streams.outputs[k, streams.at[s] : streams.n_outputs[k]]
        shifts = below == NO_NODE
        for column in range(0 if shifts else 1, 1 if shifts else 3):
            newest = parts.newest[column]
            moved = describe_move(items, m, k, below, column)
            for other in range(made):
                if begins[other] != moved[1] or fronts[other] != moved[2]:
                    continue
                relation = np.int64(NO_NODE if newest == NO_NODE else streams.seen[other, newest])
                output = 1 + (column - 1) * rules.n_relations + relation
                if newest != NO_NODE and (relation == NO_NODE or not _is_among(row, outputs, output)):
                    continue
                if find_same(parts, nodes, lists, streams.seen, begins, fronts, other, other + 1, moved, relation) == NO_NODE:
                    continue
                for one in outputs:
                    its_column, _ = move_of(one, rules.n_relations)
                    joins = one == output if newest != NO_NODE else its_column == column
                    if joins and _join(items, expansion, streams, m, s, one, other) == NO_ROOM:
                        return np.int64(NO_ROOM)
    return np.int64(made)


@kernel()
def _is_among(row, outputs, output):
    """Whether an output is one of some neighbours in the order of best_outputs()."""
    return not _is_better(row, output, outputs[0]) and not _is_better(row, outputs[-1], output)


@kernel()
def _is_better(row, output, other):
    return row[output] > row[other] or (row[output] == row[other] and output < other)


@kernel()
def _keep_tails(items, streams, m):
    """Puts the tails of the items of step m where they stay; NO_ROOM if there is none."""
    for new in range(items.counts[m]):
        first, count = items.used[0], streams.n_tails[new]
        if first + count > len(items.tails):
            return np.int64(NO_ROOM)
        assign(items.tails[first : first + count], streams.tails[new])
        items.tail_starts[m, new], items.tail_counts[m, new] = first, count
        items.used[0] = first + count
    return np.int64(items.counts[m])


@kernel()
def _read_tree(items, m, k, rules, pending, start, heads, relations):
    """Fills in the arcs of the best computation that item k of step m stands for.

    The root of the tree that an item stands for is that of the item, or of the tail, that became the head in the best way to
    make it; so the way goes from head to head down to a token, and whatever became a child on it waits for its turn.
    """
    pending[0, 0], pending[0, 1], pending[0, 2], pending[0, 3] = m, k, NO_NODE, NO_NODE
    count = 1
    while count:
        count -= 1
        m, k, head, relation = pending[count, 0], pending[count, 1], pending[count, 2], pending[count, 3]
        bottom = count
        way = items.reductions[m, k, 2]
        while way != NO_NODE:
            upper, below, output = items.ways[way, 0], items.ways[way, 1], items.ways[way, 2]
            tails = step_of_tails(items, m - 1, upper)
            column, of_arc = move_of(output, rules.n_relations)
            if column == 1:  # s0 becomes a child of s1
                pending[count, 0], pending[count, 1] = m - 1, upper
                m, k = tails, below
            else:
                pending[count, 0], pending[count, 1] = tails, below
                m, k = m - 1, upper
            pending[count, 3] = of_arc
            count += 1
            way = items.reductions[m, k, 2]
        token = items.begins[m, k]
        for child in range(bottom, count):
            pending[child, 2] = token
        if head != NO_NODE:
            heads[start + token], relations[start + token] = head, relation
