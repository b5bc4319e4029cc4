"""Parsing with a linear model, in lockstep, for any transition system."""

from __future__ import annotations

from parser.data.parses import Parses
from parser.data.sentences import Sentences
from parser.decoding.greedy.batched import parse_in_lockstep
from parser.decoding.sentence_parser import parse_spans
from parser.linear.model import LinearModel

# Tokens that a thread takes at a time, unless a sentence has more.
_SHARE = 4_000


class LinearParser:
    """Parses with a linear model; see SentenceParser.

    Args:
        model: the model.
        threads: how many shares of the sentences are parsed side by side.
    """

    def __init__(self, model: LinearModel, threads: int = 1) -> None:
        self._model = model
        self._threads = threads

    def parse(self, sentences: Sentences, *, single_root: bool = True) -> Parses:
        """Parses sentences greedily; see parse_in_lockstep."""
        model = self._model

        def parse(part: Sentences, parses: Parses) -> None:
            found = parse_in_lockstep(part, model.system, model.templates, model.weights.scores, single_root=single_root)
            parses.heads[:], parses.relations[:] = found.heads, found.relations

        return parse_spans(sentences, _SHARE, self._threads, parse)
