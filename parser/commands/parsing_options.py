"""Options of the parsing commands, bytecode for a fast start,
and settings of Python's threads and garbage collector.
"""

from __future__ import annotations

import gc
import sys
from argparse import SUPPRESS, ArgumentParser, Namespace
from collections.abc import Iterator
from compileall import compile_dir
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path

import oracles
from oracles.errors import OptimalStepError
from parser.commands.command_line import member_of, positive
from parser.decoding.parse_options import Input, OutputFormat, ParseOptions, TagUse, flags

_PACKAGES = (Path(__file__).parents[1], Path(oracles.__file__).parent)

# Seconds after which a thread that runs Python code yields to another thread;
# Python's default is 0.005.
_SWITCH_INTERVAL = 0.0001

# Thresholds of Python's search for cycles of garbage: how many new objects there are before a
# search among young objects, and how many such searches before a search among older ones. Parsing
# makes many objects and few cycles: by default, the searches take an eighth of the time.
_COLLECT_AFTER = (20_000, 20, 100)


def add_options(parser: ArgumentParser, command: str) -> None:
    """Add the command's flags of ParseOptions;
    only flags that are given become attributes of the parsed arguments.
    """
    for name, (kind, flag) in flags().items():
        if command not in flag.commands:
            continue
        if kind is bool:
            parser.add_argument(_flag(name), action="store_true", default=SUPPRESS, help=flag.help)
        elif issubclass(kind, StrEnum):
            choices = [*kind]
            parser.add_argument(
                _flag(name),
                choices=choices,
                type=member_of(kind),
                default=SUPPRESS,
                help=flag.help,
            )
        else:
            reads = positive if kind is int else kind
            parser.add_argument(
                _flag(name), type=reads, metavar=flag.metavar, default=SUPPRESS, help=flag.help
            )


def options_of(
    args: Namespace, command: str, named_lattices: bool = False, named_json: bool = False
) -> ParseOptions:
    """Return the options that add_options() has read.

    Args:
        args: the arguments as argparse has read them.
        command: the name of the command.
        named_lattices: whether the input has a file name of lattices.
        named_json: whether the output has a file name of JSON.

    Raises:
        OptimalStepError: an option is not for this input, or two options exclude one another.
    """
    command_flags = {name: flag for name, (_, flag) in flags().items() if command in flag.commands}
    values = {name: value for name, value in vars(args).items() if name in command_flags}
    if named_lattices:
        values["lattice"] = True
    if named_json:
        values.setdefault("format", OutputFormat.JSON)
    kind = ParseOptions(text=values.get("text", False), lattice=values.get("lattice", False)).input
    for name, value in values.items():
        if kind not in command_flags[name].input:
            shown = _flag(name) if value is True else f"{_flag(name)} {value}"
            is_for_text = kind is Input.CONLLU and Input.TEXT in command_flags[name].input
            raise OptimalStepError(
                f"{shown} is not supported with {kind}; "
                f"{'add --text' if is_for_text else 'leave it out'}"
            )
    if "tags" in command_flags and values.get("tags") is TagUse.KEEP and kind is Input.TEXT:
        raise OptimalStepError(
            "--tags keep: text has no tags to keep, and all predicted tags are written; "
            "leave it out"
        )
    options = ParseOptions(**values)
    if (
        "tags" in command_flags
        and options.lexicon is not None
        and kind is Input.CONLLU
        and options.tags is TagUse.KEEP
    ):
        raise OptimalStepError(
            f"--lexicon {options.lexicon} has no use, as no lemmas are written; "
            "add --tags=fill, or leave it out"
        )
    return options


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def write_bytecode() -> None:
    """Compile all sources to bytecode and keep it, even if PYTHONDONTWRITEBYTECODE is set."""
    for package in _PACKAGES:
        compile_dir(package, quiet=2)


@contextmanager
def short_switch_interval() -> Iterator[None]:
    """Set a short switch interval within the ``with`` block, for the whole process.

    A thread that returns from compiled code waits for a thread that runs Python code, which numbers
    the new words of a chunk; in the default interval, the waiting thread could parse hundreds of
    words.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_INTERVAL)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@contextmanager
def rare_collections() -> Iterator[None]:
    """Let Python search for cycles of garbage less often within the ``with`` block, for the whole
    process.
    """
    before = gc.get_threshold()
    gc.set_threshold(*_COLLECT_AFTER)
    try:
        yield
    finally:
        gc.set_threshold(*before)
