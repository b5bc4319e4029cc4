"""Beam search in one compiled loop over the sentences, for arc-standard and Attardi's system.

An item of step m is a configuration after m transitions, with the score of the best computation
that leads to it. Each item of a step considers its best outputs, at most as many as the beam has
items. Of all the new items that these make, the best are kept, in the order of their scores; others
are never made. Trees share their parts (tree_stacks.py). batched.py is the reference
implementation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from parser import batch_sizes
from parser.beam_settings import Beam, Merge, Scores
from parser.data.sentences import NO_NODE, Parses, Sentences
from parser.decoding.beam.scores import highest_output, look_ahead, pick_rows, score_outputs
from parser.decoding.beam.tree_stacks import (
    FULL,
    TreeStacks,
    clear,
    read_trees,
    take_transition,
    top_nodes,
)
from parser.decoding.greedy.compiled import AttardiRules, CompiledModel, CompiledParser, Layers
from parser.decoding.sentence_parser import Tree, distinct
from parser.inference.precomputed import sum_rows
from parser.inference.precomputed_tokens import PrecomputedWords
from parser.inference.weights import ClassifierWeights
from parser.kernels import assign, kernel
from parser.transitions.attardi import MAX_DEGREE, Attardi, forced_output, transition_of
from parser.transitions.features import FeatureTable


class Items(NamedTuple):
    """The items of a sentence; row m of each array holds those of step m, best first.

    Attributes:
        counts: int32[steps + 1], the number of items.
        cells: int32[steps + 1, size], their stacks.
        fronts: int32[steps + 1, size], the first token of the buffer.
        totals: float64[steps + 1, size], their scores.
        parents: int32[steps + 1, size], the item of the previous step that each was made from.
        outputs: int32[steps + 1, size], the output that made it.
    """

    counts: np.ndarray
    cells: np.ndarray
    fronts: np.ndarray
    totals: np.ndarray
    parents: np.ndarray
    outputs: np.ndarray

    @classmethod
    def allocate(cls, tokens: int, size: int) -> Items:
        """Allocate for a sentence of ``tokens`` tokens."""
        shape = 2 * tokens + 1, size
        cells, fronts, parents, outputs = np.empty((4, *shape), np.int32)
        totals, counts = np.empty(shape, np.float64), np.empty(shape[0], np.int32)
        return cls(
            counts=counts,
            cells=cells,
            fronts=fronts,
            totals=totals,
            parents=parents,
            outputs=outputs,
        )


class Expansion(NamedTuple):
    """Workspace for the expansion of the items of a step.

    Attributes:
        scores: float32[size, outputs], the classifier's;
            minus infinity where an output is not applicable.
        norms: float64[size], the number that is subtracted from the scores of an item's outputs.
        best: int32[size], the best output that has not been taken yet; NO_NODE if none is left.
        totals: float64[size], the score of the item that ``best`` makes.
        taken: int32[size], how many outputs have been taken.
        tops: int32[size, elements], the nodes that features can see.
        sums: float32[tokens + 2, units], the buffer's part of the hidden layer,
            by the buffer's front.
        summed: bool[tokens + 2], whether this part has been computed.
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
    def allocate(cls, tokens: int, size: int, layers: Layers, table: FeatureTable) -> Expansion:
        """Allocate for a sentence of ``tokens`` tokens,
        and the classifier's layers and features.
        """
        return cls(
            scores=np.empty((size, len(layers.bias)), np.float32),
            norms=np.empty(size, np.float64),
            best=np.empty(size, np.int32),
            totals=np.empty(size, np.float64),
            taken=np.empty(size, np.int32),
            tops=np.empty((size, table.stack_elements), np.int32),
            sums=np.empty((tokens + 2, len(layers.hidden_bias)), np.float32),
            summed=np.empty(tokens + 2, np.bool_),
        )


class Scratch(NamedTuple):
    """Workspace of one configuration: see scores.py, greedy/compiled.py and
    tree_stacks.take_transition().
    """

    ahead: np.ndarray
    picked: np.ndarray
    hidden: np.ndarray
    active: np.ndarray
    shares: np.ndarray
    powers: np.ndarray
    elements: np.ndarray
    path: np.ndarray

    @classmethod
    def allocate(cls, tokens: int, layers: Layers, table: FeatureTable) -> Scratch:
        """Allocate for sentences of at most ``tokens`` tokens,
        and the classifier's layers and features.
        """
        units, outputs = len(layers.hidden_bias), len(layers.bias)
        return cls(
            ahead=np.empty(table.read_ahead, np.int32),
            picked=np.empty(2 * len(table.programs), np.int64),
            hidden=np.empty(units, np.float32),
            active=np.empty(units, np.int32),
            shares=np.empty(outputs, np.float32),
            powers=np.empty(outputs, np.float32),
            elements=np.empty(MAX_DEGREE, np.int32),
            path=np.empty(tokens + 1, np.int32),
        )


