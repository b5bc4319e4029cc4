"""Greedy parsing in one compiled loop: the classifier is evaluated configuration by configuration, from precomputed
contributions to its hidden layer.

A step adds up a row for every address (type_contributions.py), and multiplies the active units by the output weights. What the
addresses in the buffer add is kept until the next shift; where only one action is possible, nothing is computed. The result is
the same for any number of threads, and with a static token representation also for any batching.
lockstep.parse_in_lockstep is the reference implementation.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numba import njit

from parser.classifier.classifier import Classifier
from parser.data.vocabulary import Sentences
from parser.decoding.lockstep import Parses
from parser.decoding.type_contributions import TypedSentences, address_contributions
from parser.transitions.arc_standard import NO_NODE, ArcStandard, best_action, forced_action, take_step
from parser.transitions.features import FeatureTable, find_nodes

_ACTIVATIONS = ("relu", "tanh", "sigmoid", "cube")
_RELU, _TANH, _SIGMOID, _CUBE = range(4)

# Tokens that a thread takes at a time, unless a sentence has more.
_SHARE = 4_000

# Actions are filled up to a multiple of the numbers that a processor multiplies at a time.
_LANES = 16


@dataclass(frozen=True)
class _Output:
    """The output layer: float32[hidden, actions] and float32[actions], with some actions of weight 0 behind the real ones."""

    weights: np.ndarray
    bias: np.ndarray

    @classmethod
    def padded(cls, weights: np.ndarray, bias: np.ndarray) -> _Output:
        """From float32[actions, hidden] and float32[actions]."""
        lacking = -len(bias) % _LANES
        return cls(np.ascontiguousarray(np.pad(weights.T, ((0, 0), (0, lacking)))), np.pad(bias, (0, lacking)))


class GreedyParser:
    """Parses with a classifier as it is now; made anew when the weights have changed. Threads may parse with one side by side.

    Args:
        classifier: the classifier.
        activation: its activation.
        system: the transition system.
        table: the features.
        threads: how many sentences are parsed side by side.
    """

    def __init__(
        self,
        classifier: Classifier,
        activation: str,
        system: ArcStandard,
        table: FeatureTable,
        threads: int = 1,
    ) -> None:
        self._rows = address_contributions(classifier, table, system.n_relations)
        self._activation = _ACTIVATIONS.index(activation)
        weights, bias = (tensor.detach().cpu().numpy() for tensor in (classifier.output.weight, classifier.output.bias))
        self._output = _Output.padded(weights, bias)
        self._system = system
        self._threads = threads
        # The buffer's addresses depend on how far it is read alone: their part of the hidden layer changes upon a shift.
        of_buffer = table.in_buffer & (self._rows.relation_rows == NO_NODE)
        self._addresses = [
            (table.programs[chosen], self._rows.places[chosen], self._rows.relation_rows[chosen])
            for chosen in (of_buffer, ~of_buffer)
        ]

    def parse(self, sentences: Sentences, *, single_root: bool = True) -> Parses:
        """Parses sentences greedily; see decoding.parse_in_lockstep."""
        heads = np.full(sentences.offsets[-1], NO_NODE, np.int32)
        relations = heads.copy()

        def parse_span(span: tuple[int, int]) -> None:
            first, last = span
            part = sentences.span(first, last)
            inside = slice(sentences.offsets[first], sentences.offsets[last])
            self._parse_typed(self._rows(part), part.offsets, single_root, heads[inside], relations[inside])

        if self._threads == 1:
            for span in _spans(sentences.offsets):
                parse_span(span)
        else:
            with ThreadPoolExecutor(self._threads) as pool:
                list(pool.map(parse_span, _spans(sentences.offsets)))
        return Parses(heads, relations, sentences.offsets)

    def _parse_typed(
        self, typed: TypedSentences, offsets: np.ndarray, single_root: bool, heads: np.ndarray, relations: np.ndarray
    ) -> None:
        root_relation = self._system.root_relation
        _parse(
            offsets,
            typed.types,
            typed.rows,
            self._rows.first,
            self._rows.per_type,
            *self._addresses[0][:2],
            *self._addresses[1],
            self._rows.bias,
            self._activation,
            self._output.weights,
            self._output.bias,
            self._system.action_steps,
            self._system.action_relations,
            NO_NODE if root_relation is None else root_relation,
            single_root,
            heads,
            relations,
        )


def _spans(offsets: np.ndarray) -> Iterator[tuple[int, int]]:
    """Consecutive sentences, from the first number to before the second, of at most _SHARE tokens if they are several."""
    first = 0
    while first < len(offsets) - 1:
        last = int(np.searchsorted(offsets, offsets[first] + _SHARE, side="right")) - 1
        yield first, (last := max(last, first + 1))
        first = last


@njit(cache=True, nogil=True)
def _parse(
    offsets,
    types,
    rows,
    first_row,
    per_type,
    buffer_programs,
    buffer_places,
    programs,
    places,
    relation_rows,
    bias,
    activation,
    weights,
    output_bias,
    action_steps,
    action_relations,
    root_relation,
    single_root,
    all_heads,
    all_relations,
):
    """Parses the sentences into ``all_heads`` and ``all_relations``."""
    longest = 0
    for s in range(len(offsets) - 1):
        longest = max(longest, offsets[s + 1] - offsets[s])
    lengths = np.zeros(1, np.int32)
    stacks = np.zeros((1, longest), np.int32)
    sizes = np.ones(1, np.int32)
    fronts = np.ones(1, np.int32)
    heads = np.empty((1, longest), np.int32)
    relations = np.empty((1, longest), np.int32)
    children = np.empty((1, longest, 2), np.int32)
    siblings = np.empty((1, longest), np.int32)
    buffer_nodes = np.empty(len(buffer_programs), np.int32)
    nodes = np.empty(len(programs), np.int32)
    picked = np.empty(max(len(buffer_programs), 2 * len(programs)), np.int64)
    of_buffer = np.empty(len(bias), np.float32)
    hidden = np.empty(len(bias), np.float32)
    on = np.empty(len(bias), np.int32)
    scores = np.empty((1, len(output_bias)), np.float32)
    n_relations = (len(action_steps) - 1) // 2
    for s in range(len(offsets) - 1):
        start = offsets[s]
        lengths[0] = offsets[s + 1] - start - 1
        sizes[0] = 1
        fronts[0] = 1
        summed = 0  # the buffer's front for which of_buffer was added up
        for i in range(lengths[0] + 1):
            heads[0, i] = NO_NODE
            relations[0, i] = NO_NODE
            children[0, i, 0] = NO_NODE
            children[0, i, 1] = NO_NODE
            siblings[0, i] = NO_NODE
        for _ in range(2 * lengths[0]):
            buffered = fronts[0] <= lengths[0]
            action = forced_action(sizes[0], buffered, root_relation, single_root)
            if action == NO_NODE:
                if summed != fronts[0]:
                    summed = fronts[0]
                    find_nodes(0, stacks, sizes, fronts, lengths, children, siblings, buffer_programs, buffer_nodes)
                    count = 0
                    for a in range(len(buffer_nodes)):
                        if buffer_nodes[a] != NO_NODE:
                            picked[count] = first_row + types[start + buffer_nodes[a]] * per_type + buffer_places[a]
                            count += 1
                    _sum(bias, rows, picked, count, of_buffer)
                find_nodes(0, stacks, sizes, fronts, lengths, children, siblings, programs, nodes)
                count = 0
                for a in range(len(nodes)):
                    node = nodes[a]
                    if node != NO_NODE:
                        if places[a] != NO_NODE:
                            picked[count] = first_row + types[start + node] * per_type + places[a]
                            count += 1
                        if relation_rows[a] != NO_NODE and relations[0, node] != NO_NODE:
                            picked[count] = relation_rows[a] + relations[0, node]
                            count += 1
                _sum(of_buffer, rows, picked, count, hidden)
                _output_scores(hidden, activation, weights, output_bias, on, scores)
                action = best_action(scores, 0, sizes[0], buffered, n_relations, root_relation, single_root)
            take_step(
                0,
                action_steps[action],
                action_relations[action],
                stacks,
                sizes,
                fronts,
                heads,
                relations,
                children,
                siblings,
            )
        for i in range(1, lengths[0] + 1):
            all_heads[start + i] = heads[0, i]
            all_relations[start + i] = relations[0, i]


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
def _output_scores(hidden, activation, weights, bias, on, scores):
    """Fills in ``scores[0]``; units that are zero, half of them under relu, are passed over."""
    count = 0
    for h in range(len(hidden)):
        x = hidden[h]
        if activation == _RELU:
            x = max(x, np.float32(0))
        elif activation == _TANH:
            x = np.tanh(x)
        elif activation == _SIGMOID:
            x = np.float32(1) / (np.float32(1) + np.exp(-x))
        else:
            x = x * x * x
        hidden[h] = x
    for h in range(len(hidden)):
        on[count] = h
        count += hidden[h] != 0  # no branch: which units are on cannot be foreseen
    actions = len(bias)
    for a in range(actions):
        scores[0, a] = bias[a]
    # Four units at a time, so that a score is read and written a quarter as often.
    for u in range(0, count - 3, 4):
        h0, h1, h2, h3 = on[u], on[u + 1], on[u + 2], on[u + 3]
        x0, x1, x2, x3 = hidden[h0], hidden[h1], hidden[h2], hidden[h3]
        for a in range(actions):
            scores[0, a] += x0 * weights[h0, a] + x1 * weights[h1, a] + x2 * weights[h2, a] + x3 * weights[h3, a]
    for u in range(count - count % 4, count):
        h0 = on[u]
        x0 = hidden[h0]
        for a in range(actions):
            scores[0, a] += x0 * weights[h0, a]
