"""Greedy parsing in one compiled loop, for systems that attach to the buffer:
arc-hybrid and arc-eager.

compiled.py scores a configuration. The systems' own kernels list its transitions and take them;
decisions.py chooses the best.
"""

from __future__ import annotations

from typing import NamedTuple, TypeGuard

import numpy as np

from parser.data.sentences import NO_NODE, Parses
from parser.decoding.greedy.compiled import (
    CompiledParser,
    StepTransitions,
    StepWorkspace,
    begin_sentence,
    one_configuration,
    score_step,
    write_tree,
)
from parser.inference.precomputed_tokens import PrecomputedWords
from parser.kernels import kernel
from parser.transitions import arc_eager, arc_hybrid
from parser.transitions.arc_eager import N_TRANSITIONS, ArcEager
from parser.transitions.arc_hybrid import ArcHybrid
from parser.transitions.configurations import ONLY_ROW
from parser.transitions.decisions import best_transition, required_root_relation
from parser.transitions.system import TransitionSystem, behaves_as

_ARC_HYBRID, _ARC_EAGER, _NONMONOTONIC = range(3)


class _Rules(NamedTuple):
    """What the loop needs to know of the transition system.

    Attributes:
        system: _ARC_HYBRID, _ARC_EAGER or _NONMONOTONIC.
        block_starts, block_sizes: its blocks of outputs.
        root_relation: see required_root_relation().
        single_root: see TransitionSystem.transitions.
    """

    system: int
    block_starts: np.ndarray
    block_sizes: np.ndarray
    root_relation: int
    single_root: bool


def attaches_to_buffer(system: TransitionSystem) -> TypeGuard[ArcHybrid | ArcEager]:
    """Return whether BufferArcParser supports a system."""
    return behaves_as(system, ArcHybrid) or behaves_as(system, ArcEager)


class BufferArcParser(CompiledParser):
    """A ``CompiledParser`` for arc-hybrid and arc-eager."""

    _system: ArcHybrid | ArcEager

    def _parse_words(self, words: PrecomputedWords, parses: Parses, single_root: bool) -> None:
        system, kind = self._system, _ARC_HYBRID
        if isinstance(system, ArcEager):
            kind = _NONMONOTONIC if system.nonmonotonic else _ARC_EAGER
        root_relation = required_root_relation(system, single_root)
        rules = _Rules(kind, system.block_starts, system.block_sizes, root_relation, single_root)
        model, now = self.model_on(words), one_configuration(parses.offsets)
        workspace, step = StepWorkspace.allocate(model), StepTransitions.allocate(N_TRANSITIONS)
        _parse(parses.offsets, model, rules, now, workspace, step, parses.heads, parses.relations)


@kernel()
def _parse(offsets, model, rules, now, workspace, step, all_heads, all_relations):
    """Parse the sentences into ``all_heads`` and ``all_relations``; ``now`` is workspace, large
    enough for the longest.
    """
    feature_rows, blocks, heads, children, _, only = step
    for s in range(len(offsets) - 1):
        start = offsets[s]
        length = offsets[s + 1] - start - 1
        begin_sentence(now, length, workspace)
        for _ in range(2 * length):
            feature_rows[:] = NO_NODE
            heads[:] = NO_NODE
            children[:] = NO_NODE
            if rules.system == _ARC_HYBRID:
                arc_hybrid.fill_transitions(
                    now, only, rules.single_root, feature_rows, blocks, heads, children
                )
            else:
                nonmonotonic = rules.system == _NONMONOTONIC
                arc_eager.fill_transitions(
                    now,
                    only,
                    nonmonotonic,
                    rules.single_root,
                    feature_rows,
                    blocks,
                    heads,
                    children,
                )
            outputs = 0
            for column in range(N_TRANSITIONS):
                if feature_rows[0, column] != NO_NODE:
                    outputs += rules.block_sizes[blocks[0, column]]
            if outputs > 1:
                score_step(now, start, model, workspace)
            best = (
                feature_rows,
                blocks,
                heads,
                ONLY_ROW,
                rules.block_starts,
                rules.block_sizes,
                rules.root_relation,
            )
            column, relation = best_transition(workspace.scores, *best)
            if rules.system == _ARC_HYBRID:
                arc_hybrid.take_transition(now, ONLY_ROW, heads[0, column], relation)
            else:
                arc_eager.take_transition(now, ONLY_ROW, column, relation)
        write_tree(now, start, length, all_heads, all_relations)
