"""Exact optimal moves of LR-spine parsing for any gold tree, by a chart: O(m^3) for m nodes of the spines and the buffer.

Not in the literature that we know: the exact oracle of Goldberg, Sartorio and Satta (2014), Section 6, is for projective gold
trees and exponential at worst (lr_spine_tabular).

A tree can still be made from a configuration if and only if it is projective, contains the edges made so far, and the root of
every element below the top has its head to its right, or dominates the root of the top. (The last, because such a root gets a
head to its left only by a move ra_k as the root of the top, when everything from it to the top is one element.) The most gold
edges in such a tree come from the chart of Eisner (1996) over the nodes of all spines and the tokens of the buffer in order:

    R[i,j], L[i,j]    a part of a tree that covers i..j, headed by i, by j;  R[i,i] = L[i,i] = 0
    J[i,j]          = max over i <= k < j:  R[i,k] + L[k+1,j]
    IR[i,j]         = J[i,j] + w(i,j),  IL[i,j] = J[i,j] + w(j,i)
    L[i,j]          = max over i <= k < j:  L[i,k] + IL[k,j]
    R[i,j]          = max over i < k <= j:  IR[i,k] + R[k,j], without those k that are roots of elements below the top, if j
                      lies before the root of the top

where w(g,d), the weight of the edge from g to d, is minus infinity if d = 0, or if d is a node of a spine, not its root, and
g is not its parent; 0 if g is; else 1 if g is the gold head of d, else 0. The value of a configuration is R over all nodes;
the score of a move is 1 if its edge is gold, and the value of the configuration after it.

Constituents inside the buffer are those of the chart of the sentence, which is filled once; only the rows that begin in the
stack are computed for a configuration. Nodes of spines whose gold children are out of reach are left out
(_add_element in oracles.lr_spine.chart_kernels).

Complexity: for s nodes of spines that are not left out and m tokens in the buffer, O(s (s + m)^2) per move, in 16-bit vector
operations; O(n^3) once per sentence.

Memory: 3 n^2 bytes per sentence (rows rounded up to blocks of 8), kept as context_rows does it: up to ``max_bytes`` for all
sentences together, and beyond that those who came first are forgotten and computed again when they return. While a chart is
filled, 4 n^2 bytes more; while a batch is scored, up to 16 bytes for each pair
of a node of a spine and a token, and 40 for each pair of such nodes.
"""

from __future__ import annotations

from threading import Lock
from typing import ClassVar

import numpy as np

from oracles.gold_children import gold_children
from oracles.interface import BoundOracle, Query, Strategy
from oracles.lr_spine.chart_kernels import entries_of_sentence, score_batch
from oracles.lr_spine.configuration import LRSpineOracle
from oracles.trees import Trees

MAX_BYTES = 2**28


class LRSpineChart(LRSpineOracle):
    """The oracle to train LR-spine parsing with, on any trees.

    Args:
        strategy: only any.
        max_bytes: how much memory the charts of all bound sentences may take.
    """

    name: ClassVar[str] = "lr_spine_chart"
    needs_projective_gold: ClassVar[bool] = False
    complexity: ClassVar[str] = "O(n^3)"
    source: ClassVar[str] = "this project, from Eisner 1996 and Sartorio, Satta and Nivre 2013"

    def __init__(self, strategy: Strategy | str | None = None, max_bytes: int = MAX_BYTES) -> None:
        super().__init__(strategy)
        self.max_bytes = max_bytes

    def _bind(self, trees: Trees) -> BoundOracle:
        return _BoundChart(trees, self.max_bytes)


class _BoundChart(BoundOracle):
    """Keeps charts of sentences, so it answers one call at a time (threads wait for each other)."""

    def __init__(self, trees: Trees, max_bytes: int) -> None:
        super().__init__(trees)
        sizes = entries_of_sentence(trees.lengths.astype(np.int64))
        room = max_bytes // np.dtype(np.int16).itemsize
        if len(sizes) and sizes.max() > room:
            s = int(sizes.argmax())
            raise ValueError(
                f"sentence {s} (counted from 0) has {trees.lengths[s]} tokens: its chart takes {2 * sizes[s]} bytes, and "
                f"{max_bytes} are allowed; raise max_bytes, or leave the sentence out"
            )
        self.last_child = gold_children(trees.heads, trees.offsets).last
        # Not touched here: the system hands out pages when they are first written to.
        self.arena = np.empty(min(int(sizes.sum()), room), np.int16)
        self.places = np.full(len(trees), -1, np.int64)  # where in the arena a sentence is; -1 = nowhere
        self.queue = np.empty(len(trees), np.int32)  # the sentences in the arena in order of arrival, a ring
        self.ring = np.zeros(3, np.int64)  # first of the queue, its length, the next free entry of the arena
        self.depths = np.zeros(len(trees), np.int32)  # of kept rows, which there are none of
        self.lock = Lock()

    def score_batch(self, query: Query) -> np.ndarray:
        with self.lock:
            return score_batch(
                self.trees.heads,
                self.trees.offsets,
                self.last_child,
                (self.arena, self.places, self.queue, self.ring, self.depths),
                *query.arrays,
                query.children,
            )
