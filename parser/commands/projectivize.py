"""Makes the trees of a CoNLL-U file projective:
optimal-step projectivize INPUT [-o OUTPUT] [--count].

INPUT and OUTPUT are files (.gz and .xz by name) or - for standard input and output. Each
non-projective tree is replaced by a projective tree with as many of its arcs as possible (Nederhof
2019, Section 3); --method chooses among several. In these trees HEAD is rewritten, DEPREL stays,
and DEPS becomes _. Everything else passes through byte for byte. An unknown HEAD (_) stays unknown,
and a word that cannot keep its head may get _; --method lifting and --count need all heads.

--count writes a table instead of trees: for every sentence its number, its words, the most arcs
that a projective tree can keep, and how many projective trees keep that many (an exact number of
any size).
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import oracles
from oracles.errors import OptimalStepError
from parser.commands.arguments import Arguments
from parser.commands.command_line import check_output
from parser.conllu.checks import DEPREL, EMPTY, HEAD, UNKNOWN_HEAD, ConlluError, counted
from parser.conllu.files import STANDARD_STREAM, open_input, open_output
from parser.conllu.stream import RawSentence, read_raw_sentences, rewrite

LIFTING = "lifting"  # the baseline: Nivre and Nilsson 2005


@dataclass
class Summary:
    """Counts of sentences, of non-projective ones, of words, and of the heads kept."""

    sentences: int = 0
    nonprojective: int = 0
    words: int = 0
    kept: int = 0

    def __str__(self) -> str:
        kept = 100 * self.kept / self.words if self.words else 100
        return (
            f"{counted(self.sentences, 'sentence')}, {self.nonprojective:,} of them not "
            f"projective; {kept:.2f}% of {counted(self.words, 'head')} kept"
        )


def projective_text(sentence: RawSentence, method: str, summary: Summary) -> str:
    """Return the text of the sentence with a projective tree."""
    heads = sentence.heads(several_roots=True, partial=method != LIFTING)
    new_heads = oracles.lift(heads) if method == LIFTING else oracles.projectivize(heads, method)
    summary.nonprojective += new_heads != heads
    summary.kept += sum(
        new == old != UNKNOWN_HEAD for new, old in zip(new_heads, heads, strict=True)
    )
    written = [EMPTY if head == UNKNOWN_HEAD else head for head in new_heads]
    return (
        "".join(sentence.lines)
        if new_heads == heads
        else rewrite(sentence, written, sentence.column(DEPREL))
    )


def count_row(sentence: RawSentence, summary: Summary) -> str:
    """Return the row of the sentence in the table of --count."""
    best, trees = oracles.count_projectivizations(sentence.heads(several_roots=True))
    summary.nonprojective += best < len(sentence)
    summary.kept += best
    return f"{sentence.number}\t{len(sentence)}\t{best}\t{trees}\n"


def main(arguments: list[str] | None = None) -> None:
    """Write the trees or the table, and a summary to standard error."""
    sys.set_int_max_str_digits(0)  # a count may have thousands of digits
    parser = Arguments(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("input", metavar="INPUT")
    parser.add_argument("-o", "--output", default=STANDARD_STREAM, help="default: standard output")
    parser.add_argument("--count", action="store_true", help="count the best projective trees")
    methods = (*oracles.PROJECTIVIZATIONS, LIFTING)
    parser.add_argument(
        "--method", choices=methods, default=methods[0], help=f"default: {methods[0]}"
    )
    options = parser.parse_args(arguments)
    check_output(options.output, options.input)
    summary = Summary()
    with open_output(options.output) as target, open_input(options.input) as source:
        if options.count:
            target.write("sentence\twords\tkept\ttrees\n")
        for sentence in read_raw_sentences(source, options.input):
            try:
                if not options.count:
                    target.write(projective_text(sentence, options.method, summary))
                elif len(sentence):
                    target.write(count_row(sentence, summary))
            except ConlluError:
                raise
            except OptimalStepError as error:  # too long
                raise ConlluError(f"{sentence.place()}: {error}") from error
            summary.sentences += len(sentence) > 0
            summary.words += len(sentence) - sentence.column(HEAD).count(EMPTY)
    print(summary, file=sys.stderr)
