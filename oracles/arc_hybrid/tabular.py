"""Arc-hybrid parsing as a split grammar of the trees that its computations can make;
an oracle for any gold tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from oracles.tabular.oracle import Configuration, TabularOracle, Transition, TransitionGrammar
from oracles.tabular.weighted_parsing import SplitGrammar


class ArcHybridGrammar:
    """Arc-hybrid (Kuhlmann, Gómez-Rodríguez and Satta 2011), with the artificial root at the bottom
    of the stack.

    The transitions are shift, left_arc and right_arc. left_arc makes the top, except the root, a
    child of the next buffer node and pops it. right_arc makes the top a child of the element below
    it and pops it. So the head of a stack element is the element below it or a buffer node. A stack
    element takes right children only, and only its first right child can come from the stack.
    """

    grammar = SplitGrammar.parse(
        "P",
        """
        (P,P) -> p              # on the stack
        (S,S) -> s              # in the buffer
        P -> (P,P)              # childless
        P -> (P,S)
        S -> (S,S)
        (S,_) -> P (S,_)        # left_arc
        (S,_) -> S (S,_)
        (_,S) -> (_,P) P        # right_arc to the element above
        (_,S) -> (_,P) S        # right_arc, to a node that was in the buffer
        (_,S) -> (_,S) S
        """,
    )

    def terminals(self, configuration: Configuration) -> str:
        """Return a p for each stack element and an s for each buffer node."""
        return "p" * len(configuration.stack) + "s" * len(configuration.buffer)

    def transitions(self, configuration: Configuration) -> Iterator[Transition]:
        """Yield shift, left_arc and right_arc where applicable."""
        stack, buffer = configuration.stack, configuration.buffer
        if buffer:
            yield Transition("shift", None, Configuration((*stack, buffer[0]), buffer[1:]))
        if buffer and len(stack) >= 2:
            yield Transition("left_arc", (buffer[0], stack[-1]), Configuration(stack[:-1], buffer))
        if len(stack) >= 2:
            yield Transition("right_arc", (stack[-2], stack[-1]), Configuration(stack[:-1], buffer))


class ArcHybridTabular(TabularOracle):
    """An oracle for arc-hybrid that uses a grammar written for this system; exact for any gold
    tree.
    """

    name: ClassVar[str] = "arc_hybrid_tabular"
    system: ClassVar[str] = "arc_hybrid"
    transition_names = ("sh", "la", "ra")
    transition_order: ClassVar[tuple[str, ...]] = ("shift", "left_arc", "right_arc")
    source: ClassVar[str] = "Nederhof 2019, Section 4, for the system of Kuhlmann et al. 2011"

    def transition_grammar(self) -> TransitionGrammar:
        return ArcHybridGrammar()
