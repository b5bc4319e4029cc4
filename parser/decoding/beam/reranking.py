"""Trees of a beam in another order: by the beam's scores and by the heads that the encoder predicts, added up.

The encoder of recipe=text learns to predict heads and relations, each word's by itself (networks/tasks.py). It errs
elsewhere than the parser does, which sees one configuration at a time, but its heads need not be trees. So the parser makes
trees, and the sum of the logarithms of both probabilities says which is best; k-best lists of parsers have long been reranked
so (Collins 2000; Charniak and Johnson 2005).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from parser import batch_sizes
from parser.beam_settings import Beam
from parser.data.sentences import Parses, Sentences
from parser.decoding.sentence_parser import KBestParser, Tree, parse_spans, write_trees
from parser.inference.biaffine import FrozenBiaffineScorer
from parser.inference.weights import SentenceEncoder


class RerankingParser:
    """Searches with a beam, and reranks what it finds; see KBestParser.

    Args:
        search: the parser that finds trees.
        encoder: the encoder of its classifier.
        heads: how probable trees are by the heads that the encoder predicts.
        beam: the beam of that parser, of which all trees are compared.
        threads: how many sentences are parsed side by side.
    """

    def __init__(
        self,
        search: KBestParser,
        encoder: SentenceEncoder,
        heads: FrozenBiaffineScorer,
        beam: Beam,
        threads: int = 1,
    ) -> None:
        self._parser = search
        self._encoder = encoder
        self._heads = heads
        self.beam = beam
        self._threads = threads

    def parse(self, sentences: Sentences, *, single_root: bool = True) -> Parses:
        """The tree of each sentence that both scores together prefer."""

        def parse(part: Sentences, parses: Parses) -> None:
            write_trees((best for best, *_ in self._ranked(part, 1, single_root)), parses)

        return parse_spans(sentences, batch_sizes.TOKENS_PER_SEARCH, self._threads, parse)

    def k_best(self, sentences: Sentences, k: int, *, single_root: bool = True) -> list[list[Tree]]:
        """Return the k best trees of each sentence, with the scores that they are ranked by."""
        self.beam.check_k_best(k)
        spans = sentences.spans(batch_sizes.TOKENS_PER_SEARCH)
        return [trees[:k] for span in spans for trees in self._ranked(sentences.span(*span), k, single_root)]

    def _ranked(self, sentences: Sentences, k: int, single_root: bool) -> Iterator[list[Tree]]:
        """The trees of each sentence, best first, k or more where there are as many; of equal ones, the beam's order stays."""
        sentences = replace(sentences, vectors=self._encoder.encode(sentences))
        found = self._parser.k_best(sentences, max(k, self.beam.size), single_root=single_root)
        vectors = self._encoder.floats(self._encoder.encode(sentences))
        for start, end, trees in zip(sentences.offsets, sentences.offsets[1:], found, strict=False):
            heads, relations = np.stack([tree.heads for tree in trees]), np.stack([tree.relations for tree in trees])
            by_heads = self._heads.log_probabilities(vectors[start:end], heads, relations)
            totals = np.nan_to_num(by_heads + np.array([tree.score for tree in trees]), nan=-np.inf)
            yield [replace(trees[i], score=float(totals[i])) for i in np.argsort(-totals, kind="stable")]
