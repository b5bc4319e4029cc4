"""Beam search through lattices with trees that share their parts (lattice_search.py), for arc-standard and Attardi's system."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from parser.data.parses import Parses
from parser.data.sentences import Sentences
from parser.decoding.beam.tree_stacks import TreeStacks, read_trees
from parser.decoding.greedy.compiled import CompiledParser, Rules, Words
from parser.decoding.lattice.lattice_candidates import Candidates
from parser.decoding.lattice.lattice_items import Arcs, LatticeItems, LatticeScratch, LatticeSearch
from parser.decoding.lattice.lattice_search import search_lattice
from parser.decoding.sentence_parser import Tree
from parser.inference.weights import ClassifierWeights
from parser.transitions.attardi import Attardi
from parser.transitions.features import FeatureTable


class LatticeBeam(CompiledParser):
    """Searches through lattices, and sentences as lattices of a single path; see CompiledParser, and LatticeSearcher.

    Args:
        weights, system, table, threads: see CompiledParser.
        search: how to search.
    """

    _system: Attardi

    def __init__(
        self, weights: ClassifierWeights, system: Attardi, table: FeatureTable, search: LatticeSearch, threads: int = 1
    ) -> None:
        super().__init__(weights, system, table, threads)
        self._search = search
        self._elements = table.stack_elements

    def lattice_trees(self, sentences: Sentences, arcs: Sequence[Arcs], single_root: bool) -> Iterator[Iterator[Tree]]:
        """See LatticeSearcher; the trees of a lattice are to be read before those of the next one are asked for."""
        return self._trees(sentences.offsets, self.words_of(sentences), arcs, single_root)

    def _parse_words(self, words: Words, parses: Parses, single_root: bool) -> None:
        arcs = [Arcs.of_sentence(n) for n in (np.diff(parses.offsets) - 1).tolist()]
        for start, found in zip(parses.offsets, self._trees(parses.offsets, words, arcs, single_root), strict=False):
            best = next(found)
            inside = slice(start + 1, start + 1 + len(best.heads))
            parses.heads[inside], parses.relations[inside] = best.heads, best.relations

    def _trees(self, offsets: np.ndarray, words: Words, arcs: Sequence[Arcs], single_root: bool) -> Iterator[Iterator[Tree]]:
        rules, room = Rules.of(self._system, single_root), _Room(self._search, arcs)
        addresses = len(self._of_buffer.programs) + len(self._others.programs)
        widest = max((int(np.diff(one.first).max(initial=1)) for one in arcs), default=1)
        longest = max((len(one.ends) for one in arcs), default=1)
        units, outputs = len(self._layers.hidden_bias), len(self._layers.bias)
        scratch = LatticeScratch.room(longest, widest, addresses, units, outputs, self._elements, self._search.lookahead)
        for start, lattice in zip(offsets, arcs, strict=False):
            model = words, self._of_buffer, self._others, self._layers, rules, self._search
            while True:
                arguments: list[Any] = [start, lattice, *model, room.stacks, room.items, room.candidates, scratch]
                if search_lattice(*arguments) == 0:
                    break
                room.grow()
            yield room.trees(lattice, scratch)


class _Room:
    """Room for the longest of some lattices; more when it is asked for."""

    def __init__(self, search: LatticeSearch, arcs: Sequence[Arcs]) -> None:
        nodes = max((one.last_node for one in arcs), default=0)
        self.buckets = 2 * nodes + search.lookahead + 1
        self.items = LatticeItems.room(self.buckets, search.size, search.lookahead)
        self._tokens = max((len(one.ends) for one in arcs), default=1)
        self._search, self._times = search, 1
        self._make()

    def _make(self) -> None:
        self.stacks = TreeStacks.room(self._tokens, self._times * self.buckets * self._search.size)
        self.candidates = Candidates.room(self.buckets, self._times * 64 * self._search.size)

    def grow(self) -> None:
        """Twice the room for stacks and candidates."""
        self._times *= 2
        self._make()

    def trees(self, arcs: Arcs, scratch: LatticeScratch) -> Iterator[Tree]:
        """Those of the last bucket, best first."""
        last = 2 * arcs.last_node + self._search.lookahead
        for rank in range(self.items.counts[last]):
            heads, relations = np.empty((2, len(arcs.ends)), np.int32)
            read_trees(self.stacks, self.items.cells[last, rank], heads, relations, scratch.one.path)
            yield Tree(float(self.items.totals[last, rank]), heads[1:], relations[1:])
