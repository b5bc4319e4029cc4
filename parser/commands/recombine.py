"""Makes new sentences from subtrees of a treebank: optimal-step recombine TRAIN [-o OUTPUT] [--copies N] [--seed N].

Subtrees whose tops have the same relation, UPOS and FEATS are exchanged. The new sentences are CoNLL-U with their trees. A
parser with an encoder parses them, and a parser without one learns from its trees:

    optimal-step recombine train.conllu -o new.conllu --copies 10
    optimal-step parse ENCODER_RUN new.conllu -o parsed.conllu
    optimal-step train recipe=accurate treebank.train=[train.conllu,parsed.conllu] treebank.dev=dev.conllu \\
        distillation.teacher=[ENCODER_RUN,ANOTHER,A_THIRD] second_pass.epochs=8 \\
        vectors.min_count=16 classifier.word_dropout=2.75

The teachers are trained with several seeds. The last two settings fit --copies 10: a form that TRAIN has once then occurs
about eleven times, and should still be treated as rare. experiments/teaching.md says what this brings.

TRAIN may be compressed (.gz, .xz, .bz2 by name), OUTPUT is a file (.gz and .xz by name) or - for standard output, the default.
Multiword tokens, empty nodes, comments and the columns DEPS and MISC are left out.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress

from parser.commands.arguments import Arguments
from parser.commands.command_line import check_output, positive
from parser.conllu.checks import counted
from parser.conllu.files import STANDARD_STREAM, open_output
from parser.data.recombination import recombine
from parser.data.treebank import Sentence, read_treebank


def conllu(sentence: Sentence) -> str:
    """Return the lines of a sentence."""
    columns = zip(
        sentence.forms,
        sentence.lemmas,
        sentence.upos,
        sentence.xpos,
        sentence.feats,
        map(str, sentence.heads),
        sentence.deprels,
        strict=True,
    )
    return "".join("\t".join([str(number), *words, "_", "_"]) + "\n" for number, words in enumerate(columns, 1)) + "\n"


def main(arguments: list[str] | None = None) -> None:
    """Writes the sentences, and a summary to standard error."""
    parser = Arguments(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", metavar="TRAIN")
    parser.add_argument("-o", "--output", default=STANDARD_STREAM, metavar="OUTPUT")
    parser.add_argument("--copies", type=positive, default=3, metavar="N", help="new ones per sentence (default %(default)s)")
    parser.add_argument("--share", type=_share, default=0.5, help="share of the subtrees to replace (default %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="default %(default)s")
    given = parser.parse_args(arguments)
    check_output(given.output, given.train)
    treebank = read_treebank(given.train)
    made = words = 0
    with open_output(given.output) as target:
        for sentence in recombine(treebank.sentences, given.copies, given.share, given.seed):
            target.write(conllu(sentence))
            made, words = made + 1, words + len(sentence)
    read, new = counted(len(treebank), "sentence"), counted(words, "word")
    print(f"{given.train}: {read}; {counted(made, 'new one')} with {new}", file=sys.stderr)


def _share(text: str) -> float:
    with suppress(ValueError):
        if 0 < (share := float(text)) <= 1:
            return share
    raise argparse.ArgumentTypeError(f"{text} is not a share; give a number above 0 and up to 1")
