"""Attardi's transition system: arc-standard with arcs between the top and deeper elements; and the
base class of its oracles.

A configuration is a stack a_0..a_k and a buffer b..n, as in oracles.interface; depth d means d
elements below the top. The transitions of degree D, in order:

* sh (shift): pushes b. Applicable if the buffer is not empty.
* for d = 1..D: ra_d: the top becomes a child of the element at depth d and is popped. Applicable if
  there is one. la_d: the element at depth d becomes a child of the top and is removed. Applicable
  if there is one and it is not 0.

D = 1 is arc-standard (ra_1 = reduce_left, la_1 = reduce_right). D = 2 is UDPipe's link2, and the
system of Gómez-Rodríguez, Sartorio and Satta 2014, Section 2, which omits the deeper transitions of
Attardi 2006.

Attaching as soon as possible parses every tree that the system can parse: there is never anything
to gain by delaying the attachment of a complete node that can be attached to its head.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from oracles.attardi.states import flip, normalise, words_of
from oracles.errors import OptimalStepError
from oracles.interface import Oracle, Strategy
from oracles.kernel_cache import array_kernel
from oracles.trees import GoldChildren, Trees

MAX_DEGREE = 9


class AttardiOracle(Oracle):
    """The base class of the oracles of Attardi's system.

    Args:
        strategy: ``any``; there is no other.
        degree: D, how deep a transition reaches, 1 to MAX_DEGREE.

    Raises:
        OptimalStepError: another strategy or degree.
    """

    system: ClassVar[str] = "attardi"
    alternatives: ClassVar[tuple[str, ...]] = ("attardi_search",)
    needs_projective_gold: ClassVar[bool] = False
    strategies: ClassVar[tuple[Strategy, ...]] = (Strategy.ANY,)

    def __init__(self, strategy: Strategy | str | None = None, degree: int = 2) -> None:
        super().__init__(strategy)
        if degree not in range(1, MAX_DEGREE + 1):
            raise OptimalStepError(
                f"oracle {self.name} supports degrees 1 to {MAX_DEGREE}, not {degree!r}"
            )
        self.degree = degree
        depths = ["", *map(str, range(2, degree + 1))]
        self.transition_names = (
            "sh",
            *(transition + depth for depth in depths for transition in ("ra", "la")),
        )


class UnparseableGoldError(OptimalStepError):
    """Attardi's system cannot parse a gold tree,
    and the oracle is exact only for trees that it can parse.
    """


def parseable(trees: Trees, degree: int) -> np.ndarray:
    """Return bool[sentences], whether Attardi's system of that degree can make the whole tree."""
    children = GoldChildren.of(trees)
    return _parseable(
        trees.heads, trees.offsets, children.last, children.previous, degree, np.bool_(False)
    )


@array_kernel()
def _parseable(all_heads, offsets, all_last, all_siblings, degree, single_root):
    able = np.empty(len(offsets) - 1, np.bool_)
    window = np.empty(degree + 1, np.int64)
    for s in range(len(offsets) - 1):
        start, end = offsets[s], offsets[s + 1]
        n = end - start - 1
        heads = all_heads[start:end]
        last_child = all_last[start:end]
        sibling = all_siblings[start:end]
        words = np.zeros(words_of(n), np.int64)
        words[0] = 1
        flip(words, 0, 1)
        left = 1  # how many nodes normalise() has left in the window
        for front in range(2, n + 2):
            flip(words, 0, front)
            left = normalise(
                heads, last_child, sibling, degree, single_root, words, 0, front, window
            )
        # no edge was lost, so a node that is left waits for a node that it cannot reach
        able[s] = left == 1
    return able
