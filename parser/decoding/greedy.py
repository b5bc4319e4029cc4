"""Greedy parsing in one compiled loop: the classifier is evaluated configuration by configuration.

For arc-standard and Attardi's system. A step adds up a precomputed contribution to the hidden layer for every address
(type_contributions.py), and multiplies the active units by the output weights. What the addresses in the buffer contribute is
kept until the next shift; where only one output is possible, nothing is computed. The result is the same for any number of
threads; with a static token representation, it depends on no other sentence that is parsed along. decoding/lockstep.py is the
reference implementation.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numba import njit

from parser.classifier.compiled_activations import activate, activation_number
from parser.classifier.weights import ClassifierWeights
from parser.data.parses import NO_NODE, Parses
from parser.data.vocabulary import Sentences
from parser.decoding.type_contributions import TypedSentences, address_contributions
from parser.transitions.attardi import Attardi, best_output, forced_output, take_move
from parser.transitions.configurations import Configurations, clear
from parser.transitions.features import NO_ANCHORS, FeatureTable, find_nodes

# Tokens that a thread takes at a time, unless a sentence has more.
_SHARE = 4_000

# Outputs are filled up to a multiple of the numbers that a processor multiplies at a time.
_LANES = 16


class _Rules(NamedTuple):
    """What of the transition system the loop needs; see best_output."""

    degree: int
    n_relations: int
    root_relation: int
    single_root: bool


class _Addresses(NamedTuple):
    """Some of the addresses that features read; see FeatureTable for their programs, AddressContributions for the rest."""

    programs: np.ndarray
    places: np.ndarray
    relation_rows: np.ndarray


class _Words(NamedTuple):
    """The words of sentences as types, and the contributions of types; see AddressContributions and TypedSentences."""

    types: np.ndarray
    contributions: np.ndarray
    first: int
    per_type: int


class _Layers(NamedTuple):
    """The layers: float32[hidden] bias, the activation, float32[hidden, outputs] and float32[outputs] of the output layer.

    There are some outputs of weight 0 behind the real ones.
    """

    hidden_bias: np.ndarray
    activation: int
    weights: np.ndarray
    bias: np.ndarray


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
        lacking = -len(weights.output_bias) % _LANES
        padded = np.ascontiguousarray(np.pad(weights.output.T, ((0, 0), (0, lacking))))
        activation = activation_number(weights.activation)
        self._layers = _Layers(contributions.bias, activation, padded, np.pad(weights.output_bias, (0, lacking)))
        self._system = system
        self._threads = threads
        # The buffer's addresses depend on how far it is read alone: what they contribute changes upon a shift.
        of_buffer = table.in_buffer & (contributions.relation_rows == NO_NODE)
        self._of_buffer, self._others = (
            _Addresses(table.programs[chosen], contributions.places[chosen], contributions.relation_rows[chosen])
            for chosen in (of_buffer, ~of_buffer)
        )

    def parse(self, sentences: Sentences, *, single_root: bool = True) -> Parses:
        """Parses sentences greedily; see parse_in_lockstep."""
        heads = np.full(sentences.offsets[-1], NO_NODE, np.int32)
        relations = heads.copy()
        root_relation = NO_NODE if self._system.root_relation is None else self._system.root_relation
        rules = _Rules(self._system.degree, self._system.n_relations, root_relation, single_root)

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
        self, typed: TypedSentences, offsets: np.ndarray, rules: _Rules, heads: np.ndarray, relations: np.ndarray
    ) -> None:
        words = _Words(typed.types, typed.contributions, self._contributions.first, self._contributions.per_type)
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
                    _sum(layers.hidden_bias, words.contributions, picked, count, buffer_sum)
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
                _sum(buffer_sum, words.contributions, picked, count, hidden)
                _output_scores(hidden, layers.activation, layers.weights, layers.bias, active, scores)
                output = best_output(
                    scores, 0, rules.degree, size, buffered, rules.n_relations, rules.root_relation, rules.single_root
                )
            column = 0 if output == 0 else 1 + (output - 1) // rules.n_relations
            take_move(now, 0, column, (output - 1) % rules.n_relations)
        for i in range(1, length + 1):
            all_heads[start + i] = now.heads[0, i]
            all_relations[start + i] = now.relations[0, i]


@njit(cache=True, nogil=True)
def _sum(first, rows, picked, count, total):
    """Fills in ``total`` (float32[units]): ``first`` and the ``count`` picked rows, added up in this order."""
    for h in range(len(total)):
        total[h] = first[h]
    # Four rows at a time, so that a sum is read and written a quarter as often.
    for p in range(0, count - 3, 4):
        p0, p1, p2, p3 = picked[p], picked[p + 1], picked[p + 2], picked[p + 3]
        for h in range(len(total)):
            total[h] = total[h] + rows[p0, h] + rows[p1, h] + rows[p2, h] + rows[p3, h]
    for p in range(count - count % 4, count):
        row = picked[p]
        for h in range(len(total)):
            total[h] += rows[row, h]


@njit(cache=True, nogil=True, fastmath={"contract"})
def _output_scores(hidden, activation, weights, bias, active, scores):
    """Fills in ``scores[0]``; units that are zero, half of them under relu, are passed over."""
    count = 0
    for h in range(len(hidden)):
        hidden[h] = activate(hidden[h], activation)
    for h in range(len(hidden)):
        active[count] = h
        count += hidden[h] != 0  # no branch: which units are active cannot be foreseen
    outputs = len(bias)
    for a in range(outputs):
        scores[0, a] = bias[a]
    # Four units at a time, so that a score is read and written a quarter as often.
    for u in range(0, count - 3, 4):
        h0, h1, h2, h3 = active[u], active[u + 1], active[u + 2], active[u + 3]
        x0, x1, x2, x3 = hidden[h0], hidden[h1], hidden[h2], hidden[h3]
        for a in range(outputs):
            scores[0, a] += x0 * weights[h0, a] + x1 * weights[h1, a] + x2 * weights[h2, a] + x3 * weights[h3, a]
    for u in range(count - count % 4, count):
        h0 = active[u]
        x0 = hidden[h0]
        for a in range(outputs):
            scores[0, a] += x0 * weights[h0, a]
