"""What a search through a lattice keeps (lattice_search.py): arcs, the items of buckets, room for one configuration."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parser.data.parses import NO_NODE
from parser.decoding.beam.compiled import Scratch


class Arcs(NamedTuple):
    """The arcs of a lattice as tokens 1 to A; token 0 is the artificial root.

    Attributes:
        ends: int32[A + 1], the node at which each ends; 0 for the root.
        first: int32[N + 2], the arcs that start from node v are ``first[v]`` to ``first[v + 1] - 1``.
        ticks: int32[A + 1], what each adds to the clock: its length.
    """

    ends: np.ndarray
    first: np.ndarray
    ticks: np.ndarray

    @property
    def last_node(self) -> int:
        """N."""
        return len(self.first) - 2

    @classmethod
    def of_sentence(cls, length: int) -> Arcs:
        """The single path of a sentence of this many tokens."""
        nodes = np.arange(length + 1, dtype=np.int32)
        return cls.of(nodes[:-1], nodes[1:], length)

    @classmethod
    def of(cls, starts: np.ndarray, ends: np.ndarray, last_node: int) -> Arcs:
        """Those between the given nodes (int32[A])."""
        first = 1 + np.searchsorted(starts, np.arange(last_node + 2)).astype(np.int32)
        root = np.zeros(1, np.int32)
        return cls(np.concatenate([root, ends]).astype(np.int32), first, np.concatenate([root, ends - starts]).astype(np.int32))


class LatticeSearch(NamedTuple):
    """Items of a bucket, whether equal ones merge, whether scores are local, L, and the output of choices or NO_NODE."""

    size: int
    merging: bool
    local: bool
    lookahead: int
    choice: int


class LatticeItems(NamedTuple):
    """The items of a sentence; row m of each array holds those of bucket m, best first.

    Attributes:
        counts: int32[buckets], how many there are.
        cells: int32[buckets, size], their stacks.
        depths: int32[buckets, size], how many elements these have.
        ahead: int32[buckets, size, L], the arcs that are decided, NO_NODE after the last.
        totals: float64[buckets, size], their scores.
    """

    counts: np.ndarray
    cells: np.ndarray
    depths: np.ndarray
    ahead: np.ndarray
    totals: np.ndarray

    @classmethod
    def room(cls, buckets: int, size: int, lookahead: int) -> LatticeItems:
        """For this many buckets."""
        cells, depths = np.empty((2, buckets, size), np.int32)
        ahead = np.empty((buckets, size, lookahead), np.int32)
        return cls(np.zeros(buckets, np.int32), cells, depths, ahead, np.empty((buckets, size), np.float64))


class LatticeScratch(NamedTuple):
    """Room for one configuration.

    Attributes:
        one: see Scratch.
        scores: float32[outputs].
        tops: int32[elements], the nodes that features can see.
        next_tops, next_ahead: those, and the arcs ahead, of what a shift makes.
        no_tops, only: an empty stack, and only one arc ahead.
        sums: float32[units], the hidden layer of what all candidates of a choice have in common.
        choices: float64[widest], the scores of the arcs from one node.
    """

    one: Scratch
    scores: np.ndarray
    tops: np.ndarray
    next_tops: np.ndarray
    next_ahead: np.ndarray
    no_tops: np.ndarray
    only: np.ndarray
    sums: np.ndarray
    choices: np.ndarray

    @classmethod
    def room(
        cls, arcs: int, widest: int, addresses: int, units: int, outputs: int, elements: int, lookahead: int
    ) -> LatticeScratch:
        """For lattices of at most this many arcs, ``widest`` of them from one node."""
        tops = np.full((3, elements), NO_NODE, np.int32)
        ahead = np.full((2, lookahead), NO_NODE, np.int32)
        one = Scratch.room(arcs, addresses, units, outputs, lookahead)
        scores, sums = np.empty(outputs, np.float32), np.empty(units, np.float32)
        return cls(one, scores, tops[0], tops[1], ahead[0], tops[2], ahead[1], sums, np.empty(widest, np.float64))
