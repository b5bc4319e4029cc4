"""Writes a page about a run, or two runs compared:
optimal-step report RUN [RUN2] [--part dev] [-o report.html].

RUN is the folder of a run (with --gold also of a model). The page is one file. It has scores with
bootstrap intervals, a histogram of the LAS of sentences, errors by relation, length, distance,
depth and projectivity, the confusion of relations, and drawings of the worst sentences. For two
runs it adds a significance test, and shows which settings, groups and sentences differ. The gold
trees are the test part of RUN's treebank, or the dev part if there is no test part; the page says
which.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from parser.commands.arguments import Arguments
from parser.commands.command_line import check_output
from parser.conllu.files import open_output


def main(arguments: list[str] | None = None) -> None:
    """Write the page."""
    parser = Arguments(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, metavar="RUN")
    parser.add_argument("other", type=Path, nargs="?", metavar="RUN2", help="a run to compare with")
    parser.add_argument(
        "--part",
        choices=("dev", "test"),
        help="part of the first run's treebank (default: test, or dev if there is no test part)",
    )
    parser.add_argument(
        "--gold",
        type=Path,
        metavar="FILE",
        help="a file of gold trees, instead of a part of the treebank",
    )
    parser.add_argument("-o", "--output", default="report.html", help="default: %(default)s")
    args = parser.parse_intermixed_args(arguments)

    from parser.reports.run_report import gold_file, report  # loads torch

    gold = args.gold or gold_file(args.run, args.part)
    check_output(args.output, gold)
    page = report([path for path in (args.run, args.other) if path is not None], gold)
    with open_output(args.output) as target:
        target.write(page)
    print(f"written: {args.output}", file=sys.stderr)
