"""Parses CoNLL-U: optimal-step parse MODEL_DIR [INPUT] [-o OUTPUT].

INPUT and OUTPUT are files (.gz and .xz by name) or - for standard input and output, the default.
HEAD and DEPREL are rewritten, DEPS becomes _; comments, multiword tokens, empty nodes and all other
columns pass through byte for byte. A model of recipe=text reads only forms; --tags=fill or
--tags=overwrite writes the tags and lemmas that it predicts. The lemmas of --lexicon FILE take
precedence.

A file named .conllul, or any file with --lattice, holds word lattices (CoNLL-UL): the parser finds
the words together with the tree, and writes CoNLL-U, with a line for each token of several words. A
beam helps here: a model trained on lattices has one (lattice.beam), and --beam 16 widens it.

With --text, INPUT is UTF-8 text: one or more paragraphs with blank lines between them. With
--sentences line each line is a sentence; with --tokens space the words are separated by spaces.
SpacesAfter in MISC keeps the spaces after a token, so that the text can be rebuilt; --ranges adds
the place of each token (TokenRange=START:END, in characters from 0).

A sentence that is not CoNLL-U ends the run; the message names its line and the fault. With
--on-error=skip or keep the run goes on: the sentence is named, and left out of the output or copied
unchanged. The exit status is then 1 at the end.

With --keep-heads, heads given in the input (HEAD is not _) are kept, and the parser fills in the
rest; --keep-relations also keeps their relations. Some sets of heads cannot be made by the
transition system; such a sentence ends the run, with the line of an arc that would be lost. With
--on-error=skip or keep it is named, and left out or copied unchanged.

With --beam the parser follows several computations side by side. --k-best writes several trees of
each sentence, the best first: copies of the sentence with comments beam_rank and beam_score. Trees
of a lattice may also differ in their words.

With --probabilities, MISC says how probable it is that head and relation are right (Prob=0.87),
calibrated on the dev part of the training; it replaces any Prob of the input. Kept heads have no
Prob.

The output is CoNLL-U, or JSON if its name ends in .json or .jsonl, or with --format json: a line
for each sentence, a list of dicts as Stanza's to_dict() gives it. Comments are not written.
--words-only leaves out the lines of multiword tokens.

On a terminal, progress is shown after two seconds. Ctrl-C ends the run;
a file is then as it was before.

The first run over more than 200 words compiles kernels for about ten seconds, and keeps them.
--warm-up parses nothing: it compiles what any later input, the library and serve need, for example
when a machine is set up.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

from parser.commands.arguments import Arguments
from parser.commands.command_line import check_output, number_of_threads
from parser.commands.parsing_options import (
    add_options,
    options_of,
    rare_collections,
    short_switch_interval,
    write_bytecode,
)
from parser.conllu.checks import ConlluError, counted, describe_file
from parser.conllu.files import (
    STANDARD_STREAM,
    ending_of,
    is_terminal,
    is_written_straight,
    open_binary_output,
    open_input,
    share_read,
)
from parser.decoding.files.file_parsing import FileCounts, parse_file, warm_up
from parser.decoding.parse_options import ParseOptions, flags
from parser.decoding.predictor import Predictor, load_model
from parser.kernels import load_kernels_directly, time_without_compiling
from parser.kernels.interpreted import compile_from_now_on
from parser.lattices import is_named_lattices
from parser.model.parser_model import ParserModel
from parser.text.pipeline import TextPipeline, conllu_source
from parser.text.tokens import TokenizerError

# Endings of the names of JSON with a line for each sentence.
_JSON = (".json", ".jsonl")
# Work that takes less time shows no progress; and seconds between two times that it is shown.
_QUIET_SECONDS, _SECONDS_BETWEEN = 2.0, 0.1
# A lattice of two words; parsing it compiles the kernels that lattices need.
_LATTICE = b"0\t1\ta\ta\tX\t_\t_\t_\t_\n1\t2\tb\tb\tX\t_\t_\t_\t_\n\n"


@short_switch_interval()
@rare_collections()
def main() -> int:
    """Parse as the command line says, print the speed to standard error,
    and return the exit status.
    """
    arguments = Arguments(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument(
        "model", type=Path, metavar="MODEL_DIR", help="a run's folder, or a model's"
    )
    arguments.add_argument("input", nargs="?", default=STANDARD_STREAM, metavar="INPUT")
    arguments.add_argument("-o", "--output", default=STANDARD_STREAM)
    arguments.add_argument(
        "--threads",
        type=number_of_threads,
        default=1,
        help="sentences parsed side by side (default 1)",
    )
    add_options(arguments, "parse")
    arguments.add_argument(
        "--warm-up",
        action="store_true",
        help=(
            "parse nothing; only compile the kernels that this command, "
            "the library and serve need with the model"
        ),
    )
    args = arguments.parse_intermixed_args()  # options may stand before INPUT
    options = options_of(
        args, "parse", is_named_lattices(args.input), ending_of(args.output) in _JSON
    )
    check_output(
        args.output,
        args.input,
        *(getattr(args, name, None) for name in ("lexicon", "tokenizer", "abbreviations")),
    )
    load_kernels_directly()
    progress = ParsingProgress(args.output)
    try:
        model = load_model(args.model, options)
        if args.warm_up:
            _warm_up(model, options, args.model)
            return 0
        return _parse(model, options, args, progress)
    except KeyboardInterrupt as stop:
        stop.add_note(f"interrupted; {progress.written()}")
        raise


class ParsingProgress:
    """A count of the words written; a terminal also shows the speed,
    and for a file the time that is left.

    Standard error shows it, if that is a terminal and standard output does not write there.
    Short work shows nothing.
    """

    def __init__(self, output: str) -> None:
        self._output = output
        self._source: BinaryIO | None = None
        self._bar: Any = None
        self._parsed: FileCounts | None = None

    @contextmanager
    def shown(self, source: BinaryIO, name: str) -> Iterator[ParsingProgress]:
        """Show the count within the ``with`` block; ``source``: the stream of open_input() that is
        read, ``name``: its name.
        """
        is_typed = name == STANDARD_STREAM and is_terminal(sys.stdin)
        if (
            not is_terminal(sys.stderr)
            or is_typed
            or (self._output == STANDARD_STREAM and is_terminal(sys.stdout))
        ):
            yield self
            return
        from tqdm import tqdm

        self._source = source
        options = {"unit": " words", "unit_scale": True, "leave": False, "file": sys.stderr}
        with tqdm(
            desc="parsing", delay=_QUIET_SECONDS, mininterval=_SECONDS_BETWEEN, **options
        ) as self._bar:
            yield self

    def __call__(self, parsed: FileCounts) -> None:
        """Take the counts of what has been written."""
        self._parsed = parsed
        if self._bar is None or self._source is None:
            return
        if share := share_read(self._source):
            # the total is in words, so that the bar shows their speed
            self._bar.total = max(parsed.words, round(parsed.words / share))
        self._bar.update(parsed.words - self._bar.n)

    def written(self) -> str:
        """Return a line about the output if the work ends now."""
        if (
            self._parsed is None
            or not self._parsed.sentences
            or not is_written_straight(self._output)
        ):
            return "nothing was written"
        n = self._parsed.sentences
        return f"{counted(n, 'sentence')} {'was' if n == 1 else 'were'} written"


def _parse(
    model: ParserModel, options: ParseOptions, args: argparse.Namespace, progress: ParsingProgress
) -> int:
    """Parse the input, and return the exit status."""
    if options.lattice:
        # compiled loops that other input does not need
        from parser.decoding.lattice.parser import parse_lattice_file

        work: Callable[..., FileCounts] = partial(parse_lattice_file, model, options)
        pipeline = None
    else:
        work = partial(parse_file, Predictor(model, options))
        pipeline = TextPipeline.of_options(args.model, options) if options.text else None
    start = time_without_compiling()
    with (
        open_binary_output(args.output) as target,
        open_input(args.input) as stream,
        progress.shown(stream, args.input),
    ):
        source = conllu_source(pipeline, stream, args.input, options, _warn)
        parsed = work(
            source, target, args.input, threads=args.threads, report=_warn, progress=progress
        )
    return _told(parsed, args.input, time_without_compiling() - start)


def _warm_up(model: ParserModel, options: ParseOptions, folder: Path) -> None:
    """Compile the kernels that this command, the library and ``serve`` need with the model,
    or load compiled ones.
    """
    from parser.library.parser import Parser
    from parser.serving import page
    from parser.serving.service import Service

    compile_from_now_on()
    if options.lattice:
        from parser.decoding.lattice.parser import parse_lattice_file

        parse_lattice_file(model, options, BytesIO(_LATTICE), BytesIO(), STANDARD_STREAM)
    else:
        warm_up(Predictor(model, options))
    try:
        pipeline = TextPipeline.of_options(folder, options)
        pipeline.warm_up()
    except TokenizerError:
        if options.text:
            raise
        pipeline = None  # this model parses no text
    of_server = {
        name: getattr(options, name)
        for name, (_, flag) in flags().items()
        if "serve" in flag.commands
    }
    served = replace(ParseOptions(**of_server), lattice=False, allow_missing_columns=True)
    Parser(model, beam=served.search(model)).parse([["a", "b", "c"]], allow_missing_columns=True)
    page.warm_up(Service(model, "model", served, pipeline))
    write_bytecode()


def _warn(error: ConlluError | str) -> None:
    from tqdm import tqdm

    tqdm.write(f"warning: {error}", file=sys.stderr)  # above the bar, if there is one


def _told(parsed: FileCounts, name: str, seconds: float) -> int:
    """Print how much was parsed, and how fast; return the exit status."""
    rate = f"{parsed.words / seconds:,.0f} words per second"
    for warning in parsed.warnings():
        print(f"warning: {describe_file(name)}: {warning}", file=sys.stderr)
    print(f"{parsed}; {seconds:.1f} s, {rate}", file=sys.stderr)
    return int(parsed.refused > 0)
