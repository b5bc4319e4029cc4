"""The interface of all transition systems: the valid transitions of a batch of configurations, and their effect.

A *transition* has no relation: it is a column of ``Transitions``. What the classifier scores, its *outputs*, are *labelled
transitions*, which lie in *label blocks*: a block of one output for a transition without an arc (shift), a block of one output
per relation for a transition with one. What is valid is said in one place,
``TransitionSystem.transitions``; which output is best and which are correct follows from it (decisions.py), so everything else
in this project works with any system.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeGuard, TypeVar

import numpy as np

from parser.transitions.configurations import Configurations


@dataclass(frozen=True)
class Transitions:
    """What m configurations can do; each array int32[m, width], a column for each transition in the system's order.

    A configuration has one feature row, which scores all of its transitions; or one for each of its applicable transitions, in
    the order of their columns, if what a transition does depends on more than the configuration's own positions (lr_spine).

    Attributes:
        rows: the feature row whose scores the transition is judged by; NO_NODE where the transition is not applicable.
        blocks: the label block, of outputs, that the transition chooses from.
        heads, children: the arc that the transition makes; NO_NODE where it makes none.
        candidate_nodes: int32[feature rows, n], the nodes at the system's own positions (candidate_positions), NO_NODE where
            there is none; None if the system has no such positions.
        starts: int64[m + 1], the feature rows of configuration r are ``starts[r]`` to ``starts[r + 1] - 1``; None: only row r.
    """

    rows: np.ndarray
    blocks: np.ndarray
    heads: np.ndarray
    children: np.ndarray
    candidate_nodes: np.ndarray | None = None
    starts: np.ndarray | None = None


class TransitionSystem(ABC):
    """A transition system over a set of relations. Subclasses are the only code that knows what their transitions are.

    Args:
        n_relations: number of relations; they are numbered from 0. There is one besides the root relation at least.
        root_relation: the relation that a child of the artificial root must have, and no other word may have, when a valid
            UD tree is asked for (``single_root``); None leaves the choice of relations free.

    Attributes:
        block_sizes: int32[blocks], outputs in each block: 1 for transitions without an arc, else ``n_relations``. The
            classifier's outputs lie in the order of the blocks.
        block_starts: int32[blocks], the first output of each block.
        n_outputs: outputs in all.
        options: what else the system was made with, such as its degree; a model's folder holds them.
    """

    name: ClassVar[str]
    projective: ClassVar[bool]  # whether all trees that it builds are projective
    oracles: ClassVar[tuple[str, ...]]  # names of its oracles, the default first
    gold_oracle: ClassVar[str]  # the oracle that gold computations of the first pass follow
    reorders_buffer: ClassVar[bool] = False  # whether tokens go back into the buffer
    leaves_words: ClassVar[bool] = False  # whether words can be passed without a head, which they get in a last phase
    candidate_positions: ClassVar[tuple[str, ...]] = ()  # positions of its own, besides those in stack and buffer
    # How a table of positions that names none of them becomes one that does; see features.at_candidates().
    candidate_of: ClassVar[Mapping[str, str]] = {}
    further_positions: ClassVar[tuple[str, ...]] = ()
    # Where each feature row is one arc: the positions of its child and its head; a biaffine scorer then scores the rows, too.
    arc_positions: ClassVar[tuple[str, ...]] = ()
    always_there: ClassVar[str] = "s0"  # a position with a node in every feature row

    def __init__(self, n_relations: int, root_relation: int | None = None) -> None:
        if n_relations < 1 + (root_relation is not None):
            raise ValueError("there is no relation for words that are not the root of their sentence; add one, such as dep")
        self.n_relations = n_relations
        self.root_relation = root_relation
        self.options: dict[str, int] = {}
        sizes = [n_relations if has_arc else 1 for has_arc in self._blocks_with_arcs()]
        self.block_sizes = np.array(sizes, np.int32)
        self.block_starts = np.cumsum([0, *sizes[:-1]]).astype(np.int32)
        self.n_outputs = sum(sizes)

    @property
    def gold_options(self) -> Mapping[str, int | str]:
        """What the oracle of gold computations is made with: the system's options."""
        return self.options

    @abstractmethod
    def _blocks_with_arcs(self) -> list[bool]:
        """For each block of outputs, whether its transitions make an arc."""

    @abstractmethod
    def eager_order(self, width: int) -> np.ndarray:
        """int[width]: the columns in the order of an eager computation: attachments, the nearest first, before shift.

        Args:
            width: columns of the transitions; most systems have always the same number.
        """

    def initial(self, lengths: np.ndarray) -> Configurations:
        """The initial configurations of sentences of the given lengths (int[batch])."""
        return Configurations.initial(lengths)

    def unfinished(self, now: Configurations) -> np.ndarray:
        """int64[m]: the rows that are not final."""
        return now.unfinished()

    @abstractmethod
    def transitions(self, now: Configurations, rows: np.ndarray, single_root: bool = False) -> Transitions:
        """The transitions of the given rows (int[m]), each of which has at least one unless it is final.

        Args:
            now: the configurations.
            rows: which of them.
            single_root: only transitions that lead to trees with exactly one child of the artificial root. There is always one.
        """

    @abstractmethod
    def apply(
        self, now: Configurations, rows: np.ndarray, transitions: Transitions, chosen: np.ndarray, relations: np.ndarray
    ) -> None:
        """Takes a transition in each of the rows, in place. The transitions must be applicable: this is not checked.

        Args:
            now: the configurations.
            rows: int[m], which of them.
            transitions: their transitions.
            chosen: int32[m], the columns.
            relations: int32[m], the relations of the new arcs; ignored where there is none.
        """


SystemT = TypeVar("SystemT", bound=TransitionSystem)
_BEHAVIOUR = ("initial", "unfinished", "transitions", "apply", "eager_order", "_blocks_with_arcs")


def behaves_as(system: TransitionSystem, kind: type[SystemT]) -> TypeGuard[SystemT]:
    """Whether what is compiled for a kind of systems holds for one of them.

    It does not for a subclass with transitions of its own, which only code that asks the system can parse with.
    """
    return isinstance(system, kind) and all(getattr(type(system), name) is getattr(kind, name) for name in _BEHAVIOUR)
