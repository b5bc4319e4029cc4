"""Arc-standard parsing as a split grammar: the reference implementation of the fast oracles,
for any gold tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from oracles.interface import Strategy
from oracles.tabular.oracle import Configuration, TabularOracle, Transition, TransitionGrammar
from oracles.tabular.weighted_parsing import ARC_STANDARD, ARC_STANDARD_STRICT


class ArcStandardGrammar:
    """Shift-reduce parsing of Nederhof 2019, Table 1,
    with its three strategies (Section 2) or without one (any).

    A strategy restricts computations relative to the configuration before the transition. So a
    transition passes the restriction on as edges of weight -inf in the configuration after it. (For
    right_before_left these are the edges from the top after the reduction; the paper gives the
    index before it.)
    """

    def __init__(self, strategy: Strategy | str = Strategy.LEFT_BEFORE_RIGHT) -> None:
        self.strategy = Strategy(strategy)
        strict = self.strategy is Strategy.STRICT_LEFT_BEFORE_RIGHT
        self.grammar = ARC_STANDARD_STRICT if strict else ARC_STANDARD

    def terminals(self, configuration: Configuration) -> str:
        """Return a p for each stack element below the top,
        and an s for the top and each buffer node.
        """
        return "p" * (len(configuration.stack) - 1) + "s" * (1 + len(configuration.buffer))

    def transitions(self, configuration: Configuration) -> Iterator[Transition]:
        """Yield shift, reduce_left and reduce_right where applicable."""
        stack, buffer = configuration.stack, configuration.buffer
        strategy = self.strategy
        strict = strategy is Strategy.STRICT_LEFT_BEFORE_RIGHT
        if buffer:
            no_left = stack[-1:] if strict or strategy is Strategy.LEFT_BEFORE_RIGHT else ()
            yield Transition("shift", None, Configuration((*stack, buffer[0]), buffer[1:], no_left))
        if len(stack) >= 2:
            # The new top was below the top, so strict forbids it left children.
            no_left = stack[-2:-1] if strict else ()
            yield Transition(
                "reduce_left", (stack[-2], stack[-1]), Configuration(stack[:-1], buffer, no_left)
            )
        if len(stack) >= 3:
            no_right = stack[-1:] if strategy is Strategy.RIGHT_BEFORE_LEFT else ()
            after = Configuration((*stack[:-2], stack[-1]), buffer, (), no_right)
            yield Transition("reduce_right", (stack[-1], stack[-2]), after)


class ArcStandardTabular(TabularOracle):
    """Arc-standard by the grammar of Nederhof 2019, Table 4:
    the reference implementation of nederhof_cubic.
    """

    name: ClassVar[str] = "arc_standard_tabular"
    transition_order: ClassVar[tuple[str, ...]] = ("shift", "reduce_left", "reduce_right")
    strategies: ClassVar[tuple[Strategy, ...]] = tuple(Strategy)

    def transition_grammar(self) -> TransitionGrammar:
        return ArcStandardGrammar(self.strategy)
