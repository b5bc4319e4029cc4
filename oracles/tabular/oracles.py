"""Oracles from grammars: any transition system whose computations somebody has written down as a split grammar can be trained.

The scores of a move come from ``step_scores``, by O(n^3) semiring operations in plain Python: slow, and exact for any gold tree
as far as the grammar is right. To train with another system, write its grammar and steps (see ``TransitionSystem``), and

    class MyOracle(TabularOracle):
        name, system, columns = "my_tabular", "my_system", ("shift", "attach")

        def grammar_system(self):
            return MyGrammarSystem()

    oracles.register(MyOracle)
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

import numpy as np

from oracles.interface import NOT_APPLICABLE, BoundOracle, Oracle, Query, Strategy
from oracles.tabular.arc_hybrid import ArcHybrid
from oracles.tabular.transition_systems import ArcStandard, Configuration, TransitionSystem, step_scores
from oracles.trees import Trees


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


class ArcStandardTabular(TabularOracle):
    """Arc-standard by the grammar of Nederhof 2019, Table 4: the reference implementation of nederhof_cubic."""

    name: ClassVar[str] = "arc_standard_tabular"
    columns: ClassVar[tuple[str, ...]] = ("shift", "reduce_left", "reduce_right")
    strategies: ClassVar[tuple[Strategy, ...]] = tuple(Strategy)

    def grammar_system(self) -> TransitionSystem:
        """See TabularOracle."""
        return ArcStandard(self.strategy)


class ArcHybridTabular(TabularOracle):
    """Arc-hybrid by a grammar of its own, exact for any gold tree."""

    name: ClassVar[str] = "arc_hybrid_tabular"
    system: ClassVar[str] = "arc_hybrid"
    move_names = ("sh", "la", "ra")
    columns: ClassVar[tuple[str, ...]] = ("shift", "left_arc", "right_arc")
    source: ClassVar[str] = "Nederhof 2019, Section 4, for the system of Kuhlmann et al. 2011"

    def grammar_system(self) -> TransitionSystem:
        """See TabularOracle."""
        return ArcHybrid()


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
