"""What several commands that parse have in common: options, and a process that begins soon and whose threads need not wait."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from compileall import compile_dir
from contextlib import contextmanager
from pathlib import Path

import oracles
from parser.beam_settings import Merge
from parser.commands.command_line import member_of, positive
from parser.decoding.files.file_parsing import OnError
from parser.decoding.files.tag_writing import TagUse
from parser.text.tokenizer import SentenceEnds, TokenEnds

_PACKAGES = (Path(__file__).parents[1], Path(oracles.__file__).parent)

# Seconds after which a thread that runs Python code lets another one go on; 0.005 unless told otherwise.
_SWITCH_INTERVAL = 0.0001


def add_search_options(parser: ArgumentParser) -> None:
    """How trees are searched: ``beam``, ``merge``, ``rerank``, ``int8`` and ``treebank``, as load_for_parsing() takes them."""
    parser.add_argument(
        "--treebank",
        metavar="NAME",
        help="of a model of several treebanks, that which the input is like (default: the first of treebank.train)",
    )
    parser.add_argument(
        "--beam",
        type=positive,
        metavar="N",
        help="search with a beam of N items (default: the model's own, or 1)",
    )
    parser.add_argument(
        "--merge", choices=[*Merge], type=member_of(Merge), help="which items of the beam are merged (default: configuration)"
    )
    parser.add_argument(
        "--rerank",
        action="store_true",
        help="choose among the trees of the beam with the heads that the encoder predicts, too (models of recipe=text)",
    )
    parser.add_argument(
        "--int8",
        action="store_true",
        help="with an encoder: multiply in 8 bits, which is nearly as accurate, and faster on processors with VNNI",
    )


def note_slow_int8() -> None:
    """Says on standard error that 8 bits save no time, where the processor has no instructions for them."""
    from parser.kernels.tiles import INT8_IS_FASTER  # loads the compiler

    if not INT8_IS_FASTER:
        print("note: without VNNI instructions, this processor is no faster with --int8 than without", file=sys.stderr)


def add_file_options(parser: ArgumentParser) -> None:
    """Options for input and output files; ``tags`` is None where the option is not given."""
    parser.add_argument("--several-roots", action="store_true", help="let the artificial root have several children")
    parser.add_argument(
        "--on-error",
        choices=[*OnError],
        default=OnError.STOP,
        type=member_of(OnError),
        help="what to do with a sentence that is not CoNLL-U (default: stop)",
    )
    parser.add_argument(
        "--allow-missing-columns", action="store_true", help="parse input without the tags that the model reads"
    )
    parser.add_argument(
        "--tags",
        choices=[*TagUse],
        type=member_of(TagUse),
        help="what to do with LEMMA, UPOS, XPOS and FEATS if the model predicts them: keep the input's (default), fill those "
        "that are _ throughout a sentence, or overwrite",
    )
    add_lexicon_option(parser)
    parser.add_argument(
        "--text",
        action="store_true",
        help="the input is text, not CoNLL-U: it is split into sentences and words first, and all predicted tags are written",
    )
    parser.add_argument(
        "--tokenizer",
        type=Path,
        metavar="FILE",
        help="with --text: a model file of UDPipe 1 (default: the model's own tokenizer, optimal-step train tokenizer=udpipe)",
    )
    parser.add_argument(
        "--sentences",
        choices=[*SentenceEnds],
        type=member_of(SentenceEnds),
        help="with --text: where sentences end, as the model finds them (default) or at each line",
    )
    parser.add_argument(
        "--tokens",
        choices=[*TokenEnds],
        type=member_of(TokenEnds),
        help="with --text: where words end, as the tokenizer finds them (default) or at spaces, which needs no tokenizer",
    )
    parser.add_argument(
        "--ranges", action="store_true", help="with --text: write where each token stands in the text (TokenRange in MISC)"
    )


def text_options(given: Namespace) -> list[str]:
    """The options given that are only for text, with their values."""
    values = ((option, getattr(given, option)) for option in ("tokenizer", "sentences", "tokens"))
    found = [f"--{option} {value}" for option, value in values if value is not None]
    return [*found, "--ranges"] if given.ranges else found


def check_text_options(given: Namespace) -> None:
    """Refuses options about text and lemmas that would not be read.

    Raises:
        ValueError: which, and what to do.
    """
    for option in text_options(given):
        if not given.text:
            raise ValueError(f"{option} is only for text; leave it out, or give --text")
    if given.tags is TagUse.KEEP and given.text:
        raise ValueError("--tags keep: text has none to keep, and all that the model predicts are written; leave it out")
    if given.tokens is TokenEnds.SPACE and given.tokenizer is not None:
        raise ValueError(f"--tokenizer {given.tokenizer} would not be read with --tokens space; leave one of them out")
    if given.lexicon is not None and not given.text and given.tags in (None, TagUse.KEEP):
        raise ValueError(f"--lexicon {given.lexicon} is read where lemmas are written; add --tags=fill, or leave it out")


def add_lexicon_option(parser: ArgumentParser) -> None:
    """A lexicon of lemmas."""
    parser.add_argument(
        "--lexicon",
        type=Path,
        metavar="FILE",
        help="lemmas that come before predicted ones: lines of form, UPOS or _, lemma and, if they matter, FEATS, with tabs "
        "between them",
    )


def write_bytecode() -> None:
    """Compiles all sources to bytecode and keeps it, even where Python is told not to (PYTHONDONTWRITEBYTECODE)."""
    for package in _PACKAGES:
        compile_dir(package, quiet=2)


@contextmanager
def short_switch_interval() -> Iterator[None]:
    """Meanwhile, in the whole process, threads that come back from compiled code go on soon.

    They wait for one that runs Python code, which numbers the new words of a chunk; meanwhile they could parse hundreds.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_INTERVAL)
    try:
        yield
    finally:
        sys.setswitchinterval(before)
