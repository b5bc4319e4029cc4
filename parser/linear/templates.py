"""The feature templates of the linear model, and the 64-bit keys of the features that a
configuration has.

Goldberg, Sartorio and Satta (2014) print no templates. These are the templates of Zhang and Nivre
(2011), merged for attachments to both sides. The nodes, by their positions
(transitions/features.py):

    X, Y          the two nodes that an arc would connect: s1 and s0 (lr_spine:
                  its candidate's positions c2 and c1)
    B0, B1, C     b0 and b1 (q1 and q2), s2 (c3)
    X.l, X.l2     the leftmost child of X and the next one; in the same way X.r, X.r2, Y.l, ...
    P, G          parent and grandparent of the node that looks for a head on a spine (lr_spine:
                  gp, gg)

and their values:

    w, p, m       form, UPOS, FEATS (m: in older models)
    L             the relation of the node so far
    vl, vr        the number of children on the left and on the right so far, at most 7
    sl, sr        the sets of their relations
    d             only for X: the distance from X to Y, at most 10

A template is a conjunction, ``X:w+Y:p``. A configuration lacks the feature if a node is missing, or
has no relation. The key of a feature is a hash of the template's number and the values: among a
million features, two share a key with a probability of 3e-8.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from oracles.errors import OptimalStepError
from parser.data.sentences import NO_NODE, Sentences
from parser.kernels import array_kernel, kernel
from parser.transitions.configurations import Configurations
from parser.transitions.features import FeatureTable, Slot, at_candidate, feature_rows, find_nodes
from parser.transitions.system import Transitions, TransitionSystem

ATTRIBUTES = {"w": "form", "p": "upos", "m": "feats"}

_SIDES = ("l", "r", "l2", "r2")
_NODES = {
    "X": "s1",
    "Y": "s0",
    "B0": "b0",
    "B1": "b1",
    "C": "s2",
    **{f"X.{side}": f"s1.{side[0]}{side[1:] or 1}" for side in _SIDES},
    **{f"Y.{side}": f"s0.{side[0]}{side[1:] or 1}" for side in _SIDES},
    "P": "gp",
    "G": "gg",
}
_COUNTS = ("vl", "vr", "sl", "sr")
_KINDS = (*ATTRIBUTES, "L", *_COUNTS, "d")
_L, _VL, _VR, _SL, _SR, _D = range(len(ATTRIBUTES), len(_KINDS))
_CHILDREN = [f"{node}.{side}" for node in "XY" for side in _SIDES]

_MOST_ATOMS = 4
_MOST_CHILDREN = 7
_MOST_DISTANCE = 10
# A limit for untrusted models, which list their templates.
_MOST_TEMPLATES = 1000

TEMPLATES = (
    *(f"{node}:{kind}" for node in ("X", "Y", "B0", "B1") for kind in ("w", "p")),
    *(f"{node}:w+{node}:p" for node in ("X", "Y", "B0", "B1")),
    *("X:w+X:p+Y:w+Y:p", "X:w+X:p+Y:w", "X:w+Y:w+Y:p", "X:w+X:p+Y:p", "X:p+Y:w+Y:p"),
    *("X:w+Y:w", "X:p+Y:p", "Y:p+B0:p", "Y:p+B0:p+B1:p", "X:p+Y:p+B0:p", "P:p+X:p+Y:p"),
    *("X:p+X.l:p+Y:p", "X:p+X.r:p+Y:p", "X:p+Y:p+Y.l:p", "X:p+Y:p+Y.r:p"),
    *("X:w+X:d", "X:p+X:d", "Y:w+X:d", "Y:p+X:d", "X:w+Y:w+X:d", "X:p+Y:p+X:d"),
    *(f"{node}:{word}+{node}:{kind}" for node in "XY" for kind in _COUNTS for word in "wp"),
    *(f"{node}:{kind}" for node in (*_CHILDREN, "P", "G") for kind in ("w", "p", "L")),
    "X:L",
    *(f"{node}:p+{node}.{side}:p+{node}.{side}2:p" for node in "XY" for side in "lr"),
    "X:p+P:p+G:p",
    *("C:w", "C:p", "C:p+X:p+Y:p"),
)


class Programs(NamedTuple):
    """Templates as numbers, for kernels.

    Attributes:
        positions: int32[nodes, 9], see FeatureTable.
        atoms: int32[atoms, 3]: the node, the kind of value, and the row of the sentences' values,
            NO_NODE if there is none.
        templates: int32[templates, 4], atoms, padded with NO_NODE.
        first, second: the nodes X and Y, whose distance is read.
    """

    positions: np.ndarray
    atoms: np.ndarray
    templates: np.ndarray
    first: int
    second: int


class Templates:
    """Finds the keys of the features of configurations,
    as a FeatureTable finds the classifier's features.

    Args:
        texts: the templates.
        attributes: the attributes of the encoded sentences.

    Raises:
        OptimalStepError: a text is not a template, or there are too many templates.
    """

    def __init__(
        self, texts: Sequence[str], attributes: Sequence[str], system: type[TransitionSystem]
    ) -> None:
        if not 1 <= len(texts) <= _MOST_TEMPLATES:
            raise OptimalStepError(
                f"{len(texts)} templates; there must be from 1 to {_MOST_TEMPLATES}"
            )
        conjunctions = [_conjunction(text) for text in texts]
        nodes = list(
            dict.fromkeys(
                ["X", "Y", *(node for conjunction in conjunctions for node, _ in conjunction)]
            )
        )
        positions = [at_candidate(_NODES[node], system) for node in nodes]
        is_readable = [
            position not in ("gp", "gg") or position in system.candidate_positions
            for position in positions
        ]
        readable = [node for node, there in zip(nodes, is_readable, strict=True) if there]
        slots = [
            Slot(position, "upos")
            for position, there in zip(positions, is_readable, strict=True)
            if there
        ]
        table = FeatureTable(slots, ["upos"], system.candidate_positions)

        atoms = list(dict.fromkeys(atom for conjunction in conjunctions for atom in conjunction))
        programs = np.full((len(atoms), 3), NO_NODE, np.int32)
        for program, (node, kind) in zip(programs, atoms, strict=True):
            program[:2] = readable.index(node) if node in readable else NO_NODE, _KINDS.index(kind)
            if ATTRIBUTES.get(kind) in attributes:
                program[2] = list(attributes).index(ATTRIBUTES[kind])
        templates = np.full((len(texts), _MOST_ATOMS), NO_NODE, np.int32)
        for template, conjunction in zip(templates, conjunctions, strict=True):
            template[: len(conjunction)] = [atoms.index(atom) for atom in conjunction]
        self.texts = list(texts)
        self.programs = Programs(
            table.programs, programs, templates, readable.index("X"), readable.index("Y")
        )

    def __len__(self) -> int:
        return len(self.texts)

    def extract(
        self,
        configurations: Configurations,
        rows: np.ndarray,
        sentences: Sentences,
        numbers: np.ndarray,
        transitions: Transitions | None = None,
    ) -> np.ndarray:
        """Return uint64[feature rows, templates]: the keys of features, 0 where a feature is
        missing; see FeatureTable.extract.
        """
        rows, candidate_nodes = feature_rows(rows, transitions)
        starts = sentences.offsets[numbers[rows]]
        keys = np.empty((len(rows), len(self)), np.uint64)
        _extract(
            configurations, rows, candidate_nodes, sentences.values, starts, self.programs, keys
        )
        return keys


def _conjunction(text: str) -> list[tuple[str, str]]:
    """Return the nodes of a template, each with the kind of its value."""
    atoms = []
    for part in text.split("+"):
        node, _, kind = part.partition(":")
        if node not in _NODES or kind not in _KINDS:
            raise OptimalStepError(
                f"{text!r} is not a template: nodes are {', '.join(_NODES)}, "
                f"and their values {', '.join(_KINDS)}"
            )
        atoms.append((node, kind))
    if len(atoms) > _MOST_ATOMS:
        raise OptimalStepError(f"{text!r} has more than {_MOST_ATOMS} parts")
    return atoms


@array_kernel()
def _extract(now, rows, candidate_nodes, values, starts, programs, keys):
    atoms = np.empty(len(programs.atoms), np.uint64)
    nodes = np.empty(len(programs.positions), np.int32)
    for r in range(len(rows)):
        find_keys(
            now, rows[r], candidate_nodes[r], values, starts[r], programs, nodes, atoms, keys[r]
        )


@kernel()
def find_keys(now, row, candidate_nodes, values, start, programs, nodes, atoms, keys):
    """Fill in ``keys`` (uint64[templates]) for one feature row.

    Args:
        now, row: the configurations, and the number of one.
        candidate_nodes: int32[n], the nodes at the system's candidate positions.
        values, start: int32[attributes, total], the values of the sentences,
            and where the sentence begins there.
        programs: the templates.
        nodes, atoms: int32[nodes] and uint64[atoms], workspace.
    """
    find_nodes(now, row, candidate_nodes, programs.positions, nodes)
    for a in range(len(programs.atoms)):
        atoms[a] = _atom(now, row, values, start, programs, nodes, a)
    for t in range(len(programs.templates)):
        key = _mixed(np.uint64(t + 1))
        for i in range(_MOST_ATOMS):
            atom = programs.templates[t, i]
            if atom == NO_NODE:
                break
            if atoms[atom] == 0:
                key = np.uint64(0)
                break
            key = _mixed(key ^ atoms[atom])
            if key == 0:
                key = np.uint64(1)
        keys[t] = key


@kernel(forceinline=True)
def _atom(now, row, values, start, programs, nodes, a):
    """Return the value of an atom, plus 1; 0 if there is none."""
    place, kind, attribute = programs.atoms[a, 0], programs.atoms[a, 1], programs.atoms[a, 2]
    node = nodes[place] if place != NO_NODE else NO_NODE
    if node == NO_NODE:
        return np.uint64(0)
    if kind < _L:
        return np.uint64(values[attribute, start + node] + 1 if attribute != NO_NODE else 0)
    if kind == _L:
        return np.uint64(now.relations[row, node] + 1)
    if kind == _D:
        second = nodes[programs.second]
        if second == NO_NODE:
            return np.uint64(0)
        distance = min(max(second - node, -_MOST_DISTANCE), _MOST_DISTANCE)
        return np.uint64(distance + _MOST_DISTANCE + 1)
    count = 0
    relations = np.uint64(1)
    side = 0 if kind in (_VL, _SL) else 1
    child = now.children[row, node, side]
    while child != NO_NODE:
        count += 1
        relation = now.relations[row, child]
        other = now.children[row, node, side]
        while other != child and now.relations[row, other] != relation:
            other = now.siblings[row, other]
        if other == child:  # the first of this relation
            relations ^= _mixed(np.uint64(relation + 1))
        child = now.siblings[row, child]
    if kind in (_VL, _VR):
        return np.uint64(min(count, _MOST_CHILDREN) + 1)
    return relations


@kernel(forceinline=True)
def _mixed(key):
    """Hash by the finalizer of splitmix64 (Steele, Lea and Flood 2014),
    a bijection of 64-bit numbers.
    """
    key = (key + np.uint64(0x9E3779B97F4A7C15)) & np.uint64(0xFFFFFFFFFFFFFFFF)
    key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return key ^ (key >> np.uint64(31))
