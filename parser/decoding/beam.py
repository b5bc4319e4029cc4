"""Beam search with trees that share their parts (tree_stacks.py, beam_search.py): the face of GreedyParser, and the k best."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from parser.beam_settings import Beam, Merge, Scores
from parser.classifier.weights import ClassifierWeights
from parser.data.parses import NO_NODE, Parses
from parser.data.vocabulary import Sentences
from parser.decoding.beam_search import Expansion, Items, Scratch, parse_sentences
from parser.decoding.hidden_layer import Rules, Words, addresses_of, layers_of, rules_of, words_of
from parser.decoding.k_best import Tree, distinct
from parser.decoding.tree_stacks import TreeStacks, read_trees
from parser.decoding.type_contributions import address_contributions
from parser.transitions.attardi import Attardi
from parser.transitions.features import FeatureTable

# Tokens that a thread takes at a time, unless a sentence has more.
_SHARE = 4_000


class BeamParser:
    """Parses with the weights of a classifier. Threads may parse with one parser side by side.

    Args:
        weights: the weights.
        system: the transition system.
        table: the features.
        beam: the beam.
        threads: how many sentences are parsed side by side.
    """

    def __init__(
        self,
        weights: ClassifierWeights,
        system: Attardi,
        table: FeatureTable,
        beam: Beam,
        threads: int = 1,
    ) -> None:
        self._contributions = address_contributions(weights, table, system.n_relations)
        self._layers = layers_of(weights, self._contributions.bias)
        self._addresses = addresses_of(table, self._contributions)
        in_stack = table.programs[:, 0] == 0
        self._elements = 1 + int(table.programs[in_stack, 1].max(initial=0))
        self._system = system
        self._beam = beam
        self._threads = threads

    def parse(self, sentences: Sentences, *, single_root: bool = True) -> Parses:
        """Parses sentences; see SentenceParser."""
        heads = np.full(sentences.offsets[-1], NO_NODE, np.int32)
        relations = heads.copy()

        def parse_span(span: tuple[int, int]) -> None:
            search = _Search(self, sentences.span(*span), single_root)
            inside = slice(sentences.offsets[span[0]], sentences.offsets[span[1]])
            search.parse(heads[inside], relations[inside])

        if self._threads == 1:
            for span in sentences.spans(_SHARE):
                parse_span(span)
        else:
            with ThreadPoolExecutor(self._threads) as pool:
                list(pool.map(parse_span, sentences.spans(_SHARE)))
        return Parses(heads, relations, sentences.offsets)

    def k_best(self, sentences: Sentences, k: int, *, single_root: bool = True) -> list[list[Tree]]:
        """For each sentence, the k best distinct trees that the beam has found, or as many as there are, best first.

        Raises:
            BeamError: k is not from 1 to the size of the beam.
        """
        self._beam.check_k_best(k)
        found: list[list[Tree]] = []
        for span in sentences.spans(_SHARE):
            for trees in _Search(self, sentences.span(*span), single_root).final_trees():
                found.append(distinct(trees, k))
        return found


class _Search:
    """The search through some sentences, with room for the longest of them."""

    def __init__(self, parser: BeamParser, sentences: Sentences, single_root: bool) -> None:
        contributions = parser._contributions
        self.offsets = sentences.offsets
        self.words: Words = words_of(contributions(sentences), contributions)
        self.of_buffer, self.others = parser._addresses
        self.layers = parser._layers
        self.rules: Rules = rules_of(parser._system, single_root)
        beam = parser._beam
        self.settings = beam.size, beam.merge is Merge.CONFIGURATION, beam.scores is Scores.LOCAL
        tokens = int(sentences.lengths.max(initial=0))
        units, outputs = len(self.layers.hidden_bias), len(self.layers.bias)
        self.items = Items.room(tokens, beam.size)
        self.expansion = Expansion.room(tokens, beam.size, outputs, parser._elements, units)
        n_addresses = len(self.of_buffer.programs) + len(self.others.programs)
        self.scratch = Scratch.room(tokens, n_addresses, units, outputs)
        self.tokens, self.steps = tokens, 2 * tokens * beam.size
        self._times = 1
        self._make_room()

    def _make_room(self) -> None:
        """Room for stacks: a part or more for each step."""
        self.stacks = TreeStacks.room(self.tokens, self._times * self.steps)

    def parse(self, heads: np.ndarray, relations: np.ndarray) -> None:
        """Parses all sentences into int32[total] heads and relations."""
        self._search(self.offsets, heads, relations)

    def final_trees(self) -> Iterator[list[Tree]]:
        """For each sentence, the trees of the last items with their scores, best first."""
        best = np.empty((2, self.offsets[-1]), np.int32)
        for s in range(len(self.offsets) - 1):
            self._search(self.offsets[s : s + 2], *best)
            length = int(self.offsets[s + 1] - self.offsets[s]) - 1
            trees = []
            for rank in range(self.items.counts[2 * length]):
                heads, relations = np.empty((2, length + 1), np.int32)
                read_trees(self.stacks, self.items.cells[2 * length, rank], heads, relations, self.scratch.path)
                trees.append(Tree(float(self.items.totals[2 * length, rank]), heads[1:], relations[1:]))
            yield trees

    def _search(self, offsets: np.ndarray, heads: np.ndarray, relations: np.ndarray) -> None:
        """Parses the sentences that begin at these offsets; with more room whenever there is too little."""
        first, last = 0, len(offsets) - 1
        model = self.words, self.of_buffer, self.others, self.layers, self.rules, self.settings
        while first < last:
            room = self.stacks, self.items, self.expansion, self.scratch
            first = parse_sentences(offsets, *model, *room, first, heads, relations)
            if first < last:
                self._times *= 2
                self._make_room()
