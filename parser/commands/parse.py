"""Parses CoNLL-U: optimal-step parse MODEL_DIR [INPUT] [-o OUTPUT].

INPUT and OUTPUT are files (.gz and .xz by name) or - for standard input and output, which is the default. HEAD and DEPREL are
rewritten, DEPS becomes _; comments, multiword tokens, empty nodes and every other column pass through byte for byte. A model of
recipe=text reads only forms; --tags=fill or overwrite writes the tags and lemmas that it predicts, --lexicon names a file of
lemmas that come first.

A file named .conllul, or any with --lattice, holds word lattices (CoNLL-UL): the parser finds the words along with the
tree, and writes CoNLL-U, in which a token of several words has a line of its own. A beam helps here: a model that was
trained on lattices has one (lattice.beam), and --beam 16 widens it.

With --text, INPUT is text in UTF-8, one or more paragraphs with blank lines between them. With --sentences line each line is a
sentence; with --tokens space words are what stands between spaces. MISC says which spaces follow a token (SpacesAfter), so that
the text can be rebuilt; with --ranges also where the token stands (TokenRange=START:END, in characters from 0).

A sentence that is not CoNLL-U ends the run, with its line and what is wrong with it. With --on-error=skip or keep it is also
named, but left out of the output or passed through as it is, and the exit status is 1 at the end.

With --keep-heads, arcs of the input are kept where HEAD is not _, and the others go with them; with --keep-relations, their
relations, too. A sentence of which the transition system cannot make all of them together ends the run, with the line of an
arc that would be lost; with --on-error=skip or keep it is named, and left out or passed through as it is.

With --beam the parser follows several computations side by side. --k-best writes several trees of each sentence, the best
first, each as a copy of the sentence with comments beam_rank and beam_score; of a lattice they may differ in their words, too.

With --probabilities, MISC says how probable it is that head and relation are right (Prob=0.87), calibrated on the dev part of
the training; a former Prob is replaced. Arcs that --keep-heads keeps have none.

Kernels are compiled once, when they are first needed, and kept; that takes about ten seconds. With --warm-up only this is done,
for any later input, for example when a machine is set up.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import BinaryIO

from parser.beam_settings import Beam, searching
from parser.commands.command_line import check_output, number_of_threads, positive
from parser.commands.parsing_options import (
    add_file_options,
    add_search_options,
    check_text_options,
    note_slow_int8,
    short_switch_interval,
    text_options,
    write_bytecode,
)
from parser.conllu.checks import ConlluError, describe_file
from parser.conllu.files import COMPRESSED, STANDARD_STREAM, open_binary_output, open_input
from parser.data.lemmas import LemmaLexicon
from parser.decoding.files.file_parsing import FileCounts, Keep, parse_file, warm_up
from parser.decoding.files.tag_writing import TagUse
from parser.kernels import load_kernels_directly
from parser.kernels.compilation import time_without_compiling
from parser.lattices.conllul import is_named_lattices
from parser.model.loading import AnyModel, load_for_parsing
from parser.model.model import Model
from parser.text.tokenizer import SentenceEnds, as_stream, model_tokenizer


@short_switch_interval()
def main() -> int:
    """Parses as the command line says, and reports the speed on standard error; the exit status."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model", type=Path, nargs="?", metavar="MODEL_DIR", help="a run's folder, or a model's")
    arguments.add_argument("input", nargs="?", default=STANDARD_STREAM, metavar="INPUT")
    arguments.add_argument("-o", "--output", default=STANDARD_STREAM)
    arguments.add_argument("--threads", type=number_of_threads, default=1, help="sentences parsed side by side (default 1)")
    add_file_options(arguments)
    add_search_options(arguments)
    arguments.add_argument(
        "--device", default="cpu", help="where a pretrained encoder reads, cpu (default) or cuda; all else is done on the CPU"
    )
    arguments.add_argument("--k-best", type=positive, metavar="K", help="write the K best trees of each sentence")
    arguments.add_argument("--keep-heads", action="store_true", help="keep the input's arcs, where HEAD is not _")
    arguments.add_argument("--keep-relations", action="store_true", help="keep the relations of these arcs, too")
    arguments.add_argument(
        "--probabilities", action="store_true", help="write into MISC how probable each arc is to be right (Prob=0.87)"
    )
    arguments.add_argument(
        "--lattice", action="store_true", help="INPUT holds word lattices, CoNLL-UL (implied by the name .conllul)"
    )
    arguments.add_argument("--max-arcs", type=positive, metavar="N", help="with --lattice: refuse sentences with more arcs")
    arguments.add_argument(
        "--warm-up", action="store_true", help="parse nothing; only compile what parsing with the model needs"
    )
    given, more = arguments.parse_known_intermixed_args()  # options may stand before INPUT
    if more:
        several = "; parse_many parses several files" if not any(word.startswith("-") for word in more) else ""
        arguments.error(f"unrecognized arguments: {' '.join(more)}{several}")
    if given.model is None:
        how, text = ("recipe=text tokenizer=udpipe", " --text") if given.text else ("recipe=accurate", "")
        raise ValueError(
            f"MODEL_DIR is missing: train a model with optimal-step train treebank.train=FILE treebank.dev=FILE {how} "
            f"hydra.run.dir=my-parser (treebank=sample has files to try), then give its folder: parse my-parser INPUT{text}"
        )
    _check(given)
    load_kernels_directly()
    if given.int8:
        note_slow_int8()
    model, beam = load_for_parsing(given.model, given.beam, given.merge, given.device, given.int8, given.rerank, given.treebank)
    if given.device != "cpu" and not (isinstance(model, Model) and model.spec.pretrained):
        raise ValueError(f"--device {given.device}: the model reads no pretrained encoder, and all else is done on the CPU")
    tokenizer = model_tokenizer(given.model, given.tokenizer, given.tokens) if given.text else None
    tags = TagUse.OVERWRITE if given.text and model.vocabularies.predicted else given.tags or TagUse.KEEP
    if given.warm_up:
        warm_up(model, beam, tags)
        if tokenizer is not None:
            tokenizer.warm_up()
        write_bytecode()
        return 0
    if given.lattice:
        return _parse_lattices(model, beam, given)
    lexicon = None if given.lexicon is None else LemmaLexicon.read(given.lexicon)
    start = time_without_compiling()
    with open_binary_output(given.output) as target, open_input(given.input) as read:
        presegmented = given.sentences is SentenceEnds.LINE
        source = read if tokenizer is None else as_stream(tokenizer.conllu(read, given.input, presegmented, given.ranges))
        with with_progress(target, given.input, given.output, comparable=not given.text and given.k_best is None) as shown:
            parsed = parse_file(
                model,
                source,
                shown,
                given.input,
                single_root=not given.several_roots,
                threads=given.threads,
                on_error=given.on_error,
                report=_warn,
                allow_missing_columns=given.allow_missing_columns,
                beam=beam,
                k_best=given.k_best,
                tags=tags,
                lexicon=lexicon,
                keep=Keep.RELATIONS if given.keep_relations else Keep.HEADS if given.keep_heads else Keep.NOTHING,
                probabilities=given.probabilities,
            )
    return _told(parsed, given.input, time_without_compiling() - start)


