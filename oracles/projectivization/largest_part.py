"""The largest set of a tree's known edges that one projective tree can have.

A projective tree has all edges of a set if no two of these exclude each other (see
_is_part_of_projective in oracles/trees.py). Two edges exclude each other if they cross, or if one
of them, from h to d, covers the head of h. So the set is a largest independent set of a circle
graph with a few more exclusions. The recurrence is Supowit's (1987) for the most chords that do not
cross; the exclusions are ours:

    best[q,r]  the weight of the best set of edges between nodes q and r;
               if the head of q is on its right, the edge to q is left out
               = max(best[q,r-1],
                     max over the edges with left end x and right end r: best[q,x] + whole(edge))
    whole(e)   the weight of edge e, and of the best set between its ends q and r;
               if e goes from r to q, this set is without the edge to r

A row best[q,.] is needed only for the edges whose left end is q. It can leave out an edge from h to
q with h > q: an edge from q to a node beyond h excludes it, and an edge from q to a node before h
does not reach h. Only one row is kept at a time.

All edges weigh nearly the same. Shorter edges weigh slightly more,
just enough to decide among sets of the same size.

Complexity: O(length of the longest edge) for each left end, O(n^2) per tree at worst; O(n) memory.
"""

from __future__ import annotations

import numpy as np

from oracles.kernel_cache import array_kernel, kernel
from oracles.trees import UNKNOWN_HEAD, Trees


def largest_projective_part(trees: Trees) -> Trees:
    """Return the trees with the largest set of known edges that one projective tree can have;
    their other heads are unknown.

    If several sets are largest, one whose edges have the smallest total length is taken.
    """
    if trees.projective.all():
        return trees
    heads = trees.heads.copy()
    _keep_largest_part(heads, trees.offsets, trees.projective)
    return Trees(heads, trees.offsets)


@kernel()
def _fill_row(heads, edges, q, r, inside, whole, best, last):
    """Fill in best[q..r] of the row of node q. An edge is named by its child.

    Args:
        heads: int32[n + 1], -1: none.
        edges: see _edges_by_right_end().
        inside: whether the row is for the inside of an edge between q and r: at r, this edge and
            the edge to r are left out.
        whole: int64[n + 1], by edge, see the module's docstring.
            Those with left end q are filled in.
        best: int64[n + 1], the result.
        last: int32[n + 1], the result: for each node y, the edge of the best set up to y whose
            right end is y; 0 if there is none.
    """
    first, after = edges
    n = len(heads) - 1
    best[q], last[q] = 0, 0
    for y in range(q + 1, r + 1):
        best[y], last[y] = best[y - 1], 0
        to_y = np.int64(0)  # the best sum with the edge to y
        between = np.int64(0)  # the edge between q and y
        edge = np.int64(first[y])
        while edge > 0:
            x = heads[edge] if edge == y else edge
            if x == q:
                between = edge
            elif x > q:
                total = best[x] + whole[edge]
                if edge == y:
                    to_y = total
                elif total > best[y]:
                    best[y], last[y] = total, edge
            edge = np.int64(after[edge])
        if inside and y == r:
            return
        if between > 0:
            whole[between] = n * n + 1 - (y - q) + best[y]
        if between == y:
            to_y = whole[y]
        if to_y > best[y]:
            best[y], last[y] = to_y, y


@array_kernel()
def _edges_by_right_end(heads):
    """Return, for each node, the first edge with this right end, and for each edge, the next one
    with the same right end; 0 if there is none.
    """
    first = np.zeros(len(heads), np.int32)
    after = np.zeros(len(heads), np.int32)
    for child in range(1, len(heads)):
        if heads[child] >= 0:
            right = max(child, heads[child])
            after[child] = first[right]
            first[right] = child
    return first, after


@array_kernel()
def _keep_largest_part(all_heads, offsets, projective):
    """Set heads to UNKNOWN_HEAD where their edge is not in the best set."""
    for s in range(len(offsets) - 1):
        if projective[s]:
            continue
        heads = all_heads[offsets[s] : offsets[s + 1]]
        n = len(heads) - 1
        edges = _edges_by_right_end(heads)
        furthest = np.arange(n + 1)  # the other end of the longest edge with this left end
        for child in range(1, n + 1):
            if heads[child] >= 0:
                left, right = min(child, heads[child]), max(child, heads[child])
                furthest[left] = max(furthest[left], right)
        furthest[0] = n
        best = np.empty(n + 1, np.int64)
        whole = np.empty(n + 1, np.int64)
        last = np.empty(n + 1, np.int32)
        for q in range(n, -1, -1):
            _fill_row(heads, edges, q, furthest[q], False, whole, best, last)
        kept = np.full(n + 1, UNKNOWN_HEAD, np.int32)
        # edges whose inside is to be traced; 0: the whole sentence
        agenda = np.zeros(n + 1, np.int32)
        count = 1
        while count > 0:
            count -= 1
            edge = agenda[count]
            q, r = (min(edge, heads[edge]), max(edge, heads[edge])) if edge > 0 else (0, n)
            _fill_row(heads, edges, q, r, edge > 0, whole, best, last)
            y = r
            while y > q:
                edge = last[y]
                if edge == 0:
                    y -= 1
                    continue
                kept[edge] = heads[edge]
                agenda[count] = edge
                count += 1
                y = min(edge, heads[edge])
        for child in range(1, n + 1):
            heads[child] = kept[child]
