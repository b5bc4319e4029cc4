"""Sentences as lattices of a single path."""

from __future__ import annotations

import numpy as np

from parser.data.sentences import Parses, Sentences
from parser.decoding.lattice.compiled import Arcs
from parser.decoding.lattice.parser import LatticeSearcher
from parser.decoding.sentence_parser import Tree, distinct, write_trees


def path(length: int) -> Arcs:
    """Of a sentence of this many tokens."""
    nodes = np.arange(length + 1, dtype=np.int32)
    return Arcs.of(nodes[:-1], nodes[1:], length)


def k_best(searcher: LatticeSearcher, sentences: Sentences, k: int, single_root: bool) -> list[list[Tree]]:
    arcs = [path(n) for n in sentences.lengths.tolist()]
    return [distinct(trees, k) for trees in searcher.lattice_trees(sentences, arcs, single_root)]


def parse_as_paths(searcher: LatticeSearcher, sentences: Sentences, single_root: bool = True) -> Parses:
    parses = Parses.allocate(sentences.offsets)
    write_trees((best for (best,) in k_best(searcher, sentences, 1, single_root)), parses)
    return parses
