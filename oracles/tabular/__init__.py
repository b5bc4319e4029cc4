"""Tabular parsing with split grammars over any semiring, written as in Nederhof 2019, Tables 2, 3
and 4.

    from oracles.tabular import ARC_STANDARD, MAX_PLUS, parse
    parse(ARC_STANDARD, "ppss", lambda head, child: MAX_PLUS.edge(0, head, child), MAX_PLUS)

This is the reference implementation of the fast kernels, and a way to get an oracle for another
transition system: write its transitions, and a split grammar of the trees that its computations can
make (see ``TransitionGrammar``). oracle.py turns these into an oracle that training can use.
"""

from oracles.tabular.oracle import (
    Configuration,
    Transition,
    TransitionGrammar,
    best_score,
    transition_scores,
)
from oracles.tabular.weighted_parsing import (
    ARC_STANDARD,
    ARC_STANDARD_STRICT,
    MAX_PLUS,
    PROJECTIVE_TREES,
    Semiring,
    SplitGrammar,
    WeightedChart,
    fill_chart,
    parse,
)

__all__ = [
    "ARC_STANDARD",
    "ARC_STANDARD_STRICT",
    "MAX_PLUS",
    "PROJECTIVE_TREES",
    "Configuration",
    "Semiring",
    "SplitGrammar",
    "Transition",
    "TransitionGrammar",
    "WeightedChart",
    "best_score",
    "fill_chart",
    "parse",
    "transition_scores",
]
