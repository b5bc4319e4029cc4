"""Sentences as lattices of a single path."""

from __future__ import annotations

import numpy as np

from parser.data.sentences import Parses, Sentences
from parser.decoding.lattice.compiled import Arcs, LatticeBeam
from parser.decoding.sentence_parser import Tree, distinct, write_trees


def path(length: int) -> Arcs:
    """Of a sentence of this many tokens."""
    nodes = np.arange(length + 1, dtype=np.int32)
    return Arcs.of(nodes[:-1], nodes[1:], length)


def k_best(search: LatticeBeam, sentences: Sentences, k: int, single_root: bool) -> list[list[Tree]]:
    arcs = [path(n) for n in sentences.lengths.tolist()]
    return [distinct(trees, k) for trees in search.lattice_trees(sentences, arcs, single_root)]


def parse_as_paths(search: LatticeBeam, sentences: Sentences, single_root: bool = True) -> Parses:
    parses = Parses.allocate(sentences.offsets)
    write_trees((best for (best,) in k_best(search, sentences, 1, single_root)), parses)
    return parses
