"""Exact optimal steps for any gold tree, in amortised O(n^2) per step: context rows.

Not in the literature that we know. Nederhof 2019 (N19), Section 7, suggests for the linear algorithm that values be reused
between the configurations of one computation, and does not pursue it; here they are, for any gold tree, projective or not. It
starts from N19, Section 4: the value of a configuration is the best weight of a derivation of p^k s^(m+1) under the grammar
of Table 4 (p = stack element below the top, s = the top or a buffer node).

All constituents of a derivation that contain the stack top lie on one path from the root of the derivation down to the
top. What they combine with beside the path are constituents inside the buffer, which depend on the sentence alone (its
chart), or stack elements, which below the top are bare until something that contains the top meets them. So the dynamic
program is a longest path. Followed from the root downwards (outside values instead of inside values), what has been seen of the
stack is a prefix s_0..s_d, and what remains to be seen of the buffer is given by one column y: everything up to y belongs
to the constituent that is still open. The values for prefix s_0..s_d, one for each y, are a row. When the parser shifts
or reduces, only rows at the top of the stack change; all others are kept from step to step.

Once per sentence, the chart (w(i,j) = 1 if token i is the gold head of j, else 0; what else it may be under ``ties``, see
edge_weights.py; "most gold edges" are then the greatest weight; i <= j):

    R[i,j]   most gold edges in a part of a tree headed by i that covers i..j
    L[i,j]   the same, headed by j
    IL[i,j]  the same, headed by j, with the edge from j to i, and i without left children

For each stack prefix s_0..s_d, for columns y from n down to front - 1; LS(i,d) = sum of w(s_d, s_x) over i <= x < d, all
of them made left children of s_d, or minus infinity if i < d and s_d may take no left child:

    OR_d[y]      outside a constituent headed by s_d, its left children excluded, that covers the buffer up to y
    OL_d[y]      outside the left half of buffer node y that begins with s_d
    H_d[y]       = max over 1 <= i <= d: LS(i,d) + OL_i[y]
    OR_d[y]      = max( max over i < d: LS(i+1,d) + w(s_i,s_d) + OR_i[y],  max over y2 > y: L[y+1,y2] + B_d[y2] )
    B_d[y]       = max( w(y,s_d) + H_d[y],  w(s_d,y) + Z_d[y] )
    Z_d[y]       = max over y2 >= y: R[y,y2] + OR_d[y2]
    OL_{d+1}[y]  = max( w(y,s_d) + OL_d[y],  w(s_d,y) + Z_d[y],  max over y2 > y: IL[y,y2] + OL_{d+1}[y2] )

with OR_0[n] = 0, OL_0 = minus infinity. The value of (s_0..s_t, front..n) is OR_t[front - 1].

    reduce_left   a row at hand: OR of a_{k-1}
    reduce_right  a row that is not kept: a_k above a_0..a_{k-2}; under right_before_left it drops the term with Z
    shift         a row that is not kept: a_k above a_0..a_{k-1}; then the second term of OR_k at front - 1, with OL_k for
                  H_k, as left children that a_k takes before the shift do not count. Under left_before_right and
                  strict_left_before_right a_k takes no left child in this row; under the latter the kept rows are of that kind

Only rows of elements below the top are kept, so a step of a computation makes at most one new one.

Complexity: a row costs O(n^2), in 16-bit vector operations; a step of a computation needs three at most. A configuration
unrelated to what was asked before of its sentence costs O(k n^2). The chart costs O(n^3) once per sentence.

Memory: 11 n^2 bytes per sentence, 26 n^2 under ``ties``, rows rounded up to blocks of 8. It is reserved when bound and taken
when a sentence is first asked for, up to ``max_bytes`` for all sentences together; beyond that the sentences that came the
longest ago are forgotten, and computed again when they return. So work on at most as many sentences at a time as fit (a
gigabyte holds 150,000 sentences of 20 tokens). A sentence that does not fit on its own is refused.
"""

from __future__ import annotations

from threading import Lock
from typing import ClassVar

import numpy as np

from oracles.arc_standard.context_kernels import entries_of_sentence, score_batch
from oracles.arc_standard.steps import CODES
from oracles.edge_weights import GOLD_WEIGHT, levels_of
from oracles.interface import BoundOracle, Oracle, Query, Strategy
from oracles.trees import Trees

MAX_BYTES = 2**30


class ContextRows(Oracle):
    """The oracle to train with on any trees: exact, and fast along the computation of a parser.

    Args:
        strategy: any of the four.
        ties: "nearest_ancestor", or None (the same as "none"); see edge_weights.py.
        max_bytes: how much memory the rows and charts of all bound sentences may take.
    """

    name: ClassVar[str] = "context_rows"
    needs_projective_gold: ClassVar[bool] = False
    complexity: ClassVar[str] = "O(n^2), amortised over a computation"
    source: ClassVar[str] = "this project, from Nederhof 2019, Section 4"

    def __init__(self, strategy: Strategy | str | None = None, ties: str | None = None, max_bytes: int = MAX_BYTES) -> None:
        super().__init__(strategy)
        self.levels = levels_of(ties)
        self.max_bytes = max_bytes

    def _bind(self, trees: Trees) -> BoundOracle:
        return BoundContextRows(trees, self.strategy, self.levels, self.max_bytes)


class BoundContextRows(BoundOracle):
    """Remembers rows, so it answers one call at a time (threads wait for each other).

    Attributes:
        lock: held while it answers.
    """

    def __init__(self, trees: Trees, strategy: Strategy, levels: tuple[int, ...], max_bytes: int) -> None:
        super().__init__(trees)
        self.strategy = CODES[strategy]
        self.levels = levels
        self.gold_weight = GOLD_WEIGHT if levels else 1
        kind = np.dtype(np.int32 if levels else np.int16)
        sizes = entries_of_sentence(trees.lengths.astype(np.int64), bool(levels))
        room = max_bytes // kind.itemsize
        if len(sizes) and sizes.max() > room:
            s = int(sizes.argmax())
            needed = kind.itemsize * sizes[s]
            raise ValueError(
                f"sentence {s} (counted from 0) has {trees.lengths[s]} tokens: its rows take {needed} bytes, and "
                f"{max_bytes} are allowed; raise max_bytes, leave the sentence out, or use nederhof_cubic for it"
            )
        # Not touched here: the system hands out pages when they are first written to.
        self.arena = np.empty(min(int(sizes.sum()), room), kind)
        self.places = np.full(len(trees), -1, np.int64)  # where in the arena a sentence is; -1 = nowhere
        self.queue = np.empty(len(trees), np.int32)  # the sentences in the arena in order of arrival, a ring
        self.ring = np.zeros(3, np.int64)  # first of the queue, its length, the next free entry of the arena
        self.nodes = np.empty(len(trees.heads), np.int32)  # the stack elements that the kept rows belong to
        self.columns = np.empty(len(trees.heads), np.int32)  # the first column of each kept row
        self.depths = np.zeros(len(trees), np.int32)  # number of kept rows
        self.lock = Lock()

    @property
    def memory(self) -> tuple[np.ndarray, ...]:
        """What compiled code that asks step by step hands to context_kernels.score_batch; one at a time, under ``lock``."""
        return self.arena, self.places, self.queue, self.ring, self.nodes, self.columns, self.depths

    def score_batch(self, query: Query) -> np.ndarray:
        """See BoundOracle."""
        with self.lock:
            return score_batch(
                self.trees.heads,
                self.trees.offsets,
                self.memory,
                self.strategy,
                self.levels,
                *query.arrays,
            )
