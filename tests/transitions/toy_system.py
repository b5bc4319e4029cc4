"""A transition system of one's own, as CONTRIBUTING.md tells: plain Python, no kernels,
an oracle from a grammar.
"""

from typing import ClassVar

import numpy as np

import oracles
from oracles.arc_hybrid.tabular import ArcHybridGrammar
from oracles.tabular.oracle import TabularOracle
from parser import transitions
from parser.data.sentences import NO_NODE
from parser.transitions.configurations import Configurations, attach, remove, shift
from parser.transitions.system import Transitions, TransitionSystem

SHIFT, LEFT, RIGHT = range(3)


class ToyArcHybrid(TransitionSystem):
    """Arc-hybrid once more: shift; left: the top becomes a child of b; right: the top becomes a
    child of the one below it.
    """

    name: ClassVar[str] = "toy_arc_hybrid"
    projective: ClassVar[bool] = True
    oracles: ClassVar[tuple[str, ...]] = ("toy_oracle",)
    gold_oracle: ClassVar[str] = "toy_oracle"

    def _blocks_with_arcs(self) -> list[bool]:
        return [False, True, True]

    def eager_order(self, width: int) -> np.ndarray:
        return np.array([LEFT, RIGHT, SHIFT])

    def transitions(
        self, now: Configurations, rows: np.ndarray, single_root: bool = False
    ) -> Transitions:
        transitions = Transitions(*(np.full((len(rows), 3), NO_NODE, np.int32) for _ in range(4)))
        transitions.blocks[:] = range(3)
        for m, row in enumerate(rows):
            stack = now.stacks[row, : now.stack_sizes[row]]
            front, buffered = now.buffer_fronts[row], now.buffer_fronts[row] <= now.lengths[row]
            possible = [(SHIFT, NO_NODE, NO_NODE)] if buffered else []
            if buffered and len(stack) > 1:
                possible.append((LEFT, front, stack[-1]))
            if len(stack) > 1 and not (single_root and buffered and len(stack) == 2):
                possible.append((RIGHT, stack[-2], stack[-1]))
            for column, head, child in possible:
                (
                    transitions.rows[m, column],
                    transitions.heads[m, column],
                    transitions.children[m, column],
                ) = m, head, child
        return transitions

    def apply(
        self,
        now: Configurations,
        rows: np.ndarray,
        transitions: Transitions,
        chosen: np.ndarray,
        relations: np.ndarray,
    ) -> None:
        for m, (row, column) in enumerate(zip(rows, chosen, strict=True)):
            if column == SHIFT:
                shift(now, row)
            else:
                attach(now, row, transitions.heads[m, column], remove(now, row, 0), relations[m])


class ToyOracle(TabularOracle):
    """Its oracle, from the grammar of arc-hybrid."""

    name: ClassVar[str] = "toy_oracle"
    system: ClassVar[str] = "toy_arc_hybrid"
    transition_names = ("shift", "left", "right")
    transition_order: ClassVar[tuple[str, ...]] = ("shift", "left_arc", "right_arc")

    def transition_grammar(self) -> ArcHybridGrammar:
        return ArcHybridGrammar()


def register() -> None:
    """Make both known; a test takes that back,
    because others go through all systems and oracles.
    """
    transitions.register(ToyArcHybrid)
    oracles.register(ToyOracle)
