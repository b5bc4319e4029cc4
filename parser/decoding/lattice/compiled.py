"""Beam search through a word lattice in one compiled loop,
which chooses the words together with their tree.

Instead of a buffer, a configuration has ``ahead``: the next L arcs of its path, already chosen. A
shift moves the first of them onto the stack and *chooses* one more arc, which starts where the last
one ends; a reduction leaves ``ahead`` unchanged. A separate output of the classifier (``choice``)
scores a choice in the configuration after it. Local scores are log probabilities among the
candidate arcs; global scores are the output itself. If the classifier has no such output, every
choice costs 0.

Paths differ in their number of words, so items are compared by a clock rather than by steps. A
shift adds the length of its arc, the number of nodes that the arc advances by, to the clock.
Removing the arc from the stack as a child adds its length again. All complete computations end at
2N. Before the first step, L choices are made while the clock is 0; these are in buckets 0 to L-1.
After that, the bucket of a configuration is L plus its clock.

An item is a configuration in a bucket, with the score of the best computation that leads to it. Its
successors wait as candidates until the clock reaches their bucket; then the best candidates become
items. Among equal scores, the first that was found wins. So on a lattice with a single path of unit
arcs, the results are those of beam/compiled.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from parser.data.sentences import NO_NODE, Sentences
from parser.decoding.beam.compiled import Scratch
from parser.decoding.beam.scores import finite_number, highest_output, pick_rows, score_outputs
from parser.decoding.beam.tree_stacks import (
    FULL,
    TreeStacks,
    clear,
    read_trees,
    take_transition,
    top_nodes,
)
from parser.decoding.greedy.compiled import AttardiRules, CompiledClassifier, CompiledModel, Layers
from parser.decoding.sentence_parser import Tree
from parser.inference.precomputed import sum_rows
from parser.inference.weights import ClassifierWeights
from parser.kernels import array_kernel, assign, highest, kernel
from parser.kernels.active_units import activate_units
from parser.transitions.attardi import Attardi, forced_output, transition_of
from parser.transitions.features import FeatureTable


class Arcs(NamedTuple):
    """The arcs of a lattice as tokens 1 to A; token 0 is the artificial root.

    Attributes:
        ends: int32[A + 1], the node at which each arc ends; 0 for the root.
        first: int32[N + 2]; the arcs that start from node v are ``first[v]`` to
            ``first[v + 1] - 1``.
        ticks: int32[A + 1], the length of each arc, which it adds to the clock.
    """

    ends: np.ndarray
    first: np.ndarray
    ticks: np.ndarray

    @property
    def last_node(self) -> int:
        """The number N of the last node."""
        return len(self.first) - 2

    @classmethod
    def of(cls, starts: np.ndarray, ends: np.ndarray, last_node: int) -> Arcs:
        """Make the arcs between the given nodes (int32[A])."""
        first = 1 + np.searchsorted(starts, np.arange(last_node + 2)).astype(np.int32)
        root = np.zeros(1, np.int32)
        return cls(
            np.concatenate([root, ends]).astype(np.int32),
            first,
            np.concatenate([root, ends - starts]).astype(np.int32),
        )


class LatticeOptions(NamedTuple):
    """Items per bucket, whether equal items merge, whether scores are local, L,
    and the output of choices or NO_NODE.
    """

    size: int
    merging: bool
    local: bool
    lookahead: int
    choice: int


class LatticeItems(NamedTuple):
    """The items of a sentence; row m of each array holds those of bucket m, best first.

    Attributes:
        counts: int32[buckets], the number of items.
        cells: int32[buckets, size], their stacks.
        depths: int32[buckets, size], the number of elements on these stacks.
        ahead: int32[buckets, size, L], the next arcs of the path, NO_NODE after the last.
        totals: float64[buckets, size], their scores.
    """

    counts: np.ndarray
    cells: np.ndarray
    depths: np.ndarray
    ahead: np.ndarray
    totals: np.ndarray

    @classmethod
    def allocate(cls, buckets: int, size: int, lookahead: int) -> LatticeItems:
        """Allocate for ``buckets`` buckets."""
        return cls(
            counts=np.zeros(buckets, np.int32),
            cells=np.empty((buckets, size), np.int32),
            depths=np.empty((buckets, size), np.int32),
            ahead=np.empty((buckets, size, lookahead), np.int32),
            totals=np.empty((buckets, size), np.float64),
        )


class LatticeScratch(NamedTuple):
    """Workspace of one configuration.

    Attributes:
        base: see Scratch.
        scores: float32[outputs].
        tops: int32[elements], the nodes that features can see.
        next_tops, next_ahead: the nodes that features can see, and the arcs ahead, after a shift.
        no_tops, only: an empty stack, and a single arc ahead.
        sums: float32[units], the part of the hidden layer that all candidates of a choice share.
        choices: float64[widest], the scores of the arcs from one node.
    """

    base: Scratch
    scores: np.ndarray
    tops: np.ndarray
    next_tops: np.ndarray
    next_ahead: np.ndarray
    no_tops: np.ndarray
    only: np.ndarray
    sums: np.ndarray
    choices: np.ndarray

    @classmethod
    def allocate(
        cls, arcs: int, widest: int, layers: Layers, table: FeatureTable, lookahead: int
    ) -> LatticeScratch:
        """Allocate for lattices of at most ``arcs`` arcs,
        at most ``widest`` of them from one node.
        """
        tops, next_tops, no_tops = np.full((3, table.stack_elements), NO_NODE, np.int32)
        next_ahead, only = np.full((2, lookahead), NO_NODE, np.int32)
        return cls(
            base=Scratch.allocate(arcs, layers, table),
            scores=np.empty(len(layers.bias), np.float32),
            tops=tops,
            next_tops=next_tops,
            next_ahead=next_ahead,
            no_tops=no_tops,
            only=only,
            sums=np.empty(len(layers.hidden_bias), np.float32),
            choices=np.empty(widest, np.float64),
        )


class Candidates(NamedTuple):
    """The successors of items, in linked lists by bucket; free places are reused.

    Attributes:
        totals: float64[capacity], scores.
        origins: int32[capacity, 4], bucket and rank of the item, the output taken,
            the arc chosen; NO_NODE: none.
        following: int32[capacity], the next candidate of the same list, or the next free place.
        lists: int32[buckets, 2], the first and the last candidate of each list;
            NO_NODE if it is empty.
        state: int64[2], the first free place, and how many places have ever been used.
    """

    totals: np.ndarray
    origins: np.ndarray
    following: np.ndarray
    lists: np.ndarray
    state: np.ndarray

    @classmethod
    def allocate(cls, buckets: int, candidates: int) -> Candidates:
        """Allocate for ``buckets`` buckets, and ``candidates`` candidates at a time."""
        return cls(
            totals=np.empty(candidates, np.float64),
            origins=np.empty((candidates, 4), np.int32),
            following=np.empty(candidates, np.int32),
            lists=np.empty((buckets, 2), np.int32),
            state=np.zeros(2, np.int64),
        )


@kernel()
def add_candidate(candidates, bucket, total, origin, arc):
    """Append a candidate to a bucket's list; return FULL if no more fit.
    For ``origin`` see _choose().
    """
    m, k, output = origin
    new = candidates.state[0]
    if new != NO_NODE:
        candidates.state[0] = candidates.following[new]
    elif candidates.state[1] < len(candidates.totals):
        new = candidates.state[1]
        candidates.state[1] += 1
    else:
        return FULL
    candidates.totals[new] = total
    candidates.origins[new, 0] = m
    candidates.origins[new, 1] = k
    candidates.origins[new, 2] = output
    candidates.origins[new, 3] = arc
    candidates.following[new] = NO_NODE
    ends = candidates.lists[bucket]
    if ends[0] == NO_NODE:
        ends[0] = new
    else:
        candidates.following[ends[1]] = new
    ends[1] = new
    return 0


@kernel()
def clear_candidates(candidates, buckets):
    """Begin a sentence of ``buckets`` buckets."""
    candidates.lists[:buckets] = NO_NODE
    candidates.state[0] = NO_NODE
    candidates.state[1] = 0


@array_kernel()
def candidates_in_order(candidates, bucket):
    """Return int32[m], the candidates of a bucket, best first; among equals,
    the first added comes first.
    """
    count, candidate = 0, candidates.lists[bucket, 0]
    while candidate != NO_NODE:
        count += 1
        candidate = candidates.following[candidate]
    waiting = np.empty(count, np.int32)
    candidate = candidates.lists[bucket, 0]
    for c in range(count):
        waiting[c] = candidate
        candidate = candidates.following[candidate]
    return waiting[np.argsort(-candidates.totals[waiting], kind="mergesort")]


@kernel()
def free_candidates(candidates, bucket):
    """Free the places of a bucket's candidates."""
    if candidates.lists[bucket, 0] != NO_NODE:
        candidates.following[candidates.lists[bucket, 1]] = candidates.state[0]
        candidates.state[0] = candidates.lists[bucket, 0]


