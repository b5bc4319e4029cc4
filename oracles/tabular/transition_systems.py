"""From a grammar to an oracle: the score of a step is its edge and the best weight of what can be made after it.

Nederhof 2019, Section 4, for any transition system of which somebody has written down, as a split grammar, what its
computations can make of a configuration. ``ArcStandard`` is the paper's; a second one is in the tests of this package.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from oracles.interface import Strategy
from oracles.tabular.grammar import ARC_STANDARD, ARC_STANDARD_STRICT, SplitGrammar
from oracles.tabular.semiring import MAX_PLUS
from oracles.tabular.weighted_parsing import parse


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


class ArcStandard:
    """Shift-reduce parsing of Nederhof 2019, Table 1, with its three strategies (Section 2) or without one (any).

    Strategies are restrictions relative to the configuration before the step, so a step hands them on to the
    configuration after it as edges of weight -inf (for right_before_left those from the top after the reduction; the
    print has its index before it).
    """

    def __init__(self, strategy: Strategy | str = Strategy.LEFT_BEFORE_RIGHT) -> None:
        self.strategy = Strategy(strategy)
        strict = self.strategy is Strategy.STRICT_LEFT_BEFORE_RIGHT
        self.grammar = ARC_STANDARD_STRICT if strict else ARC_STANDARD

    def terminals(self, configuration: Configuration) -> str:
        """A p for each stack element below the top, an s for the top and each buffer node."""
        return "p" * (len(configuration.stack) - 1) + "s" * (1 + len(configuration.buffer))

    def steps(self, configuration: Configuration) -> Iterator[Step]:
        """shift, reduce_left, reduce_right, as far as applicable."""
        stack, buffer = configuration.stack, configuration.buffer
        strategy = self.strategy
        strict = strategy is Strategy.STRICT_LEFT_BEFORE_RIGHT
        if buffer:
            no_left = stack[-1:] if strict or strategy is Strategy.LEFT_BEFORE_RIGHT else ()
            yield Step("shift", None, Configuration((*stack, buffer[0]), buffer[1:], no_left))
        if len(stack) >= 2:
            # The new top was below the top, so strict forbids it left children.
            no_left = stack[-2:-1] if strict else ()
            yield Step("reduce_left", (stack[-2], stack[-1]), Configuration(stack[:-1], buffer, no_left))
        if len(stack) >= 3:
            no_right = stack[-1:] if strategy is Strategy.RIGHT_BEFORE_LEFT else ()
            after = Configuration((*stack[:-2], stack[-1]), buffer, (), no_right)
            yield Step("reduce_right", (stack[-1], stack[-2]), after)
