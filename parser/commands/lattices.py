"""Makes and inspects word lattices: optimal-step lattices build|apply|jackknife|paths ...

    build TRAIN -o LEXICON            writes a lexicon: the analyses of the tokens of a treebank
    apply LEXICON FILE [-o OUTPUT]    writes lattices (CoNLL-UL) of the tokens of a CoNLL-U file;
                                      its words are not read
    jackknife TRAIN [-o OUTPUT]       writes lattices to train on: each tenth of a treebank with a
                                      lexicon of the other nine
    paths LATTICES TREES [-o OUTPUT]  writes the gold paths as a treebank (CoNLL-U), and counts them

FILE, TRAIN, TREES and LATTICES may be compressed, if their names end in .gz, .xz or .bz2; OUTPUT is
a file (compressed if its name ends in .gz or .xz) or - for standard output, the default. To parse
lattices: optimal-step parse MODEL_DIR FILE.conllul. To train on them: optimal-step train
lattice.train=FILE.
"""

from __future__ import annotations

import argparse
import sys

from parser.commands.arguments import Arguments
from parser.commands.command_line import check_output, positive
from parser.conllu.checks import counted
from parser.conllu.files import STANDARD_STREAM, open_output
from parser.lattices import LatticeError, conllu, read_lattices, text_of
from parser.lattices.gold_paths import MissingPath, gold_paths, read_trees
from parser.lattices.lexicon import FOLDS, UNKNOWN_ANALYSES, Guess, Lexicon, jackknife


def main(arguments: list[str] | None = None) -> None:
    """Write the output that the command line asks for, and a summary to standard error."""
    parser = Arguments(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    build = commands.add_parser("build", help="make a lexicon")
    build.add_argument("train", metavar="TRAIN")
    build.add_argument("-o", "--output", required=True, metavar="LEXICON")
    build.set_defaults(work=_build)

    apply = commands.add_parser("apply", help="make lattices with a lexicon")
    apply.add_argument("lexicon", metavar="LEXICON")
    apply.add_argument("file", metavar="FILE")
    apply.set_defaults(work=_apply)

    folds = commands.add_parser("jackknife", help="make lattices of a training part")
    folds.add_argument("train", metavar="TRAIN")
    folds.add_argument(
        "--folds",
        type=int,
        default=FOLDS,
        help="how many parts the treebank is divided into (default 10)",
    )
    folds.set_defaults(work=_jackknife)

    paths = commands.add_parser("paths", help="find gold paths")
    paths.add_argument("lattices", metavar="LATTICES")
    paths.add_argument("trees", metavar="TREES")
    paths.add_argument(
        "--gold",
        choices=[*map(str, MissingPath)],
        default=MissingPath.INFUSED,
        help="sentences without a gold path: infused (default), skip",
    )
    paths.set_defaults(work=_paths)
    for command in (build, folds):
        command.add_argument(
            "--unknown",
            type=positive,
            default=UNKNOWN_ANALYSES,
            help="the most analyses of an unknown token (default 5)",
        )
        command.add_argument(
            "--guess",
            choices=[*map(str, Guess)],
            default=Guess.FREQUENT,
            help=(
                "analyses of an unknown token: the most frequent of open classes (default), "
                "or of forms with its ending"
            ),
        )
    for command in (apply, folds, paths):
        command.add_argument("-o", "--output", default=STANDARD_STREAM)
    options = parser.parse_args(arguments)
    check_output(
        options.output,
        *(
            getattr(options, name, None)
            for name in ("train", "file", "trees", "lattices", "lexicon")
        ),
    )
    print(options.work(options), file=sys.stderr)


def _build(options: argparse.Namespace) -> str:
    lexicon = Lexicon.of(read_trees(options.train), options.unknown, Guess(options.guess))
    if not len(lexicon):
        raise LatticeError(
            f"{options.train}: there is no sentence in this file; give a training part"
        )
    lexicon.save(options.output)
    if lexicon.guess == Guess.SUFFIXES:
        return f"{len(lexicon):,} forms; an unknown form gets the analyses of forms with its ending"
    return (
        f"{len(lexicon):,} forms; an unknown form gets "
        f"{', '.join('/'.join(tags) for tags in lexicon.unknown)}"
    )


def _apply(options: argparse.Namespace) -> str:
    lexicon, sentences, tokens, arcs, unknown = Lexicon.load(options.lexicon), 0, 0, 0, 0
    with open_output(options.output) as target:
        for sentence in read_trees(options.file):
            lattice = lexicon.lattice(sentence)
            target.write(text_of(lattice))
            sentences += 1
            tokens += len(lattice.tokens)
            arcs += len(lattice)
            unknown += sum(token.form not in lexicon.analyses for token in lattice.tokens)
    shares = (
        f"{arcs / max(1, tokens):.2f} arcs a token, {100 * unknown / max(1, tokens):.1f}% unknown "
        "tokens"
    )
    return f"{counted(sentences, 'sentence')}, {counted(tokens, 'token')}, {shares}"


def _jackknife(options: argparse.Namespace) -> str:
    sentences = read_trees(options.train)
    with open_output(options.output) as target:
        lattices = list(jackknife(sentences, options.folds, options.unknown, Guess(options.guess)))
        target.writelines(map(text_of, lattices))
    return str(gold_paths(lattices, sentences)[1])


def _paths(options: argparse.Namespace) -> str:
    paths, summary = gold_paths(
        read_lattices(options.lattices), read_trees(options.trees), MissingPath(options.gold)
    )
    with open_output(options.output) as target:
        for path in paths:
            target.write(
                conllu(path.lattice, path.arcs.tolist(), path.sentence.heads, path.sentence.deprels)
            )
    return str(summary)
