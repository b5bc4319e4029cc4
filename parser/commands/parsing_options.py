"""What several commands that parse have in common: options, and a process that begins soon and whose threads need not wait."""

from __future__ import annotations

import sys
from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Iterator
from compileall import compile_dir
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path

import oracles
from parser.commands.command_line import member_of, positive
from parser.decoding.parse_options import Input, ParseOptions, TagUse, flags

_PACKAGES = (Path(__file__).parents[1], Path(oracles.__file__).parent)

# Seconds after which a thread that runs Python code lets another one go on; 0.005 unless told otherwise.
_SWITCH_INTERVAL = 0.0001


def add_options(parser: ArgumentParser, command: str) -> None:
    """Adds the flags of ParseOptions that a command has; in what is parsed, there is an attribute for those that are given."""
    for name, (kind, flag) in flags().items():
        if command not in flag.commands:
            continue
        if kind is bool:
            parser.add_argument(_flag(name), action="store_true", default=SUPPRESS, help=flag.help)
        elif issubclass(kind, StrEnum):
            choices = [*kind]
            parser.add_argument(_flag(name), choices=choices, type=member_of(kind), default=SUPPRESS, help=flag.help)
        else:
            reads = positive if kind is int else kind
            parser.add_argument(_flag(name), type=reads, metavar=flag.metavar, default=SUPPRESS, help=flag.help)


def options_of(given: Namespace, command: str, named_lattices: bool = False) -> ParseOptions:
    """The options that add_options() has read.

    Args:
        given: what argparse has read.
        command: whose options they are.
        named_lattices: whether the input is named as lattices are.

    Raises:
        ValueError: the input has no use for one, or two of them exclude one another.
    """
    known = {name: flag for name, (_, flag) in flags().items() if command in flag.commands}
    values = {name: value for name, value in vars(given).items() if name in known}
    if named_lattices:
        values["lattice"] = True
    kind = ParseOptions(text=values.get("text", False), lattice=values.get("lattice", False)).input
    for name, value in values.items():
        if kind not in known[name].input:
            shown = _flag(name) if value is True else f"{_flag(name)} {value}"
            raise ValueError(f"{shown} is not supported with {kind}; leave it out")
    if "tags" in known and values.get("tags") is TagUse.KEEP and kind is Input.TEXT:
        raise ValueError("--tags keep: text has none to keep, and all that the model predicts are written; leave it out")
    options = ParseOptions(**values)
    if "tags" in known and options.lexicon is not None and kind is Input.CONLLU and options.tags is TagUse.KEEP:
        raise ValueError(f"--lexicon {options.lexicon} is read where lemmas are written; add --tags=fill, or leave it out")
    return options


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


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
