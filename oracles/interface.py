"""The interface of all oracles: bound to gold trees once, then queried for the scores of a batch of configurations.

A configuration is a stack a_0..a_k (a_0 = 0, the artificial root; the top a_k last) and a buffer b..n of the remaining
tokens. The transitions are numbered SHIFT, REDUCE_LEFT, REDUCE_RIGHT (Nederhof 2019, Table 1, names of Section 2):

* shift: pushes b. Applicable if the buffer is not empty.
* reduce_left: a_k becomes a child of a_{k-1} and is popped. Applicable if k >= 1.
* reduce_right: a_{k-1} becomes a child of a_k and is removed. Applicable if k >= 2, so the root never gets a parent.

The score of a transition is the largest number of gold edges that can still be made if it is taken now: the edge of the
transition itself counts, edges made earlier do not. loss = max(scores) - score. Ties are common; the whole set of best
transitions is optimal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np

from oracles.trees import Trees

SHIFT, REDUCE_LEFT, REDUCE_RIGHT = range(3)
N_TRANSITIONS = 3

# What step_scores answers: for arc_standard shift, reduce_left, reduce_right, None where a transition is not applicable; for
# the other systems {transition: score} of the applicable transitions.
TransitionScores = tuple[int | None, int | None, int | None] | dict[str, int]

# No such node, in arrays of nodes.
NO_NODE = -1

# The score of a transition that is not applicable. Far below any real score, and two of them still fit in 16 bits.
NOT_APPLICABLE = -10000


class Strategy(StrEnum):
    """Which computations count, relative to the configuration before the transition.

    The first three are those of Nederhof 2019, Section 2; the fourth is not in that paper.

    * LEFT_BEFORE_RIGHT: a_k and the buffer nodes take no left child after a right child.
    * STRICT_LEFT_BEFORE_RIGHT: moreover a_0..a_{k-1} take no left child at all.
    * RIGHT_BEFORE_LEFT: a_k and the buffer nodes take no right child after a left child.
    * ANY: no restriction, as in Goldberg, Sartorio and Satta 2014.
    """

    LEFT_BEFORE_RIGHT = "left_before_right"
    STRICT_LEFT_BEFORE_RIGHT = "strict_left_before_right"
    RIGHT_BEFORE_LEFT = "right_before_left"
    ANY = "any"


class NonProjectiveGoldError(ValueError):
    """A gold tree is not projective, and the oracle is only exact for projective ones."""


class PartialGoldError(ValueError):
    """Heads of a gold tree are not known, and the oracle needs all of them."""


class Query:
    """Configurations whose transitions are to be scored, one a row; several may belong to one sentence.

    Attributes:
        sentences: int32[batch], numbers of the bound trees.
        stacks: int32[batch, width], row r holds a_0..a_k in its first ``stack_sizes[r]`` entries; the rest is ignored.
        stack_sizes: int32[batch], k + 1.
        buffer_fronts: int32[batch], the first token b of the buffer, n + 1 if it is empty.

    What only some oracles read may be given as a function, which is called when an oracle reads it. Nothing is checked, for the
    sake of speed: numbers out of range read memory at random. Oracle.step_scores() checks.
    """

    def __init__(
        self,
        sentences: np.ndarray,
        stacks: np.ndarray,
        stack_sizes: np.ndarray,
        buffer_fronts: np.ndarray,
        *,
        children: np.ndarray | Callable[[], np.ndarray] | None = None,
        buffers: np.ndarray | Callable[[], np.ndarray] | None = None,
        made: np.ndarray | Callable[[], np.ndarray] | None = None,
    ) -> None:
        self.sentences = sentences
        self.stacks = stacks
        self.stack_sizes = stack_sizes
        self.buffer_fronts = buffer_fronts
        self._children = children
        self._buffers = buffers
        self._made = made

    @classmethod
    def single(
        cls,
        stack: Sequence[int],
        front: int,
        *,
        sentence: int = 0,
        children: np.ndarray | None = None,
        buffers: np.ndarray | None = None,
        made: np.ndarray | None = None,
    ) -> Query:
        """One configuration: the stack a_0..a_k, and the first token of the buffer."""
        stacks = np.asarray([stack], np.int32)
        sentences, stack_sizes, fronts = (np.array([number], np.int32) for number in (sentence, len(stack), front))
        return cls(sentences, stacks, stack_sizes, fronts, children=children, buffers=buffers, made=made)

    def __len__(self) -> int:
        return len(self.sentences)

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The four arrays that every oracle reads, in the order above, for compiled code."""
        return self.sentences, self.stacks, self.stack_sizes, self.buffer_fronts

    @cached_property
    def children(self) -> np.ndarray:
        """int32[batch, >= n + 1, 2], the outermost left and right child of each node so far, NO_NODE where there is none.

        Raises:
            ValueError: they are unknown.
        """
        if self._children is None:
            raise ValueError("this oracle has to know the arcs made so far; give the query the outermost children=")
        return self._children() if callable(self._children) else self._children

    @cached_property
    def buffers(self) -> np.ndarray | None:
        """int32[batch, >= n + 1], for systems that reorder the buffer (swap): row r holds the buffer in its entries
        ``buffer_fronts[r]`` to n, front first; the entries before are ignored. None: the tokens b..n."""
        return self._buffers() if callable(self._buffers) else self._buffers

    @cached_property
    def made(self) -> np.ndarray:
        """int32[batch, >= n + 1], the head that each token has been given so far, NO_NODE where it has none.

        Raises:
            ValueError: they are unknown.
        """
        if self._made is None:
            raise ValueError("this oracle has to know the arcs made so far; give the query the heads made=")
        return self._made() if callable(self._made) else self._made


