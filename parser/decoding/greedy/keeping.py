"""Greedy parsing with given arcs in one compiled loop, for arc-standard; batched.py with a Restriction is the reference.

compiled.py says how a configuration is scored, given_arcs.py which transitions may be taken. While given arcs are still to be
made, the oracle is asked within the loop, one configuration at a time: that costs a few microseconds.
"""

from __future__ import annotations

import numpy as np

import oracles
from oracles.arc_standard import context_rows
from oracles.arc_standard.context_rows import BoundContextRows
from oracles.interface import N_TRANSITIONS, NOT_APPLICABLE
from parser.data.sentences import NO_NODE, Parses, Sentences
from parser.decoding import batch_sizes
from parser.decoding.greedy.compiled import (
    AttardiRules,
    CompiledClassifier,
    StepWorkspace,
    one_configuration,
    output_scores,
    pick,
    pick_words,
)
from parser.inference.precomputed import sum_rows
from parser.kernels import array_kernel, kernel
from parser.transitions.attardi import ArcStandard, applicable, forced_output, take_transition, transition_of
from parser.transitions.configurations import ONLY_ROW, clear
from parser.transitions.features import find_nodes


class GreedyKeepingParser(CompiledClassifier):
    """Parses with a classifier as it is now, and keeps given arcs; see CompiledClassifier."""

    _system: ArcStandard

    def parse(self, sentences: Sentences, given: Parses, *, single_root: bool = True) -> Parses:
        """Parses sentences; see KeepingParser."""
        parses, rules = Parses.allocate(sentences.offsets), AttardiRules.of(self._system, single_root)
        for span in sentences.spans(batch_sizes.TOKENS_PER_SPAN):
            part, own = given.span(*span), parses.span(*span)
            model, now = self.model_on(self.words_of(sentences.span(*span))), one_configuration(own.offsets)
            oracle = oracles.create("context_rows", oracles.Strategy.ANY).bind(oracles.Trees(part.heads, part.offsets))
            assert isinstance(oracle, BoundContextRows)
            workspace = StepWorkspace.allocate(model)
            arrays = part.heads, part.relations, own.heads, own.relations
            _parse(part.offsets, model, rules, now, workspace, oracle.memory, oracle.strategy, *arrays)
        return parses


@kernel()
def _best_kept_output(scores, r, of_oracle, of_top, of_below, size, buffered, rules):
    """The best output whose transition is optimal by the oracle, as decisions.best() finds it.

    Args:
        scores: float32[rows, outputs].
        r: the row.
        of_oracle: int16[1, transitions], the oracle's scores.
        of_top, of_below: the given relations of the top of the stack and of the element below; NO_NODE if there is none.
        size, buffered: see best_output.
        rules: of the system.
    """
    most = NOT_APPLICABLE
    for column in range(N_TRANSITIONS):
        if applicable(column, size, buffered, rules.single_root):
            most = max(most, of_oracle[0, column])
    highest = -np.inf
    chosen = NO_NODE
    for column in range(N_TRANSITIONS):
        if not applicable(column, size, buffered, rules.single_root) or of_oracle[0, column] < most:
            continue
        if column == 0:
            chosen = 0
            highest = scores[r, 0]
            continue
        to_root = column == 1 and size == 2
        labelled = rules.single_root and rules.root_relation >= 0  # whether the root's relation is the root's alone
        given = of_top if column == 1 else of_below
        if labelled and to_root != (given == rules.root_relation):
            given = NO_NODE
        first = 1 + (column - 1) * rules.n_relations
        for relation in range(rules.n_relations):
            if labelled and to_root != (relation == rules.root_relation):
                continue
            if given != NO_NODE and relation != given:
                continue
            if chosen == NO_NODE or scores[r, first + relation] > highest:
                chosen = first + relation
                highest = scores[r, chosen]
    return chosen


@array_kernel()
def _parse(offsets, model, rules, now, workspace, memory, strategy, given_heads, given_relations, all_heads, all_relations):
    """Parses the sentences into ``all_heads`` and ``all_relations``; ``now`` is workspace, a configuration of the longest."""
    words, of_buffer, others, layers = model
    buffer_nodes, nodes, picked, buffer_sum, hidden, active, scores = workspace
    no_candidate_nodes = nodes[:0]
    sentence = np.empty(1, np.int32)
    anything = np.zeros((1, N_TRANSITIONS), np.int16)
    for s in range(len(offsets) - 1):
        start = offsets[s]
        length = offsets[s + 1] - start - 1
        clear(now, ONLY_ROW, length)
        sentence[0] = s
        waiting = 0  # given arcs that are not made; if one is lost, to the end
        for i in range(1, length + 1):
            waiting += given_heads[start + i] != NO_NODE
        summed = 0  # the buffer's front for which buffer_sum was added up
        for _ in range(2 * length):
            size = np.int64(now.stack_sizes[0])
            front = now.buffer_fronts[0]
            buffered = front <= length
            output = forced_output(1, size, buffered, rules.root_relation, rules.single_root)
            if output == NO_NODE:
                if summed != front:
                    summed = front
                    find_nodes(now, ONLY_ROW, no_candidate_nodes, of_buffer.programs, buffer_nodes)
                    count = pick_words(start, buffer_nodes, of_buffer, words, picked)
                    sum_rows(layers.hidden_bias, words.activations, picked, count, buffer_sum)
                find_nodes(now, ONLY_ROW, no_candidate_nodes, others.programs, nodes)
                count = pick(now, start, nodes, others, words, picked)
                sum_rows(buffer_sum, words.activations, picked, count, hidden)
                output_scores(hidden, layers.activation, layers.weights, layers.bias, active, scores)
                of_oracle = anything
                if waiting > 0:
                    of_oracle = context_rows.score_batch(
                        given_heads, offsets, memory, strategy, (), sentence, now.stacks, now.stack_sizes, now.buffer_fronts
                    )
                of_top = given_relations[start + now.stacks[0, size - 1]]
                of_below = given_relations[start + now.stacks[0, max(size - 2, 0)]]
                output = _best_kept_output(scores, ONLY_ROW, of_oracle, of_top, of_below, size, buffered, rules)
            column, relation = transition_of(output, rules.n_relations)
            if column > 0:
                top, below = now.stacks[0, size - 1], now.stacks[0, size - 2]
                head, child = (below, top) if column == 1 else (top, below)
                waiting -= given_heads[start + child] == head
            take_transition(now, ONLY_ROW, column, relation)
        for i in range(1, length + 1):
            all_heads[start + i] = now.heads[0, i]
            all_relations[start + i] = now.relations[0, i]
