"""Tabular parsing with split grammars over any semiring: Nederhof 2019, Tables 2, 3 and 4, as written.

    from oracles.tabular import ARC_STANDARD, SCORE_AND_COUNT, parse
    parse(ARC_STANDARD, "ppss", lambda head, child: SCORE_AND_COUNT.edge(0, head, child), SCORE_AND_COUNT)

The reference implementation of the fast kernels, and a way to an oracle for another transition system: write down as a split
grammar what its computations can make of a configuration, and its transitions (see ``TransitionGrammar``). oracle.py makes of
that an oracle that training can use.
"""

from oracles.tabular.oracle import Configuration, Transition, TransitionGrammar, best_score, transition_scores
from oracles.tabular.weighted_parsing import (
    ARC_STANDARD,
    ARC_STANDARD_STRICT,
    BEST_DERIVATION,
    BOOLEAN,
    COUNTING,
    MAX_PLUS,
    PROJECTIVE_TREES,
    SCORE_AND_COUNT,
    Semiring,
    SplitGrammar,
    edges_of,
    parse,
)

__all__ = [
    "ARC_STANDARD",
    "ARC_STANDARD_STRICT",
    "BEST_DERIVATION",
    "BOOLEAN",
    "COUNTING",
    "MAX_PLUS",
    "PROJECTIVE_TREES",
    "SCORE_AND_COUNT",
    "Configuration",
    "Semiring",
    "SplitGrammar",
    "Transition",
    "TransitionGrammar",
    "best_score",
    "edges_of",
    "parse",
    "transition_scores",
]
