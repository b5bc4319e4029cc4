"""Beam search with dynamic programming for arc-standard: items merge if no feature can tell them
apart (Huang and Sagae 2010).

An item is (began, front, s0, s1, ...): the first token of s0, the first token of the buffer, and
trees. The stack below s0 is not part of it. Its ``predictors`` are the items from which the first
token of s0 was shifted; the item stands for all stacks that they make. Its scores:

    shift    from I: prefix I.prefix + c, inside 0, predictors {(I, c)},
             where c is the score of the shift
    reduce   from I with each predictor (P, c): d = c + I.inside + the score of the transition in I;
             prefix P.prefix + d, inside P.inside + d, began P.began, predictors P.predictors

The score of a shift is stored with the predictor, because it differs between predictors. ``began``
is part of an item: without it, predictors and insides of different stretches of the sentence would
be combined. Items merge if their signatures (signature.py) are equal: the merged item has the
higher prefix and inside, and all predictors and ways of both.

The search is one compiled loop over the sentences. In each step, the best possible new items are
taken one by one, from streams. Each item opens a stream for its shift, and one for reductions with
each of its predictors. A stream finds its next item from scores alone. If the signature of the next
item is new, the item is made; else it is a further way to make an existing item. When the beam is
full, the rest of the streams can only join existing items. All transitions that differ only in
their relation are compared at once, since at most one of these relations is the item's.

The trees of the last items are listed best first (best_trees). For each item, the k best
derivations of distinct trees are found from the derivations of its parts (Huang and Chiang 2005,
Algorithm 2). Trees are distinct if their parts are, so at most k derivations of each part are
needed.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from parser.beam_settings import Beam
from parser.data.sentences import NO_NODE
from parser.decoding.beam.compiled import (
    BeamOptions,
    BeamParser,
    BeamSearch,
    Expansion,
    Scratch,
    score_item,
)
from parser.decoding.beam.signature import (
    SignatureItems,
    VisiblePositions,
    describe_transition,
    find_same,
    read_after,
    step_of_predictors,
)
from parser.decoding.beam.tree_stacks import FULL, TreeStacks, attach, clear, number, top_nodes
from parser.decoding.greedy.compiled import AttardiRules, CompiledModel
from parser.decoding.sentence_parser import Tree
from parser.inference.precomputed_tokens import PrecomputedWords
from parser.kernels import assign, kernel
from parser.transitions.attardi import transition_of
from parser.transitions.features import FeatureTable


class Streams(NamedTuple):
    """The streams of possible new items of a step, best first: for each item,
    one for its shift and one for each predictor.

    Attributes:
        items: int32[streams], the item that is reduced, or shifted from.
        below: int32[streams], its predictor; NO_NODE: the stream of the shift.
        at: int32[streams], the index of the next output in ``outputs`` of the item;
            NO_NODE after the last.
        prefixes, insides: float64[streams], the scores of the item that the next output makes.
        outputs: int32[size, size], the best outputs of each item, best first.
        n_outputs: int32[size], how many of them.
        seen: int32[size, positions], the tokens and relations that each new item has at the visible
            positions.
        predictors: int32[size, size], the predictors of the new items.
        n_predictors: int32[size], how many of them.
        pending: int32[tokens + 1, 4], workspace of _read_tree(): step and number of an item, head
            and relation of its root.
    """

    items: np.ndarray
    below: np.ndarray
    at: np.ndarray
    prefixes: np.ndarray
    insides: np.ndarray
    outputs: np.ndarray
    n_outputs: np.ndarray
    seen: np.ndarray
    predictors: np.ndarray
    n_predictors: np.ndarray
    pending: np.ndarray

    @classmethod
    def allocate(cls, tokens: int, size: int, positions: int) -> Streams:
        """Allocate for a sentence of ``tokens`` tokens."""
        most = size * (size + 1)
        return cls(
            items=np.empty(most, np.int32),
            below=np.empty(most, np.int32),
            at=np.empty(most, np.int32),
            prefixes=np.empty(most),
            insides=np.empty(most),
            outputs=np.empty((size, size), np.int32),
            n_outputs=np.empty(size, np.int32),
            seen=np.empty((size, positions), np.int32),
            predictors=np.empty((size, size), np.int32),
            n_predictors=np.empty(size, np.int32),
            pending=np.empty((tokens + 1, 4), np.int32),
        )


@kernel()
def open_streams(size, items, m, expansion, streams):
    """Open the streams of the items of step m; return how many."""
    count = 0
    for k in range(items.counts[m]):
        streams.n_outputs[k] = best_outputs(expansion.scores[k], size, streams.outputs[k])
        items.shifts[m, k] = np.float64(expansion.scores[k, 0]) - expansion.norms[k]
        first = items.predictor_starts[m, k]
        for t in range(first - 1, first + items.predictor_counts[m, k]):
            streams.items[count] = k
            streams.below[count] = items.predictors[t] if t >= first else NO_NODE
            look(items, m, expansion, streams, count, 0)
            count += 1
    return count


@kernel()
def best_outputs(row, limit, outputs):
    """Fill in the outputs with the highest scores, best first,
    the lower number first among equals; return how many.
    """
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
    """Move stream s to its first output from index ``at`` on, and compute the scores of the item
    that this output makes.
    """
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
        earlier = step_of_predictors(items, m, k)
        gain = gain_of(items, m, expansion, k, below, streams.outputs[k, at])
        streams.prefixes[s] = items.prefixes[earlier, below] + gain
        streams.insides[s] = items.insides[earlier, below] + gain


@kernel()
def gain_of(items, m, expansion, k, below, output):
    """Return the gain that a reduction of the item with a predictor adds to the predictor's
    scores.
    """
    cost = np.float64(expansion.scores[k, output]) - expansion.norms[k]
    return items.shifts[step_of_predictors(items, m, k), below] + items.insides[m, k] + cost


@kernel()
def best_stream(streams, count):
    """Return the stream with the best next item; among equals, the better parent comes first,
    then the better predictor.
    """
    best = NO_NODE
    for s in range(count):
        if streams.at[s] == NO_NODE:
            continue
        if best == NO_NODE or streams.prefixes[s] > streams.prefixes[best]:
            best = s
        elif streams.prefixes[s] == streams.prefixes[best]:
            inside, highest = streams.insides[s], streams.insides[best]
            same_item = streams.items[s] == streams.items[best]
            if inside > highest or (
                inside == highest and same_item and streams.below[s] < streams.below[best]
            ):
                best = s
    return best


class SignatureWorkspace(NamedTuple):
    """Workspace of the search through a sentence; a longer sentence needs a larger one."""

    stacks: TreeStacks
    items: SignatureItems
    expansion: Expansion
    streams: Streams
    scratch: Scratch


@kernel()
def parse_sentences(
    offsets, model, rules, options, positions, workspace, first, all_heads, all_relations
):
    """Parse the sentences from ``first`` on into ``all_heads`` and ``all_relations``; return the
    number of the first sentence that does not fit the workspace.

    Args:
        offsets, model, rules, options, first, all_heads, all_relations: see
            compiled.parse_sentences().
        positions: the positions at which two stacks must be equal for items to merge.
        workspace: a SignatureWorkspace; afterwards it holds the items of the last sentence.
    """
    stacks, items, expansion, streams, _ = workspace
    for s in range(first, len(offsets) - 1):
        start = offsets[s]
        length = offsets[s + 1] - start - 1
        _begin(stacks, items, length, options.size)
        expansion.summed[: length + 2] = False
        for m in range(2 * length):
            for k in range(items.counts[m]):
                score_item(model, rules, options.local, start, length, workspace, m, k)
            if _make_items(rules, options.size, positions, workspace, m) == FULL:
                return s
        best = 0
        for k in range(1, items.counts[2 * length]):
            if items.insides[2 * length, k] > items.insides[2 * length, best]:
                best = k
        _read_tree(items, 2 * length, best, rules, streams.pending, start, all_heads, all_relations)
    return len(offsets) - 1


@kernel()
def _begin(stacks, items, length, size):
    """Make the item of step 0."""
    items.cells[0, 0] = clear(stacks, length, 2 * length * size)
    top_nodes(stacks, items.cells[0, 0], items.tops[0, 0])
    items.begins[0, 0] = 0
    items.fronts[0, 0] = 1
    items.prefixes[0, 0] = 0.0
    items.insides[0, 0] = 0.0
    items.predictor_counts[0, 0] = items.predictor_starts[0, 0] = 0
    items.backpointers[0, 0] = NO_NODE
    items.counts[0] = 1
    items.used[:] = 0


@kernel()
def _make_items(rules, size, positions, workspace, m):
    """Make the items of step m + 1, best first; return FULL if the workspace is."""
    stacks, items, expansion, streams, scratch = workspace
    count = open_streams(size, items, m, expansion, streams)
    nodes = stacks.nodes.keys
    lists = stacks.lists.keys
    begins = items.begins[m + 1]
    fronts = items.fronts[m + 1]
    n_items = 0
    while n_items < size:
        s = best_stream(streams, count)
        if s == NO_NODE:
            break
        k, below = streams.items[s], streams.below[s]
        output = streams.outputs[k, streams.at[s]]
        column, relation = transition_of(output, rules.n_relations)
        described = describe_transition(items, m, k, below, column)
        other = find_same(
            positions, nodes, lists, streams.seen, begins, fronts, 0, n_items, described, relation
        )
        if other == NO_NODE:
            other = n_items
            if (
                _make_item(stacks, items, streams, m, s, column, relation, n_items, scratch.path)
                == FULL
            ):
                return np.int64(FULL)
            for p in range(len(positions.programs)):
                streams.seen[n_items, p] = read_after(
                    positions, nodes, lists, described, relation, p
                )
            n_items += 1
        if _join(items, expansion, streams, m, s, output, other) == FULL:
            return np.int64(FULL)
        look(items, m, expansion, streams, s, streams.at[s] + 1)
    items.counts[m + 1] = n_items
    if _join_all(rules, positions, workspace, m, count) == FULL:
        return np.int64(FULL)
    return _keep_predictors(items, streams, m + 1)


@kernel()
def _make_item(stacks, items, streams, m, s, column, relation, new, path):
    """Make item ``new`` of step m + 1 from stream s, without ways and predictors yet;
    return FULL if the workspace is.
    """
    k, below = streams.items[s], streams.below[s]
    front = items.fronts[m, k]
    earlier = step_of_predictors(items, m, k)
    if column == 0:
        cell = number(stacks.cells, front, items.cells[m, k], 0)
    else:
        under, top = items.tops[earlier, below, 0], items.tops[m, k, 0]
        joined = (
            attach(stacks, under, top, relation, path)
            if column == 1
            else attach(stacks, top, under, relation, path)
        )
        if joined == FULL:
            return np.int64(FULL)
        cell = number(stacks.cells, joined, stacks.cells.keys[items.cells[earlier, below], 1], 0)
    if cell == FULL:
        return np.int64(FULL)
    items.cells[m + 1, new] = cell
    top_nodes(stacks, cell, items.tops[m + 1, new])
    items.begins[m + 1, new] = front if column == 0 else items.begins[earlier, below]
    items.fronts[m + 1, new] = front + 1 if column == 0 else front
    items.prefixes[m + 1, new] = streams.prefixes[s]
    items.insides[m + 1, new] = streams.insides[s]
    items.backpointers[m + 1, new] = NO_NODE
    streams.n_predictors[new] = 0
    return np.int64(new)


@kernel()
def _join(items, expansion, streams, m, s, output, new):
    """Add to item ``new`` of step m + 1 one more way or predictor, an output of stream s; return
    FULL if the workspace is.
    """
    k, below = streams.items[s], streams.below[s]
    if below == NO_NODE:
        _add_predictor(streams, new, k)
        return np.int64(new)
    earlier = step_of_predictors(items, m, k)
    first = items.predictor_starts[earlier, below]
    for t in range(first, first + items.predictor_counts[earlier, below]):
        _add_predictor(streams, new, items.predictors[t])
    way = items.used[1]
    if way == len(items.ways):
        return np.int64(FULL)
    items.used[1] = way + 1
    items.ways[way, 0] = k
    items.ways[way, 1] = below
    items.ways[way, 2] = output
    items.ways[way, 3] = NO_NODE
    items.costs[way] = np.float64(expansion.scores[k, output]) - expansion.norms[k]
    inside = items.insides[earlier, below] + gain_of(items, m, expansion, k, below, output)
    ways = items.backpointers[m + 1, new]
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
def _add_predictor(streams, new, predictor):
    for t in range(streams.n_predictors[new]):
        if streams.predictors[new, t] == predictor:
            return
    streams.predictors[new, streams.n_predictors[new]] = predictor
    streams.n_predictors[new] += 1


@kernel()
def _join_all(rules, positions, workspace, m, count):
    """Join the rest of the streams with the items of step m + 1 of equal signature;
    return FULL if the workspace is.
    """
    stacks, items, expansion, streams, _ = workspace
    nodes = stacks.nodes.keys
    lists = stacks.lists.keys
    begins = items.begins[m + 1]
    fronts = items.fronts[m + 1]
    n_items = items.counts[m + 1]
    for s in range(count):
        if streams.at[s] == NO_NODE:
            continue
        k, below = streams.items[s], streams.below[s]
        row, outputs = expansion.scores[k], streams.outputs[k, streams.at[s] : streams.n_outputs[k]]
        shifts = below == NO_NODE
        for column in range(0 if shifts else 1, 1 if shifts else 3):
            newest = positions.newest[column]
            described = describe_transition(items, m, k, below, column)
            for other in range(n_items):
                if begins[other] != described[1] or fronts[other] != described[2]:
                    continue
                relation = np.int64(NO_NODE if newest == NO_NODE else streams.seen[other, newest])
                output = 1 + (column - 1) * rules.n_relations + relation
                if newest != NO_NODE and (
                    relation == NO_NODE or not _is_among(row, outputs, output)
                ):
                    continue
                if (
                    find_same(
                        positions,
                        nodes,
                        lists,
                        streams.seen,
                        begins,
                        fronts,
                        other,
                        other + 1,
                        described,
                        relation,
                    )
                    == NO_NODE
                ):
                    continue
                for candidate in outputs:
                    its_column, _ = transition_of(candidate, rules.n_relations)
                    joins = candidate == output if newest != NO_NODE else its_column == column
                    if joins and _join(items, expansion, streams, m, s, candidate, other) == FULL:
                        return np.int64(FULL)
    return np.int64(n_items)


@kernel()
def _is_among(row, outputs, output):
    """Return whether an output is among ``outputs``,
    which follow each other in the order of best_outputs().
    """
    return not _is_better(row, output, outputs[0]) and not _is_better(row, outputs[-1], output)


@kernel()
def _is_better(row, output, other):
    return row[output] > row[other] or (row[output] == row[other] and output < other)


@kernel()
def _keep_predictors(items, streams, m):
    """Copy the predictors of the items of step m from ``streams`` to ``items``;
    return FULL if the workspace is.
    """
    for new in range(items.counts[m]):
        first, count = items.used[0], streams.n_predictors[new]
        if first + count > len(items.predictors):
            return np.int64(FULL)
        assign(items.predictors[first : first + count], streams.predictors[new])
        items.predictor_starts[m, new], items.predictor_counts[m, new] = first, count
        items.used[0] = first + count
    return np.int64(items.counts[m])


@kernel()
def _read_tree(items, m, k, rules, pending, start, heads, relations):
    """Fill in the arcs of the best computation of item k of step m.

    In the best way to make an item, its parent or its predictor became the head. The root of the
    head is also the root of the item. So the loop follows heads down to a single token, the root,
    while the children wait in ``pending`` for their turn.
    """
    pending[0, 0], pending[0, 1], pending[0, 2], pending[0, 3] = m, k, NO_NODE, NO_NODE
    count = 1
    while count:
        count -= 1
        m = pending[count, 0]
        k = pending[count, 1]
        head = pending[count, 2]
        relation = pending[count, 3]
        bottom = count
        way = items.backpointers[m, k, 2]
        while way != NO_NODE:
            upper, below, output = items.ways[way, 0], items.ways[way, 1], items.ways[way, 2]
            earlier = step_of_predictors(items, m - 1, upper)
            column, arc_relation = transition_of(output, rules.n_relations)
            if column == 1:  # s0 becomes a child of s1
                pending[count, 0], pending[count, 1] = m - 1, upper
                m, k = earlier, below
            else:
                pending[count, 0], pending[count, 1] = earlier, below
                m, k = m - 1, upper
            pending[count, 3] = arc_relation
            count += 1
            way = items.backpointers[m, k, 2]
        token = items.begins[m, k]
        for child in range(bottom, count):
            pending[child, 2] = token
        if head != NO_NODE:
            heads[start + token], relations[start + token] = head, relation


class Derivation(NamedTuple):
    """A way to make the tree s0 of an item, after its first token was shifted.

    Attributes:
        score: the score of its transitions, without that shift.
        tree: its root, and the numbers of its lists of left and right children, as in
            tree_stacks.py: equal for equal trees.
        arc: the child's token and the relation of the last arc; its head is the root of the tree.
        parts: the derivations of the two trees that the last arc joined; () for a single token.
    """

    score: float
    tree: tuple[int, int, int]
    arc: tuple[int, int] = (NO_NODE, NO_NODE)
    parts: tuple[Derivation, ...] = ()


def ways_of(
    items: SignatureItems, m: int, k: int
) -> Iterator[tuple[tuple[int, int], tuple[int, int], int, float]]:
    """Yield the ways to make item k of step m by a reduction: the reduced item, its predictor, the
    output, and its score.
    """
    way = items.backpointers[m, k, 0]
    while way != NO_NODE:
        above, below, output, following = items.ways[way].tolist()
        yield (
            (m - 1, above),
            (int(step_of_predictors(items, m - 1, above)), below),
            output,
            float(items.costs[way]),
        )
        way = following


def best_trees(
    items: SignatureItems, step: int, tokens: int, n_relations: int, k: int
) -> Iterator[Tree]:
    """Yield the trees of the items of the last step, best first, at least the k best;
    a tree may come several times.

    Args:
        items: the items of a sentence.
        step: the last step.
        tokens: the number of tokens, including the artificial root.
        k: how many trees are wanted.
    """
    derivations: dict[tuple[int, int], list[Derivation]] = {}
    numbers: dict[tuple[int, int, int], int] = {}
    last = [(step, rank) for rank in range(items.counts[step])]
    waiting = [*last]
    while waiting:  # no recursion: items are as deep as sentences are long
        place = waiting[-1]
        ways = [] if place in derivations else [*ways_of(items, *place)]
        if unknown := [
            part for above, below, *_ in ways for part in (above, below) if part not in derivations
        ]:
            waiting += unknown
            continue
        waiting.pop()
        if ways:
            joined = []
            for above, below, output, cost in ways:
                transition = transition_of(output, n_relations)
                joined.append(
                    (
                        derivations[above],
                        derivations[below],
                        float(items.shifts[below]),
                        cost,
                        transition,
                    )
                )
            derivations[place] = _best(joined, numbers, k)
        elif place not in derivations:
            tree = int(items.begins[place]), NO_NODE, NO_NODE
            derivations[place] = [Derivation(float(items.insides[place]), tree)]
    whole = [derivation for place in last for derivation in derivations[place]]
    for derivation in sorted(whole, key=lambda derivation: -derivation.score):
        yield Tree(derivation.score, *_arcs(derivation, tokens))


def _best(
    ways: Sequence[tuple], numbers: dict[tuple[int, int, int], int], k: int
) -> list[Derivation]:
    """Return the k best derivations of distinct trees. ``numbers``: the number of each triple
    (tree_stacks.py); new triples are added.

    A way has the derivations of s0, those of s1, the scores of the shift and of the reduction,
    and (column, relation).
    """
    waiting: list[tuple[float, int, int, int]] = []

    def add(way: int, above: int, below: int) -> None:
        top, under, shift, cost, _ = ways[way]
        if above < len(top) and below < len(under):
            heapq.heappush(
                waiting,
                (-(under[below].score + (shift + top[above].score + cost)), way, above, below),
            )

    for way in range(len(ways)):
        add(way, 0, 0)
    derivations: dict[tuple[int, int, int], Derivation] = {}
    while waiting and len(derivations) < k:
        minus_score, way, above, below = heapq.heappop(waiting)
        top, under, _, _, (column, relation) = ways[way]
        parts = top[above], under[below]
        left = column == 1  # s0 becomes a child of s1
        child, head = parts if left else parts[::-1]
        token, lefts, rights = head.tree
        child_number = numbers.setdefault(child.tree, len(numbers))
        children = numbers.setdefault(
            (child_number, relation, rights if left else lefts), len(numbers)
        )
        tree = (token, lefts, children) if left else (token, children, rights)
        derivations.setdefault(
            tree, Derivation(-minus_score, tree, (child.tree[0], relation), parts)
        )
        add(way, above, below + 1)
        if below == 0:
            add(way, above + 1, below)
    return [*derivations.values()]


def _arcs(derivation: Derivation, tokens: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the heads and relations, int32[tokens - 1],
    of all tokens except the artificial root.
    """
    heads, relations = np.full((2, tokens), NO_NODE, np.int32)
    waiting = [derivation]
    while waiting:
        part = waiting.pop()
        if part.parts:
            child, relation = part.arc
            heads[child], relations[child] = part.tree[0], relation
            waiting += part.parts
    return heads[1:], relations[1:]


