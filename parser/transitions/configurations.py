"""Configurations of many sentences that are parsed at the same time,
as arrays for compiled kernels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parser.data.sentences import NO_NODE
from parser.kernels import kernel

# The only row, in a kernel. To numba, a literal 0 is another type, for which it would compile all
# kernels that take rows once more.
ONLY_ROW = np.int64(0)


class Configurations(NamedTuple):
    """One configuration for each of a batch of sentences; width = the longest sentence + 1.

    Node 0 is the artificial root. This is a named tuple,
    so that a kernel takes it as one argument and reads it by name.

    Attributes:
        lengths: int32[batch], the number n of tokens of the sentence.
        stacks: int32[batch, width]; row r holds a_0..a_k in its first ``stack_sizes[r]`` entries.
        stack_sizes: int32[batch], k + 1.
        buffers: int32[batch, width]; entries ``buffer_fronts[r]`` to n of row r are the buffer, the
            first token first. In all systems except swap, entry i is token i.
        buffer_fronts: int32[batch], where the buffer begins; n + 1 when it is empty.
        heads: int32[batch, width], heads given so far; NO_NODE where none.
        relations: int32[batch, width], relations given so far; NO_NODE where none.
        children: int32[batch, width, 2], the outermost left and right child so far;
            NO_NODE where none.
        siblings: int32[batch, width], for a child, the next child of the same head towards the
            head; NO_NODE where none.
    """

    lengths: np.ndarray
    stacks: np.ndarray
    stack_sizes: np.ndarray
    buffers: np.ndarray
    buffer_fronts: np.ndarray
    heads: np.ndarray
    relations: np.ndarray
    children: np.ndarray
    siblings: np.ndarray

    @classmethod
    def initial(cls, lengths: np.ndarray) -> Configurations:
        """Return configurations with stack (0) and the whole sentence in the buffer,
        for these lengths (int[batch]).
        """
        batch = len(lengths)
        width = int(lengths.max(initial=0)) + 1

        def nothing(*shape: int) -> np.ndarray:
            return np.full(shape, NO_NODE, np.int32)

        return cls(
            lengths=lengths.astype(np.int32),
            stacks=np.zeros((batch, width), np.int32),
            stack_sizes=np.ones(batch, np.int32),
            buffers=np.tile(np.arange(width, dtype=np.int32), (batch, 1)),
            buffer_fronts=np.ones(batch, np.int32),
            heads=nothing(batch, width),
            relations=nothing(batch, width),
            children=nothing(batch, width, 2),
            siblings=nothing(batch, width),
        )

    def unfinished(self) -> np.ndarray:
        """Return int64[m], the rows with more than the root on the stack,
        or with a token in the buffer.
        """
        return np.flatnonzero((self.stack_sizes > 1) | (self.buffer_fronts <= self.lengths))


@kernel()
def clear(now, row, length):
    """Make one row of Configurations the initial configuration of a sentence of ``length``
    tokens.
    """
    now.lengths[row] = length
    now.stacks[row, 0] = 0
    now.stack_sizes[row] = 1
    now.buffer_fronts[row] = 1
    for i in range(length + 1):
        now.buffers[row, i] = i
        now.heads[row, i] = NO_NODE
        now.relations[row, i] = NO_NODE
        now.children[row, i, 0] = NO_NODE
        now.children[row, i, 1] = NO_NODE
        now.siblings[row, i] = NO_NODE


@kernel()
def is_unfinished(now, row):
    """Return whether there is more than the root on the stack, or a token in the buffer."""
    return now.stack_sizes[row] > 1 or now.buffer_fronts[row] <= now.lengths[row]


@kernel()
def shift(now, row):
    """Move the first token of the buffer onto the stack."""
    now.stacks[row, now.stack_sizes[row]] = now.buffers[row, now.buffer_fronts[row]]
    now.stack_sizes[row] += 1
    now.buffer_fronts[row] += 1


@kernel()
def remove(now, row, depth):
    """Remove the stack element ``depth`` elements below the top, and return it."""
    last = now.stack_sizes[row] - 1
    node = now.stacks[row, last - depth]
    for i in range(last - depth, last):
        now.stacks[row, i] = now.stacks[row, i + 1]
    now.stack_sizes[row] = last
    return node


@kernel()
def attach(now, row, head, child, relation):
    """Make ``child`` a child of ``head``, and insert it among the children on that side of the
    head.

    Most systems attach children from the inside out,
    so that a new child is the outermost one and is put in place at once.
    """
    now.heads[row, child] = head
    now.relations[row, child] = relation
    side = 0 if child < head else 1
    outer = NO_NODE  # the innermost of the children further out than the new one
    inner = now.children[row, head, side]
    while inner != NO_NODE and (inner < child) == (side == 0):
        outer, inner = inner, now.siblings[row, inner]
    now.siblings[row, child] = inner
    if outer == NO_NODE:
        now.children[row, head, side] = child
    else:
        now.siblings[row, outer] = child
