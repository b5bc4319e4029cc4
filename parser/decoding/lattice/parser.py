"""Parses word lattices with a beam: the words of a sentence and their tree are found together (compiled.py); and a file of them
(CoNLL-UL) into CoNLL-U, in a stream."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import BinaryIO

import numpy as np

from parser import batch_sizes
from parser.beam_settings import Beam, BeamError, Merge, Scores
from parser.conllu.checks import ConlluError
from parser.data.sentences import NO_NODE
from parser.data.vocabularies import Vocabularies
from parser.decoding.files.file_parsing import FileCounts, parallel_map
from parser.decoding.lattice.compiled import Arcs, LatticeBeam, LatticeOptions
from parser.decoding.parse_options import OnError, ParseOptions, refuse
from parser.decoding.sentence_parser import Tree, distinct
from parser.lattices import Lattice, conllu, stream_lattices
from parser.model.loading import AnyModel
from parser.model.model import Model
from parser.transitions.attardi import Attardi
from parser.transitions.system import behaves_as


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

    @classmethod
    def of(cls, tree: Tree) -> LatticeParse:
        """Of a tree over the arcs of a lattice as tokens, in which only the words of the path have heads."""
        words = np.flatnonzero(tree.heads != NO_NODE)
        places = np.zeros(len(tree.heads) + 1, np.int32)
        places[words + 1] = np.arange(1, len(words) + 1)
        return cls(tree.score, words.astype(np.int32), places[tree.heads[words]], tree.relations[words])


class LatticeParser:
    """Parses lattices with the weights of a model.

    Args:
        model: the model; its transition system is arc-standard or Attardi's, its token representation static.
        beam: the beam; items merge by configuration, or not at all.
        lookahead: the arcs that are decided before they are read; None: as many as the model reads.
        threads: how many lattices are parsed side by side.

    Raises:
        BeamError: model and beam cannot do it; the message says the fix.
    """

    def __init__(self, model: Model, beam: Beam, lookahead: int | None = None, *, threads: int = 1) -> None:
        if not behaves_as(model.system, Attardi):
            raise BeamError(f"lattices need system=arc_standard or attardi, and the model has system={model.system.name}")
        if model.contextual:
            raise BeamError(
                "a model with an encoder reads the words of a whole sentence, which a lattice leaves open; use model=mlp"
            )
        if beam.merge is Merge.SIGNATURE:
            raise BeamError(f"merge={beam.merge} is not supported with lattices; use merge={Merge.CONFIGURATION}")
        read = model.table.read_ahead
        ahead = lookahead or model.lookahead or max(read, 1)
        if ahead < read:
            raise BeamError(f"lookahead={ahead}, but the model reads b{read - 1}; give at least {read}")
        choice = NO_NODE if model.lookahead is None else model.system.n_outputs
        options = LatticeOptions(
            size=beam.size,
            merging=beam.merge is Merge.CONFIGURATION,
            local=beam.scores is Scores.LOCAL,
            lookahead=ahead,
            choice=choice,
        )
        self._beam, self._threads = beam, threads
        self._search = LatticeBeam(model.weights(), model.system, model.table, options)

    def k_best(
        self, lattices: Sequence[Lattice], vocabularies: Vocabularies, k: int = 1, *, single_root: bool = True
    ) -> list[list[LatticeParse]]:
        """For each lattice, the k best parses that were found, or as many as there are, best first, each once.

        Raises:
            BeamError: there cannot be that many.
        """
        self._beam.check_k_best(k)
        encoded = vocabularies.encode(lattices)

        def parse_span(span: tuple[int, int]) -> list[list[LatticeParse]]:
            arcs = [Arcs.of(lattice.starts, lattice.ends, lattice.last_node) for lattice in lattices[slice(*span)]]
            found = self._search.lattice_trees(encoded.span(*span), arcs, single_root)
            return [[LatticeParse.of(tree) for tree in distinct(trees, k)] for trees in found]

        spans = encoded.spans(batch_sizes.TOKENS_PER_SPAN)
        return [found for _, part in parallel_map(parse_span, spans, self._threads) for found in part]


def parsed_texts(
    parser: LatticeParser, model: Model, lattices: Sequence[Lattice], k: int | None = None, *, single_root: bool = True
) -> list[tuple[str, list[int]]]:
    """The lattices, parsed, as CoNLL-U, and which of the arcs of each are its words.

    With ``k`` the k best parses of a lattice follow on one another, with their ranks and scores; the words are of the best.
    """
    texts = []
    for lattice, parses in zip(
        lattices, parser.k_best(lattices, model.vocabularies, k or 1, single_root=single_root), strict=True
    ):
        text = ""
        for rank, parse in enumerate(parses, 1):
            comments = [] if k is None else [("beam_rank", str(rank)), ("beam_score", f"{parse.score:.6f}")]
            deprels = [model.relations.symbols[relation] for relation in parse.relations.tolist()]
            text += conllu(lattice, parse.arcs.tolist(), parse.heads.tolist(), deprels, comments)
        texts.append((text, parses[0].arcs.tolist()))
    return texts


def parse_lattice_file(
    model: AnyModel,
    options: ParseOptions,
    source: BinaryIO,
    target: BinaryIO,
    name: str,
    *,
    threads: int = 1,
    report: Callable[[ConlluError], None] = lambda error: None,
) -> FileCounts:
    """Parses the lattices of a stream.

    Args:
        model: the model.
        options: how to parse.
        source: CoNLL-UL.
        target: where the CoNLL-U goes.
        name: what errors call the input.
        threads: sentences parsed side by side.
        report: called for each sentence that is not a valid lattice, if it is left out.

    Raises:
        BeamError: the model, or the beam, cannot parse lattices, or find that many parses.
        ConlluError: a sentence is not a lattice.
    """
    if not isinstance(model, Model):
        raise BeamError(f"models of kind {model.kind} do not parse lattices; use one that was trained with model=mlp")
    if options.on_error is OnError.KEEP:
        raise ConlluError(f"{name}: a lattice that cannot be read cannot be kept as CoNLL-U; choose --on-error=skip")
    refuse(model, options)
    parser = LatticeParser(model, options.search(model), threads=threads)
    parsed = FileCounts(0, 0, 0, dict.fromkeys(model.vocabularies.attributes, 0))

    def refused(error: ConlluError) -> None:
        parsed.refused += 1
        report(error)

    lattices = stream_lattices(source, name, options.max_arcs, refused if options.on_error is OnError.SKIP else None)
    while part := list(islice(lattices, batch_sizes.LATTICES_PER_BATCH)):
        texts = parsed_texts(parser, model, part, options.k_best, single_root=options.single_root)
        for (text, arcs), lattice in zip(texts, part, strict=True):
            target.write(text.encode("utf-8"))
            parsed.sentences += 1
            parsed.words += len(arcs)
            encoded = model.vocabularies.encode([lattice])
            for attribute, count in model.vocabularies.unknown_counts(encoded, [arc + 1 for arc in arcs]).items():
                parsed.unknown[attribute] += count
    return parsed
