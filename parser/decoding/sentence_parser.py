"""The interface of all parsers of encoded sentences, and their result: trees with scores."""

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
        score: the beam's score of the best computation that makes the tree.
        heads: int32[n], the heads of tokens 1..n.
        relations: int32[n], the relations of these arcs.
    """

    score: float
    heads: np.ndarray
    relations: np.ndarray


def distinct(trees: Iterable[Tree], k: int) -> list[Tree]:
    """Return the first k trees that differ from all before them."""
    distinct_trees: dict[tuple[bytes, bytes], Tree] = {}
    for tree in trees:
        distinct_trees.setdefault((tree.heads.tobytes(), tree.relations.tobytes()), tree)
        if len(distinct_trees) == k:
            break
    return list(distinct_trees.values())


def write_trees(trees: Iterable[Tree], parses: Parses) -> None:
    """Write one tree for each sentence into ``parses``."""
    for start, tree in zip(parses.offsets, trees, strict=False):
        inside = slice(start + 1, start + 1 + len(tree.heads))
        parses.heads[inside], parses.relations[inside] = tree.heads, tree.relations


class SentenceParser(Protocol):
    """Parses encoded sentences; the trees are the same for any number of threads.

    A tree depends only on its sentence. On devices other than the CPU, the last digits of scores
    also depend on which sentences the encoder reads together.
    """

    def parse(self, sentences: Sentences, *, single_root: bool = True) -> Parses:
        """Parse sentences into valid UD trees; without ``single_root``, the artificial root may
        have several children.
        """
        ...


class KBestParser(SentenceParser, Protocol):
    """Finds several trees for each sentence."""

    def k_best(self, sentences: Sentences, k: int, *, single_root: bool = True) -> list[list[Tree]]:
        """Return, for each sentence, the k best distinct trees that were found, best first;
        fewer where fewer were found.

        Raises:
            BeamError: the beam is too small for k trees.
        """
        ...


def parse_spans(
    sentences: Sentences, tokens: int, threads: int, parse: Callable[[Sentences, Parses], None]
) -> Parses:
    """Parse sentences in spans, several at the same time.

    Args:
        tokens: the most tokens of a span, unless a single sentence has more.
        threads: how many spans are parsed at the same time.
        parse: parses the sentences of a span and fills in their ``Parses``;
            called by several threads.
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
