"""Beam search with trees that share their parts (tree_stacks.py, beam_search.py), for arc-standard and Attardi's system."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from parser.beam_settings import Beam, Merge, Scores
from parser.data.parses import Parses
from parser.data.sentences import Sentences
from parser.decoding.beam.beam_items import Expansion, Items, Scratch
from parser.decoding.beam.beam_search import parse_sentences
from parser.decoding.beam.tree_stacks import TreeStacks, read_trees
from parser.decoding.greedy.compiled import SHARE, CompiledParser, Rules, Words
from parser.decoding.sentence_parser import Tree, distinct
from parser.inference.weights import ClassifierWeights
from parser.transitions.attardi import Attardi
from parser.transitions.features import FeatureTable


class BeamParser(CompiledParser):
    """Searches with a beam; see CompiledParser, and KBestParser.

    Args:
        weights, system, table, threads: see CompiledParser.
        beam: the beam.
    """

    _system: Attardi

    def __init__(self, weights: ClassifierWeights, system: Attardi, table: FeatureTable, beam: Beam, threads: int = 1) -> None:
        super().__init__(weights, system, table, threads)
        self._table = table
        self.beam = beam

    def _parse_words(self, words: Words, parses: Parses, single_root: bool) -> None:
        self._search(parses.offsets, words, single_root).parse(parses.heads, parses.relations)

    def k_best(self, sentences: Sentences, k: int, *, single_root: bool = True) -> list[list[Tree]]:
        """See KBestParser."""
        self.beam.check_k_best(k)
        found: list[list[Tree]] = []
        for span in sentences.spans(SHARE):
            part = sentences.span(*span)
            search = self._search(part.offsets, self.words_of(part), single_root)
            found += [distinct(trees, k) for trees in search.final_trees()]
        return found

    def _search(self, offsets: np.ndarray, words: Words, single_root: bool) -> Search:
        model = words, self._of_buffer, self._others, self._layers, Rules.of(self._system, single_root)
        return Search(offsets, model, self.beam, self._table)


class Search:
    """The search through some sentences, with room for the longest of them.

    Args:
        offsets: int64[sentences + 1], where they begin.
        model: (words, addresses of the buffer, other addresses, layers, rules), see parse_sentences().
        beam: the beam.
        table: the features.
    """

    def __init__(self, offsets: np.ndarray, model: tuple, beam: Beam, table: FeatureTable) -> None:
        self.offsets = offsets
        self.model = model
        self.beam = beam
        _, of_buffer, others, layers, _ = model
        self.tokens = int(np.diff(offsets).max(initial=1)) - 1
        units, outputs = len(layers.hidden_bias), len(layers.bias)
        self.expansion = Expansion.room(self.tokens, beam.size, outputs, table.stack_elements, units)
        addresses = len(of_buffer.programs) + len(others.programs)
        self.scratch = Scratch.room(self.tokens, addresses, units, outputs, table.read_ahead)
        self._times = 1
        self._make_room(self._times)

    def parse(self, heads: np.ndarray, relations: np.ndarray) -> None:
        """Parses all sentences into int32[total] heads and relations."""
        self._search(self.offsets, heads, relations)

    def final_trees(self) -> Iterator[Iterator[Tree]]:
        """For each sentence, the trees of the last items with their scores, best first; to be read before the next one's."""
        for length in self._each_sentence():
            yield self._found(length)

    def _each_sentence(self) -> Iterator[int]:
        """Searches through one sentence after another; yields how many tokens each has."""
        best = np.empty((2, self.offsets[-1]), np.int32)
        for s in range(len(self.offsets) - 1):
            self._search(self.offsets[s : s + 2], *best)
            yield int(self.offsets[s + 1] - self.offsets[s]) - 1

    def _search(self, offsets: np.ndarray, heads: np.ndarray, relations: np.ndarray) -> None:
        """Parses the sentences that begin at these offsets; with more room whenever there is too little."""
        first, last = 0, len(offsets) - 1
        while first < last:
            first = self._parse_from(first, offsets, heads, relations)
            if first < last:
                self._times *= 2
                self._make_room(self._times)

    def _make_room(self, times: int) -> None:
        """Room for stacks, a part or more for each step, ``times`` as much as is usually needed, and for items."""
        self.stacks = TreeStacks.room(self.tokens, times * 2 * self.tokens * self.beam.size)
        if times == 1:
            self.items = Items.room(self.tokens, self.beam.size)

    def _parse_from(self, first: int, offsets: np.ndarray, heads: np.ndarray, relations: np.ndarray) -> int:
        """Parses the sentences from number ``first`` on; returns the first for which there is too little room."""
        how = self.beam.size, self.beam.merge is Merge.CONFIGURATION, self.beam.scores is Scores.LOCAL
        room = self.stacks, self.items, self.expansion, self.scratch
        arguments: list[Any] = [offsets, *self.model, how, *room, first, heads, relations]
        return parse_sentences(*arguments)

    def _found(self, length: int) -> Iterator[Tree]:
        """What final_trees() says of the sentence searched last, of this many tokens."""
        for rank in range(self.items.counts[2 * length]):
            heads, relations = np.empty((2, length + 1), np.int32)
            read_trees(self.stacks, self.items.cells[2 * length, rank], heads, relations, self.scratch.path)
            yield Tree(float(self.items.totals[2 * length, rank]), heads[1:], relations[1:])
