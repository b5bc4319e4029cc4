"""Parsing with a linear model, in lockstep, for any transition system."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from parser.data.parses import NO_NODE, Parses
from parser.data.vocabulary import Sentences
from parser.decoding.lockstep import parse_in_lockstep
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
        heads = np.full(sentences.offsets[-1], NO_NODE, np.int32)
        relations = heads.copy()
        model = self._model

        def parse_span(span: tuple[int, int]) -> None:
            first, last = span
            part = sentences.span(first, last)
            parses = parse_in_lockstep(part, model.system, model.templates, model.weights.scores, single_root=single_root)
            inside = slice(sentences.offsets[first], sentences.offsets[last])
            heads[inside], relations[inside] = parses.heads, parses.relations

        if self._threads == 1:
            for span in sentences.spans(_SHARE):
                parse_span(span)
        else:
            with ThreadPoolExecutor(self._threads) as pool:
                list(pool.map(parse_span, sentences.spans(_SHARE)))
        return Parses(heads, relations, sentences.offsets)
