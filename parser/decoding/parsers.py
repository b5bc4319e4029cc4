"""The fastest parser for a model, by its kind and its transition system.

All but the most common parser are imported only when a model needs them: each module with compiled loops makes commands start
later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from parser import batch_sizes
from parser.beam_settings import Beam, BeamError, Merge, is_greedy
from parser.data.attributes import AttributeColumns
from parser.data.sentences import Parses, Sentences
from parser.decoding.greedy.compiled import GreedyParser
from parser.decoding.sentence_parser import KBestParser, SentenceParser, Tree, parse_spans, write_trees
from parser.inference.biaffine import FrozenBiaffineScorer
from parser.inference.weights import ClassifierWeights, SentenceEncoder
from parser.linear.model import LinearModel
from parser.model.loading import AnyModel
from parser.model.model import Model
from parser.transitions.attardi import Attardi
from parser.transitions.system import behaves_as


def parser_of(model: AnyModel, threads: int = 1) -> SentenceParser:
    """Return a greedy parser with the model's present weights; it uses up to ``threads`` threads."""
    if isinstance(model, LinearModel):
        from parser.decoding.greedy.batched import LinearParser

        return LinearParser(model, threads)
    assert isinstance(model, Model), "a model is linear or a network"
    if behaves_as(model.system, Attardi):
        return GreedyParser(model.weights(), model.system, model.table, threads)
    from parser.decoding.greedy.spine import SpineParser
    from parser.transitions.lr_spine import LRSpine

    if behaves_as(model.system, LRSpine):
        return SpineParser(model.weights(), model.system, model.table, threads)
    from parser.decoding.greedy.buffer_arcs import BufferArcParser, attaches_to_buffer

    if attaches_to_buffer(model.system):
        return BufferArcParser(model.weights(), model.system, model.table, threads)
    from parser.decoding.greedy.batched import BatchedParser

    return BatchedParser(model.weights(), model.system, model.table)


def parser_with_beam(model: AnyModel, beam: Beam | None, threads: int = 1) -> SentenceParser:
    """Return beam_parser_of() for a beam of several items, else parser_of()."""
    return parser_of(model, threads) if beam is None or is_greedy(beam) else beam_parser_of(model, beam, threads)


def check_search(model: AnyModel, beam: Beam) -> None:
    """Refuse a beam that a model cannot be searched with.

    Raises:
        BeamError: the beam merges by signature, and the model is linear or its transition system is not arc-standard; or the
            beam reranks, and the model predicts no heads.
    """
    if is_greedy(beam):
        return
    if beam.rerank and not (isinstance(model, Model) and model.biaffine_scorer() is not None):
        raise BeamError(
            "this model has no encoder that predicts heads (recipe=text), which reranking needs; parse without --rerank"
        )
    if beam.merge is Merge.SIGNATURE:
        if not isinstance(model, Model):
            raise BeamError(f"merge={beam.merge} is not supported with model={model.kind}; use merge={Merge.CONFIGURATION}")
        from parser.decoding.beam.signature import merges_by_signature

        if not merges_by_signature(model.system):
            raise BeamError(
                f"merge={beam.merge} is supported only with system=arc_standard, and the model has system={model.system.name}; "
                f"use merge={Merge.CONFIGURATION}"
            )


def beam_parser_of(model: AnyModel, beam: Beam, threads: int = 1) -> KBestParser:
    """Return a parser that searches with a beam of any size, with the model's present weights and up to ``threads`` threads.

    Raises:
        BeamError: see check_search().
    """
    check_search(model, beam)
    if isinstance(model, LinearModel):
        from parser.decoding.beam.batched import BatchedBeamParser

        weights = model.weights
        return BatchedBeamParser(model.system, model.templates, lambda part: weights.scores, beam)
    assert isinstance(model, Model), "a model is linear or a network"
    if not beam.rerank:
        return _search(model, beam, threads, model.weights())
    heads, classifier = model.biaffine_scorer(), model.weights()
    assert heads is not None, "check_search has refused such models"
    assert classifier.encoder is not None, "only an encoder predicts heads"
    return RerankingParser(_search(model, beam, 1, classifier), classifier.encoder, heads, beam, threads)


