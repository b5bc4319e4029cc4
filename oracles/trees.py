"""Gold trees of many sentences in two flat arrays, for the kernels,
and the children of their nodes.

Sentence ``s`` with tokens 1..n takes ``n + 1`` consecutive entries of ``heads``, from
``offsets[s]`` on: entry 0 is the artificial root, whose head is -1 (with 0, the root would be a
child of itself), entry ``i`` is the head of token i.

A tree is *partial* if the heads of some tokens are unknown: UNKNOWN_HEAD equals no node, so no edge
to such a token is gold. The known edges are part of some tree; only these can be made or lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from oracles.errors import OptimalStepError
from oracles.kernel_cache import array_kernel

ROOT_HEAD = -1
UNKNOWN_HEAD = -1

# Kernels keep scores in int16, where NEGATIVE_INFINITY is -10000:
# sums of two numbers must not wrap around.
MAX_TOKENS = 9999


@dataclass(frozen=True)
class Trees:
    """Gold trees of a batch of sentences.

    Attributes:
        heads: int32[total], total = sum of (n + 1) over the sentences.
        offsets: int64[sentences + 1], where each sentence begins in ``heads``.
    """

    heads: np.ndarray
    offsets: np.ndarray

    @classmethod
    def from_heads(cls, sentences: Iterable[Sequence[int]], partial: bool = False) -> Trees:
        """Pack trees given as lists of heads [h_1, ..., h_n]; with ``partial``, heads may be
        UNKNOWN_HEAD.

        Raises:
            OptimalStepError: a sentence is not a tree, or is longer than MAX_TOKENS; the message
                has its number, counted from 0.
        """
        trees = [integers(heads, f"the heads of sentence {s}") for s, heads in enumerate(sentences)]
        offsets = np.zeros(len(trees) + 1, dtype=np.int64)
        for s, heads in enumerate(trees):
            check_tree(heads, f"sentence {s}", partial)
            offsets[s + 1] = offsets[s] + len(heads) + 1
        packed = np.full(offsets[-1], ROOT_HEAD, dtype=np.int32)
        for heads, start in zip(trees, offsets, strict=False):
            packed[start + 1 : start + 1 + len(heads)] = heads
        return cls(packed, offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, s: int) -> list[int]:
        """Return the heads [h_1, ..., h_n] of sentence ``s``."""
        return self.heads[self.offsets[s] + 1 : self.offsets[s + 1]].tolist()

    @cached_property
    def lengths(self) -> np.ndarray:
        """int32[sentences]: the number n of tokens, without the root."""
        return (np.diff(self.offsets) - 1).astype(np.int32)

    @cached_property
    def whole(self) -> np.ndarray:
        """bool[sentences]: whether all heads are known."""
        unknown = (self.heads == UNKNOWN_HEAD).astype(np.int32)
        return np.add.reduceat(unknown, self.offsets[:-1]) == 1  # only the artificial root's

    @cached_property
    def projective(self) -> np.ndarray:
        """bool[sentences]: whether the tree, with the artificial root at the left, is projective. A
        partial tree counts as projective if its known edges are part of a projective tree.
        """
        return _projective(self.heads, self.offsets, self.whole)

    def select(self, sentences: np.ndarray) -> Trees:
        """Return the trees of the given sentences (int[m]), in that order."""
        return Trees.from_heads((self[int(s)] for s in sentences), partial=True)


class GoldChildren(NamedTuple):
    """The children of every node, and the number of edges inside a buffer;
    packed like the heads (see Trees).

    Attributes:
        last: int32[total], the last gold child of a node, 0 if none.
        previous: int32[total], the sibling before a node, 0 if none.
        edges_from: int32[total], at entry b the number of gold edges inside the buffer b..n.
    """

    last: np.ndarray
    previous: np.ndarray
    edges_from: np.ndarray

    @classmethod
    def of(cls, trees: Trees) -> GoldChildren:
        """Return the children in these trees, in linear time."""
        return cls(*_children(trees.heads, trees.offsets))


def integers(values: Sequence[int], what: str) -> np.ndarray:
    """Return a sequence as int32[n]; floating-point numbers must be whole.

    Raises:
        OptimalStepError: it is not a sequence of such integers; the message names ``what``.
    """
    must = f"{what} must be a sequence of integers of 32 bits"
    try:
        array = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise OptimalStepError(f"{must} ({error})") from error
    if array.ndim != 1:
        raise OptimalStepError(f"{must}, in one dimension rather than {array.ndim}")
    if array.dtype.kind in "OSU":  # NumPy turns all elements into text if one is text
        wrong = [
            number
            for number in values
            if not (isinstance(number, int) and abs(number) <= 2**31 - 1)
        ]
        whole = array.astype(np.int32) if not wrong else array
    elif array.dtype.kind in "biuf":
        # not a number, or infinite
        with np.errstate(invalid="ignore") if array.dtype.kind == "f" else nullcontext():
            whole = array.astype(np.int32)
        wrong = array[differ].tolist() if (differ := whole != array).any() else []
    else:
        whole, wrong = array, array.tolist()
    if wrong:
        raise OptimalStepError(f"{must}, not {wrong[0]!r}")
    return whole


def check_tree(heads: np.ndarray, where: str, partial: bool = False) -> None:
    """Refuse heads outside 0..n and cycles; with ``partial``, heads may be UNKNOWN_HEAD.

    Several children of the root are allowed: the oracles and the projectivization are defined for
    them.

    Raises:
        OptimalStepError: the heads are not a tree; the message names ``where`` and the first token
            at fault.
    """
    n = len(heads)
    if n > MAX_TOKENS:
        raise OptimalStepError(
            f"{where} has {n} tokens; at most {MAX_TOKENS} are supported (scores are 16-bit)"
        )
    least = UNKNOWN_HEAD if partial else 0
    if n and (heads.min() < least or heads.max() > n):
        token = int(np.flatnonzero((heads < least) | (heads > n))[0]) + 1
        raise OptimalStepError(
            f"{where}: the head of token {token} is {heads[token - 1]}, outside 0..{n}"
        )
    token = _first_on_cycle(heads.astype(np.int32))
    if token:
        raise OptimalStepError(f"{where}: token {token} is on a cycle, so the heads are not a tree")


@array_kernel()
def _first_on_cycle(heads):
    """Return the first token on a cycle, 0 if there is none. Linear: each token is visited once."""
    n = len(heads)
    seen_from = np.zeros(n + 1, np.int32)  # the token from which this one was reached first
    for token in range(1, n + 1):
        node = token
        while node > 0 and seen_from[node] == 0:
            seen_from[node] = token
            node = heads[node - 1]
        if node > 0 and seen_from[node] == token:
            return node
    return 0


@array_kernel()
def topmost_nodes(heads):
    """Return int32[n + 1], the topmost ancestor of each node, or the node itself, by the known
    edges (heads: int32[n + 1]); linear.
    """
    topmost = np.full(len(heads), -1, np.int32)
    for i in range(len(heads)):
        node = i
        while topmost[node] < 0 and heads[node] >= 0:
            node = heads[node]
        top = node if topmost[node] < 0 else topmost[node]
        node = i
        while topmost[node] < 0:
            topmost[node] = top
            if node != top:
                node = heads[node]
    return topmost


@array_kernel()
def _is_part_of_projective(heads):
    """Return whether the known edges (heads: int32[n + 1]) are part of a projective tree; linear.

    They are part of one if no two edges cross, and no edge covers an ancestor of its own head,
    since all nodes that an edge covers must descend from its head. If none cross, an edge that
    covers an ancestor of its head also covers the topmost one.
    """
    topmost = topmost_nodes(heads)
    last = np.zeros(len(heads), np.int32)
    previous = np.zeros(len(heads), np.int32)
    for child in range(1, len(heads)):
        if heads[child] >= 0:
            previous[child] = last[heads[child]]
            last[heads[child]] = child
    # the right ends of the edges over a node, the innermost last
    ends = np.empty(len(heads), np.int32)
    count = 0
    for node in range(len(heads)):
        while count > 0 and ends[count - 1] == node:
            count -= 1
        innermost = ends[count - 1] if count > 0 else np.int32(len(heads))
        # The edges that begin here, the longest first: to the children on the right,
        # and to the head if it is on the right.
        head, child = heads[node], last[node]
        while child > node or head > node:
            end = max(child, head)
            if end > innermost or node < topmost[node] < end:
                return False
            innermost = end
            ends[count] = end
            count += 1
            if end == head:
                head = np.int32(-1)
            else:
                child = previous[child]
    return True


@array_kernel()
def _projective(heads, offsets, whole):
    """Return whether each tree is projective: every subtree must span exactly its own nodes.
    Linear, from the leaves up.
    """
    sentences = len(offsets) - 1
    projective = np.empty(sentences, np.bool_)
    for s in range(sentences):
        start = offsets[s]
        n = offsets[s + 1] - start - 1
        projective[s] = True
        if not whole[s]:
            projective[s] = _is_part_of_projective(heads[start : start + n + 1])
            continue
        work = np.empty((5, n + 1), np.int32)
        size, left, right, queue = work[0], work[1], work[2], work[3]
        children = work[4]  # not yet folded into their head
        for i in range(n + 1):
            size[i], left[i], right[i], children[i] = 1, i, i, 0
        for i in range(1, n + 1):
            children[heads[start + i]] += 1
        filled = 0
        for i in range(n + 1):
            if children[i] == 0:
                queue[filled] = i
                filled += 1
        at = 0
        while at < filled:
            node = queue[at]
            at += 1
            if right[node] - left[node] + 1 != size[node]:
                projective[s] = False
                break
            if node == 0:
                continue
            head = heads[start + node]
            size[head] += size[node]
            left[head] = min(left[head], left[node])
            right[head] = max(right[head], right[node])
            children[head] -= 1
            if children[head] == 0:
                queue[filled] = head
                filled += 1
    return projective


@array_kernel()
def _children(all_heads, offsets):
    """Return the arrays of GoldChildren."""
    last = np.zeros(len(all_heads), np.int32)
    previous = np.zeros(len(all_heads), np.int32)
    edges_from = np.zeros(len(all_heads), np.int32)
    for s in range(len(offsets) - 1):
        start = offsets[s]
        n = offsets[s + 1] - start - 1
        for i in range(1, n + 1):
            head = all_heads[start + i]
            if head < 0:
                continue
            previous[start + i] = last[start + head]
            last[start + head] = i
            edges_from[start + min(i, head)] += 1
        for b in range(n - 1, -1, -1):
            edges_from[start + b] += edges_from[start + b + 1]
    return last, previous, edges_from
