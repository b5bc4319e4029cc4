"""Greedy parsing in one compiled loop, for LR-spine: a feature row for each candidate (compiled.py says how a row is scored).

Shift, la_1 and ra_1 read the same nodes, so that their hidden layer is computed once; each candidate multiplies it by the
output weights of its own block alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parser.data.sentences import NO_NODE, Parses
from parser.decoding.greedy.compiled import (
    CompiledParser,
    one_configuration,
    padded_outputs,
    pick,
    pick_words,
)
from parser.inference.precomputed import sum_rows
from parser.inference.precomputed_tokens import PrecomputedWords
from parser.kernels import array_kernel
from parser.kernels.active_units import activate_units, scores_of_units
from parser.transitions.configurations import ONLY_ROW, clear, shift
from parser.transitions.decisions import best_transitions, required_root_relation
from parser.transitions.features import find_nodes
from parser.transitions.lr_spine import SHIFT, LRSpine, count_transitions, fill_transitions, take_transitions


class _SpineRules(NamedTuple):
    """What of the transition system the loop needs: its blocks of outputs, and how a tree may be made.

    Attributes:
        padded_starts: int32[blocks + 1], where the blocks begin among outputs that are padded; see padded_outputs().
        block_sizes: int32[blocks], outputs of each.
        root_relation: see required_root_relation().
        single_root: see TransitionSystem.transitions.
    """

    padded_starts: np.ndarray
    block_sizes: np.ndarray
    root_relation: int
    single_root: bool


class SpineParser(CompiledParser):
    """Parses with a classifier as it is now, for LR-spine; see CompiledParser."""

    _system: LRSpine

    def _output_layer(self, weights: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """float32[blocks, hidden, outputs] and float32[blocks, outputs]: each block is multiplied by itself."""
        sizes = self._system.block_sizes
        parts = zip(*(np.split(a, np.cumsum(sizes)[:-1]) for a in (weights, bias)), strict=True)
        blocks = [
            padded_outputs(np.pad(w, ((0, sizes.max() - len(b)), (0, 0))), np.pad(b, (0, sizes.max() - len(b))))
            for w, b in parts
        ]
        self._padded_starts = np.arange(len(blocks) + 1, dtype=np.int32) * len(blocks[0][1])
        return np.stack([w for w, _ in blocks]), np.stack([b for _, b in blocks])

    def _parse_words(self, words: PrecomputedWords, parses: Parses, single_root: bool) -> None:
        system = self._system
        rules = _SpineRules(self._padded_starts, system.block_sizes, required_root_relation(system, single_root), single_root)
        now = one_configuration(parses.offsets)
        _parse(
            parses.offsets, self.model_on(words), rules, len(system.candidate_positions), now, parses.heads, parses.relations
        )


@array_kernel()
def _parse(offsets, model, rules, n_candidate_nodes, now, all_heads, all_relations):
    """Parses the sentences into ``all_heads`` and ``all_relations``; ``now`` is workspace, a configuration of the longest."""
    words, of_buffer, others, layers = model
    most = now.stacks.shape[1] + 2  # columns: shift, and nodes of two spines, which share none
    rows, starts = np.zeros(1, np.int64), np.zeros(2, np.int64)
    feature_rows = np.full((1, most), NO_NODE, np.int32)
    heads, children = feature_rows.copy(), feature_rows.copy()
    blocks = np.full((1, most), SHIFT, np.int32)
    candidate_nodes = np.full((most, n_candidate_nodes), NO_NODE, np.int32)
    buffer_nodes = np.empty(len(of_buffer.programs), np.int32)
    nodes = np.empty(len(others.programs), np.int32)
    picked = np.empty(max(len(buffer_nodes), 2 * len(nodes)), np.int64)
    units = len(layers.hidden_bias)
    buffer_sum = np.empty(units, np.float32)
    first_hidden, hidden = np.empty(units, np.float32), np.empty(units, np.float32)
    first_active, active = np.empty(units, np.int32), np.empty(units, np.int32)
    scores = np.empty((most, layers.bias.size), np.float32)
    for s in range(len(offsets) - 1):
        start = offsets[s]
        length = offsets[s + 1] - start - 1
        clear(now, ONLY_ROW, length)
        summed = 0  # the buffer's front for which buffer_sum was added up
        for _ in range(2 * length):
            if now.stack_sizes[0] == 1:  # shift alone
                shift(now, ONLY_ROW)
                continue
            width = count_transitions(now, rows, rules.single_root, starts)
            feature_rows[0, :width] = NO_NODE
            heads[0, :width] = NO_NODE
            children[0, :width] = NO_NODE
            candidate_nodes[: starts[1]] = NO_NODE
            fill_transitions(now, rows, rules.single_root, starts, feature_rows, blocks, heads, children, candidate_nodes)
            front = now.buffer_fronts[0]
            if summed != front:
                summed = front
                find_nodes(now, ONLY_ROW, candidate_nodes[0], of_buffer.programs, buffer_nodes)
                count = pick_words(start, buffer_nodes, of_buffer, words, picked)
                sum_rows(layers.hidden_bias, words.activations, picked, count, buffer_sum)
            first_count = 0
            for column in range(width):
                row = feature_rows[0, column]
                if row == NO_NODE:
                    continue
                block = SHIFT if column == 0 else blocks[0, column]
                begin, end = rules.padded_starts[block], rules.padded_starts[block + 1]
                if row == 0:
                    find_nodes(now, ONLY_ROW, candidate_nodes[0], others.programs, nodes)
                    count = pick(now, start, nodes, others, words, picked)
                    sum_rows(buffer_sum, words.activations, picked, count, first_hidden)
                    first_count = activate_units(first_hidden, layers.activation, first_active)
                else:
                    same = True
                    for a in range(n_candidate_nodes):
                        same &= candidate_nodes[row, a] == candidate_nodes[0, a]
                    if not same:
                        find_nodes(now, ONLY_ROW, candidate_nodes[row], others.programs, nodes)
                        count = pick(now, start, nodes, others, words, picked)
                        sum_rows(buffer_sum, words.activations, picked, count, hidden)
                        count = activate_units(hidden, layers.activation, active)
                        scores_of_units(
                            hidden, layers.weights[block], layers.bias[block], active, count, scores[row, begin:end]
                        )
                        continue
                scores_of_units(
                    first_hidden, layers.weights[block], layers.bias[block], first_active, first_count, scores[row, begin:end]
                )
            columns, relations = best_transitions(
                scores,
                feature_rows[:, :width],
                blocks[:, :width],
                heads[:, :width],
                rules.padded_starts,
                rules.block_sizes,
                rules.root_relation,
            )
            column = columns[0]
            take_transitions(now, rows, heads[0, column : column + 1], children[0, column : column + 1], relations)
        for i in range(1, length + 1):
            all_heads[start + i] = now.heads[0, i]
            all_relations[start + i] = now.relations[0, i]
