"""The interface of all transition systems: the valid transitions of a batch of configurations,
and their effect.

A *transition* has no relation: it is a column of ``Transitions``. The classifier scores *outputs*:
*labelled transitions* in *label blocks*. A transition without an arc (shift) has a block of one
output; a transition with an arc has a block with one output per relation. Only
``TransitionSystem.transitions`` decides what is valid; decisions.py derives from it which outputs
are best and correct. So everything else in this project works with any system.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, TypeGuard, TypeVar

import numpy as np

from oracles.errors import OptimalStepError
from parser.data.sentences import NO_NODE
from parser.transitions.configurations import Configurations


@dataclass(frozen=True)
class Transitions:
    """The transitions of m configurations; each array is int32[m, width], with a column for each
    transition of the system.

    A configuration has one feature row, which scores all of its transitions; or one for each
    applicable transition, in the order of their columns, if a transition depends on more than the
    configuration's own positions (lr_spine).

    Attributes:
        rows: the feature row that scores the transition;
            NO_NODE where the transition is not applicable.
        blocks: the label block of the transition's outputs.
        heads, children: the arc that the transition makes; NO_NODE where it makes none.
        candidate_nodes: int32[feature rows, n], the nodes at the system's own positions
            (candidate_positions), NO_NODE where there is none; None if the system has no such
            positions.
        starts: int64[m + 1]; configuration r has the feature rows ``starts[r]`` to
            ``starts[r + 1] - 1``; None: only row r.
    """

    rows: np.ndarray
    blocks: np.ndarray
    heads: np.ndarray
    children: np.ndarray
    candidate_nodes: np.ndarray | None = None
    starts: np.ndarray | None = None

    def restricted(self, columns: np.ndarray) -> Transitions:
        """Return the same transitions, of which only some (bool[m, width]) are applicable."""
        rows = np.where(columns, self.rows, NO_NODE)
        return Transitions(
            rows, self.blocks, self.heads, self.children, self.candidate_nodes, self.starts
        )


class TransitionSystem(ABC):
    """A transition system over a set of relations. Only its subclass knows its transitions.

    Args:
        n_relations: number of relations, numbered from 0; at least one besides the root relation.
        root_relation: with ``single_root``, the relation that a child of the artificial root must
            have, and no other word may have; None: relations are free.

    Attributes:
        block_sizes: int32[blocks], outputs in each block: 1 for transitions without an arc,
            otherwise ``n_relations``. The classifier's outputs are in the order of the blocks.
        block_starts: int32[blocks], the first output of each block.
        options: further arguments of the system, such as its degree; a model's folder stores them.
    """

    name: ClassVar[str]
    projective: ClassVar[bool]  # whether all trees that it builds are projective
    oracles: ClassVar[tuple[str, ...]]  # names of its oracles, the default first
    gold_oracle: ClassVar[str]  # the oracle of gold computations in the first pass
    reorders_buffer: ClassVar[bool] = False  # whether tokens return to the buffer
    # whether words can be passed without a head, and get one in a last phase
    leaves_words: ClassVar[bool] = False
    # its own positions, besides those in stack and buffer
    candidate_positions: ClassVar[tuple[str, ...]] = ()
    # How to add these positions to a table without any of them; see features.at_candidates().
    candidate_of: ClassVar[Mapping[str, str]] = {}
    further_positions: ClassVar[tuple[str, ...]] = ()
    # If each feature row is one arc, the positions of its child and its head; then a biaffine
    # scorer also scores the rows.
    arc_positions: ClassVar[tuple[str, ...]] = ()
    always_there: ClassVar[str] = "s0"  # a position with a node in every feature row

    def __init__(self, n_relations: int, root_relation: int | None = None) -> None:
        if n_relations < 1 + (root_relation is not None):
            raise OptimalStepError(
                "there is no relation for words that are not the root of their sentence; "
                "add one, such as dep"
            )
        self.n_relations = n_relations
        self.root_relation = root_relation
        self.options: dict[str, int] = {}
        sizes = [n_relations if has_arc else 1 for has_arc in self._blocks_with_arcs()]
        self.block_sizes = np.array(sizes, np.int32)
        self.block_starts = np.cumsum([0, *sizes[:-1]]).astype(np.int32)
        self.n_outputs = sum(sizes)

    @property
    def gold_options(self) -> Mapping[str, int | str]:
        """The options of the oracle of gold computations: by default, the system's."""
        return self.options

    @abstractmethod
    def _blocks_with_arcs(self) -> list[bool]:
        """Return, for each block of outputs, whether its transitions make an arc."""

    @abstractmethod
    def eager_order(self, width: int) -> np.ndarray:
        """Return int[width], the columns in the order of an eager computation: attachments, the
        nearest first, before shift.

        Args:
            width: the number of columns, which is constant in most systems.
        """

    def initial(self, lengths: np.ndarray) -> Configurations:
        """Return the initial configurations of sentences of the given lengths (int[batch])."""
        return Configurations.initial(lengths)

    def unfinished(self, now: Configurations) -> np.ndarray:
        """Return int64[m], the rows that are not final."""
        return now.unfinished()

    @abstractmethod
    def transitions(
        self, now: Configurations, rows: np.ndarray, single_root: bool = False
    ) -> Transitions:
        """Return the transitions of the given rows (int[m]),
        at least one for each that is not final.

        Args:
            rows: the rows of ``now`` to describe.
            single_root: only transitions that lead to trees with exactly one child of the
                artificial root; at least one.
        """

    @abstractmethod
    def apply(
        self,
        now: Configurations,
        rows: np.ndarray,
        transitions: Transitions,
        chosen: np.ndarray,
        relations: np.ndarray,
    ) -> None:
        """Take a transition in each of the rows, in place. The transitions must be applicable;
        this is not checked.

        Args:
            rows: int[m], the rows of ``now`` to change.
            chosen: int32[m], the columns to take.
            relations: int32[m], the relations of the new arcs; ignored if there is no arc.
        """


SystemT = TypeVar("SystemT", bound=TransitionSystem)
_BEHAVIOUR = ("initial", "unfinished", "transitions", "apply", "eager_order", "_blocks_with_arcs")


def behaves_as(system: TransitionSystem, kind: type[SystemT]) -> TypeGuard[SystemT]:
    """Return whether a system can use the compiled code for ``kind``:
    it does not override any transitions.

    Subclasses that override some are parsed by code that calls the system's methods.
    """
    return isinstance(system, kind) and all(
        getattr(type(system), name) is getattr(kind, name) for name in _BEHAVIOUR
    )
