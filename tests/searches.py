"""Parsers by what most tests ask of them."""

from typing import cast

from parser.beam_settings import Beam
from parser.decoding.search import SearchWish, search_for
from parser.decoding.sentence_parser import KBestParser, SentenceParser
from parser.model.parser_model import ParserModel


def parser_of(model: ParserModel, threads: int = 1) -> SentenceParser:
    """Return a greedy parser."""
    return search_for(model, SearchWish(threads=threads))


def parser_with_beam(model: ParserModel, beam: Beam | None, threads: int = 1) -> SentenceParser:
    """Return a parser with this beam; greedy without one."""
    return search_for(model, SearchWish(beam or Beam(1), threads))


def beam_parser_of(model: ParserModel, beam: Beam, threads: int = 1) -> KBestParser:
    """Return a parser that finds several trees, even with a beam of one item."""
    return cast(KBestParser, search_for(model, SearchWish(beam, threads, k_best=True)))
