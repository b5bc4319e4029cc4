"""Optimal projectivization: the projective trees with the most gold edges.
Nederhof 2019, Section 3.

If a gold edge weighs 1 and any other 0, a projective tree of best weight is the best derivation
under the grammar of Table 3. It is found by the recurrences of Table 2 in max-plus and a backtrace:
O(n^3) time, O(n^2) memory per non-projective tree. The artificial root may have several children.
The slow reference implementation is oracles.tabular.

Often many trees have the most gold edges. ``choice`` decides among them:

* "nearest_ancestor": lexicographically, first the most gold edges; then the fewest words newly
  attached to the artificial root; then the fewest words whose head is not one of their gold
  ancestors; then the smallest sum of distances up the gold tree from the words to their heads. So a
  word that cannot keep its head goes to its nearest gold ancestor where possible. The remaining
  ties are decided as in "arbitrary".
* "arbitrary": the paper's semiring leaves ties open; the backtrace takes the leftmost of the best
  possibilities: the leftmost last child of a half constituent, the leftmost boundary between two
  half constituents.

Departure from the paper: the paper takes an arbitrary optimal tree (Section 8.1); nearest_ancestor,
the default, is ours. In a partial tree, only known edges are lifted: a word gets its head in the
best tree if known edges lead up to that head; otherwise its head becomes unknown.

``count_projectivizations`` relies on the grammar of Table 3 having exactly one derivation for each
tree.

Names: ``half`` and ``arc`` as in oracles.charts.sentence_chart, here in 64 bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from oracles.errors import OptimalStepError, did_you_mean
from oracles.kernel_cache import array_kernel, kernel
from oracles.trees import UNKNOWN_HEAD, Trees

PROJECTIVIZATIONS = ("nearest_ancestor", "arbitrary")

# The chart takes four squares of int64, 800 MB. Also,
# (n + 1)^5 must fit in 64 bits for "nearest_ancestor".
MAX_TOKENS_TO_PROJECTIVIZE = 5000

_HALF, _ARC = range(2)


def projectivize(heads: Sequence[int], choice: str = "nearest_ancestor") -> list[int]:
    """Return a projective tree [h_1, ..., h_n] with as many given edges as possible; a projective
    tree is returned unchanged.

    Raises:
        OptimalStepError: not a tree, too long, or an unknown choice.
    """
    return projectivize_trees(Trees.from_heads([heads], partial=True), choice)[0]


def projectivize_trees(trees: Trees, choice: str = "nearest_ancestor") -> Trees:
    """Return projectivize() of each tree; projective trees are copied, without a chart.

    Raises:
        OptimalStepError: unknown choice, or a non-projective tree of more than
            MAX_TOKENS_TO_PROJECTIVIZE tokens.
    """
    if choice not in PROJECTIVIZATIONS:
        near = did_you_mean(choice, PROJECTIVIZATIONS)
        raise OptimalStepError(
            f"unknown choice among optimal trees {choice!r}{near}; known: "
            f"{', '.join(PROJECTIVIZATIONS)}"
        )
    sentences = np.flatnonzero(~trees.projective)
    for s in sentences[trees.lengths[sentences] > MAX_TOKENS_TO_PROJECTIVIZE]:
        _check_length(int(trees.lengths[s]), f"sentence {s}")
    heads = trees.heads.copy()
    _projectivize_all(heads, trees.offsets, trees.whole, sentences, choice == "nearest_ancestor")
    return Trees(heads, trees.offsets)


def count_projectivizations(heads: Sequence[int]) -> tuple[int, int]:
    """Return the most gold edges that a projective tree can have,
    and how many projective trees have that many.

    The count is exact, a Python integer. Only items of optimal derivations are counted.

    Raises:
        OptimalStepError: not a tree, or too long.
    """
    trees = Trees.from_heads([heads])
    n = len(heads)
    _check_length(n, "the tree")
    weights, half, half_t, arc = (np.empty((n + 1, n + 1), np.int64) for _ in range(4))
    _edge_weights(trees.heads, False, weights)
    _fill_chart(n, weights, half, half_t, arc)

    goal = _item(_HALF, 0, n)
    parts = {}  # for each item in some optimal derivation, the pairs of items that make it
    agenda = [goal]
    while agenda:
        item = agenda.pop()
        if item not in parts:
            parts[item] = list(_parts_of_best(item, weights, half, half_t, arc))
            agenda.extend(part for pair in parts[item] for part in pair)
    counts: dict[tuple[int, int, int, int], int] = {}
    # Parts are narrower than the whole, except the arc of a half constituent without further parts.
    for item in sorted(parts, key=lambda item: (item[0], -item[1])):
        counts[item] = sum(counts[a] * counts[b] for a, b in parts[item]) if item[0] else 1
    return int(half[0, n]), counts[goal]


def _check_length(n: int, where: str) -> None:
    if n > MAX_TOKENS_TO_PROJECTIVIZE:
        raise OptimalStepError(
            f"{where} is not projective and has {n} tokens; the chart that projectivizes a tree is "
            f"quadratic in memory, so at most {MAX_TOKENS_TO_PROJECTIVIZE} are supported"
        )


def _parts_of_best(
    item: tuple[int, int, int, int], weights, half, half_t, arc
) -> Iterator[tuple[tuple, tuple]]:
    """Yield all pairs of items that make the item (width, kind, head, end) with its best weight."""
    width, kind, head, end = item
    low, high = min(head, end), max(head, end)
    if width == 0:
        return
    if kind == _ARC:
        best = arc[head, end] - weights[head, end]
        for m in low + np.flatnonzero(half[low, low:high] + half[high, low + 1 : high + 1] == best):
            yield _item(_HALF, low, int(m)), _item(_HALF, high, int(m) + 1)
    else:
        first = low + (head < end)
        among = slice(first, first + width)
        for d in first + np.flatnonzero(arc[head, among] + half_t[end, among] == half[head, end]):
            yield _item(_ARC, head, int(d)), _item(_HALF, int(d), end)


def _item(kind: int, head: int, end: int) -> tuple[int, int, int, int]:
    return abs(head - end), kind, head, end


@array_kernel()
def _projectivize_all(all_heads, offsets, whole, sentences, nearest_ancestor):
    """Overwrite the heads of the given sentences."""
    longest = 0
    for s in sentences:
        longest = max(longest, offsets[s + 1] - offsets[s])
    weights = np.empty((longest, longest), np.int64)
    half = np.empty((longest, longest), np.int64)
    half_t = np.empty((longest, longest), np.int64)
    arc = np.empty((longest, longest), np.int64)
    for s in sentences:
        heads = all_heads[offsets[s] : offsets[s + 1]]
        _edge_weights(heads, nearest_ancestor, weights)
        _fill_chart(len(heads) - 1, weights, half, half_t, arc)
        gold = heads.copy()
        _backtrace(heads, weights, half, half_t, arc)
        if not whole[s]:
            _forget_guesses(heads, gold)


@kernel()
def _edge_weights(heads, nearest_ancestor, weights):
    """Fill in weights[h, d] of the edge from h to d:
    lexicographic components as digits of one number in base n + 1.

    The digits, the heaviest first: gold edges (+), new children of the root (-), heads that are not
    ancestors (-), and two digits for the sum of distances beyond the gold head (-). No sum over a
    tree overflows into the next digit.
    """
    n = len(heads) - 1
    if not nearest_ancestor:
        weights[: n + 1, : n + 1] = 0
        for d in range(1, n + 1):
            if heads[d] >= 0:
                weights[heads[d], d] = 1
        return
    base = np.int64(n + 1)
    no_ancestor = base * base
    new_root_child = no_ancestor * base
    gold = new_root_child * base
    weights[: n + 1, : n + 1] = -no_ancestor
    for d in range(1, n + 1):
        distance = 0
        h = heads[d]
        while h > 0:
            weights[h, d] = -distance
            distance += 1
            h = heads[h]
        weights[0, d] = -new_root_child
        if heads[d] >= 0:
            weights[heads[d], d] = gold


@kernel()
def _best_sum(a, b):
    best = a[0] + b[0]
    for x in range(1, len(a)):
        best = max(best, a[x] + b[x])
    return best


@kernel()
def _fill_chart(n, weights, half, half_t, arc):
    """Fill in the chart of Tables 2 and 3, int64[> n, > n] each; row h of ``half`` and ``arc``
    holds the items headed by h.
    """
    for j in range(n + 1):
        half[j, j] = 0
        half_t[j, j] = 0
        for i in range(j - 1, -1, -1):
            join = _best_sum(half[i, i:j], half[j, i + 1 : j + 1])
            arc[i, j] = join + weights[i, j]
            half[i, j] = _best_sum(arc[i, i + 1 : j + 1], half_t[j, i + 1 : j + 1])
            half_t[j, i] = half[i, j]
            if i > 0:  # the root has no head
                arc[j, i] = join + weights[j, i]
                half[j, i] = _best_sum(arc[j, i:j], half_t[i, i:j])
                half_t[i, j] = half[j, i]


@kernel()
def _forget_guesses(heads, gold):
    """Make heads (int32[n + 1]) unknown unless they are ancestors by the known edges ``gold``."""
    for d in range(1, len(heads)):
        ancestor = gold[d]
        while ancestor >= 0 and ancestor != heads[d]:
            ancestor = gold[ancestor]
        if ancestor < 0:
            heads[d] = UNKNOWN_HEAD


@array_kernel()
def _backtrace(heads, weights, half, half_t, arc):
    """Read the best tree from the chart into ``heads``; among several,
    the one with the leftmost parts.
    """
    n = len(heads) - 1
    # half constituents (head, end) still to be read, with disjoint spans
    agenda = np.empty((2 * n + 2, 2), np.int64)
    agenda[0, 0] = 0
    agenda[0, 1] = n
    size = 1
    while size:
        size -= 1
        head, end = agenda[size]
        if head == end:
            continue
        low, high = min(head, end), max(head, end)
        d = low + (head < end)
        while arc[head, d] + half_t[end, d] != half[head, end]:
            d += 1
        heads[d] = head
        agenda[size, 0] = d
        agenda[size, 1] = end
        size += 1
        low, high = min(head, d), max(head, d)
        join = arc[head, d] - weights[head, d]
        m = low
        while half[low, m] + half[high, m + 1] != join:
            m += 1
        agenda[size, 0] = low
        agenda[size, 1] = m
        agenda[size + 1, 0] = high
        agenda[size + 1, 1] = m + 1
        size += 2
