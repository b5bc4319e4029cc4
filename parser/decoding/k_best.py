"""The best trees of a sentence with their scores."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Tree:
    """A tree that a search has found.

    Attributes:
        score: of the best computation that makes it, as the beam counts.
        heads: int32[n], of the tokens 1..n.
        relations: int32[n].
    """

    score: float
    heads: np.ndarray
    relations: np.ndarray


def distinct(trees: Iterable[Tree], k: int) -> list[Tree]:
    """The first k trees that differ from all before them."""
    found: dict[tuple[bytes, bytes], Tree] = {}
    for tree in trees:
        found.setdefault((tree.heads.tobytes(), tree.relations.tobytes()), tree)
        if len(found) == k:
            break
    return list(found.values())
