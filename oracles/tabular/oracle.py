"""Oracles from grammars: the score of a transition is its own edge plus the best weight of a
derivation after it.

This is Nederhof 2019, Section 4, for any transition system, given as a split grammar of the trees
that its computations can make: oracles.arc_standard.tabular has the paper's grammar,
oracles.arc_hybrid.tabular another one. O(n^3) semiring operations in plain Python: slow, and exact
for any gold tree if the grammar is right.

To train with another system, write its grammar and transitions (see ``TransitionGrammar``), and

    class MyOracle(TabularOracle):
        name, system, transition_order = "my_tabular", "my_system", ("shift", "attach")

        def transition_grammar(self):
            return MyGrammar()

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
    """A stack and a buffer, and the children that a strategy forbids.

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
class Transition:
    """One transition: its name, its edge (head, child) if it makes one,
    and the configuration after it.
    """

    name: str
    edge: tuple[int, int] | None
    after: Configuration


class TransitionGrammar(Protocol):
    """A transition system for TabularOracle."""

    grammar: SplitGrammar

    def terminals(self, configuration: Configuration) -> str | Sequence[str]:
        """Return a terminal of the grammar for each node of the configuration: the stack,
        then the buffer.
        """

    def transitions(self, configuration: Configuration) -> Iterator[Transition]:
        """Yield the applicable transitions."""


def best_score(
    system: TransitionGrammar, heads: Sequence[int], configuration: Configuration
) -> float:
    """Return the most gold edges that can still be made, -inf if no tree can be made;
    heads = [h_1, ..., h_n].
    """
    nodes = configuration.stack + configuration.buffer

    def edge(i: int, j: int) -> float:
        head, child = nodes[i], nodes[j]
        closed = configuration.no_left_children if child < head else configuration.no_right_children
        if child == 0 or head in closed:
            return MAX_PLUS.zero
        return MAX_PLUS.edge(int(heads[child - 1] == head), head, child)

    return parse(system.grammar, system.terminals(configuration), edge, MAX_PLUS)


def transition_scores(
    system: TransitionGrammar, heads: Sequence[int], configuration: Configuration
) -> dict[str, float]:
    """Return, by name, the score of each applicable transition: the most gold edges if it is taken,
    its own edge included.
    """
    return {
        transition.name: (
            transition.edge is not None and heads[transition.edge[1] - 1] == transition.edge[0]
        )
        + best_score(system, heads, transition.after)
        for transition in system.transitions(configuration)
    }


class TabularOracle(Oracle):
    """An oracle made from a grammar. Subclasses give the grammar and the order of its
    transitions.
    """

    # names of the transitions in the grammar, in the order of the system
    transition_order: ClassVar[tuple[str, ...]]
    needs_projective_gold: ClassVar[bool] = False
    takes_partial_gold: ClassVar[bool] = True
    alternatives: ClassVar[tuple[str, ...]] = ()
    strategies: ClassVar[tuple[Strategy, ...]] = (Strategy.ANY,)
    complexity: ClassVar[str] = "O(n^3), in plain Python"
    source: ClassVar[str] = "Nederhof 2019, Section 4"

    @abstractmethod
    def transition_grammar(self) -> TransitionGrammar:
        """Return the transitions of the system, and the grammar of the trees that they can make."""

    def _bind(self, trees: Trees) -> BoundOracle:
        return _BoundTabular(trees, self.transition_grammar(), self.transition_order)


class _BoundTabular(BoundOracle):
    def __init__(
        self, trees: Trees, system: TransitionGrammar, transition_order: tuple[str, ...]
    ) -> None:
        super().__init__(trees)
        self.system = system
        self.transition_order = transition_order

    def score_batch(self, query: Query) -> np.ndarray:
        scores = np.full((len(query), len(self.transition_order)), NOT_APPLICABLE, np.int16)
        for row, (sentence, stack, size, front) in enumerate(zip(*query.arrays, strict=True)):
            heads = self.trees[int(sentence)]
            configuration = Configuration(
                tuple(stack[:size].tolist()), tuple(range(int(front), len(heads) + 1))
            )
            for transition, score in transition_scores(self.system, heads, configuration).items():
                if score != -math.inf:
                    scores[row, self.transition_order.index(transition)] = score
        return scores
