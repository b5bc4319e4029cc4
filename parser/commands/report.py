"""Writes a page about a run, or two runs compared: optimal-step report RUN [RUN2] [--part dev] [-o report.html].

RUN is a run's folder (or with --gold a model's). The page needs nothing else: scores with bootstrap intervals, two runs with a
significance test, a histogram of the LAS of sentences, errors by relation, length, distance, depth and projectivity, the
confusion of relations, and the worst sentences drawn; of two runs what differs: settings, LAS by group, and
sentences. The gold trees are the test part of RUN's treebank, or the dev part if it has none; the page says which.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from parser.commands.command_line import check_output
from parser.conllu.files import open_output


def main(arguments: list[str] | None = None) -> None:
    """Writes the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, metavar="RUN")
    parser.add_argument("other", type=Path, nargs="?", metavar="RUN2", help="a run to compare it with")
    parser.add_argument("--part", choices=("dev", "test"), help="part of the first run's treebank (default: test, else dev)")
    parser.add_argument("--gold", type=Path, metavar="FILE", help="compare with the gold trees of this file instead")
    parser.add_argument("-o", "--output", default="report.html", help="default: %(default)s")
    given = parser.parse_intermixed_args(arguments)

    from parser.reports.run_report import gold_file, report  # loads torch

    gold = given.gold or gold_file(given.run, given.part)
    check_output(given.output, gold)
    made = report([path for path in (given.run, given.other) if path is not None], gold)
    with open_output(given.output) as target:
        target.write(made)
    print(f"written: {given.output}", file=sys.stderr)
