"""Parsing sentences a span at a time, by threads that parse side by side."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from parser.data.parses import Parses
from parser.data.sentences import Sentences


def parse_spans(sentences: Sentences, tokens: int, threads: int, parse: Callable[[Sentences, Parses], None]) -> Parses:
    """Parses sentences.

    Args:
        sentences: encoded sentences.
        tokens: of a span, unless a single sentence has more.
        threads: how many spans are parsed side by side.
        parse: parses the sentences of a span into the room for their trees; called by several threads at the same time.
    """
    parses = Parses.room_for(sentences.offsets)

    def parse_span(span: tuple[int, int]) -> None:
        parse(sentences.span(*span), parses.span(*span))

    if threads == 1:
        for span in sentences.spans(tokens):
            parse_span(span)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(parse_span, sentences.spans(tokens)))
    return parses
