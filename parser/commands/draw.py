"""Draws dependency trees: optimal-step draw FILE [--gold GOLD] [--sentence N] [-o OUTPUT].

FILE is CoNLL-U, plain, .gz or .xz, or - for standard input. With --gold, its trees are compared
with the gold trees of the same sentences: wrong arcs are red, with the correct arcs beside them.

The ending of OUTPUT says what is drawn: .txt, .svg, .html, .png or .pdf; so does --format. PNG and
PDF need typst (extra draw). Without --sentence, all sentences are drawn, in a PDF each on a page of
its own; but as SVG and PNG only the first.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from itertools import islice

from oracles.errors import OptimalStepError
from parser.commands.arguments import Arguments
from parser.commands.command_line import check_output
from parser.conllu.files import STANDARD_STREAM, ending_of, open_binary_output, open_output
from parser.drawing import NamedTree, as_svg, as_text, pictures, read_trees
from parser.drawing.html import LEGEND, drawing, page
from parser.lattices import is_named_lattices

FORMATS = ("text", "svg", "html", *pictures.FORMATS)

# The formats by the endings of names. A name without one, such as - or /dev/stdout, gets text.
_BY_ENDING = {"": "text", ".txt": "text", ".htm": "html"} | {f".{name}": name for name in FORMATS}


def main(arguments: list[str] | None = None) -> None:
    """Draw the trees that the command line names."""
    parser = Arguments(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", metavar="FILE")
    parser.add_argument(
        "--gold", metavar="GOLD", help="a file with gold trees of the same sentences"
    )
    parser.add_argument(
        "--sentence",
        metavar="N",
        help="draw only this sentence: its number, from 1, or its sent_id",
    )
    parser.add_argument(
        "--wrong", action="store_true", help="with --gold: draw only sentences with errors"
    )
    parser.add_argument("--format", choices=FORMATS, help="default: as the ending of OUTPUT says")
    parser.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="color text output (default: on a terminal)",
    )
    parser.add_argument("-o", "--output", default=STANDARD_STREAM, help="default: standard output")
    args = parser.parse_args(arguments)
    if args.wrong and args.gold is None:
        parser.error("--wrong needs --gold GOLD")
    for path in (args.file, args.gold):
        if path is not None and is_named_lattices(path):
            raise OptimalStepError(
                f"{path}: lattices hold no trees; parse them first: "
                f"optimal-step parse MODEL_DIR {path}"
            )
    check_output(args.output, args.file, args.gold)
    kind = args.format or _format_of(args.output)
    trees = _chosen(args.file, args.gold, args.sentence, args.wrong)
    color = args.color == "always" or (
        args.color == "auto" and args.output == STANDARD_STREAM and sys.stdout.isatty()
    )
    if kind in pictures.FORMATS:
        _write_picture(trees, kind, args.output)
        return
    with open_output(args.output) as target:
        if kind == "svg":
            target.writelines(as_svg(named.tree) + "\n" for named in islice(trees, 1))
        elif kind == "html":
            legend = [LEGEND] if args.gold is not None else []
            target.write(
                page(args.file, [*legend, *(drawing(named.tree, named.title) for named in trees)])
            )
        else:
            target.writelines(
                f"# {named.title}\n{as_text(named.tree, color)}\n\n" for named in trees
            )


def _format_of(output: str) -> str:
    """Return the format that the ending of the output's name says.

    Raises:
        OptimalStepError: drawings have no such format.
    """
    ending = ending_of(output)
    if ending not in _BY_ENDING:
        endings = ".txt, .svg, .html, .png or .pdf"
        raise OptimalStepError(
            f"{output}: nothing is drawn as {ending}; choose a name in {endings}, "
            "or add --format text"
        )
    return _BY_ENDING[ending]


def _write_picture(trees: Iterator[NamedTree], kind: str, output: str) -> None:
    """Write trees as PNG or PDF.

    Raises:
        OptimalStepError: typst is not installed, no tree is left to draw,
            or the picture would go to a terminal.
    """
    pictures.check_installed(kind)
    if output == STANDARD_STREAM and sys.stdout is not None and sys.stdout.isatty():
        raise OptimalStepError(f"a terminal cannot show .{kind}; name a file: -o tree.{kind}")
    chosen = [named.tree for named in islice(trees, 1 if kind == "png" else None)]
    if not chosen:
        raise OptimalStepError(
            "no sentence has an error, so there is nothing to draw; leave out --wrong"
        )
    with open_binary_output(output) as target:
        target.write(pictures.as_picture(chosen, kind))


def _chosen(path: str, gold: str | None, sentence: str | None, wrong: bool) -> Iterator[NamedTree]:
    has_trees, n = False, 0
    for named in read_trees(path, gold):
        n += 1
        if sentence is not None and sentence not in (str(named.number), named.sent_id):
            continue
        has_trees = True
        if not wrong or named.tree.missed():
            yield named
        if sentence is not None:
            return
    if sentence is not None and n and not has_trees:
        raise OptimalStepError(
            f"{path}: there is no sentence {sentence}; give a number from 1 to {n}, or a sent_id"
        )
    if not has_trees:
        raise OptimalStepError(
            f"{path}: there is no sentence in this file, so there is nothing to draw"
        )
