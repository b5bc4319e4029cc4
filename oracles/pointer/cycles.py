"""Optimal transitions for the pointer system (Fernández-González and Gómez-Rodríguez 2019), any
gold tree, by counting cycles.

The tokens get their heads in order, i = 1..n. The head h of token i can be any node except i and
its descendants by the heads made; with ``single_root``, 0 only while it has no child. So a sentence
takes n transitions, and all trees can be made.

Let f(x) be the head made for x if x < i, none for i, and the gold head h(x) if x > i. Gold heads
alone make no cycle, and neither do the heads made, but together they may. In each cycle of f, some
token x > i must get another head than h(x), and one token is enough: cycles are disjoint, and x can
become a child of 0. With ``single_root``, x joins the tree of the child of 0, or becomes that
child. Making i a child of h closes one more cycle if the path h, f(h), f(f(h)), ... ends in i.
Hence, if all n heads are known (else replace n - i by the number of known heads after i)

    score(h) = (n - i) - cycles of f - lost + [h = h(i)] - [the path from h ends in i]

With ``single_root`` and r gold children of 0 after i, lost is r if 0 has a child. Else it is max(0,
r - 1), and min(1, r) more in column 0. Without ``single_root``, lost is 0.

We know of no such oracle in the literature. Complexity: O(n) for all heads of a token.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from oracles.errors import OptimalStepError
from oracles.interface import (
    NO_NODE,
    NOT_APPLICABLE,
    BoundOracle,
    Oracle,
    Query,
    Strategy,
    front_of,
    heads_made,
)
from oracles.kernel_cache import array_kernel
from oracles.trees import Trees, integers

# Where the path of a node ends: not yet known; in the present path itself; in 0 or a cycle; in i;
# in i, along only the heads already made.
_UNKNOWN, _ON_PATH, _ELSEWHERE, _AT_TOKEN, _BELOW_TOKEN = range(5)


class PointerCycles(Oracle):
    """Exact for any gold tree; one column for each node that may be the head.

    Args:
        strategy: ``any``; there is no other.
        single_root: whether only computations count in which the artificial root gets one child.
    """

    name: ClassVar[str] = "pointer_cycles"
    system: ClassVar[str] = "pointer"
    alternatives: ClassVar[tuple[str, ...]] = ()
    needs_projective_gold: ClassVar[bool] = False
    takes_partial_gold: ClassVar[bool] = True
    strategies: ClassVar[tuple[Strategy, ...]] = (Strategy.ANY,)
    complexity: ClassVar[str] = "O(n)"
    source: ClassVar[str] = "this project"

    def __init__(self, strategy: Strategy | str | None = None, single_root: bool = False) -> None:
        super().__init__(strategy)
        self.single_root = single_root

    def _bind(self, trees: Trees) -> BoundOracle:
        return _BoundCycles(trees, self.single_root)

    def step_scores(
        self,
        heads: Sequence[int],
        stack: Sequence[int],
        buffer: Sequence[int],
        made: Sequence[int | None] = (),
    ) -> dict[str, int]:
        """Score all heads that the first token of the buffer may get.

        Args:
            heads: gold heads [h_1, ..., h_n], 0 = the artificial root.
            stack: not read; all nodes stay within reach.
            buffer: the tokens i..n.
            made: the heads given so far, [h_1, ..., h_{i-1}]; later entries are not read.

        Returns:
            {head: score} of the possible heads; empty if the buffer is.

        Raises:
            OptimalStepError: the heads are not a tree,
                or the other arguments are not a configuration of the sentence.
        """
        heads = integers(heads, "heads").tolist()
        n = len(heads)
        front = front_of(n, buffer)
        made_heads = heads_made(n, made[: front - 1])
        if (made_heads[0, 1:front] == NO_NODE).any():
            raise OptimalStepError(
                f"made must begin with the heads of the tokens before the buffer, 1..{front - 1}, "
                f"not {list(made)}"
            )
        scores = self._scores_of(heads, Query.single([0], front, made=made_heads))
        return {
            str(head): int(score) for head, score in enumerate(scores) if score != NOT_APPLICABLE
        }


class _BoundCycles(BoundOracle):
    def __init__(self, trees: Trees, single_root: bool) -> None:
        super().__init__(trees)
        self._single_root = single_root

    def score_batch(self, query: Query) -> np.ndarray:
        width = int(self.trees.lengths[query.sentences].max(initial=0)) + 1
        scores = np.full((len(query), width), NOT_APPLICABLE, np.int16)
        _score(
            self.trees.heads,
            self.trees.offsets,
            self._single_root,
            query.made,
            query.sentences,
            query.buffer_fronts,
            scores,
        )
        return scores


@array_kernel()
def _score(all_heads, offsets, single_root, made_heads, sentences, fronts, scores):
    """Fill in the scores, which must be NOT_APPLICABLE at the start; see this module's
    docstring.
    """
    ends = np.empty(scores.shape[1], np.int8)
    path = np.empty(scores.shape[1], np.int32)
    for row in range(len(sentences)):
        heads = all_heads[offsets[sentences[row]] : offsets[sentences[row] + 1]]
        n, token = len(heads) - 1, fronts[row]
        if token > n:
            continue
        for node in range(n + 1):
            ends[node] = _UNKNOWN
        ends[0], ends[token] = _ELSEWHERE, _BELOW_TOKEN
        cycles = roots_made = roots_after = heads_after = 0
        for start in range(1, n + 1):
            node, length = start, 0
            while node >= 0 and ends[node] == _UNKNOWN:
                ends[node] = _ON_PATH
                path[length] = node
                length += 1
                node = made_heads[row, node] if node < token else heads[node]
            # an unknown head may be any node
            end = ends[node] if node >= 0 else np.int8(_ELSEWHERE)
            if end == _ON_PATH:
                cycles += 1
                end = np.int8(_ELSEWHERE)
            for place in range(length - 1, -1, -1):
                if end == _BELOW_TOKEN and path[place] > token:
                    end = np.int8(_AT_TOKEN)
                ends[path[place]] = end
            if start < token:
                roots_made += made_heads[row, start] == 0
            elif start > token:
                roots_after += heads[start] == 0
                heads_after += heads[start] >= 0
        value = heads_after - cycles
        if single_root:
            value -= roots_after if roots_made else max(0, roots_after - 1)
        for head in range(n + 1):
            if ends[head] == _BELOW_TOKEN or (head == 0 and single_root and roots_made):
                continue
            scores[row, head] = value + (heads[token] == head) - (ends[head] == _AT_TOKEN)
        if single_root and not roots_made:
            scores[row, 0] -= min(1, roots_after)