def with_progress(target: BinaryIO, read: str, written: str, comparable: bool) -> AbstractContextManager[BinaryIO]:
    """The target, and where standard error is a terminal a bar of what has been written to it; gone at the end.

    Args:
        target: what is written to.
        read, written: names of the input and the output.
        comparable: whether the output is about as long as the input.
    """
    if not sys.stderr.isatty() or (written == STANDARD_STREAM and sys.stdout.isatty()):
        return nullcontext(target)
    from tqdm import tqdm  # which others need not load

    plain = comparable and Path(read).is_file() and Path(read).suffix not in COMPRESSED
    total = Path(read).stat().st_size if plain else None
    bar: AbstractContextManager[BinaryIO] = tqdm.wrapattr(
        target, "write", total=total, desc="written", unit="B", unit_scale=True, leave=False
    )
    return bar


def _check(given: argparse.Namespace) -> None:
    """Refuses options that the input has no use for, and to write over the input."""
    given.lattice |= is_named_lattices(given.input)
    kind = "lattices" if given.lattice else "text" if given.text else "CoNLL-U"
    unread = {
        "--text": given.text and given.lattice,
        "--allow-missing-columns": given.allow_missing_columns and given.lattice,
        "--rerank": given.rerank and given.lattice,
        "--probabilities": given.probabilities and given.lattice,
        f"--tags {given.tags}": given.tags is not None and given.lattice,  # their tags are those of the arcs
        f"--lexicon {given.lexicon}": given.lexicon is not None and given.lattice,
        "--keep-heads": given.keep_heads and kind != "CoNLL-U",
        "--keep-relations": given.keep_relations and kind != "CoNLL-U",
        f"--max-arcs {given.max_arcs}": given.max_arcs is not None and not given.lattice,
        **dict.fromkeys(text_options(given), not given.text),
    }
    for option, there in unread.items():
        if there:
            raise ValueError(f"{option} is not supported with {kind}; leave it out")
    if given.keep_relations and not given.keep_heads:
        raise ValueError("--keep-relations keeps the relations of arcs that are kept; add --keep-heads")
    if given.keep_heads and given.k_best is not None:
        raise ValueError(f"--k-best {given.k_best} is not supported with --keep-heads; leave one of them out")
    if given.probabilities and given.k_best is not None:
        raise ValueError(f"--k-best {given.k_best} is not supported with --probabilities; leave one of them out")
    check_text_options(given)
    check_output(given.output, given.input, given.lexicon, given.tokenizer)


def _parse_lattices(model: AnyModel, beam: Beam | None, given: argparse.Namespace) -> int:
    if isinstance(model, Model) and model.lattice_beam is not None:
        beam = searching(model.lattice_beam, given.beam, given.merge)
    from parser.decoding.lattice.parser import parse_lattice_file  # compiled loops that other input does not need

    start = time_without_compiling()
    with open_binary_output(given.output) as target, open_input(given.input) as read:
        parsed = parse_lattice_file(
            model,
            read,
            target,
            given.input,
            beam=beam,
            single_root=not given.several_roots,
            threads=given.threads,
            on_error=given.on_error,
            report=_warn,
            max_arcs=given.max_arcs,
            k_best=given.k_best,
        )
    return _told(parsed, given.input, time_without_compiling() - start)


def _warn(error: ConlluError) -> None:
    print(f"warning: {error}", file=sys.stderr)


def _told(parsed: FileCounts, name: str, seconds: float) -> int:
    """Reports what was parsed, and how fast; the exit status."""
    rate = f"{parsed.words / seconds:,.0f} words per second"
    for warning in parsed.warnings():
        print(f"warning: {describe_file(name)}: {warning}", file=sys.stderr)
    print(f"{parsed}; {seconds:.1f} s, {rate}", file=sys.stderr)
    return int(parsed.refused > 0)
