"""The parser of a model: the fastest that its transition system has, greedy or with a beam."""

from __future__ import annotations

from collections.abc import Sequence

from parser.beam_settings import Beam, BeamError, Merge
from parser.data.parses import Parses
from parser.data.vocabulary import Columns
from parser.decoding.beam import BeamParser
from parser.decoding.greedy import GreedyParser
from parser.decoding.lockstep import LockstepParser
from parser.decoding.lockstep_beam import LockstepBeamParser
from parser.decoding.merging_beam import MergingBeamParser
from parser.decoding.sentence_parser import KBestParser, SentenceParser
from parser.model import Model
from parser.transitions.attardi import Attardi


def parser_of(model: Model, threads: int = 1, beam: Beam | None = None) -> SentenceParser:
    """A parser with the weights as they are now.

    Args:
        model: the model.
        threads: how many parse side by side where the parser can.
        beam: the beam; None, or one of one item: the parser is greedy.
    """
    if beam is not None and beam.size > 1:
        return beam_parser_of(model, beam, threads)
    if isinstance(model.system, Attardi):
        return GreedyParser(model.weights(), model.system, model.table, threads)
    return LockstepParser(model.weights(), model.system, model.table)


def beam_parser_of(model: Model, beam: Beam, threads: int = 1) -> KBestParser:
    """A parser that searches with a beam of any size; see parser_of().

    Raises:
        BeamError: the beam merges by signature, and the transition system is another than arc-standard.
    """
    if beam.merge is Merge.SIGNATURE:
        if not isinstance(model.system, Attardi) or model.system.degree != 1:
            raise BeamError(
                f"merge={beam.merge} is there for system=arc_standard alone, and the model has system={model.system.name}; "
                f"take merge={Merge.CONFIGURATION}"
            )
        return MergingBeamParser(model.weights(), model.system, model.table, beam)
    if isinstance(model.system, Attardi):
        return BeamParser(model.weights(), model.system, model.table, beam, threads)
    return LockstepBeamParser(model.weights(), model.system, model.table, beam)


def parse(model: Model, sentences: Sequence[Columns], *, single_root: bool = True, threads: int = 1) -> Parses:
    """Parses sentences greedily into valid UD trees, or, without ``single_root``, into any trees."""
    return parser_of(model, threads).parse(model.vocabularies.encode(sentences), single_root=single_root)
