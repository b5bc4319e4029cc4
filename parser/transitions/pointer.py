"""Pointer parsing (Fernández-González and Gómez-Rodríguez 2019):
every token points to its head, from left to right.

The stack is 0..i-1 and keeps all its nodes; the buffer is i..n. The transition in column h makes h
the head of i, the first token of the buffer, and moves i onto the stack. h can be any node except i
and its descendants by the heads made. All trees can be made, each in one way. A sentence of n
tokens takes n transitions. A configuration is final with an empty buffer. No configuration is a
dead end. With ``single_root`` the root can get a child only while it has none. So it gets exactly
one: if it has none when only the last token is left, all other tokens descend from that token.

All transitions share one block of outputs. Each applicable transition has its own feature row,
which describes its head by the nodes at the row's own positions:

    position    node
    c1 c3       i, i - 1 (its right neighbours are b1 and b2)
    c2 q1 q2    h, h - 1, h + 1
    gp gg       the head that h has been given, and the head of that head
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from parser.data.sentences import NO_NODE
from parser.kernels import kernel
from parser.transitions.configurations import Configurations, attach, shift
from parser.transitions.system import Transitions, TransitionSystem

_UNKNOWN = 2  # whether a node can be the head: 0, 1 or not yet known


class Pointer(TransitionSystem):
    """Pointer parsing: any tree, in n transitions."""

    name: ClassVar[str] = "pointer"
    projective: ClassVar[bool] = False
    oracles: ClassVar[tuple[str, ...]] = ("pointer_cycles",)
    gold_oracle: ClassVar[str] = "pointer_cycles"
    candidate_positions: ClassVar[tuple[str, ...]] = ("c1", "c2", "c3", "q1", "q2", "gp", "gg")
    arc_positions: ClassVar[tuple[str, ...]] = ("c1", "c2")
    always_there: ClassVar[str] = "c1"
    candidate_of: ClassVar[Mapping[str, str]] = {
        "s0": "c1",
        "s1": "c2",
        "s2": "c3",
        "b0": "q1",
        "b1": "q2",
    }
    further_positions: ClassVar[tuple[str, ...]] = ("c3", "q1", "q2", "gp", "b1")

    def _blocks_with_arcs(self) -> list[bool]:
        return [True]

    def eager_order(self, width: int) -> np.ndarray:
        return np.arange(width)

    def unfinished(self, now: Configurations) -> np.ndarray:
        return np.flatnonzero(now.buffer_fronts <= now.lengths)

    def transitions(
        self, now: Configurations, rows: np.ndarray, single_root: bool = False
    ) -> Transitions:
        width = int(now.lengths[rows].max(initial=0)) + 1
        able = np.zeros((len(rows), width), np.int8)
        mark_heads(now, rows, single_root, able)
        configurations, candidates = (places.astype(np.int32) for places in np.nonzero(able))
        feature_rows, heads, children = np.full((3, *able.shape), NO_NODE, np.int32)
        feature_rows[configurations, candidates] = np.arange(len(candidates))
        heads[configurations, candidates] = candidates
        candidate_rows = rows[configurations]
        children[configurations, candidates] = tokens = now.buffer_fronts[candidate_rows]
        right = np.where(candidates < now.lengths[candidate_rows], candidates + 1, NO_NODE)
        parents = now.heads[candidate_rows, candidates]
        grandparents = now.heads[candidate_rows, np.maximum(parents, 0)]  # 0 has no head
        nodes = np.stack(
            [tokens, candidates, tokens - 1, candidates - 1, right, parents, grandparents], axis=1
        )
        starts = np.concatenate([[0], able.sum(axis=1, dtype=np.int64).cumsum()])
        return Transitions(
            feature_rows, np.zeros_like(heads), heads, children, nodes.astype(np.int32), starts
        )

    def apply(
        self,
        now: Configurations,
        rows: np.ndarray,
        transitions: Transitions,
        chosen: np.ndarray,
        relations: np.ndarray,
    ) -> None:
        _apply(now, rows, chosen, relations)


@kernel()
def mark_heads(now, rows, single_root, able):
    """Set ``able`` (int8[m, width], 0 before) to 1 at the nodes that can be the head of the first
    token of the buffer.
    """
    for r in range(len(rows)):
        row = rows[r]
        length, token = now.lengths[row], now.buffer_fronts[row]
        if token > length:
            continue
        for node in range(length + 1):
            able[r, node] = _UNKNOWN
        able[r, token] = 0
        for head in range(length + 1):
            node = head
            while node != NO_NODE and able[r, node] == _UNKNOWN:
                node = now.heads[row, node]
            mark = 1 if node == NO_NODE else able[r, node]
            node = head
            while node != NO_NODE and able[r, node] == _UNKNOWN:
                able[r, node] = mark
                node = now.heads[row, node]
        if single_root and now.children[row, 0, 1] != NO_NODE:
            able[r, 0] = 0


@kernel()
def _apply(now, rows, heads, relations):
    for r in range(len(rows)):
        attach(now, rows[r], heads[r], now.buffer_fronts[rows[r]], relations[r])
        shift(now, rows[r])