class BeamOptions(NamedTuple):
    """The number of items of a step, whether equal configurations merge,
    and whether scores are local.
    """

    size: int
    merging: bool
    local: bool

    @classmethod
    def of(cls, beam: Beam) -> BeamOptions:
        """Return the options of a beam."""
        return cls(beam.size, beam.merge is Merge.CONFIGURATION, beam.scores is Scores.LOCAL)


class BeamWorkspace(NamedTuple):
    """Workspace of the search through a sentence; a longer sentence needs a larger one."""

    stacks: TreeStacks
    items: Items
    expansion: Expansion
    scratch: Scratch


@kernel()
def parse_sentences(offsets, model, rules, options, workspace, first, all_heads, all_relations):
    """Parse the sentences from ``first`` on into ``all_heads`` and ``all_relations``; return the
    number of the first sentence that does not fit the workspace.

    Args:
        offsets: int64[sentences + 1], where they begin; see Sentences.
        model: the classifier with their words, a CompiledModel.
        rules: an AttardiRules.
        options: a BeamOptions.
        workspace: a BeamWorkspace; afterwards it holds the items of the last sentence.
        first: the number of the first sentence to parse.
        all_heads, all_relations: int32[total].
    """
    stacks, items, expansion, scratch = workspace
    for s in range(first, len(offsets) - 1):
        start = offsets[s]
        length = offsets[s + 1] - start - 1
        items.cells[0, 0] = clear(stacks, length, 2 * length * options.size)
        items.fronts[0, 0] = 1
        items.totals[0, 0] = 0.0
        items.counts[0] = 1
        expansion.summed[: length + 2] = False
        for m in range(2 * length):
            for k in range(items.counts[m]):
                score_item(model, rules, options.local, start, length, workspace, m, k)
            count = select_items(rules, options.size, options.merging, workspace, m)
            if count == FULL:
                return s
            items.counts[m + 1] = count
        heads = all_heads[start : start + length + 1]
        relations = all_relations[start : start + length + 1]
        read_trees(stacks, items.cells[2 * length, 0], heads, relations, scratch.path)
    return len(offsets) - 1


@kernel()
def score_item(model, rules, local, start, length, workspace, m, k):
    """Fill in scores, norm and best output of item k of step m.

    Args:
        model, rules: see parse_sentences().
        local: whether scores are local.
        start, length: where the sentence begins, and its number of tokens.
        workspace: a BeamWorkspace or SignatureWorkspace.
        m, k: the item.
    """
    words, in_buffer, others, layers = model
    stacks = workspace.stacks
    items = workspace.items
    expansion = workspace.expansion
    scratch = workspace.scratch
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
            expansion.tops[k, 0] = NO_NODE  # so that no other item copies these scores
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
        count = pick_rows(start, stacks, tops, scratch.ahead, in_buffer, words, scratch.picked, 0)
        sum_rows(
            layers.hidden_bias, words.activations, scratch.picked, count, expansion.sums[front]
        )
    count = pick_rows(start, stacks, tops, scratch.ahead, others, words, scratch.picked, 0)
    sum_rows(expansion.sums[front], words.activations, scratch.picked, count, scratch.hidden)
    expansion.best[k], expansion.norms[k] = score_outputs(
        layers, rules, size, buffered, local, scratch, row
    )


@kernel()
def _next_output(expansion, k, total):
    """Set ``best`` of item k to the next best output; among equal scores,
    the lower number comes first.
    """
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
def select_items(rules, size, merging, workspace, m):
    """Make the items of step m + 1, best first, and return how many; FULL if the stacks are.

    Among equal scores, the item with the better parent comes first, then the one with the
    classifier's better output.
    """
    stacks, items, expansion, scratch = workspace
    for k in range(items.counts[m]):
        expansion.taken[k] = 0
        best = np.float64(expansion.scores[k, expansion.best[k]])
        expansion.totals[k] = (items.totals[m, k] - expansion.norms[k]) + best
    count = 0
    while count < size:
        chosen = NO_NODE
        highest = -np.inf
        for k in range(items.counts[m]):
            if expansion.best[k] != NO_NODE and (
                chosen == NO_NODE or expansion.totals[k] > highest
            ):
                chosen = k
                highest = expansion.totals[k]
        if chosen == NO_NODE:
            break
        output = expansion.best[chosen]
        front = items.fronts[m, chosen]
        column, relation = transition_of(output, rules.n_relations)
        cell = take_transition(
            stacks, items.cells[m, chosen], front, column, relation, scratch.elements, scratch.path
        )
        if cell == FULL:
            return FULL
        is_new = True
        if merging:
            for other in range(count):
                # Equal stacks after equally many transitions have equal buffers.
                is_new &= items.cells[m + 1, other] != cell
        if is_new:
            items.cells[m + 1, count] = cell
            items.fronts[m + 1, count] = front + 1 if output == 0 else front
            items.totals[m + 1, count] = highest
            items.parents[m + 1, count] = chosen
            items.outputs[m + 1, count] = output
            count += 1
        expansion.taken[chosen] += 1
        if expansion.taken[chosen] == size:
            expansion.best[chosen] = NO_NODE
        elif count < size:
            _next_output(expansion, chosen, items.totals[m, chosen])
    return count


