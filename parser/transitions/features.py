"""Features of configurations: a table of named slots,
each a position of a node and an attribute read there.

Positions begin at a stack element, ``s0`` (the top), ``s1``, ..., or a buffer element, ``b0`` (the
first), ``b1``, ..., and may descend to children made so far: ``s0.l1`` is the leftmost child of the
top, ``s1.r2`` the second rightmost child of the second element, ``s0.l1.l1`` the leftmost child of
the leftmost child of the top. An attribute is a column of the token (form, upos, ...), ``token``,
the token itself, or ``deprel``, the relation that the node has been given so far. Nederhof (2019),
Section 8, reads the part of speech and the word vector of s0 s1 s2 b0 b1 b2 and the relations of
s0.l1 s0.r1 s1.l1 s1.r1; see configs/recipe/paper.yaml.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from oracles.errors import OptimalStepError, did_you_mean
from parser.data.sentences import NO_NODE, Sentences
from parser.data.vocabulary import ABSENT, N_RESERVED
from parser.kernels import kernel
from parser.transitions.configurations import Configurations
from parser.transitions.system import Transitions, TransitionSystem

RELATION = "deprel"

# The attribute that slots read if the vector of a token depends on its sentence
# (networks/representation.py): the token itself.
TOKEN = "token"

# Positions of a candidate transition; the transition system fills in their nodes (lr_spine.py,
# covington.py).
CANDIDATE_POSITIONS = ("c1", "c2", "c3", "q1", "q2", "gp", "gg", "p0")

_POSITION = re.compile(rf"([sb]\d|{'|'.join(CANDIDATE_POSITIONS)})((?:\.[lr][1-9])*)")
_IN_BUFFER = [f"b{i}" for i in range(10)]
_MAX_DESCENTS = 3

# How many numbers describe a position; see program_of().
PROGRAM_LENGTH = 2 + 2 * _MAX_DESCENTS + 1

# The first number of a program: where the position begins.
STACK, BUFFER, CANDIDATE = range(3)


@dataclass(frozen=True, order=True)
class Slot:
    """A place in the table: ``position`` of a node and the ``attribute`` read there."""

    position: str
    attribute: str

    @classmethod
    def parse(cls, text: str) -> Slot:
        """Read ``POSITION:ATTRIBUTE``, such as ``s0.l1:deprel``;
        raise OptimalStepError for anything else.
        """
        position, colon, attribute = text.partition(":")
        if (
            not colon
            or not attribute
            or not _POSITION.fullmatch(position)
            or position.count(".") > _MAX_DESCENTS
        ):
            raise OptimalStepError(
                f"{text!r} is not a feature slot; write POSITION:ATTRIBUTE, such as s0:form, "
                f"b1:upos or s0.l1:deprel (at most {_MAX_DESCENTS} descents to children)"
            )
        return cls(position, attribute)

    def __str__(self) -> str:
        return f"{self.position}:{self.attribute}"


def slots_of(templates: Mapping[str, Sequence[str]]) -> list[Slot]:
    """Return the slots of a table {attribute: [position, ...]}, in its order."""
    return [
        Slot.parse(f"{position}:{attribute}")
        for attribute, positions in templates.items()
        for position in positions
    ]


def at_candidates(
    templates: Mapping[str, Sequence[str]], system: type[TransitionSystem]
) -> dict[str, list[str]]:
    """Convert a table {attribute: [position, ...]} for any system into one for a system with
    positions of candidates.

    Positions that begin at s0, s1, ... begin at the candidate's positions instead
    (TransitionSystem.candidate_of), and an attribute that is read at s0 is also read at the further
    positions. A table with positions of candidates stays unchanged.
    """
    bases = {_base(position) for positions in templates.values() for position in positions}
    if not system.candidate_positions or bases & set(system.candidate_positions):
        return {attribute: list(positions) for attribute, positions in templates.items()}
    table = {}
    for attribute, positions in templates.items():
        table[attribute] = [at_candidate(position, system) for position in positions]
        if "s0" in positions:
            table[attribute] += [
                position
                for position in system.further_positions
                if position not in table[attribute]
            ]
    return table


def at_candidate(position: str, system: type[TransitionSystem]) -> str:
    """Return the position with its beginning replaced by a candidate's position,
    if the system replaces it.
    """
    base, dot, descents = position.partition(".")
    return system.candidate_of.get(base, base) + dot + descents


class Features(Protocol):
    """Reads the features of configurations: a FeatureTable, or the templates of a linear model."""

    def extract(
        self,
        configurations: Configurations,
        rows: np.ndarray,
        sentences: Sentences,
        numbers: np.ndarray,
        transitions: Transitions | None = None,
    ) -> np.ndarray:
        """Return the features, a row for each feature row of the transitions; see
        FeatureTable.extract().
        """


class FeatureTable:
    """Reads the slots of a batch of configurations of encoded sentences.

    Args:
        slots: the slots, in the order of the columns of the result.
        attributes: the attributes of the sentences, in the order of ``Sentences.values``;
            or only TOKEN.
        candidate_positions: the positions of candidates of the transition system, in its order.

    Attributes:
        attributes: the attributes that slots can read, in the order of values().
        programs: int32[positions, 9], the positions as numbers; see program_of().
        in_buffer: bool[positions], whether the position is an element of the buffer itself,
            so it changes only on a shift.
        columns: int32[slots, 2], the position of each slot,
            and the row of values() that it reads (NO_NODE: the relation).
    """

    def __init__(
        self,
        slots: Sequence[Slot],
        attributes: Sequence[str],
        candidate_positions: Sequence[str] = (),
    ) -> None:
        if len(set(slots)) != len(slots):
            raise OptimalStepError(f"a feature slot is named twice in {', '.join(map(str, slots))}")
        names = [*attributes, RELATION]
        for slot in slots:
            if slot.attribute not in names:
                near = did_you_mean(slot.attribute, names)
                raise OptimalStepError(
                    f"feature slot {slot} reads an unknown attribute{near}; "
                    f"known: {', '.join(names)}"
                )
            if (
                base := _base(slot.position)
            ) in CANDIDATE_POSITIONS and base not in candidate_positions:
                others = f" or at {', '.join(candidate_positions)}" if candidate_positions else ""
                raise OptimalStepError(
                    f"feature slot {slot} begins at {base}, a position that the transition system "
                    f"lacks; begin at s0, s1, ... or b0, b1, ...{others}"
                )
        self.slots = list(slots)
        self.attributes = list(attributes)
        positions = list(dict.fromkeys(slot.position for slot in slots))
        self.programs = np.stack(
            [program_of(position, candidate_positions) for position in positions]
        )
        self.in_buffer = np.array([position in _IN_BUFFER for position in positions])
        self.columns = np.array(
            [
                (
                    positions.index(slot.position),
                    NO_NODE if slot.attribute == RELATION else names.index(slot.attribute),
                )
                for slot in slots
            ],
            np.int32,
        )

    @property
    def stack_elements(self) -> int:
        """How many stack elements positions begin at, at least one."""
        return 1 + int(self.programs[self.programs[:, 0] == STACK, 1].max(initial=0))

    @property
    def read_ahead(self) -> int:
        """How many buffer elements positions begin at."""
        return 1 + int(self.programs[self.programs[:, 0] == BUFFER, 1].max(initial=-1))

    def values(self, sentences: Sentences) -> np.ndarray:
        """Return int32[attributes, total], the values that slots can read; for TOKEN, N_RESERVED
        plus the token's place.
        """
        if self.attributes != [TOKEN]:
            return sentences.values
        return np.arange(N_RESERVED, N_RESERVED + sentences.offsets[-1], dtype=np.int32)[None]

    def extract(
        self,
        configurations: Configurations,
        rows: np.ndarray,
        sentences: Sentences,
        numbers: np.ndarray,
        transitions: Transitions | None = None,
    ) -> np.ndarray:
        """Return int32[feature rows, slots], the values of the slots;
        ABSENT where there is no such node or relation.

        Args:
            rows: int[m], the rows to read.
            sentences: the sentences, with the tokens' attributes.
            numbers: int[batch], the number of the sentence of each configuration.
            transitions: the transitions of the rows, for the nodes of candidates; None, or without
                ``starts``: one feature row per configuration.
        """
        rows, candidate_nodes = feature_rows(rows, transitions)
        values, starts = self.values(sentences), sentences.offsets[numbers[rows]]
        nodes = np.empty(len(self.programs), np.int32)
        features = np.empty((len(rows), len(self.columns)), np.int32)
        _extract(
            rows,
            starts,
            configurations,
            candidate_nodes,
            values,
            self.programs,
            self.columns,
            nodes,
            features,
        )
        return features


def feature_rows(
    rows: np.ndarray, transitions: Transitions | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each feature row, its entry in ``rows``, and its nodes at positions of
    candidates, int32[feature rows, n].
    """
    if transitions is not None and transitions.starts is not None:
        rows = np.repeat(rows, np.diff(transitions.starts))
    nodes = None if transitions is None else transitions.candidate_nodes
    return rows, np.empty((len(rows), 0), np.int32) if nodes is None else nodes


