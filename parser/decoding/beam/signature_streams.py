"""What the items of a step can make, best first: streams of possible items, for the search of signature_search.py.

From each item come one stream by its shift and one by reductions with each of its tails. A stream knows its next item by its
scores alone; nothing is made before it is known to be among the best.
"""

from __future__ import annotations

import numpy as np

from parser.data.parses import NO_NODE
from parser.kernels import kernel


@kernel()
def step_of_tails(items, m, k):
    """The step of the tails of item k of step m: that before the words of s0, of which all but one have become children."""
    return m - (2 * (items.fronts[m, k] - items.begins[m, k]) - 1)


@kernel()
def open_streams(size, items, m, expansion, streams):
    """Opens the streams of the items of step m; how many there are."""
    count = 0
    for k in range(items.counts[m]):
        streams.n_outputs[k] = best_outputs(expansion.scores[k], size, streams.outputs[k])
        items.shifts[m, k] = np.float64(expansion.scores[k, 0]) - expansion.norms[k]
        first = items.tail_starts[m, k]
        for t in range(first - 1, first + items.tail_counts[m, k]):
            streams.items[count] = k
            streams.below[count] = items.tails[t] if t >= first else NO_NODE
            look(items, m, expansion, streams, count, 0)
            count += 1
    return count


@kernel()
def best_outputs(row, limit, outputs):
    """Fills in the outputs with the highest scores, best first, of equal ones the lower number; how many are applicable."""
    count = 0
    for o in range(len(row)):
        score = row[o]
        if score == -np.inf or (count == limit and score <= row[outputs[count - 1]]):
            continue
        if count < limit:
            count += 1
        place = count - 1
        while place > 0 and row[outputs[place - 1]] < score:
            outputs[place] = outputs[place - 1]
            place -= 1
        outputs[place] = o
    return count


@kernel()
def look(items, m, expansion, streams, s, at):
    """Works out what a stream makes of the first output from place ``at`` on that is its own; NO_NODE if there is none."""
    k, below = streams.items[s], streams.below[s]
    shifts = below == NO_NODE
    while at < streams.n_outputs[k] and (streams.outputs[k, at] == 0) != shifts:
        at += 1
    if at == streams.n_outputs[k]:
        streams.at[s] = NO_NODE
        return
    streams.at[s] = at
    if shifts:
        streams.prefixes[s] = items.prefixes[m, k] + items.shifts[m, k]
        streams.insides[s] = 0.0
    else:
        tails = step_of_tails(items, m, k)
        gain = gain_of(items, m, expansion, k, below, streams.outputs[k, at])
        streams.prefixes[s] = items.prefixes[tails, below] + gain
        streams.insides[s] = items.insides[tails, below] + gain


@kernel()
def gain_of(items, m, expansion, k, below, output):
    """What is added to the scores of a tail when the item is reduced with it."""
    cost = np.float64(expansion.scores[k, output]) - expansion.norms[k]
    return items.shifts[step_of_tails(items, m, k), below] + items.insides[m, k] + cost


@kernel()
def best_stream(streams, count):
    """The stream whose next item is the best; of equal ones that of the better item, then that of the better tail."""
    best = NO_NODE
    for s in range(count):
        if streams.at[s] == NO_NODE:
            continue
        if best == NO_NODE or streams.prefixes[s] > streams.prefixes[best]:
            best = s
        elif streams.prefixes[s] == streams.prefixes[best]:
            inside, highest = streams.insides[s], streams.insides[best]
            same_item = streams.items[s] == streams.items[best]
            if inside > highest or (inside == highest and same_item and streams.below[s] < streams.below[best]):
                best = s
    return best
