"""Checks treebank files: optimal-step check FILE... [--level N] [--lang CODE].

Lists every fault that training refuses, and counts the faults that parsing also refuses. A UPOS
that Universal Dependencies does not have, which both accept, is named with the number of its words.
With --level, the validator of Universal Dependencies also runs, up to that level (1 to 5; levels 4
and 5 use the lists of the language that --lang names). The exit status is 1 if there is a fault.
"""

from __future__ import annotations

import argparse
import io
from collections import Counter
from collections.abc import Iterator, Sequence

from oracles.errors import OptimalStepError
from parser.commands.arguments import Arguments
from parser.conllu.checks import counted
from parser.conllu.files import open_input
from parser.data.treebank import Treebank, read_with_faults


def main(arguments: list[str] | None = None) -> int:
    """Print the faults and their counts; return 1 if there are any, otherwise 0."""
    parser = Arguments(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE", help="CoNLL-U, plain or compressed")
    parser.add_argument(
        "--level",
        type=int,
        choices=range(1, 6),
        metavar="N",
        help="run UD's validator, the package udtools",
    )
    parser.add_argument(
        "--lang", metavar="CODE", help="language for levels 4 and 5, such as hu (default: none)"
    )
    parser.add_argument(
        "--partial", action="store_true", help="accept _ (unknown) in HEAD and DEPREL"
    )
    args = parser.parse_args(arguments)
    if args.lang and not args.level:
        parser.error("--lang is only for UD's validator; add --level")
    kinds: Counter[str] = Counter()
    for file in args.files:
        treebank = read_with_faults(file, args.partial)
        for fault in treebank.faults:
            kinds[fault.kind] += 1
            print(fault.message)
        for odd in filter(None, (treebank.oddities(), treebank.odd_upos())):
            print(f"{file}: {odd}; training and parsing accept them unchanged")
        # else the fault has said it
        if treebank.sentences or not any(fault.ends for fault in treebank.faults[:1]):
            print(f"{file}: {_summary(treebank)}")
    failed = bool(kinds)
    if args.level:
        for is_error, kind, message in _validated(args.files, args.level, args.lang or "ud"):
            kinds[kind] += 1
            failed = failed or is_error
            print(message)
    if kinds:
        print("\n".join(["", *(f"{n:>8,}  {kind}" for kind, n in kinds.most_common())]))
    return int(failed)


def _summary(treebank: Treebank) -> str:
    """Return how much of a file training and parsing can use."""
    sentences = counted(len(treebank), "sentence")
    faults = treebank.faults
    if not faults:
        return f"{sentences}, no fault"
    in_parsing = sum(fault.in_parsing for fault in faults)
    said = [
        f"{sentences} to train on, {counted(len(faults), 'fault')}, "
        f"of which parsing refuses {in_parsing:,}"
    ]
    if faults[-1].ends:
        said.append("the file was not read further")
    if len(treebank) and not any(fault.in_file for fault in faults):
        said.append("treebank.on_error=skip trains without these sentences")
    if in_parsing and not faults[-1].ends:
        said.append("parse --on-error=skip parses without them")
    if any("the head '_' is not" in fault.message for fault in faults):
        said.append("--partial accepts unknown heads")
    return "; ".join(said)


def _validated(files: Sequence[str], level: int, language: str) -> Iterator[tuple[bool, str, str]]:
    """Yield the findings of UD's validator in the files of one treebank: whether it is an error,
    its kind, a line to print.

    Raises:
        OptimalStepError: the validator is not installed.
    """
    try:
        from udtools import Validator
        from udtools.state import State
    except ModuleNotFoundError as error:
        fix = "pip install udtools, or in a checkout of the source pip install -e '.[check]'"
        raise OptimalStepError(
            f"--level needs {error.name}, which is not installed: {fix}"
        ) from error
    validator, state = Validator(lang=language, level=level, output=None), State()
    places: list[str] = []
    for file in files:
        state.current_file_name = file
        with open_input(file) as stream:
            validator.validate_file_handle(
                io.TextIOWrapper(stream, encoding="utf-8", errors="replace", newline=None), state
            )
        places += [file] * (len(state.error_tracker) - len(places))
    validator.validate_end(state)
    places += ["all files"] * (len(state.error_tracker) - len(places))
    for place, incident in zip(places, state.error_tracker, strict=True):
        kind = f"{str(incident.get_type()).lower()} {incident.testid} (level {incident.level})"
        yield (
            incident.is_error(),
            kind,
            f"{place}, line {incident.lineno}: {kind}: {incident.message}",
        )
