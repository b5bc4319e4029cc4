"""Parses word lattices with a beam (lattice_search.py): the words of a sentence and their tree are found together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from parser.beam_settings import Beam, BeamError, Merge, Scores
from parser.data.parses import NO_NODE, Parses
from parser.data.vocabulary import Vocabularies
from parser.decoding.compiled import SHARE, CompiledParser, Words
from parser.decoding.greedy import Rules
from parser.decoding.lattice_candidates import Candidates
from parser.decoding.lattice_items import Arcs, LatticeItems, LatticeScratch, Search
from parser.decoding.lattice_search import search_lattice
from parser.decoding.tree_stacks import TreeStacks, read_trees
from parser.lattices.lattice import Lattice
from parser.model import Model
from parser.transitions.attardi import Attardi


@dataclass(frozen=True)
class LatticeParse:
    """A path through a lattice and a tree over its n words.

    Attributes:
        score: of the computation that found them.
        arcs: int32[n], the numbers of the arcs.
        heads: int32[n], [h_1, ..., h_n], by places in the path, 0 = the root.
        relations: int32[n].
    """

    score: float
    arcs: np.ndarray
    heads: np.ndarray
    relations: np.ndarray


class LatticeParser(CompiledParser):
    """Parses lattices with the weights of a model; also sentences, as lattices of one path.

    Args:
        model: the model; its transition system is arc-standard or Attardi's, its token representation static.
        beam: the beam; merge=signature is not there for lattices.
        lookahead: the arcs that are decided before they are read; None: as many as the model reads.
        clock: whether items are compared by the clock; False: by their steps, for comparison.
        threads: how many sentences are parsed side by side.

    Raises:
        BeamError: model and beam cannot do it; the message says the fix.
    """

    _system: Attardi

    def __init__(self, model: Model, beam: Beam, lookahead: int | None = None, *, clock: bool = True, threads: int = 1) -> None:
        if not isinstance(model.system, Attardi):
            raise BeamError(
                f"lattices are parsed with system=arc_standard or attardi, and the model has system={model.system.name}"
            )
        if model.contextual:
            raise BeamError(
                "a model with an encoder reads the words of a whole sentence, which a lattice leaves open; take model=mlp"
            )
        if beam.merge is Merge.SIGNATURE:
            raise BeamError(f"merge={beam.merge} is not there for lattices; take merge={Merge.CONFIGURATION}")
        read = model.table.read_ahead
        self._lookahead = lookahead or model.lookahead or max(read, 1)
        if self._lookahead < read:
            raise BeamError(f"lookahead={self._lookahead}, but the model reads b{read - 1}; give at least {read}")
        super().__init__(model.weights(), model.system, model.table, threads)
        choice = NO_NODE if model.lookahead is None else model.system.n_outputs
        sizes = beam.size, beam.merge is Merge.CONFIGURATION, beam.scores is Scores.LOCAL
        self._search = Search(*sizes, self._lookahead, choice)
        self._clock = clock
        self._elements = model.table.stack_elements

    def parse_lattices(
        self, lattices: Sequence[Lattice], vocabularies: Vocabularies, *, single_root: bool = True
    ) -> list[LatticeParse]:
        """The best parse of each lattice."""
        return [found[0] for found in self.best_of_lattices(lattices, vocabularies, single_root=single_root)]

    def best_of_lattices(
        self, lattices: Sequence[Lattice], vocabularies: Vocabularies, *, single_root: bool = True
    ) -> list[list[LatticeParse]]:
        """The parses of each lattice that the last bucket holds, best first."""
        encoded = vocabularies.encode(lattices)

        def parse_span(span: tuple[int, int]) -> list[list[LatticeParse]]:
            part = encoded.span(*span)
            arcs = [Arcs.of(lattice.starts, lattice.ends, lattice.last_node, self._clock) for lattice in lattices[slice(*span)]]
            return [[*found] for found in self._parses(part.offsets, self._words(part), arcs, single_root)]

        spans = list(encoded.spans(SHARE))
        if self._threads == 1:
            return [found for span in spans for found in parse_span(span)]
        with ThreadPoolExecutor(self._threads) as pool:
            return [found for part in pool.map(parse_span, spans) for found in part]

    def _parse_words(self, words: Words, parses: Parses, single_root: bool) -> None:
        offsets = parses.offsets
        lengths = np.diff(offsets) - 1
        nodes = np.arange(lengths.max(initial=0) + 1, dtype=np.int32)
        arcs = [Arcs.of(nodes[:n], nodes[1 : n + 1], n, self._clock) for n in lengths.tolist()]
        for start, n, found in zip(offsets, lengths, self._parses(offsets, words, arcs, single_root), strict=False):
            best = next(found)
            inside = slice(start + 1, start + 1 + n)
            parses.heads[inside], parses.relations[inside] = best.heads, best.relations

    def _parses(
        self, offsets: np.ndarray, words: Words, arcs: Sequence[Arcs], single_root: bool
    ) -> Iterator[Iterator[LatticeParse]]:
        """For each lattice, the parses that are found, best first; to be read before the next one is asked for."""
        rules, room = Rules.of(self._system, single_root), _Room(self._search, arcs)
        addresses = len(self._of_buffer.programs) + len(self._others.programs)
        widest = max((int(np.diff(one.first).max(initial=1)) for one in arcs), default=1)
        longest = max((len(one.ends) for one in arcs), default=1)
        units, outputs = len(self._layers.hidden_bias), len(self._layers.bias)
        scratch = LatticeScratch.room(longest, widest, addresses, units, outputs, self._elements, self._lookahead)
        for start, lattice in zip(offsets, arcs, strict=False):
            model = words, self._of_buffer, self._others, self._layers, rules, self._search
            while True:
                arguments: list[Any] = [start, lattice, *model, room.stacks, room.items, room.candidates, scratch]
                if search_lattice(*arguments) == 0:
                    break
                room.grow()
            yield _read(lattice, room, scratch, self._lookahead)


class _Room:
    """Room for the longest of some lattices; more when it is asked for."""

    def __init__(self, search: Search, arcs: Sequence[Arcs]) -> None:
        nodes = max((len(one.first) - 2 for one in arcs), default=0)
        self.buckets = 2 * nodes + search.lookahead + 1
        self.items = LatticeItems.room(self.buckets, search.size, search.lookahead)
        self._tokens, self._size, self._times = max((len(one.ends) for one in arcs), default=1), search.size, 1
        self._make()

    def _make(self) -> None:
        self.stacks = TreeStacks.room(self._tokens, self._times * self.buckets * self._size)
        self.candidates = Candidates.room(self.buckets, self._times * 64 * self._size)

    def grow(self) -> None:
        """Twice the room for stacks and candidates."""
        self._times *= 2
        self._make()


def _read(arcs: Arcs, room: _Room, scratch: LatticeScratch, lookahead: int) -> Iterator[LatticeParse]:
    last = 2 * (len(arcs.first) - 2) + lookahead
    for rank in range(room.items.counts[last]):
        heads, relations = np.empty((2, len(arcs.ends)), np.int32)
        read_trees(room.stacks, room.items.cells[last, rank], heads, relations, scratch.one.path)
        words = np.flatnonzero(heads != NO_NODE)
        places = np.zeros(len(arcs.ends), np.int32)
        places[words] = np.arange(1, len(words) + 1)
        score = float(room.items.totals[last, rank])
        yield LatticeParse(score, (words - 1).astype(np.int32), places[heads[words]], relations[words])
