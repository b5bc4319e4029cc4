"""Parses CoNLL-U: optimal-step parse MODEL_DIR [INPUT] [-o OUTPUT].

INPUT and OUTPUT are files (.gz and .xz by name) or - for standard input and output, the default. HEAD and DEPREL are
rewritten, DEPS becomes _; comments, multiword tokens, empty nodes and all other columns pass through byte for byte. A model of
recipe=text reads only forms; --tags=fill or --tags=overwrite writes the tags and lemmas that it predicts. The lemmas of
--lexicon FILE take precedence.

A file named .conllul, or any file with --lattice, holds word lattices (CoNLL-UL): the parser finds the words together with the
tree, and writes CoNLL-U, with a line for each token of several words. A beam helps here: a model trained on lattices has one
(lattice.beam), and --beam 16 widens it.

With --text, INPUT is UTF-8 text: one or more paragraphs with blank lines between them. With --sentences line each line is a
sentence; with --tokens space the words are separated by spaces. SpacesAfter in MISC keeps the spaces after a token, so that
the text can be rebuilt; --ranges adds the place of each token (TokenRange=START:END, in characters from 0).

A sentence that is not CoNLL-U ends the run; the message names its line and the fault. With --on-error=skip or keep the run
goes on: the sentence is named, and left out of the output or copied unchanged. The exit status is then 1 at the end.

With --keep-heads, heads given in the input (HEAD is not _) are kept, and the parser fills in the rest; --keep-relations also
keeps their relations. Some sets of heads cannot be made by the transition system; such a sentence ends the run, with the line
of an arc that would be lost. With --on-error=skip or keep it is named, and left out or copied unchanged.

With --beam the parser follows several computations side by side. --k-best writes several trees of each sentence, the best
first: copies of the sentence with comments beam_rank and beam_score. Trees of a lattice may also differ in their words.

With --probabilities, MISC says how probable it is that head and relation are right (Prob=0.87), calibrated on the dev part of
the training; it replaces any Prob of the input. Kept heads have no Prob.

The first run compiles kernels for about ten seconds, and keeps them. --warm-up only compiles them, for any later input, for
example when a machine is set up.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import BinaryIO

from parser.commands.arguments import Arguments
from parser.commands.command_line import check_output, number_of_threads
from parser.commands.parsing_options import add_options, options_of, short_switch_interval, write_bytecode
from parser.conllu.checks import ConlluError, describe_file
from parser.conllu.files import STANDARD_STREAM, ending_of, open_binary_output, open_input
from parser.decoding.files.file_parsing import FileCounts, parse_file, warm_up
from parser.decoding.parse_options import ParseOptions
from parser.decoding.predictor import Predictor, load_model
from parser.kernels import load_kernels_directly, time_without_compiling
from parser.lattices import is_named_lattices
from parser.model.loading import AnyModel
from parser.text.tokenizer import conllu_source, model_tokenizer

# Endings of the names of JSON with a line for each sentence.
_JSON = (".json", ".jsonl")


@short_switch_interval()
def main() -> int:
    """Parses as the command line says, prints the speed to standard error, and returns the exit status."""
    arguments = Arguments(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model", type=Path, metavar="MODEL_DIR", help="a run's folder, or a model's")
    arguments.add_argument("input", nargs="?", default=STANDARD_STREAM, metavar="INPUT")
    arguments.add_argument("-o", "--output", default=STANDARD_STREAM)
    arguments.add_argument("--threads", type=number_of_threads, default=1, help="sentences parsed side by side (default 1)")
    add_options(arguments, "parse")
    arguments.add_argument(
        "--warm-up", action="store_true", help="parse nothing; only compile the kernels that the model needs"
    )
    given = arguments.parse_intermixed_args()  # options may stand before INPUT
    options = options_of(given, "parse", is_named_lattices(given.input), ending_of(given.output) in _JSON)
    check_output(given.output, given.input, *(getattr(given, name, None) for name in ("lexicon", "tokenizer")))
    load_kernels_directly()
    model = load_model(given.model, options)
    if options.lattice and not given.warm_up:
        return _parse_lattices(model, options, given)
    predictor = Predictor(model, options)
    tokenizer = model_tokenizer(given.model, options.tokenizer, options.tokens) if options.text else None
    if given.warm_up:
        warm_up(predictor)
        if tokenizer is not None:
            tokenizer.warm_up()
        write_bytecode()
        return 0
    start = time_without_compiling()
    with open_binary_output(given.output) as target, open_input(given.input) as read:
        source = conllu_source(tokenizer, read, given.input, options, _warn)
        with with_progress(target, given.output) as shown:
            parsed = parse_file(predictor, source, shown, given.input, threads=given.threads, report=_warn)
    return _told(parsed, given.input, time_without_compiling() - start)


def with_progress(target: BinaryIO, written: str) -> AbstractContextManager[BinaryIO]:
    """Return the target; if standard error is a terminal, a progress bar there shows how much has been written to it."""
    if not sys.stderr.isatty() or (written == STANDARD_STREAM and sys.stdout.isatty()):
        return nullcontext(target)
    from tqdm import tqdm

    bar: AbstractContextManager[BinaryIO] = tqdm.wrapattr(
        target, "write", desc="written", unit="B", unit_scale=True, leave=False
    )
    return bar


def _parse_lattices(model: AnyModel, options: ParseOptions, given: argparse.Namespace) -> int:
    from parser.decoding.lattice.parser import parse_lattice_file  # compiled loops that other input does not need

    start = time_without_compiling()
    with open_binary_output(given.output) as target, open_input(given.input) as read:
        parsed = parse_lattice_file(model, options, read, target, given.input, threads=given.threads, report=_warn)
    return _told(parsed, given.input, time_without_compiling() - start)


def _warn(error: ConlluError | str) -> None:
    print(f"warning: {error}", file=sys.stderr)


def _told(parsed: FileCounts, name: str, seconds: float) -> int:
    """Prints what was parsed, and how fast; returns the exit status."""
    rate = f"{parsed.words / seconds:,.0f} words per second"
    for warning in parsed.warnings():
        print(f"warning: {describe_file(name)}: {warning}", file=sys.stderr)
    print(f"{parsed}; {seconds:.1f} s, {rate}", file=sys.stderr)
    return int(parsed.refused > 0)
