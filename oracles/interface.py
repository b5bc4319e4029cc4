"""The interface of all oracles: bind one to gold trees once, then query it for the scores of
batches of configurations.

A configuration is a stack a_0..a_k (a_0 = 0, the artificial root; the top a_k last) and a buffer
b..n of the remaining tokens. The transitions are numbered SHIFT, REDUCE_LEFT, REDUCE_RIGHT
(Nederhof 2019, Table 1, names of Section 2):

* shift: pushes b. Applicable if the buffer is not empty.
* reduce_left: a_k becomes a child of a_{k-1} and is popped. Applicable if k >= 1.
* reduce_right: a_{k-1} becomes a child of a_k and is removed. Applicable if k >= 2,
  so the root never gets a parent.

The score of a transition is the largest number of gold edges that can still be made if it is taken
now. The edge of the transition itself counts; edges made earlier do not. The loss of a transition
is max(scores) - score. Ties are common: all transitions with the best score are optimal.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np

from oracles.errors import OptimalStepError, did_you_mean
from oracles.trees import Trees, integers

SHIFT, REDUCE_LEFT, REDUCE_RIGHT = range(3)
N_TRANSITIONS = 3

# The result of step_scores(). arc_standard: the scores of shift, reduce_left, reduce_right, None
# where not applicable. Other systems: {transition: score} of the applicable transitions.
TransitionScores = tuple[int | None, int | None, int | None] | dict[str, int]

# In arrays of nodes: no node.
NO_NODE = -1

# The score of a transition that is not applicable. Far below any real score;
# the sum of two of them still fits in 16 bits.
NOT_APPLICABLE = -10000


class Strategy(StrEnum):
    """Which computations a score considers; a_0..a_k are before the transition.

    The first three are from Nederhof 2019, Section 2; the fourth is not in that paper.

    * LEFT_BEFORE_RIGHT: a_k and the buffer nodes take no left child after a right child.
    * STRICT_LEFT_BEFORE_RIGHT: in addition, a_0..a_{k-1} take no left child at all.
    * RIGHT_BEFORE_LEFT: a_k and the buffer nodes take no right child after a left child.
    * ANY: no restriction, as in Goldberg, Sartorio and Satta 2014.
    """

    LEFT_BEFORE_RIGHT = "left_before_right"
    STRICT_LEFT_BEFORE_RIGHT = "strict_left_before_right"
    RIGHT_BEFORE_LEFT = "right_before_left"
    ANY = "any"


class NonProjectiveGoldError(OptimalStepError):
    """A gold tree is not projective, and the oracle is exact only for projective trees."""


class PartialGoldError(OptimalStepError):
    """Some heads of a gold tree are unknown, and the oracle needs all of them."""


class Query:
    """Configurations to score, one per row; several may belong to one sentence.

    Attributes:
        sentences: int32[batch], numbers of the bound trees.
        stacks: int32[batch, width]; row r holds a_0..a_k in its first ``stack_sizes[r]`` entries,
            the rest is ignored.
        stack_sizes: int32[batch], k + 1.
        buffer_fronts: int32[batch], the first token b of the buffer, n + 1 if it is empty.

    ``children``, ``buffers`` and ``made`` may be functions, called only by oracles that need them.
    For speed, nothing is checked: numbers out of range read arbitrary memory. Oracle.step_scores()
    checks its arguments.
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
        """Make a query of one configuration: the stack a_0..a_k, and the first token of the buffer.

        Raises:
            OptimalStepError: the stack is not a sequence of integers.
        """
        stacks = integers(stack, "stack")[None]
        sentences, stack_sizes, fronts = (
            np.array([number], np.int32) for number in (sentence, len(stack), front)
        )
        return cls(
            sentences, stacks, stack_sizes, fronts, children=children, buffers=buffers, made=made
        )

    def __len__(self) -> int:
        return len(self.sentences)

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The four arrays that every oracle reads, in the order of the attributes."""
        return self.sentences, self.stacks, self.stack_sizes, self.buffer_fronts

    @cached_property
    def children(self) -> np.ndarray:
        """int32[batch, >= n + 1, 2], the outermost left and right child of each node so far,
        NO_NODE where there is none.

        Raises:
            OptimalStepError: the query was made without them.
        """
        if self._children is None:
            raise OptimalStepError(
                "this oracle needs the arcs made so far; give the query the outermost children="
            )
        return self._children() if callable(self._children) else self._children

    @cached_property
    def buffers(self) -> np.ndarray | None:
        """int32[batch, >= n + 1], for systems that reorder the buffer (swap): entries
        ``buffer_fronts[r]`` to n of row r are the buffer, front first; earlier entries are ignored.
        None: the buffers are b..n.
        """
        return self._buffers() if callable(self._buffers) else self._buffers

    @cached_property
    def made(self) -> np.ndarray:
        """int32[batch, >= n + 1], the head that each token has been given so far,
        NO_NODE where it has none.

        Raises:
            OptimalStepError: the query was made without them.
        """
        if self._made is None:
            raise OptimalStepError(
                "this oracle needs the arcs made so far; give the query the heads made="
            )
        return self._made() if callable(self._made) else self._made


class BoundOracle(ABC):
    """An oracle for certain gold trees, with everything computed that depends only on these trees.

    Attributes:
        gold_weight: a gold edge's weight in scores, over 1 with ``ties`` (edge_weights.py):
            ``score // gold_weight`` gold edges can be made if the transition is taken, its own
            included.
    """

    gold_weight: int = 1

    def __init__(self, trees: Trees) -> None:
        self.trees = trees

    @abstractmethod
    def score_batch(self, query: Query) -> np.ndarray:
        """Score the transitions of a batch of configurations.

        Returns:
            int16[batch, transitions], int32 under ``ties``: one column per transition of the system
            (arc-standard: shift, reduce_left, reduce_right); NOT_APPLICABLE where a transition is
            not applicable.
        """


class BoundLossless(ABC):
    """Finds the transitions that lose no gold edge of a largest set that can be made together;
    no scores are counted.

    The set is all known edges of a tree that the system can make. This is enough to keep as many
    edges as possible, and can be far faster than scores.
    """

    @abstractmethod
    def allowed(self, query: Query) -> np.ndarray:
        """Return bool[batch, transitions], the applicable transitions that lose no edge of the set.

        Only such transitions may have been taken before:
        then there is one in each configuration that is not final.
        """


class Oracle(ABC):
    """A way to calculate optimal transitions. Subclasses declare what they need and what they
    cost.
    """

    name: ClassVar[str]
    system: ClassVar[str] = "arc_standard"  # the transition system whose transitions it scores
    # keys of step_scores(); arc_standard returns a tuple instead
    transition_names: tuple[str, ...] = ()
    # oracles of the system for any gold tree
    alternatives: ClassVar[tuple[str, ...]] = ("context_rows", "nederhof_cubic")
    needs_projective_gold: ClassVar[bool]
    # whether it refuses gold trees that its system cannot parse
    needs_parseable_gold: ClassVar[bool] = False
    # whether heads may be unknown; edges to such words are never gold
    takes_partial_gold: ClassVar[bool] = False
    strategies: ClassVar[tuple[Strategy, ...]] = tuple(Strategy)  # the first is the default
    complexity: ClassVar[str]  # stack k, buffer m, n = k + m
    source: ClassVar[str]  # paper and section

    def __init__(self, strategy: Strategy | str | None = None) -> None:
        if strategy is None:
            strategy = self.strategies[0]
        if strategy not in self.strategies:
            strategies = ", ".join(self.strategies)
            near = did_you_mean(str(strategy), self.strategies)
            raise OptimalStepError(
                f"oracle {self.name} has no strategy {str(strategy)!r}{near}; "
                f"it knows: {strategies}"
            )
        self.strategy = Strategy(strategy)

    def takes(self, trees: Trees) -> np.ndarray:
        """Return bool[sentences]: for each gold tree, whether bind() accepts it."""
        taken = np.ones(len(trees), np.bool_)
        if not self.takes_partial_gold:
            taken &= trees.whole
        if self.needs_projective_gold:
            taken &= trees.projective
        return taken

    def bind(self, trees: Trees) -> BoundOracle:
        """Compute, once, everything that depends only on the gold trees.

        Raises:
            PartialGoldError: some heads are unknown, and this oracle needs all of them.
            NonProjectiveGoldError: a tree is not projective,
                and this oracle needs projective trees.
        """
        able = ", ".join(self.alternatives)
        if not self.takes_partial_gold and not trees.whole.all():
            sentence = int(np.flatnonzero(~trees.whole)[0])
            fix = (
                f"use another oracle: {able}"
                if able
                else f"no oracle of {self.system} takes such trees; use another system"
            )
            raise PartialGoldError(
                f"oracle {self.name} needs all heads of gold trees, and sentence {sentence} "
                f"(counted from 0) has unknown ones; {fix}"
            )
        if self.needs_projective_gold and not trees.projective.all():
            sentence = int(np.flatnonzero(~trees.projective)[0])
            able = able or f"{self.system} has none"
            raise NonProjectiveGoldError(
                f"oracle {self.name} needs projective gold trees, and the tree of sentence "
                f"{sentence} (counted from 0) is not projective; projectivize the trees first, or "
                f"use an oracle for any gold tree: {able}"
            )
        return self._bind(trees)

    def bind_lossless(self, trees: Trees) -> BoundLossless | None:
        """Return an oracle that finds lossless transitions faster than by scoring; None if there is
        no faster way.
        """
        return None

    @abstractmethod
    def _bind(self, trees: Trees) -> BoundOracle: ...

    def step_scores(
        self, heads: Sequence[int], stack: Sequence[int], buffer: Sequence[int]
    ) -> TransitionScores:
        """Score the transitions of one configuration of one sentence; for many,
        bind the trees and score a batch.

        Args:
            heads: gold heads [h_1, ..., h_n], 0 = the artificial root, -1 = not known.
            stack: a_0..a_k in increasing order, a_0 = 0, the top last.
            buffer: the tokens b..n.

        Returns:
            arc_standard: the scores of (shift, reduce_left, reduce_right), None where a transition
            is not applicable. Other systems: {transition: score} of the applicable transitions.

        Raises:
            OptimalStepError: the heads are not a tree,
                or stack and buffer are not a configuration of the sentence.
        """
        heads = integers(heads, "heads").tolist()
        front = front_of(len(heads), buffer)
        scores = self._scores_of(heads, Query.single(ascending(stack, front), front))
        if self.transition_names:
            return by_name(self.transition_names, scores)
        shift, left, right = (None if score == NOT_APPLICABLE else int(score) for score in scores)
        return shift, left, right

    def _scores_of(self, heads: Sequence[int], query: Query) -> np.ndarray:
        """Score a query of one configuration of a sentence with these gold heads; see
        BoundOracle.score_batch().
        """
        return self.bind(Trees.from_heads([heads], partial=True)).score_batch(query)[0]


def front_of(n: int, buffer: Sequence[int]) -> int:
    """Return the first token b of the buffer of a sentence of n tokens, n + 1 if it is empty.

    Raises:
        OptimalStepError: the buffer is not b..n.
    """
    tokens = integers(buffer, "buffer").tolist()
    front = n + 1 - len(tokens)
    if tokens != list(range(front, n + 1)):
        raise OptimalStepError(
            f"the buffer must hold the last tokens b..{n} of the sentence in order, not {tokens}"
        )
    return front


def ascending(stack: Sequence[int], front: int) -> list[int]:
    """Return the nodes of a stack that begins with 0 and ascends to a node before ``front``.

    Raises:
        OptimalStepError: the stack does not begin with 0, or does not ascend to a node before
            ``front``.
    """
    nodes = integers(stack, "stack").tolist()
    if (
        not nodes
        or nodes[0] != 0
        or not all(a < b for a, b in pairwise(nodes))
        or nodes[-1] >= front
    ):
        raise OptimalStepError(
            f"the stack must begin with 0 and ascend to at most {front - 1}, not {nodes}"
        )
    return nodes


def heads_made(n: int, made: Sequence[int | None]) -> np.ndarray:
    """Return ``made`` of a Query, int32[1, n + 1], from the heads of the first tokens of a
    sentence, which are None for tokens without a head.

    Raises:
        OptimalStepError: there are more heads than tokens, or one is not a node.
    """
    given = integers([head for head in made if head is not None], "made").tolist()
    if len(made) > n or any(not 0 <= head <= n for head in given):
        raise OptimalStepError(
            f"made must hold a head from 0 to {n}, or None, for each of the {n} tokens, "
            f"not {list(made)}"
        )
    heads = np.full((1, n + 1), NO_NODE, np.int32)
    heads[0, [token for token, head in enumerate(made, 1) if head is not None]] = given
    return heads


def by_name(names: Sequence[str], scores: np.ndarray) -> dict[str, int]:
    """Return the scores of the applicable transitions by name."""
    return {
        name: int(score)
        for name, score in zip(names, scores, strict=True)
        if score != NOT_APPLICABLE
    }
