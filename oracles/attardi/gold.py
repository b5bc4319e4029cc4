"""Whether Attardi's system can parse gold trees.

Attaching as soon as possible parses a tree iff the system can parse it at all: a node that is complete and can go to its
head never does better to wait.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from oracles.attardi.states import flip, normalise, words_of
from oracles.gold_children import gold_children
from oracles.trees import Trees


class UnparseableGoldError(ValueError):
    """Attardi's system cannot parse a gold tree, and the oracle is only exact for those that it can."""


def parseable(trees: Trees, degree: int) -> np.ndarray:
    """bool[sentences]: whether Attardi's system of that degree can make the whole tree."""
    children = gold_children(trees.heads, trees.offsets)
    return _parseable(trees.heads, trees.offsets, children.last, children.previous, degree)


@njit(cache=True)
def _parseable(all_heads, offsets, all_last, all_siblings, degree):
    able = np.empty(len(offsets) - 1, np.bool_)
    window = np.empty(degree + 1, np.int64)
    for s in range(len(offsets) - 1):
        start, end = offsets[s], offsets[s + 1]
        n = end - start - 1
        heads, last_child, sibling = all_heads[start:end], all_last[start:end], all_siblings[start:end]
        words = np.zeros(words_of(n), np.int64)
        words[0] = 1
        flip(words, 0, 1)
        left = 1  # nodes in the window at the end
        for front in range(2, n + 2):
            flip(words, 0, front)
            left = normalise(heads, last_child, sibling, degree, words, 0, front, window)
        able[s] = left == 1  # no edge is ever lost on the way, so whoever is left waits for somebody out of reach
    return able