class LatticeWorkspace(NamedTuple):
    """Workspace of the search through a lattice; a larger lattice needs a larger one."""

    stacks: TreeStacks
    items: LatticeItems
    candidates: Candidates
    scratch: LatticeScratch


@array_kernel()
def search_lattice(start, arcs, model, rules, options, workspace):
    """Fill in the items of a lattice; the items of the last bucket are complete parses. Return FULL
    if they do not fit, otherwise 0.

    Args:
        start: where the lattice begins in ``words``.
        arcs: the lattice.
        model: the classifier with its arcs as words, a CompiledModel.
        rules: an AttardiRules.
        options: a LatticeOptions.
        workspace: a LatticeWorkspace.
    """
    stacks, items, candidates, scratch = workspace
    last = 2 * (len(arcs.first) - 2) + options.lookahead
    items.counts[: last + 1] = 0
    clear_candidates(candidates, last + 1)
    items.counts[0] = 1
    items.cells[0, 0] = clear(stacks, len(arcs.ends) - 1, (last + 1) * options.size)
    items.depths[0, 0] = 1
    items.ahead[0, 0] = NO_NODE
    items.totals[0, 0] = 0.0
    for m in range(last + 1):
        if m > 0:
            order = candidates_in_order(candidates, m)
            if _select(rules, options, workspace, m, order) == FULL:
                return FULL
        if m == last:
            break
        for k in range(items.counts[m]):
            if m < options.lookahead:
                top_nodes(stacks, items.cells[m, k], scratch.next_tops)
                assign(scratch.next_ahead, items.ahead[m, k])
                node = 0 if m == 0 else _end(arcs, scratch.next_ahead[m - 1])
                total, origin = items.totals[m, k], (m, k, NO_NODE)
                status = _choose(
                    start, arcs, model, options, workspace, m + 1, total, origin, m, node
                )
            else:
                status = _expand(start, arcs, model, rules, options, workspace, m, k)
            if status == FULL:
                return FULL
    return 0


