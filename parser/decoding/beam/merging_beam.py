"""The parser of lattices whose items merge by signature, for arc-standard, in plain Python: merging_search.py, derivations.py.

It is also the reference for signature_beam.py, which parses sentences.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from parser.beam_settings import Beam
from parser.data.parses import NO_NODE, Parses
from parser.data.sentences import Sentences
from parser.decoding.beam.derivations import best_trees
from parser.decoding.beam.merging_items import Item
from parser.decoding.beam.merging_search import MergingSearch
from parser.decoding.k_best import Tree, distinct
from parser.decoding.lattice.lattice_items import Arcs
from parser.inference.precomputed import precomputed_scorer
from parser.inference.weights import ClassifierWeights
from parser.transitions.attardi import Attardi
from parser.transitions.features import FeatureTable

# Tokens whose contributions to the hidden layer are kept at a time.
_SHARE = 4_000


class MergingBeamParser:
    """Parses with the weights of a classifier, with arc-standard; see KBestParser, and LatticeSearcher.

    Args:
        weights: the weights.
        system: arc-standard.
        table: the features.
        beam: the beam.
        lookahead, choice: of lattices; see MergingSearch.
    """

    def __init__(
        self,
        weights: ClassifierWeights,
        system: Attardi,
        table: FeatureTable,
        beam: Beam,
        lookahead: int | None = None,
        choice: int = NO_NODE,
    ) -> None:
        self._weights = weights
        self._system = system
        self._table = table
        self._beam = beam
        self._of_lattices = lookahead, choice

    def parse(self, sentences: Sentences, *, single_root: bool = True) -> Parses:
        """Parses sentences; see SentenceParser."""
        parses = Parses.room_for(sentences.offsets)
        for s, (best,) in enumerate(self.k_best(sentences, 1, single_root=single_root)):
            room = parses.span(s, s + 1)
            room.heads[1:], room.relations[1:] = best.heads, best.relations
        return parses

    def k_best(self, sentences: Sentences, k: int, *, single_root: bool = True) -> list[list[Tree]]:
        """See KBestParser; k may be larger than the beam, as an item stands for many trees."""
        self._beam.check_k_best(k)
        arcs = [Arcs.of_sentence(n) for n in sentences.lengths.tolist()]
        return [distinct(trees, k) for trees in self.lattice_trees(sentences, arcs, single_root)]

    def lattice_trees(self, sentences: Sentences, arcs: Sequence[Arcs], single_root: bool) -> Iterator[Iterator[Tree]]:
        """See LatticeSearcher."""
        for lattice, final in zip(arcs, self.final_items(sentences, arcs, single_root), strict=True):
            yield best_trees(final, len(lattice.ends))

    def final_items(self, sentences: Sentences, arcs: Sequence[Arcs], single_root: bool) -> Iterator[list[Item]]:
        """For each sentence, or lattice, the items of the last step, which stand for whole trees; best first."""
        beam = self._beam
        search = MergingSearch(self._system, self._table, beam.size, beam.scores, single_root, *self._of_lattices)
        for first, last in sentences.spans(_SHARE):
            part = sentences.span(first, last)
            scorer = precomputed_scorer(self._weights, self._table, part)
            for number, lattice in enumerate(arcs[first:last]):
                *_, final = search.buckets(part, number, lattice, scorer)
                yield final
