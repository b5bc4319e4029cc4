"""Greedy parsing with a sentence encoder: some sentences at a time are read, and then parsed as with any classifier."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from parser.classifier.context import part, spans
from parser.data.parses import NO_NODE, Parses
from parser.data.vocabulary import Sentences
from parser.decoding.sentence_parser import SentenceParser

# Tokens that are read and parsed together. What they add to the hidden units is kept for each token and address: a few
# kilobytes for a token.
_TOGETHER = 4000


class ContextParser:
    """Parses sentences with a classifier that has to read them first; the same face as GreedyParser.

    The cut is a matter of the sentences alone, so that the same sentences give the same parses with any number of threads.

    Args:
        parser_for: from sentences to a parser of these sentences.
    """

    def __init__(self, parser_for: Callable[[Sentences], SentenceParser]) -> None:
        self._parser_for = parser_for

    def parse(self, sentences: Sentences, *, single_root: bool = True) -> Parses:
        """Parses sentences greedily; see decoding.parse_in_lockstep."""
        heads = np.full(sentences.offsets[-1], NO_NODE, np.int32)
        relations = heads.copy()
        for first, last in spans(sentences, _TOGETHER):
            some = part(sentences, first, last)
            parses = self._parser_for(some).parse(some, single_root=single_root)
            start, end = sentences.offsets[first], sentences.offsets[last]
            heads[start:end], relations[start:end] = parses.heads, parses.relations
        return Parses(heads, relations, sentences.offsets)