@kernel()
def _end(arcs, arc):
    """Return the node at which an arc ends; for NO_NODE, the last node."""
    return len(arcs.first) - 2 if arc == NO_NODE else np.int64(arcs.ends[arc])


@kernel()
def _sum_hidden(start, model, stacks, tops, ahead, scratch):
    """Fill in the hidden layer of a configuration, before its activation."""
    words, in_buffer, others, layers = model
    base = scratch.base
    count = pick_rows(start, stacks, tops, ahead, in_buffer, words, base.picked, 0)
    sum_rows(layers.hidden_bias, words.activations, base.picked, count, scratch.sums)
    count = pick_rows(start, stacks, tops, ahead, others, words, base.picked, 0)
    sum_rows(scratch.sums, words.activations, base.picked, count, base.hidden)


@kernel()
def _add_arc(start, model, stacks, place, arc, scratch):
    """Fill in the hidden layer: ``scratch.sums`` plus the part of arc ``arc`` at index ``place`` of
    ``ahead``.
    """
    words, in_buffer, others, _ = model
    base = scratch.base
    scratch.only[place] = arc
    count = pick_rows(
        start, stacks, scratch.no_tops, scratch.only, in_buffer, words, base.picked, 0
    )
    count = pick_rows(
        start, stacks, scratch.no_tops, scratch.only, others, words, base.picked, count
    )
    scratch.only[place] = NO_NODE
    sum_rows(scratch.sums, words.activations, base.picked, count, base.hidden)


