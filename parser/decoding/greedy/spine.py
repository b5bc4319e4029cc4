"""Greedy parsing in one compiled loop, for LR-spine:
a feature row for each candidate (compiled.py scores a row).

Shift, la_1 and ra_1 read the same nodes, so their hidden layer is computed once. Each candidate
multiplies its hidden layer only by the output weights of its own block.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parser.data.sentences import NO_NODE, Parses
from parser.decoding.greedy.compiled import (
    CompiledParser,
    StepTransitions,
    StepWorkspace,
    begin_sentence,
    one_configuration,
    padded_outputs,
    sum_hidden,
    write_tree,
)
from parser.inference.precomputed_tokens import PrecomputedWords
from parser.kernels import kernel
from parser.kernels.active_units import activate_units, scores_of_units
from parser.transitions.configurations import ONLY_ROW, shift
from parser.transitions.decisions import best_transition, required_root_relation
from parser.transitions.lr_spine import (
    SHIFT,
    LRSpine,
    count_transitions,
    fill_transitions,
    take_transition,
)


class _SpineRules(NamedTuple):
    """What the loop needs to know of the transition system.

    Attributes:
        padded_starts: int32[blocks + 1], where the blocks begin among the outputs after padding;
            see padded_outputs().
        block_sizes: int32[blocks], the outputs of each block.
        root_relation: see required_root_relation().
        single_root: see TransitionSystem.transitions.
    """

    padded_starts: np.ndarray
    block_sizes: np.ndarray
    root_relation: int
    single_root: bool


class SpineParser(CompiledParser):
    """A ``CompiledParser`` for LR-spine."""

    _system: LRSpine

    def _output_layer(self, weights: np.ndarray, bias: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return weights, float32[blocks, hidden, outputs], and bias, float32[blocks, outputs], for
        each block separately.
        """
        sizes = self._system.block_sizes
        parts = zip(*(np.split(a, np.cumsum(sizes)[:-1]) for a in (weights, bias)), strict=True)
        blocks = [
            padded_outputs(
                np.pad(w, ((0, sizes.max() - len(b)), (0, 0))), np.pad(b, (0, sizes.max() - len(b)))
            )
            for w, b in parts
        ]
        self._padded_starts = np.arange(len(blocks) + 1, dtype=np.int32) * len(blocks[0][1])
        return np.stack([w for w, _ in blocks]), np.stack([b for _, b in blocks])

    def _parse_words(self, words: PrecomputedWords, parses: Parses, single_root: bool) -> None:
        system = self._system
        rules = _SpineRules(
            self._padded_starts,
            system.block_sizes,
            required_root_relation(system, single_root),
            single_root,
        )
        model, now = self.model_on(words), one_configuration(parses.offsets)
        columns = now.stacks.shape[1] + 2  # shift, and the nodes of two disjoint spines
        first, other = StepWorkspace.allocate(model, columns), StepWorkspace.allocate(model)
        step = StepTransitions.allocate(columns)
        candidate_nodes = np.full((columns, len(system.candidate_positions)), NO_NODE, np.int32)
        _parse(
            parses.offsets,
            model,
            rules,
            now,
            first,
            other,
            step,
            candidate_nodes,
            parses.heads,
            parses.relations,
        )


@kernel()
def _parse(
    offsets, model, rules, now, first, other, step, candidate_nodes, all_heads, all_relations
):
    """Parse the sentences into ``all_heads`` and ``all_relations``; ``now`` is workspace,
    large enough for the longest.

    ``first`` is workspace for the first feature row and the scores of all rows; ``other`` is
    workspace for the other rows.
    """
    feature_rows, blocks, heads, children, starts, only = step
    layers = model.layers
    for s in range(len(offsets) - 1):
        start = offsets[s]
        length = offsets[s + 1] - start - 1
        begin_sentence(now, length, first)
        for _ in range(2 * length):
            if now.stack_sizes[0] == 1:  # only shift is applicable
                shift(now, ONLY_ROW)
                continue
            width = count_transitions(now, only, rules.single_root, starts)
            feature_rows[0, :width] = NO_NODE
            heads[0, :width] = NO_NODE
            children[0, :width] = NO_NODE
            candidate_nodes[: starts[1]] = NO_NODE
            fill_transitions(
                now,
                only,
                rules.single_root,
                starts,
                feature_rows,
                blocks,
                heads,
                children,
                candidate_nodes,
            )
            first_count = 0
            for column in range(width):
                row = feature_rows[0, column]
                if row == NO_NODE:
                    continue
                block = SHIFT if column == 0 else blocks[0, column]
                begin, end = rules.padded_starts[block], rules.padded_starts[block + 1]
                weights, bias = layers.weights[block], layers.bias[block]
                own = first.scores[row, begin:end]
                if row == 0:
                    sum_hidden(now, start, candidate_nodes[0], model, first, first.hidden)
                    first_count = activate_units(first.hidden, layers.activation, first.active)
                else:
                    same = True
                    for a in range(candidate_nodes.shape[1]):
                        same &= candidate_nodes[row, a] == candidate_nodes[0, a]
                    if not same:
                        sum_hidden(now, start, candidate_nodes[row], model, first, other.hidden)
                        count = activate_units(other.hidden, layers.activation, other.active)
                        scores_of_units(other.hidden, weights, bias, other.active, count, own)
                        continue
                scores_of_units(first.hidden, weights, bias, first.active, first_count, own)
            at_hand = (
                feature_rows[:, :width],
                blocks,
                heads,
                ONLY_ROW,
                rules.padded_starts,
                rules.block_sizes,
            )
            column, relation = best_transition(first.scores, *at_hand, rules.root_relation)
            take_transition(now, ONLY_ROW, heads[0, column], children[0, column], relation)
        write_tree(now, start, length, all_heads, all_relations)