class BoundOracle(ABC):
    """An oracle with everything computed that depends only on the gold trees.

    Attributes:
        trees: the gold trees.
        gold_weight: what a gold edge counts in the scores; after a transition, ``score // gold_weight`` gold edges can be made,
            its own included. 1, but under ``ties`` (see edge_weights.py) edge_weights.GOLD_WEIGHT.
    """

    gold_weight: int = 1

    def __init__(self, trees: Trees) -> None:
        self.trees = trees

    @abstractmethod
    def score_batch(self, query: Query) -> np.ndarray:
        """Scores the transitions of a batch of configurations.

        Returns:
            int16[batch, transitions], int32 under ``ties``: a column for each transition of the system (arc-standard: shift,
            reduce_left, reduce_right); NOT_APPLICABLE where a transition is not applicable.
        """


class Oracle(ABC):
    """A way to calculate optimal transitions. Subclasses say of themselves what they need and cost."""

    name: ClassVar[str]
    system: ClassVar[str] = "arc_standard"  # the transition system whose transitions it scores
    transition_names: tuple[str, ...] = ()  # what step_scores calls them; arc_standard's are not named
    alternatives: ClassVar[tuple[str, ...]] = ("context_rows", "nederhof_cubic")  # of the same system, for any gold tree
    needs_projective_gold: ClassVar[bool]
    needs_parseable_gold: ClassVar[bool] = False  # whether it refuses other trees too that its system cannot parse
    takes_partial_gold: ClassVar[bool] = False  # whether heads may be unknown; edges to them are then never gold
    strategies: ClassVar[tuple[Strategy, ...]] = tuple(Strategy)  # the first is the default
    complexity: ClassVar[str]  # of one configuration, n = k + m
    source: ClassVar[str]  # paper and section

    def __init__(self, strategy: Strategy | str | None = None) -> None:
        if strategy is None:
            strategy = self.strategies[0]
        if strategy not in self.strategies:
            known = ", ".join(self.strategies)
            raise ValueError(f"oracle {self.name} does not know the strategy {str(strategy)!r}; it knows: {known}")
        self.strategy = Strategy(strategy)

    def bind(self, trees: Trees) -> BoundOracle:
        """Does, once, the work that depends only on the gold trees.

        Raises:
            PartialGoldError: heads are not known and this oracle needs them to be.
            NonProjectiveGoldError: a tree is not projective and this oracle needs it to be.
        """
        able = ", ".join(self.alternatives)
        if not self.takes_partial_gold and not trees.whole.all():
            sentence = int(np.flatnonzero(~trees.whole)[0])
            fix = (
                f"use one that does without: {able}" if able else f"no oracle of {self.system} does without; use another system"
            )
            raise PartialGoldError(
                f"oracle {self.name} needs all heads of gold trees, and sentence {sentence} (counted from 0) has unknown ones; "
                f"{fix}"
            )
        if self.needs_projective_gold and not trees.projective.all():
            sentence = int(np.flatnonzero(~trees.projective)[0])
            able = able or f"no oracle of {self.system} is exact for those"
            raise NonProjectiveGoldError(
                f"oracle {self.name} needs projective gold trees, and the tree of sentence {sentence} (counted from 0) is "
                f"not projective; projectivize the trees first, or use an oracle for any gold tree: {able}"
            )
        return self._bind(trees)

    @abstractmethod
    def _bind(self, trees: Trees) -> BoundOracle: ...

    def step_scores(self, heads: Sequence[int], stack: Sequence[int], buffer: Sequence[int]) -> TransitionScores:
        """Scores the transitions of one configuration of one sentence; for many, bind the trees and score a batch.

        Args:
            heads: gold heads [h_1, ..., h_n], 0 = the artificial root, -1 = not known.
            stack: a_0..a_k in increasing order, a_0 = 0, the top last.
            buffer: the tokens b..n.

        Returns:
            arc_standard: the scores of (shift, reduce_left, reduce_right); None where the transition is not applicable. The
            other systems: {transition: score} of the applicable transitions.

        Raises:
            ValueError: the heads are not a tree, or stack and buffer are not a configuration of the sentence.
        """
        stack, buffer = [*map(int, stack)], [*map(int, buffer)]
        front = front_of(len(heads), buffer)
        ascending = all(a < b for a, b in pairwise(stack))
        if not stack or stack[0] != 0 or not ascending or stack[-1] >= front:
            raise ValueError(f"the stack must begin with 0 and ascend to at most {front - 1}, not {list(stack)}")
        scores = self._scores_of(heads, Query.single(stack, front))
        if self.transition_names:
            return by_name(self.transition_names, scores)
        shift, left, right = (None if score == NOT_APPLICABLE else int(score) for score in scores)
        return shift, left, right

    def _scores_of(self, heads: Sequence[int], query: Query) -> np.ndarray:
        """Score the only configuration of a query, of a sentence with these gold heads; see BoundOracle.score_batch."""
        return self.bind(Trees.from_heads([heads], partial=True)).score_batch(query)[0]