class SignatureBeamParser(BeamParser):
    """A ``BeamParser`` with dynamic programming: items stand for many computations, so there may be
    more trees than items.
    """

    def _search(
        self, offsets: np.ndarray, words: PrecomputedWords, single_root: bool
    ) -> SignatureSearch:
        return SignatureSearch(
            offsets,
            self.model_on(words),
            AttardiRules.of(self._system, single_root),
            self.beam,
            self._table,
        )


class SignatureSearch(BeamSearch):
    """A ``BeamSearch`` that merges items of equal signatures."""

    _merging: SignatureWorkspace

    def __init__(
        self,
        offsets: np.ndarray,
        model: CompiledModel,
        rules: AttardiRules,
        beam: Beam,
        table: FeatureTable,
    ) -> None:
        self._positions = VisiblePositions.of(table.slots)
        super().__init__(offsets, model, rules, beam, table)

    def _allocate(self, times: int) -> None:
        size = self.beam.size
        stacks = TreeStacks.allocate(self.tokens, times * 2 * self.tokens * size)
        items = SignatureItems.allocate(self.tokens, size, self._positions.elements, 2 * times)
        streams = (
            Streams.allocate(self.tokens, size, len(self._positions.programs))
            if times == 1
            else self._merging.streams
        )
        self._merging = SignatureWorkspace(stacks, items, self.expansion, streams, self.scratch)

    def _parse_from(
        self, first: int, offsets: np.ndarray, heads: np.ndarray, relations: np.ndarray
    ) -> int:
        options = BeamOptions.of(self.beam)
        return parse_sentences(
            offsets,
            self.model,
            self.rules,
            options,
            self._positions,
            self._merging,
            first,
            heads,
            relations,
        )

    def _last_trees(self, length: int, k: int) -> Iterable[Tree]:
        return best_trees(self._merging.items, 2 * length, length + 1, self.rules.n_relations, k)
