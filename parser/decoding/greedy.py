"""Greedy parsing in one compiled loop: the classifier is evaluated configuration by configuration.

For arc-standard and Attardi's system. A step adds up a precomputed contribution to the hidden layer for every address
(type_contributions.py), and multiplies the active units by the output weights (hidden_layer.py). What the addresses in the
buffer contribute is kept until the next shift; where only one output is possible, nothing is computed. The result is the same
for any number of threads; with a static token representation, it depends on no other sentence that is parsed along.
decoding/lockstep.py is the reference implementation.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numba import njit

from parser.classifier.weights import ClassifierWeights
from parser.data.parses import NO_NODE, Parses
from parser.data.vocabulary import Sentences
from parser.decoding.hidden_layer import Rules, addresses_of, layers_of, output_scores, rules_of, sum_rows, words_of
from parser.decoding.type_contributions import TypedSentences, address_contributions
from parser.transitions.attardi import Attardi, best_output, forced_output, take_move
from parser.transitions.configurations import Configurations, clear
from parser.transitions.features import NO_ANCHORS, FeatureTable, find_nodes

# Tokens that a thread takes at a time, unless a sentence has more.
_SHARE = 4_000


class GreedyParser:
    """Parses with the weights of a classifier. Threads may parse with one parser side by side.

    Args:
        weights: the weights.
        system: the transition system.
        table: the features.
        threads: how many sentences are parsed side by side.
    """

    def __init__(
        self,
        weights: ClassifierWeights,
        system: Attardi,
        table: FeatureTable,
        threads: int = 1,
    ) -> None:
        contributions = address_contributions(weights, table, system.n_relations)
        self._contributions = contributions
        self._layers = layers_of(weights, contributions.bias)
        self._of_buffer, self._others = addresses_of(table, contributions)
        self._system = system
        self._threads = threads

    def parse(self, sentences: Sentences, *, single_root: bool = True) -> Parses:
        """Parses sentences greedily; see parse_in_lockstep."""
        heads = np.full(sentences.offsets[-1], NO_NODE, np.int32)
        relations = heads.copy()
        rules = rules_of(self._system, single_root)

        def parse_span(span: tuple[int, int]) -> None:
            first, last = span
            part = sentences.span(first, last)
            inside = slice(sentences.offsets[first], sentences.offsets[last])
            self._parse_typed(self._contributions(part), part.offsets, rules, heads[inside], relations[inside])

        if self._threads == 1:
            for span in sentences.spans(_SHARE):
                parse_span(span)
        else:
            with ThreadPoolExecutor(self._threads) as pool:
                list(pool.map(parse_span, sentences.spans(_SHARE)))
        return Parses(heads, relations, sentences.offsets)

    def _parse_typed(
        self, typed: TypedSentences, offsets: np.ndarray, rules: Rules, heads: np.ndarray, relations: np.ndarray
    ) -> None:
        words = words_of(typed, self._contributions)
        now = Configurations.initial(np.diff(offsets).max(keepdims=True, initial=1) - 1)
        _parse(offsets, words, self._of_buffer, self._others, self._layers, rules, now, heads, relations)


@njit(cache=True, nogil=True)
def _parse(offsets, words, of_buffer, others, layers, rules, now, all_heads, all_relations):
    """Parses the sentences into ``all_heads`` and ``all_relations``; ``now`` is room for one configuration of the longest."""
    buffer_nodes = np.empty(len(of_buffer.programs), np.int32)
    nodes = np.empty(len(others.programs), np.int32)
    picked = np.empty(max(len(buffer_nodes), 2 * len(nodes)), np.int64)
    buffer_sum = np.empty(len(layers.hidden_bias), np.float32)
    hidden = np.empty(len(layers.hidden_bias), np.float32)
    active = np.empty(len(layers.hidden_bias), np.int32)
    scores = np.empty((1, len(layers.bias)), np.float32)
    for s in range(len(offsets) - 1):
        start = offsets[s]
        length = offsets[s + 1] - start - 1
        clear(now, 0, length)
        summed = 0  # the buffer's front for which buffer_sum was added up
        for _ in range(2 * length):
            size = now.stack_sizes[0]
            front = now.buffer_fronts[0]
            buffered = front <= length
            output = forced_output(rules.degree, size, buffered, rules.root_relation, rules.single_root)
            if output == NO_NODE:
                if summed != front:
                    summed = front
                    find_nodes(now, 0, NO_ANCHORS, of_buffer.programs, buffer_nodes)
                    count = 0
                    for a in range(len(buffer_nodes)):
                        if buffer_nodes[a] != NO_NODE:
                            type_row = words.first + words.types[start + buffer_nodes[a]] * words.per_type
                            picked[count] = type_row + of_buffer.places[a]
                            count += 1
                    sum_rows(layers.hidden_bias, words.contributions, picked, count, buffer_sum)
                find_nodes(now, 0, NO_ANCHORS, others.programs, nodes)
                count = 0
                for a in range(len(nodes)):
                    node = nodes[a]
                    if node != NO_NODE:
                        if others.places[a] != NO_NODE:
                            picked[count] = words.first + words.types[start + node] * words.per_type + others.places[a]
                            count += 1
                        if others.relation_rows[a] != NO_NODE and now.relations[0, node] != NO_NODE:
                            picked[count] = others.relation_rows[a] + now.relations[0, node]
                            count += 1
                sum_rows(buffer_sum, words.contributions, picked, count, hidden)
                output_scores(hidden, layers.activation, layers.weights, layers.bias, active, scores, 0)
                output = best_output(
                    scores, 0, rules.degree, size, buffered, rules.n_relations, rules.root_relation, rules.single_root
                )
            column = 0 if output == 0 else 1 + (output - 1) // rules.n_relations
            take_move(now, 0, column, (output - 1) % rules.n_relations)
        for i in range(1, length + 1):
            all_heads[start + i] = now.heads[0, i]
            all_relations[start + i] = now.relations[0, i]