@kernel()
def _choose(start, arcs, model, options, workspace, bucket, total, origin, place, node):
    """Add a candidate for each arc from ``node``; at the last node,
    a single candidate without an arc.

    Args:
        start, arcs, model, options, workspace: see search_lattice(). The scratch holds the stack
            and the arcs ahead as they are after the output.
        bucket: the bucket of the candidates.
        total: the score before the choice.
        origin: bucket and rank of the item, and the output taken.
        place: the index of the chosen arc in ``ahead``.
        node: where the chosen arc starts.
    """
    stacks, _, candidates, scratch = workspace
    first, end = arcs.first[node], arcs.first[node + 1]
    if first == end:
        return add_candidate(candidates, bucket, total, origin, NO_NODE)
    choices = scratch.choices[: end - first]
    choices[:] = 0.0
    if options.choice != NO_NODE and (end - first > 1 or not options.local):
        _, _, _, layers = model
        scratch.next_ahead[place] = NO_NODE
        _sum_hidden(start, model, stacks, scratch.next_tops, scratch.next_ahead, scratch)
        base = scratch.base
        assign(scratch.sums, base.hidden)  # the part that all candidates share
        for c in range(end - first):
            _add_arc(start, model, stacks, place, first + c, scratch)
            active = activate_units(base.hidden, layers.activation, base.active)
            score = np.float64(layers.bias[options.choice])
            for u in range(active):
                unit = base.active[u]
                score += base.hidden[unit] * layers.weights[unit, options.choice]
            choices[c] = finite_number(score)
        if options.local:
            best = highest(choices)
            shares = 0.0
            for c in range(end - first):
                shares += np.exp(choices[c] - best)
            norm = best + np.log(shares)
            for c in range(end - first):
                choices[c] -= norm
    for c in range(end - first):
        if add_candidate(candidates, bucket, total + choices[c], origin, first + c) == FULL:
            return FULL
    return 0


@kernel()
def _expand(start, arcs, model, rules, options, workspace, m, k):
    """Add the successors of item k of bucket m as candidates."""
    stacks, items, candidates, scratch = workspace
    cell, depth, ahead = items.cells[m, k], items.depths[m, k], items.ahead[m, k]
    buffered = ahead[0] != NO_NODE
    top_nodes(stacks, cell, scratch.tops)
    row, norm = scratch.scores, 0.0
    forced = NO_NODE
    if options.local:
        forced = forced_output(
            rules.degree, depth, buffered, rules.root_relation, rules.single_root
        )
    if forced != NO_NODE:
        row[:] = -np.inf
        row[forced] = 0
    else:
        _sum_hidden(start, model, stacks, scratch.tops, ahead, scratch)
        _, norm = score_outputs(
            model.layers, rules, depth, buffered, options.local, scratch.base, row
        )
    for _ in range(options.size):
        output = highest_output(row)
        if row[output] == -np.inf:
            break
        total = (items.totals[m, k] - norm) + np.float64(row[output])
        row[output] = -np.inf
        if output == 0:
            scratch.next_tops[0] = ahead[0]  # token t without children is node t
            assign(scratch.next_tops[1:], scratch.tops)
            _shift_ahead(ahead, scratch.next_ahead)
            node, bucket = _end(arcs, ahead[options.lookahead - 1]), m + arcs.ticks[ahead[0]]
            status = _choose(
                start,
                arcs,
                model,
                options,
                workspace,
                bucket,
                total,
                (m, k, 0),
                options.lookahead - 1,
                node,
            )
        else:
            column, _ = transition_of(output, rules.n_relations)
            child = _removed(stacks, cell, column)
            status = add_candidate(
                candidates, m + arcs.ticks[child], total, (m, k, output), NO_NODE
            )
        if status == FULL:
            return FULL
    return 0


@kernel()
def _shift_ahead(ahead, shifted):
    """Fill in ``shifted``: the arcs ahead without the first one."""
    assign(shifted[:-1], ahead[1:])
    shifted[-1] = NO_NODE


