"""Reranking: the heads that the encoder predicts help to choose among the trees of a beam."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from parser import batch_sizes
from parser.beam_settings import Beam
from parser.data.sentences import Parses, Sentences
from parser.decoding.sentence_parser import KBestParser, Tree, parse_spans, write_trees
from parser.inference.heads import FrozenHeadScorer
from parser.inference.weights import SentenceEncoder


class RerankingParser:
    """Ranks the trees of a beam by the beam's scores plus the encoder's log probabilities of their
    arcs.

    The encoder of recipe=text learns to predict the head and relation of each word separately
    (networks/tasks.py). Its errors differ from those of the parser, which sees one configuration at
    a time, but its heads need not form a tree. So the beam finds trees, and the sum of both log
    probabilities chooses among them. Such reranking of k-best lists is long established (Collins
    2000; Charniak and Johnson 2005).

    Args:
        search: the parser that finds trees.
        encoder: the encoder of its classifier.
        heads: scores trees by the heads that the encoder predicts.
        beam: the beam of ``search``; all of its trees are compared.
        threads: how many sentences are parsed at the same time.
    """

    def __init__(
        self,
        search: KBestParser,
        encoder: SentenceEncoder,
        heads: FrozenHeadScorer,
        beam: Beam,
        threads: int = 1,
    ) -> None:
        self._parser = search
        self._encoder = encoder
        self._heads = heads
        self.beam = beam
        self._threads = threads

    def parse(self, sentences: Sentences, *, single_root: bool = True) -> Parses:
        """Return the best tree of each sentence by both scores."""

        def parse(part: Sentences, parses: Parses) -> None:
            write_trees((best for best, *_ in self._ranked(part, 1, single_root)), parses)

        return parse_spans(sentences, batch_sizes.TOKENS_PER_SEARCH, self._threads, parse)

    def k_best(self, sentences: Sentences, k: int, *, single_root: bool = True) -> list[list[Tree]]:
        """Return the k best trees of each sentence, with the summed scores."""
        self.beam.check_k_best(k)
        spans = sentences.spans(batch_sizes.TOKENS_PER_SEARCH)
        return [
            trees[:k]
            for span in spans
            for trees in self._ranked(sentences.span(*span), k, single_root)
        ]

    def _ranked(self, sentences: Sentences, k: int, single_root: bool) -> Iterator[list[Tree]]:
        """Yield the trees of each sentence, best first, k or more if found; trees of equal score
        keep the beam's order.
        """
        sentences = replace(sentences, vectors=self._encoder.encode(sentences))
        candidates = self._parser.k_best(sentences, max(k, self.beam.size), single_root=single_root)
        vectors = self._encoder.arithmetic.floats(self._encoder.encode(sentences))
        every = [
            (start, tree)
            for start, trees in zip(sentences.offsets.tolist(), candidates, strict=False)
            for tree in trees
        ]
        words = [np.arange(start + 1, start + 1 + len(tree.heads)) for start, tree in every]
        heads = [start + tree.heads for start, tree in every]
        relations = [tree.relations for _, tree in every]
        by_arc = self._heads.log_probabilities(
            vectors, sentences.offsets, *map(np.concatenate, (words, heads, relations))
        )
        by_tree = np.bincount(
            np.repeat(np.arange(len(every)), [*map(len, words)]), by_arc, len(every)
        )
        totals = np.nan_to_num(by_tree + [tree.score for _, tree in every], nan=-np.inf)
        for trees, scores in zip(
            candidates,
            np.split(totals, np.cumsum([len(trees) for trees in candidates])),
            strict=False,
        ):
            yield [
                replace(trees[i], score=float(scores[i]))
                for i in np.argsort(-scores, kind="stable")
            ]
