"""Beam search with items that merge by signature, for arc-standard: signature_search.py, derivations.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from parser.beam_settings import Beam, Scores
from parser.data.parses import NO_NODE
from parser.data.sentences import Sentences
from parser.decoding.beam.compiled import BeamParser, Search
from parser.decoding.beam.derivations import best_trees
from parser.decoding.beam.merging_items import Item, Reduction, Tail
from parser.decoding.beam.persistent_trees import Node
from parser.decoding.beam.signature_items import Parts, SignatureItems, Streams
from parser.decoding.beam.signature_search import parse_sentences
from parser.decoding.beam.signature_streams import step_of_tails
from parser.decoding.beam.tree_stacks import TreeStacks
from parser.decoding.greedy.compiled import SHARE, Rules, Words
from parser.decoding.sentence_parser import Tree
from parser.transitions.attardi import move_of
from parser.transitions.features import FeatureTable

# A way to make an item: the item that was reduced and its tail, each by step and number, the output, and what the move costs.
_Way = tuple[tuple[int, int], tuple[int, int], int, float]


class SignatureBeamParser(BeamParser):
    """Searches with a beam whose items stand for many computations; see BeamParser. There may be more trees than items."""

    def final_items(self, sentences: Sentences, *, single_root: bool = True) -> Iterator[list[Item]]:
        """For each sentence, the items of the last step, which stand for whole trees; best first."""
        for span in sentences.spans(SHARE):
            part = sentences.span(*span)
            yield from self._search(part.offsets, self.words_of(part), single_root).final_items()

    def _search(self, offsets: np.ndarray, words: Words, single_root: bool) -> SignatureSearch:
        model = words, self._of_buffer, self._others, self._layers, Rules.of(self._system, single_root)
        return SignatureSearch(offsets, model, self.beam, self._table)


class SignatureSearch(Search):
    """See Search."""

    def __init__(self, offsets: np.ndarray, model: tuple, beam: Beam, table: FeatureTable) -> None:
        self._parts = Parts.of(table.slots)
        self._rules: Rules = model[-1]
        super().__init__(offsets, model, beam, table)

    def _make_room(self, times: int) -> None:
        size = self.beam.size
        self.stacks = TreeStacks.room(self.tokens, times * 2 * self.tokens * size)
        self._items = SignatureItems.room(self.tokens, size, self._parts.elements, 2 * times)
        if times == 1:
            self._streams = Streams.room(self.tokens, size, len(self._parts.programs))

    def _parse_from(self, first: int, offsets: np.ndarray, heads: np.ndarray, relations: np.ndarray) -> int:
        how = self.beam.size, self.beam.scores is Scores.LOCAL
        room = self.stacks, self._items, self.expansion, self._streams, self.scratch
        arguments: list[Any] = [offsets, *self.model, how, self._parts, *room, first, heads, relations]
        return parse_sentences(*arguments)

    def _found(self, length: int) -> Iterator[Tree]:
        return best_trees(self._last_items(length), length + 1)

    def final_items(self) -> Iterator[list[Item]]:
        """For each sentence, the items of the last step, best first."""
        for length in self._each_sentence():
            yield self._last_items(length)

    def _last_items(self, length: int) -> list[Item]:
        """Those of the sentence searched last, of this many tokens."""
        known: dict[tuple[int, int], Item] = {}
        return [self._item(2 * length, rank, known) for rank in range(self._items.counts[2 * length])]

    def _item(self, step: int, rank: int, known: dict[tuple[int, int], Item]) -> Item:
        """An item, and all that it was made from, as far as derivations.py reads them; items are made once."""
        waiting = [(step, rank)]
        while waiting:  # no recursion: items are as deep as sentences are long
            m, k = waiting[-1]
            ways = list(self._ways(m, k))
            if unknown := [part for above, below, *_ in ways for part in (above, below) if part not in known]:
                waiting += unknown
                continue
            waiting.pop()
            if (m, k) not in known:
                known[m, k] = self._made(m, k, ways, known)
        return known[step, rank]

    def _made(self, m: int, k: int, ways: list[_Way], known: dict[tuple[int, int], Item]) -> Item:
        items = self._items
        begin, front = int(items.begins[m, k]), int(items.fronts[m, k])
        sums = float(items.prefixes[m, k]), float(items.insides[m, k])
        item = Item((begin,), (front,), 2 * front - 1 - m, m, (Node(begin),), *sums, [], k)
        for above, below, output, cost in ways:
            column, relation = move_of(output, self._rules.n_relations)
            tail = Tail(known[below], float(items.shifts[below]))
            item.reductions.append(Reduction(known[above], tail, cost, column == 1, relation))
        return item

    def _ways(self, m: int, k: int) -> Iterator[_Way]:
        """The ways to make an item by a reduction, in the order in which they were found."""
        way = self._items.reductions[m, k, 0]
        while way != NO_NODE:
            above, below, output, following = self._items.ways[way].tolist()
            tails = int(step_of_tails(self._items, m - 1, above))
            yield (m - 1, above), (tails, below), output, float(self._items.costs[way])
            way = following
