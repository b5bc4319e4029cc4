"""Greedy parsing in one compiled loop, for arc-standard and Attardi's system (compiled.py says how)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from parser.data.parses import NO_NODE, Parses
from parser.decoding.greedy.compiled import (
    CompiledParser,
    Words,
    one_configuration,
    output_scores,
    pick,
    pick_words,
    sum_rows,
)
from parser.transitions.attardi import Attardi, best_output, forced_output, move_of, take_move
from parser.transitions.configurations import clear
from parser.transitions.features import NO_ANCHORS, find_nodes


class Rules(NamedTuple):
    """What of the transition system the loop needs; see best_output."""

    degree: int
    n_relations: int
    root_relation: int
    single_root: bool

    @classmethod
    def of(cls, system: Attardi, single_root: bool) -> Rules:
        """Those of a transition system."""
        root_relation = NO_NODE if system.root_relation is None else system.root_relation
        return cls(system.degree, system.n_relations, root_relation, single_root)


class GreedyParser(CompiledParser):
    """Parses with a classifier as it is now, for arc-standard and Attardi's system; see CompiledParser."""

    _system: Attardi

    def _parse_words(self, words: Words, parses: Parses, single_root: bool) -> None:
        rules = Rules.of(self._system, single_root)
        now = one_configuration(parses.offsets)
        model = self._of_buffer, self._others, self._layers, rules
        _parse(parses.offsets, words, *model, now, parses.heads, parses.relations)


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
                    count = pick_words(start, buffer_nodes, of_buffer, words, picked)
                    sum_rows(layers.hidden_bias, words.contributions, picked, count, buffer_sum)
                find_nodes(now, 0, NO_ANCHORS, others.programs, nodes)
                count = pick(now, start, nodes, others, words, picked)
                sum_rows(buffer_sum, words.contributions, picked, count, hidden)
                output_scores(hidden, layers.activation, layers.weights, layers.bias, active, scores)
                output = best_output(
                    scores, 0, rules.degree, size, buffered, rules.n_relations, rules.root_relation, rules.single_root
                )
            column, relation = move_of(output, rules.n_relations)
            take_move(now, 0, column, relation)
        for i in range(1, length + 1):
            all_heads[start + i] = now.heads[0, i]
            all_relations[start + i] = now.relations[0, i]
