"""Parsing word lattices with a beam, which finds the words of a sentence and their tree together
(compiled.py); and parsing a CoNLL-UL file into CoNLL-U, in a stream.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import BinaryIO, cast

import numpy as np

from parser import batch_sizes
from parser.beam_settings import Beam, BeamError, Merge, Scores
from parser.conllu.checks import ConlluError
from parser.data.sentences import NO_NODE
from parser.data.vocabularies import Vocabularies
from parser.decoding.files.file_parsing import FileCounts, as_wanted, parallel_map
from parser.decoding.lattice.compiled import Arcs, LatticeBeam, LatticeOptions
from parser.decoding.parse_options import OnError, ParseOptions, refuse
from parser.decoding.search import SearchWish, search_for
from parser.decoding.sentence_parser import Tree, distinct
from parser.lattices import Lattice, conllu, stream_lattices
from parser.model.model import NetworkModel
from parser.model.parser_model import ParserModel
from parser.transitions.attardi import Attardi


@dataclass(frozen=True)
class LatticeParse:
    """A path through a lattice and a tree over its n words.

    Attributes:
        score: the score of the computation that found them.
        arcs: int32[n], the numbers of the path's arcs.
        heads: int32[n], [h_1, ..., h_n], as positions in the path; 0: the root.
        relations: int32[n].
    """

    score: float
    arcs: np.ndarray
    heads: np.ndarray
    relations: np.ndarray

    @classmethod
    def of(cls, tree: Tree) -> LatticeParse:
        """Convert a tree over all arcs of a lattice,
        in which only the arcs of the path have heads.
        """
        words = np.flatnonzero(tree.heads != NO_NODE)
        places = np.zeros(len(tree.heads) + 1, np.int32)
        places[words + 1] = np.arange(1, len(words) + 1)
        return cls(
            tree.score, words.astype(np.int32), places[tree.heads[words]], tree.relations[words]
        )


class LatticeParser:
    """Parses lattices with the weights of a model.

    Args:
        model: the model; its transition system is arc-standard or Attardi's,
            its token representation static.
        beam: the beam; items merge by configuration, or not at all.
        lookahead: how many arcs of the path are decided ahead; None: the model's setting,
            or as many as it reads.
        threads: how many spans of lattices are parsed at the same time.

    Raises:
        BeamError: the model reads further ahead.
    """

    def __init__(
        self, model: NetworkModel, beam: Beam, lookahead: int | None = None, *, threads: int = 1
    ) -> None:
        read_ahead = model.table.read_ahead
        ahead = lookahead or model.lookahead or max(read_ahead, 1)
        if ahead < read_ahead:
            raise BeamError(
                f"lookahead={ahead}, but the model reads b{read_ahead - 1}; "
                f"set lookahead to {read_ahead} or more"
            )
        choice = NO_NODE if model.lookahead is None else model.system.n_outputs
        options = LatticeOptions(
            size=beam.size,
            merging=beam.merge is Merge.CONFIGURATION,
            local=beam.scores is Scores.LOCAL,
            lookahead=ahead,
            choice=choice,
        )
        self._beam, self._threads = beam, threads
        assert isinstance(model.system, Attardi), "SEARCHES names the systems"
        self._search = LatticeBeam(model.frozen().weights, model.system, model.table, options)

    def k_best(
        self,
        lattices: Sequence[Lattice],
        vocabularies: Vocabularies,
        k: int = 1,
        *,
        single_root: bool = True,
    ) -> list[list[LatticeParse]]:
        """Return, for each lattice, the k best distinct parses that were found, best first;
        fewer where fewer were found.

        Raises:
            BeamError: the beam is too small for k parses.
        """
        self._beam.check_k_best(k)
        encoded = vocabularies.encode(lattices)

        def parse_span(span: tuple[int, int]) -> list[list[LatticeParse]]:
            arcs = [
                Arcs.of(lattice.starts, lattice.ends, lattice.last_node)
                for lattice in lattices[slice(*span)]
            ]
            trees_of_lattices = self._search.lattice_trees(encoded.span(*span), arcs, single_root)
            return [
                [LatticeParse.of(tree) for tree in distinct(trees, k)]
                for trees in trees_of_lattices
            ]

        spans = encoded.spans(batch_sizes.TOKENS_PER_SPAN)
        return [
            parses for _, part in parallel_map(parse_span, spans, self._threads) for parses in part
        ]


def parsed_texts(
    parser: LatticeParser,
    model: ParserModel,
    lattices: Sequence[Lattice],
    k: int | None = None,
    *,
    single_root: bool = True,
) -> list[tuple[str, list[int]]]:
    """Parse lattices; return the CoNLL-U of each, and the numbers of the arcs that are its words.

    With ``k``, the CoNLL-U holds the k best parses with their ranks and scores;
    the arcs are the best parse's.
    """
    texts = []
    for lattice, parses in zip(
        lattices,
        parser.k_best(lattices, model.vocabularies, k or 1, single_root=single_root),
        strict=True,
    ):
        text = ""
        for rank, parse in enumerate(parses, 1):
            comments = (
                []
                if k is None
                else [("beam_rank", str(rank)), ("beam_score", f"{parse.score:.6f}")]
            )
            deprels = [model.relations.symbols[relation] for relation in parse.relations.tolist()]
            text += conllu(lattice, parse.arcs.tolist(), parse.heads.tolist(), deprels, comments)
        texts.append((text, parses[0].arcs.tolist()))
    return texts


def lattice_parser(model: ParserModel, beam: Beam, threads: int = 1) -> LatticeParser:
    """Return a parser of lattices.

    Raises:
        BeamError: the model or the beam does not support lattices; the message says the fix.
    """
    return cast(LatticeParser, search_for(model, SearchWish(beam, threads, lattices=True)))


def parse_lattice_file(
    model: ParserModel,
    options: ParseOptions,
    source: BinaryIO,
    target: BinaryIO,
    name: str,
    *,
    threads: int = 1,
    report: Callable[[ConlluError], None] = lambda error: None,
    progress: Callable[[FileCounts], None] = lambda parsed: None,
) -> FileCounts:
    """Parse the lattices of a stream.

    Args:
        source: the input, CoNLL-UL.
        target: the output, CoNLL-U.
        name: the name of the input in errors.
        threads: how many spans of lattices are parsed at the same time.
        report: called with the error of each sentence that is left out.
        progress: called after each batch with the counts of everything written so far.

    Raises:
        BeamError: the model or the beam does not support lattices,
            or the beam cannot yield ``k_best`` parses.
        ConlluError: a sentence is not a valid lattice.
    """
    if options.on_error is OnError.KEEP:
        raise ConlluError(
            f"{name}: --on-error=keep cannot copy an invalid lattice into CoNLL-U; "
            "choose --on-error=skip"
        )
    refuse(model, options)
    parser = lattice_parser(model, options.search(model), threads)
    parsed = FileCounts(0, 0, 0, dict.fromkeys(model.vocabularies.attributes, 0))

    def refused(error: ConlluError) -> None:
        parsed.refused += 1
        report(error)

    lattices = stream_lattices(
        source, name, options.max_arcs, refused if options.on_error is OnError.SKIP else None
    )
    while part := list(islice(lattices, batch_sizes.LATTICES_PER_BATCH)):
        texts = parsed_texts(parser, model, part, options.k_best, single_root=options.single_root)
        for (text, arcs), lattice in zip(texts, part, strict=True):
            target.write(as_wanted(text.encode("utf-8"), options))
            parsed.sentences += 1
            parsed.words += len(arcs)
            encoded = model.vocabularies.encode([lattice])
            for attribute, count in model.vocabularies.unknown_counts(
                encoded, [arc + 1 for arc in arcs]
            ).items():
                parsed.unknown[attribute] += count
        progress(parsed)
    return parsed