class BeamParser(CompiledParser):
    """Searches with a beam; see CompiledParser (also for the arguments), and KBestParser."""

    _system: Attardi

    def __init__(
        self,
        weights: ClassifierWeights,
        system: Attardi,
        table: FeatureTable,
        beam: Beam,
        threads: int = 1,
    ) -> None:
        super().__init__(weights, system, table, threads)
        self._table = table
        self.beam = beam

    def _parse_words(self, words: PrecomputedWords, parses: Parses, single_root: bool) -> None:
        self._search(parses.offsets, words, single_root).parse(parses.heads, parses.relations)

    def k_best(self, sentences: Sentences, k: int, *, single_root: bool = True) -> list[list[Tree]]:
        """Return the k best trees of each sentence in the final beam, best first."""
        self.beam.check_k_best(k)
        best_trees: list[list[Tree]] = []
        for span in sentences.spans(batch_sizes.TOKENS_PER_SPAN):
            part = sentences.span(*span)
            search = self._search(part.offsets, self.words_of(part), single_root)
            best_trees += [distinct(trees, k) for trees in search.final_trees(k)]
        return best_trees

    def _search(
        self, offsets: np.ndarray, words: PrecomputedWords, single_root: bool
    ) -> BeamSearch:
        return BeamSearch(
            offsets,
            self.model_on(words),
            AttardiRules.of(self._system, single_root),
            self.beam,
            self._table,
        )


class BeamSearch:
    """The search through some sentences, with a workspace for the longest of them.

    Args:
        offsets: int64[sentences + 1], where they begin.
        model: the classifier with their words.
    """

    _workspace: BeamWorkspace

    def __init__(
        self,
        offsets: np.ndarray,
        model: CompiledModel,
        rules: AttardiRules,
        beam: Beam,
        table: FeatureTable,
    ) -> None:
        self.offsets = offsets
        self.model = model
        self.rules = rules
        self.beam = beam
        self.tokens = int(np.diff(offsets).max(initial=1)) - 1
        self.expansion = Expansion.allocate(self.tokens, beam.size, model.layers, table)
        self.scratch = Scratch.allocate(self.tokens, model.layers, table)
        self._times = 1
        self._allocate(self._times)

    def parse(self, heads: np.ndarray, relations: np.ndarray) -> None:
        """Parse all sentences into int32[total] heads and relations."""
        self._search(self.offsets, heads, relations)

    def final_trees(self, k: int) -> Iterator[Iterable[Tree]]:
        """Yield, for each sentence, scored trees of the last items, best first,
        among them the k best distinct ones.

        Read the trees of a sentence before going on: the next one reuses the workspace.
        """
        for length in self._each_sentence():
            yield self._last_trees(length, k)

    def _each_sentence(self) -> Iterator[int]:
        """Search through one sentence after another, and yield its number of tokens."""
        best = np.empty((2, self.offsets[-1]), np.int32)
        for s in range(len(self.offsets) - 1):
            self._search(self.offsets[s : s + 2], *best)
            yield int(self.offsets[s + 1] - self.offsets[s]) - 1

    def _search(self, offsets: np.ndarray, heads: np.ndarray, relations: np.ndarray) -> None:
        """Parse the sentences that begin at these offsets;
        enlarge the workspace whenever it is too small.
        """
        first, last = 0, len(offsets) - 1
        while first < last:
            first = self._parse_from(first, offsets, heads, relations)
            if first < last:
                self._times *= 2
                self._allocate(self._times)

    def _allocate(self, times: int) -> None:
        """Make the workspace, with ``times`` times the parts of stacks that are usually needed."""
        stacks = TreeStacks.allocate(self.tokens, times * 2 * self.tokens * self.beam.size)
        items = Items.allocate(self.tokens, self.beam.size) if times == 1 else self._workspace.items
        self._workspace = BeamWorkspace(stacks, items, self.expansion, self.scratch)

    def _parse_from(
        self, first: int, offsets: np.ndarray, heads: np.ndarray, relations: np.ndarray
    ) -> int:
        """Parse the sentences from number ``first`` on;
        return the first for which the workspace is too small.
        """
        options = BeamOptions.of(self.beam)
        return parse_sentences(
            offsets, self.model, self.rules, options, self._workspace, first, heads, relations
        )

    def _last_trees(self, length: int, k: int) -> Iterable[Tree]:
        """Yield the scored trees of the last items of the sentence searched last;
        see final_trees().
        """
        stacks, items, _, scratch = self._workspace
        for rank in range(items.counts[2 * length]):
            heads, relations = np.empty((2, length + 1), np.int32)
            read_trees(stacks, items.cells[2 * length, rank], heads, relations, scratch.path)
            yield Tree(float(items.totals[2 * length, rank]), heads[1:], relations[1:])