def _base(position: str) -> str:
    return position.partition(".")[0]


def program_of(position: str, candidate_positions: Sequence[str] = ()) -> np.ndarray:
    """Return a position as numbers: base (STACK, ...), index, then (side, rank) per descent to a
    child; side -1 ends it.
    """
    base, *descents = position.split(".")
    program = np.full(PROGRAM_LENGTH, -1, np.int32)
    if base in candidate_positions:
        program[:2] = CANDIDATE, candidate_positions.index(base)
    else:
        program[:2] = BUFFER if base[0] == "b" else STACK, int(base[1:])
    for i, descent in enumerate(descents):
        program[2 + 2 * i : 4 + 2 * i] = "lr".index(descent[0]), int(descent[1])
    return program


@kernel()
def _extract(rows, starts, now, candidate_nodes, values, programs, columns, nodes, features):
    for r in range(len(rows)):
        find_nodes(now, rows[r], candidate_nodes[r], programs, nodes)
        _read_slots(now, rows[r], starts[r], nodes, values, columns, features[r])


@kernel()
def find_nodes(now, row, candidate_nodes, programs, nodes):
    """Fill in ``nodes`` (int32[positions]): the node at each position in one row of Configurations,
    or NO_NODE.

    Args:
        now, row: the configurations, and the row to read.
        candidate_nodes: int32[n], the nodes at the system's own positions.
        programs: int32[positions, 9], the positions.
    """
    # Read the sizes once: a compiler cannot know that filling in ``nodes`` does not change them.
    size, front, length = now.stack_sizes[row], now.buffer_fronts[row], now.lengths[row]
    for a in range(len(programs)):
        index = programs[a, 1]
        node = NO_NODE
        if programs[a, 0] == CANDIDATE:
            node = candidate_nodes[index]
        elif programs[a, 0] == STACK:
            if index < size:
                node = now.stacks[row, size - 1 - index]
        elif front + index <= length:
            node = now.buffers[row, front + index]
        descent = 2
        while node != NO_NODE and programs[a, descent] >= 0:
            node = now.children[row, node, programs[a, descent]]
            for _ in range(programs[a, descent + 1] - 1):
                if node != NO_NODE:
                    node = now.siblings[row, node]
            descent += 2
        nodes[a] = node


@kernel()
def _read_slots(now, row, start, nodes, values, columns, features):
    """Fill in ``features`` (int32[slots]): the value of each slot at its node,
    in the sentence that begins at ``start``.
    """
    for c in range(len(columns)):
        node = nodes[columns[c, 0]]
        if node == NO_NODE:
            features[c] = ABSENT
        elif columns[c, 1] == NO_NODE:
            relation = now.relations[row, node]
            features[c] = ABSENT if relation == NO_NODE else relation + N_RESERVED
        else:
            features[c] = values[columns[c, 1], start + node]
