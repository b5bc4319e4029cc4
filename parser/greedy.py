"""Greedy parsing in one compiled loop: the classifier is evaluated configuration by configuration, from rows made in advance.

A step reads its slots, adds up their rows (hidden_tables.py), and multiplies the units that are on by the output weights.
Nothing of it depends on which other sentences are parsed with it, so the result is the same for any batching and any number of
threads. decoding.parse_in_lockstep is the slow, obvious twin.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numba import njit

from parser.arc_standard import NO_NODE, ArcStandard, best_action, take_step
from parser.classifier import Classifier
from parser.decoding import Parses
from parser.features import FeatureTable, find_nodes, read_slots
from parser.hidden_tables import HiddenTables, TableMaker
from parser.vocabulary import Sentences

_ACTIVATIONS = ("relu", "tanh", "sigmoid", "cube")
_RELU, _TANH, _SIGMOID, _CUBE = range(4)

# Words that a thread takes at a time.
_SHARE = 2_000


@dataclass(frozen=True)
class _Output:
    """The output layer: float32[hidden, actions] and float32[actions]."""

    weights: np.ndarray
    bias: np.ndarray


class GreedyParser:
    """Parses with a classifier as it is now; made anew when the weights have changed.

    Args:
        classifier: the classifier.
        activation: its activation.
        system: the transition system.
        table: the features.
        attributes: the attributes of the sentences to come.
        threads: how many sentences are parsed side by side.
    """

    def __init__(
        self,
        classifier: Classifier,
        activation: str,
        system: ArcStandard,
        table: FeatureTable,
        attributes: list[str],
        threads: int = 1,
    ) -> None:
        self._maker = TableMaker(classifier, table, attributes)
        self._activation = _ACTIVATIONS.index(activation)
        weights, bias = (p.detach().cpu().numpy() for p in (classifier.output.weight, classifier.output.bias))
        self._output = _Output(np.ascontiguousarray(weights.T), bias)
        self._system = system
        self._table = table
        self._threads = threads

    def parse(self, sentences: Sentences, *, single_root: bool = True) -> Parses:
        """Parses sentences greedily; see decoding.parse_in_lockstep."""
        tables = self._maker.tables(sentences)
        heads = np.full(sentences.offsets[-1], NO_NODE, np.int32)
        relations = heads.copy()
        parses = Parses(heads, relations, sentences.offsets)
        if self._threads == 1:
            self._parse_span((0, len(sentences)), tables, parses, single_root)
        else:
            ends = np.arange(0, sentences.offsets[-1] + _SHARE, _SHARE)
            spans = pairwise(np.unique(np.searchsorted(sentences.offsets[:-1], ends)).tolist())
            with ThreadPoolExecutor(self._threads) as pool:
                list(pool.map(lambda span: self._parse_span(span, tables, parses, single_root), spans))
        return parses

    def _parse_span(self, span: tuple[int, int], tables: HiddenTables, parses: Parses, single_root: bool) -> None:
        """Parses the sentences from the first number of the span to before the second."""
        system = self._system
        _parse(
            *span,
            parses.offsets,
            tables.values,
            self._table.programs,
            self._table.columns,
            tables.rows,
            tables.starts,
            tables.bias,
            self._activation,
            self._output.weights,
            self._output.bias,
            system.action_steps,
            system.action_relations,
            NO_NODE if system.root_relation is None else system.root_relation,
            single_root,
            parses.heads,
            parses.relations,
        )


@njit(cache=True, nogil=True)
def _parse(
    first,
    last,
    offsets,
    values,
    programs,
    columns,
    rows,
    starts,
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
    """Parses the sentences from ``first`` to before ``last`` into ``all_heads`` and ``all_relations``."""
    longest = 0
    for s in range(first, last):
        longest = max(longest, offsets[s + 1] - offsets[s])
    lengths = np.zeros(1, np.int32)
    stacks = np.zeros((1, longest), np.int32)
    sizes = np.ones(1, np.int32)
    fronts = np.ones(1, np.int32)
    heads = np.empty((1, longest), np.int32)
    relations = np.empty((1, longest), np.int32)
    children = np.empty((1, longest, 2), np.int32)
    siblings = np.empty((1, longest), np.int32)
    nodes = np.empty(len(programs), np.int32)
    features = np.empty((1, len(columns)), np.int32)
    hidden = np.empty(len(bias), np.float32)
    scores = np.empty((1, len(output_bias)), np.float32)
    on = np.empty(len(bias), np.int32)
    for s in range(first, last):
        start = offsets[s]
        lengths[0] = offsets[s + 1] - start - 1
        sizes[0] = 1
        fronts[0] = 1
        for i in range(lengths[0] + 1):
            heads[0, i] = NO_NODE
            relations[0, i] = NO_NODE
            children[0, i, 0] = NO_NODE
            children[0, i, 1] = NO_NODE
            siblings[0, i] = NO_NODE
        for _ in range(2 * lengths[0]):
            find_nodes(0, stacks, sizes, fronts, lengths, children, siblings, programs, nodes)
            read_slots(0, start, nodes, relations, values, columns, 0, features)
            _hidden_units(features, starts, rows, bias, hidden)
            _output_scores(hidden, activation, weights, output_bias, on, scores)
            buffered = fronts[0] <= lengths[0]
            action = best_action(scores, 0, sizes[0], buffered, action_steps, action_relations, root_relation, single_root)
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
def _hidden_units(features, starts, rows, bias, hidden):
    """Fills in ``hidden`` (float32[units]): the bias and the rows of all slots, added up."""
    for h in range(len(hidden)):
        hidden[h] = bias[h]
    for c in range(features.shape[1]):
        row = starts[c] + features[0, c]
        for h in range(len(hidden)):
            hidden[h] += rows[row, h]


@njit(cache=True, nogil=True)
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
        if x != 0:
            on[count] = h
            count += 1
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