def front_of(n: int, buffer: Sequence[int]) -> int:
    """The first token b of the buffer of a sentence of n tokens, n + 1 if it is empty.

    Raises:
        ValueError: the buffer is not b..n.
    """
    front = n + 1 - len(buffer)
    if list(buffer) != list(range(front, n + 1)):
        raise ValueError(f"the buffer must hold the last tokens b..{n} of the sentence in order, not {list(buffer)}")
    return front


def heads_made(n: int, made: Sequence[int | None]) -> np.ndarray:
    """int32[1, n + 1], what Query takes as ``made``, of one sentence of n tokens: the heads of the first tokens, None for none.

    Raises:
        ValueError: there are more heads than tokens, or one is no node.
    """
    if len(made) > n or any(head is not None and not 0 <= head <= n for head in made):
        raise ValueError(f"made must hold a head from 0 to {n}, or None, for each of the {n} tokens, not {list(made)}")
    heads = np.full((1, n + 1), NO_NODE, np.int32)
    for token, head in enumerate(made, 1):
        if head is not None:
            heads[0, token] = head
    return heads


def by_name(names: Sequence[str], scores: np.ndarray) -> dict[str, int]:
    """The scores of the applicable transitions by their names."""
    return {name: int(score) for name, score in zip(names, scores, strict=True) if score != NOT_APPLICABLE}
