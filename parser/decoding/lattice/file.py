"""Parsing a file of word lattices (CoNLL-UL) into CoNLL-U, in a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import BinaryIO

from parser.beam_settings import EXACT, Beam, BeamError, Exact, Search
from parser.conllu.checks import ConlluError
from parser.decoding import batch_sizes
from parser.decoding.files.file_parsing import FileCounts, OnError
from parser.decoding.lattice.parser import LatticeParse, LatticeParser
from parser.lattices.conllul import Refused, stream_lattices
from parser.lattices.lattice import Lattice, conllu
from parser.model.loading import AnyModel
from parser.model.model import Model


def parsed_texts(
    parser: LatticeParser, model: Model, lattices: Sequence[Lattice], *, single_root: bool = True
) -> list[tuple[str, list[int]]]:
    """The lattices, parsed, as CoNLL-U, and which of the arcs of each are its words."""
    parses = parser.parse_lattices(lattices, model.vocabularies, single_root=single_root)
    return [(_text(model, *pair), pair[1].arcs.tolist()) for pair in zip(lattices, parses, strict=True)]


def _k_best_texts(
    parser: LatticeParser, model: Model, lattices: Sequence[Lattice], k: int, *, single_root: bool
) -> list[tuple[str, list[int]]]:
    """The same with the k best parses of each lattice, one after the other, and the words of the best."""
    found = parser.k_best_of_lattices(lattices, model.vocabularies, k, single_root=single_root)
    texts = []
    for lattice, parses in zip(lattices, found, strict=True):
        ranked = (
            _text(model, lattice, parse, [("beam_rank", str(rank)), ("beam_score", f"{parse.score:.6f}")])
            for rank, parse in enumerate(parses, 1)
        )
        texts.append(("".join(ranked), parses[0].arcs.tolist()))
    return texts


def _text(model: Model, lattice: Lattice, parse: LatticeParse, comments: Sequence[tuple[str, str]] = ()) -> str:
    deprels = [model.relations.symbols[relation] for relation in parse.relations.tolist()]
    return conllu(lattice, parse.arcs.tolist(), parse.heads.tolist(), deprels, comments)


def parse_lattice_file(
    model: AnyModel,
    source: BinaryIO,
    target: BinaryIO,
    path: str,
    *,
    beam: Search | None = None,
    single_root: bool = True,
    threads: int = 1,
    on_error: OnError = OnError.STOP,
    report: Callable[[ConlluError], None] = lambda error: None,
    max_arcs: int | None = None,
    k_best: int | None = None,
) -> FileCounts:
    """Parses the lattices of a stream.

    Args:
        model: the model.
        source: CoNLL-UL.
        target: where the CoNLL-U goes.
        path: the name for error messages.
        beam: how to search; None: greedily.
        single_root: see parse_batched.
        threads: sentences parsed side by side.
        on_error: how a sentence that is not a valid lattice is handled.
        report: called for each such sentence if it is left out.
        max_arcs: a sentence with more arcs is refused; None: there is no limit.
        k_best: write this many parses of each sentence, as parse_file() does.

    Raises:
        BeamError: the model, or the beam, cannot parse lattices, or find that many parses.
        ConlluError: a sentence is not a lattice.
    """
    if not isinstance(model, Model):
        raise BeamError(f"models of kind {model.kind} do not parse lattices; use one that was trained with model=mlp")
    if isinstance(beam, Exact):
        raise BeamError(f"lattices are searched with a beam, not with beam={EXACT}; give the number of its items, such as 16")
    if on_error is OnError.KEEP:
        raise ConlluError(f"{path}: a lattice that cannot be read cannot be kept as CoNLL-U; choose --on-error=skip")
    if k_best is not None:
        (beam or Beam(1)).check_k_best(k_best)
    parser = LatticeParser(model, beam or Beam(1), threads=threads)
    parsed = FileCounts(0, 0, 0, dict.fromkeys(model.vocabularies.attributes, 0))
    strict = on_error is OnError.STOP
    stream = _counted(source, parsed)
    lattices = _readable(stream_lattices(stream, path, max_arcs, strict=strict), parsed, report)
    while part := list(islice(lattices, batch_sizes.LATTICES_PER_BATCH)):
        texts = (
            parsed_texts(parser, model, part, single_root=single_root)
            if k_best is None
            else _k_best_texts(parser, model, part, k_best, single_root=single_root)
        )
        for (text, arcs), lattice in zip(texts, part, strict=True):
            target.write(text.encode("utf-8"))
            _count(parsed, model, lattice, arcs)
    return parsed


def _counted(source: BinaryIO, parsed: FileCounts) -> Iterator[bytes]:
    for line in source:
        parsed.lines += 1
        yield line


def _readable(
    lattices: Iterator[Lattice | Refused], parsed: FileCounts, report: Callable[[ConlluError], None]
) -> Iterator[Lattice]:
    for lattice in lattices:
        if isinstance(lattice, Lattice):
            yield lattice
        else:
            parsed.refused += 1
            report(lattice.error)


def _count(parsed: FileCounts, model: Model, lattice: Lattice, arcs: Sequence[int]) -> None:
    """Counts the words of a sentence, and what of them the model does not know."""
    parsed.sentences += 1
    parsed.words += len(arcs)
    encoded = model.vocabularies.encode([lattice])
    for name, count in model.vocabularies.unknown_counts(encoded, [arc + 1 for arc in arcs]).items():
        parsed.unknown[name] += count