def _search(model: Model, beam: Beam, threads: int, weights: ClassifierWeights) -> KBestParser:
    """Return a parser that searches with a beam and these weights of the model's classifier."""
    if beam.merge is Merge.SIGNATURE:
        from parser.decoding.beam.signature import merges_by_signature
        from parser.decoding.beam.signature_beam import SignatureBeamParser

        assert merges_by_signature(model.system), "check_search has refused other systems"
        return SignatureBeamParser(weights, model.system, model.table, beam, threads)
    if behaves_as(model.system, Attardi):
        from parser.decoding.beam.compiled import BeamParser

        return BeamParser(weights, model.system, model.table, beam, threads)
    from parser.decoding.beam.batched import BatchedBeamParser

    return BatchedBeamParser.with_weights(weights, model.system, model.table, beam)


class RerankingParser:
    """Ranks the trees of a beam by the beam's scores plus the encoder's log probabilities of their arcs.

    The encoder of recipe=text learns to predict the head and relation of each word separately (networks/tasks.py). Its errors
    differ from the parser's, which sees one configuration at a time, but its heads need not form a tree. So the beam finds
    trees, and the sum of both log probabilities chooses among them. Such reranking of k-best lists is long established (Collins
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
        """Return the best tree of each sentence by both scores."""

        def parse(part: Sentences, parses: Parses) -> None:
            write_trees((best for best, *_ in self._ranked(part, 1, single_root)), parses)

        return parse_spans(sentences, batch_sizes.TOKENS_PER_SEARCH, self._threads, parse)

    def k_best(self, sentences: Sentences, k: int, *, single_root: bool = True) -> list[list[Tree]]:
        """Return the k best trees of each sentence, with the summed scores."""
        self.beam.check_k_best(k)
        spans = sentences.spans(batch_sizes.TOKENS_PER_SEARCH)
        return [trees[:k] for span in spans for trees in self._ranked(sentences.span(*span), k, single_root)]

    def _ranked(self, sentences: Sentences, k: int, single_root: bool) -> Iterator[list[Tree]]:
        """Yield the trees of each sentence, best first, k or more if found; trees of equal score keep the beam's order."""
        sentences = replace(sentences, vectors=self._encoder.encode(sentences))
        found = self._parser.k_best(sentences, max(k, self.beam.size), single_root=single_root)
        vectors = self._encoder.arithmetic.floats(self._encoder.encode(sentences))
        every = [(start, tree) for start, trees in zip(sentences.offsets.tolist(), found, strict=False) for tree in trees]
        words = [np.arange(start + 1, start + 1 + len(tree.heads)) for start, tree in every]
        heads, relations = [start + tree.heads for start, tree in every], [tree.relations for _, tree in every]
        by_arc = self._heads.log_probabilities(vectors, sentences.offsets, *map(np.concatenate, (words, heads, relations)))
        by_tree = np.bincount(np.repeat(np.arange(len(every)), [*map(len, words)]), by_arc, len(every))
        totals = np.nan_to_num(by_tree + [tree.score for _, tree in every], nan=-np.inf)
        for trees, own in zip(found, np.split(totals, np.cumsum([len(trees) for trees in found])), strict=False):
            yield [replace(trees[i], score=float(own[i])) for i in np.argsort(-own, kind="stable")]


def parse(model: AnyModel, sentences: Sequence[AttributeColumns], *, single_root: bool = True, threads: int = 1) -> Parses:
    """Parse sentences greedily into valid UD trees; without ``single_root``, the root may have several children."""
    return parser_of(model, threads).parse(model.vocabularies.encode(sentences), single_root=single_root)
