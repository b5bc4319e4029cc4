"""The interface of all parsers of encoded sentences, and their results: trees with scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from parser.data.sentences import Parses, Sentences


@dataclass(frozen=True)
class Tree:
    """A tree that a search has found.

    Attributes:
        score: of the best computation that makes it, as the beam counts.
        heads: int32[n], of the tokens 1..n.
        relations: int32[n].
    """

    score: float
    heads: np.ndarray
    relations: np.ndarray


def distinct(trees: Iterable[Tree], k: int) -> list[Tree]:
    """The first k trees that differ from all before them."""
    found: dict[tuple[bytes, bytes], Tree] = {}
    for tree in trees:
        found.setdefault((tree.heads.tobytes(), tree.relations.tobytes()), tree)
        if len(found) == k:
            break
    return list(found.values())


def write_trees(trees: Iterable[Tree], parses: Parses) -> None:
    """Writes a tree of each sentence into ``parses``."""
    for start, tree in zip(parses.offsets, trees, strict=False):
        inside = slice(start + 1, start + 1 + len(tree.heads))
        parses.heads[inside], parses.relations[inside] = tree.heads, tree.relations


class SentenceParser(Protocol):
    """Parses encoded sentences; the trees are the same for any number of threads.

    A tree depends only on its sentence. (On another device than the CPU, the last digits of scores depend on the sentences that
    an encoder reads together.)
    """

    def parse(self, sentences: Sentences, *, single_root: bool = True) -> Parses:
        """Parses sentences into valid UD trees, or, without ``single_root``, into any trees."""
        ...


class KBestParser(SentenceParser, Protocol):
    """Can also say which trees come next."""

    def k_best(self, sentences: Sentences, k: int, *, single_root: bool = True) -> list[list[Tree]]:
        """For each sentence, the k best distinct trees that were found, or as many as there are, best first.

        Raises:
            BeamError: there cannot be that many.
        """
        ...


def parse_spans(sentences: Sentences, tokens: int, threads: int, parse: Callable[[Sentences, Parses], None]) -> Parses:
    """Parses sentences.

    Args:
        sentences: encoded sentences.
        tokens: of a span, unless a single sentence has more.
        threads: how many spans are parsed side by side.
        parse: parses the sentences of a span into ``Parses`` that are theirs; called by several threads at the same time.
    """
    parses = Parses.allocate(sentences.offsets)

    def parse_span(span: tuple[int, int]) -> None:
        parse(sentences.span(*span), parses.span(*span))

    if threads == 1:
        for span in sentences.spans(tokens):
            parse_span(span)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(parse_span, sentences.spans(tokens)))
    return parses