@kernel()
def _removed(stacks, cell, column):
    """Return the token that a reduction removes from the stack as a child."""
    cells = stacks.cells.keys
    if column % 2 == 0:
        for _ in range((column + 1) // 2):
            cell = cells[cell, 1]
    return stacks.nodes.keys[cells[cell, 0], 0]


@kernel()
def _select(rules, options, workspace, m, order):
    """Make the items of bucket m from its candidates in ``order``, best first;
    return FULL if their stacks do not fit.
    """
    stacks, items, candidates, scratch = workspace
    count = 0
    for candidate in order:
        if count == options.size:
            break
        origin = candidates.origins[candidate]
        before, rank, output, arc = origin[0], origin[1], origin[2], origin[3]
        cell = items.cells[before, rank]
        depth = items.depths[before, rank]
        ahead = items.ahead[before, rank]
        new = items.ahead[m, count]
        assign(new, ahead)
        place = before  # if the choice was made before the first step
        if output == 0:
            _shift_ahead(ahead, new)
            place = options.lookahead - 1
        if arc != NO_NODE:
            new[place] = arc
        new_cell = np.int64(cell)
        if output != NO_NODE:
            column, relation = transition_of(output, rules.n_relations)
            base = scratch.base
            new_cell = take_transition(
                stacks, cell, np.int64(ahead[0]), column, relation, base.elements, base.path
            )
            if new_cell == FULL:
                return FULL
            depth += 1 if output == 0 else -1
        is_new = True
        if options.merging:
            for other in range(count):
                same = items.cells[m, other] == new_cell
                for a in range(options.lookahead):
                    same &= items.ahead[m, other, a] == new[a]
                is_new &= not same
        if is_new:
            items.cells[m, count] = new_cell
            items.depths[m, count] = depth
            items.totals[m, count] = candidates.totals[candidate]
            count += 1
    items.counts[m] = count
    free_candidates(candidates, m)
    return count


class LatticeBeam(CompiledClassifier):
    """Searches lattices with a beam.

    For ``weights``, ``system`` and ``table`` see CompiledClassifier.
    """

    _system: Attardi

    def __init__(
        self,
        weights: ClassifierWeights,
        system: Attardi,
        table: FeatureTable,
        options: LatticeOptions,
    ) -> None:
        super().__init__(weights, system, table)
        self._options = options
        self._table = table

    def lattice_trees(
        self, sentences: Sentences, arcs: Sequence[Arcs], single_root: bool
    ) -> Iterator[Iterator[Tree]]:
        """Yield, for each lattice, the trees found, best first;
        read them before going on to the next lattice.

        Args:
            sentences: the lattices, their arcs encoded as the tokens of sentences.
            arcs: the same lattices.
            single_root: see parse_batched().

        Returns:
            Trees over all arcs of a lattice; the heads of arcs off the path are NO_NODE.
        """
        rules = AttardiRules.of(self._system, single_root)
        model = self.model_on(self.words_of(sentences))
        search = LatticeSearch(arcs, model, self._options, self._table)
        for start, lattice in zip(sentences.offsets, arcs, strict=False):
            while (
                search_lattice(start, lattice, model, rules, self._options, search.workspace)
                == FULL
            ):
                search.grow()
            yield search.trees(lattice)


class LatticeSearch:
    """The workspace of the search through some lattices, large enough for the largest.

    Args:
        model: the classifier with the lattices' arcs as words.
    """

    def __init__(
        self,
        arcs: Sequence[Arcs],
        model: CompiledModel,
        options: LatticeOptions,
        table: FeatureTable,
    ) -> None:
        widest = max((int(np.diff(lattice.first).max(initial=1)) for lattice in arcs), default=1)
        self._tokens = max((len(lattice.ends) for lattice in arcs), default=1)
        self._buckets = (
            2 * max((lattice.last_node for lattice in arcs), default=0) + options.lookahead + 1
        )
        self._options, self._times = options, 1
        items = LatticeItems.allocate(self._buckets, options.size, options.lookahead)
        scratch = LatticeScratch.allocate(
            self._tokens, widest, model.layers, table, options.lookahead
        )
        self.workspace = LatticeWorkspace(self._stacks(), items, self._candidates(), scratch)

    def grow(self) -> None:
        """Double the space for stacks and candidates."""
        self._times *= 2
        self.workspace = self.workspace._replace(
            stacks=self._stacks(), candidates=self._candidates()
        )

    def _stacks(self) -> TreeStacks:
        return TreeStacks.allocate(self._tokens, self._times * self._buckets * self._options.size)

    def _candidates(self) -> Candidates:
        return Candidates.allocate(self._buckets, self._times * 64 * self._options.size)

    def trees(self, arcs: Arcs) -> Iterator[Tree]:
        """Yield the trees of the last bucket of the lattice searched last, best first."""
        stacks, items, _, scratch = self.workspace
        last = 2 * arcs.last_node + self._options.lookahead
        for rank in range(items.counts[last]):
            heads, relations = np.empty((2, len(arcs.ends)), np.int32)
            read_trees(stacks, items.cells[last, rank], heads, relations, scratch.base.path)
            yield Tree(float(items.totals[last, rank]), heads[1:], relations[1:])
