"""Predicted trees as integers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# No such node, relation, row or output: what fills integer arrays where there is nothing.
NO_NODE = -1


@dataclass(frozen=True)
class Parses:
    """Predicted trees in the layout of ``Sentences``: the entries of the roots are NO_NODE.

    Attributes:
        heads: int32[total].
        relations: int32[total].
        offsets: int64[sentences + 1].
    """

    heads: np.ndarray
    relations: np.ndarray
    offsets: np.ndarray

    @classmethod
    def allocate(cls, offsets: np.ndarray) -> Parses:
        """For sentences that begin at these offsets, none of whose words has a head."""
        heads = np.full(offsets[-1], NO_NODE, np.int32)
        return cls(heads, heads.copy(), offsets)

    def span(self, first: int, last: int) -> Parses:
        """Those of the sentences from number ``first`` to before ``last``, not copied."""
        start, end = self.offsets[first], self.offsets[last]
        return Parses(self.heads[start:end], self.relations[start:end], self.offsets[first : last + 1] - start)
