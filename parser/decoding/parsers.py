"""The parser of a model: the fastest that its transition system has."""

from __future__ import annotations

from collections.abc import Sequence

from parser.data.parses import Parses
from parser.data.vocabulary import Columns
from parser.decoding.greedy import GreedyParser
from parser.decoding.lockstep import LockstepParser
from parser.decoding.sentence_parser import SentenceParser
from parser.model import Model
from parser.transitions.attardi import Attardi


def parser_of(model: Model, threads: int = 1) -> SentenceParser:
    """A parser with the weights as they are now; ``threads`` parse side by side where the parser can."""
    if isinstance(model.system, Attardi):
        return GreedyParser(model.weights(), model.system, model.table, threads)
    return LockstepParser(model.weights(), model.system, model.table)


def parse(model: Model, sentences: Sequence[Columns], *, single_root: bool = True, threads: int = 1) -> Parses:
    """Parses sentences greedily into valid UD trees, or, without ``single_root``, into any trees."""
    return parser_of(model, threads).parse(model.vocabularies.encode(sentences), single_root=single_root)
