"""The parser that searches with items that merge by signature, for arc-standard: merging_search.py, derivations.py."""

from __future__ import annotations

from collections.abc import Iterator

from parser.beam_settings import Beam
from parser.classifier.precomputed_scorer import precomputed_scorer
from parser.classifier.weights import ClassifierWeights
from parser.data.parses import Parses
from parser.data.vocabulary import Sentences
from parser.decoding.derivations import best_trees
from parser.decoding.k_best import Tree, distinct
from parser.decoding.merging_search import Item, MergingSearch
from parser.decoding.persistent_trees import arcs_of
from parser.transitions.attardi import Attardi
from parser.transitions.features import FeatureTable

# Tokens whose contributions to the hidden layer are kept at a time.
_SHARE = 4_000


class MergingBeamParser:
    """Parses with the weights of a classifier, with arc-standard; see KBestParser.

    Args:
        weights: the weights.
        system: arc-standard.
        table: the features.
        beam: the beam.
    """

    def __init__(self, weights: ClassifierWeights, system: Attardi, table: FeatureTable, beam: Beam) -> None:
        self._weights = weights
        self._system = system
        self._table = table
        self._beam = beam

    def parse(self, sentences: Sentences, *, single_root: bool = True) -> Parses:
        """Parses sentences; see SentenceParser."""
        parses = Parses.room_for(sentences.offsets)
        for s, last in enumerate(self._last_items(sentences, single_root)):
            room = parses.span(s, s + 1)
            room.heads[:], room.relations[:] = arcs_of(last[0].stack[0], last[0].front)
        return parses

    def k_best(self, sentences: Sentences, k: int, *, single_root: bool = True) -> list[list[Tree]]:
        """See KBestParser; k may be larger than the beam, as an item stands for many trees."""
        self._beam.check_k_best(k)
        return [distinct(best_trees(last), k) for last in self._last_items(sentences, single_root)]

    def _last_items(self, sentences: Sentences, single_root: bool) -> Iterator[list[Item]]:
        """The items of the last step, for each sentence."""
        search = MergingSearch(self._system, self._table, self._beam.size, self._beam.scores, single_root)
        for span in sentences.spans(_SHARE):
            part = sentences.span(*span)
            scorer = precomputed_scorer(self._weights, self._table, part)
            for number in range(len(part)):
                *_, last = search.steps(part, number, scorer)
                yield last
