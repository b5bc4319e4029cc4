"""Oracles from grammars: the score of a step is its edge and the best weight of what can be made after it.

Nederhof 2019, Section 4, for any transition system of which somebody has written down, as a split grammar, what its
computations can make of a configuration: oracles.arc_standard.tabular has the paper's, oracles.arc_hybrid.tabular another one.
O(n^3) semiring operations in plain Python: slow, and exact for any gold tree as far as the grammar is right.

To train with another system, write its grammar and steps (see ``TransitionSystem``), and

    class MyOracle(TabularOracle):
        name, system, columns = "my_tabular", "my_system", ("shift", "attach")

        def grammar_system(self):
            return MyGrammarSystem()

    oracles.register(MyOracle)
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from oracles.interface import NOT_APPLICABLE, BoundOracle, Oracle, Query, Strategy
from oracles.tabular.weighted_parsing import MAX_PLUS, SplitGrammar, parse
from oracles.trees import Trees


@dataclass(frozen=True)
class Configuration:
    """Nodes of a sentence, and what a strategy forbids them.

    Attributes:
        stack: the nodes on the stack, the top last.
        buffer: the nodes in the buffer, the next first.
        no_left_children, no_right_children: nodes that may take no more children on that side.
    """

    stack: tuple[int, ...]
    buffer: tuple[int, ...]
    no_left_children: Container[int] = ()
    no_right_children: Container[int] = ()


@dataclass(frozen=True)
class Step:
    """One step: its name, its edge (head, child) if it makes one, and the configuration after it."""

    name: str
    edge: tuple[int, int] | None
    after: Configuration


class TransitionSystem(Protocol):
    """What has to be known of a transition system."""

    grammar: SplitGrammar

    def terminals(self, configuration: Configuration) -> str | Sequence[str]:
        """A terminal of the grammar for each node of the configuration: the stack, then the buffer."""

    def steps(self, configuration: Configuration) -> Iterator[Step]:
        """The applicable steps."""


def best_score(system: TransitionSystem, heads: Sequence[int], configuration: Configuration) -> float:
    """The most gold edges that can still be made; -inf if no tree can be made. heads = [h_1, ..., h_n]."""
    nodes = configuration.stack + configuration.buffer

    def edge(i: int, j: int) -> float:
        head, child = nodes[i], nodes[j]
        closed = configuration.no_left_children if child < head else configuration.no_right_children
        if child == 0 or head in closed:
            return MAX_PLUS.zero
        return MAX_PLUS.edge(int(heads[child - 1] == head), head, child)

    return parse(system.grammar, system.terminals(configuration), edge, MAX_PLUS)


def step_scores(system: TransitionSystem, heads: Sequence[int], configuration: Configuration) -> dict[str, float]:
    """The score of each applicable step by its name: the most gold edges if it is taken, its own edge included."""
    return {
        step.name: (step.edge is not None and heads[step.edge[1] - 1] == step.edge[0]) + best_score(system, heads, step.after)
        for step in system.steps(configuration)
    }


class TabularOracle(Oracle):
    """An oracle that is a grammar. Subclasses name the columns of their moves, and say what the grammar is."""

    columns: ClassVar[tuple[str, ...]]  # the names of the steps, in the order of the system's moves
    needs_projective_gold: ClassVar[bool] = False
    alternatives: ClassVar[tuple[str, ...]] = ()
    strategies: ClassVar[tuple[Strategy, ...]] = (Strategy.ANY,)
    complexity: ClassVar[str] = "O(n^3), in plain Python"
    source: ClassVar[str] = "Nederhof 2019, Section 4"

    @abstractmethod
    def grammar_system(self) -> TransitionSystem:
        """The steps of the system, and the grammar of what they can make."""

    def _bind(self, trees: Trees) -> BoundOracle:
        return _BoundTabular(trees, self.grammar_system(), self.columns)


class _BoundTabular(BoundOracle):
    def __init__(self, trees: Trees, system: TransitionSystem, columns: tuple[str, ...]) -> None:
        super().__init__(trees)
        self.system = system
        self.columns = columns

    def score_batch(self, query: Query) -> np.ndarray:
        scores = np.full((len(query), len(self.columns)), NOT_APPLICABLE, np.int16)
        for row, (sentence, stack, size, front) in enumerate(zip(*query.arrays, strict=True)):
            heads = self.trees[int(sentence)]
            configuration = Configuration(tuple(stack[:size].tolist()), tuple(range(int(front), len(heads) + 1)))
            for step, score in step_scores(self.system, heads, configuration).items():
                if score != -math.inf:
                    scores[row, self.columns.index(step)] = score
        return scores
