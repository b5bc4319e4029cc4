"""usage: optimal-step COMMAND [ARGUMENTS]

Run optimal-step COMMAND --help for details, optimal-step --version for the version.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import NoReturn

from parser.commands import command_line

_CHECKOUT = Path(__file__).parents[2]

# By name, what it does; the ``main`` of the module of that name does it, which is imported then.
COMMANDS = {
    "check": "list the faults of files of trees",
    "train": "train a parser, or with -m a sweep of parsers",
    "parse": "parse CoNLL-U, or text",
    "parse_many": "parse many files in parallel",
    "serve": "answer requests over HTTP, as UDPipe's service does, with a page for people",
    "evaluate": "compare a file of trees with the gold ones",
    "draw": "draw trees in the terminal, as SVG or HTML, gold against predicted",
    "report": "write a page about a run, or two runs compared",
    "pack": "pack a model into one file to hand out",
    "get": "fetch a model by its name",
    "fetch_treebanks": "fetch treebanks of Universal Dependencies",
    "train_treebanks": "train a parser for every treebank of a folder, and write the table",
    "trace": "show a computation step by step, with what oracle and classifier say",
    "projectivize": "make the trees of a file projective",
    "recombine": "make new sentences from those of a treebank",
    "lattices": "make word lattices with the lexicon of a treebank",
    "benchmark": "measure oracles, parsing and training on this machine, in a checkout of the source",
}


def usage() -> str:
    """The commands with what they do."""
    return "\n".join([str(__doc__), *(f"  {name:18}{what}" for name, what in COMMANDS.items())])


def main() -> NoReturn:
    """Runs the command that the first word names with the words after it, and exits."""
    words = sys.argv[1:]
    if not words or words[0] in ("-h", "--help"):
        command_line.run(lambda: print(usage()))
    if words[0] == "--version":
        command_line.run(lambda: print(f"optimal-step {version('optimal-step')}"))
    if words[0] not in COMMANDS:
        sys.exit(f"error: there is no command {words[0]!r}; there are {', '.join(COMMANDS)}")
    sys.argv = [f"{sys.argv[0]} {words[0]}", *words[1:]]
    start(words[0])


def start(name: str) -> NoReturn:
    """Runs a command with the words of the command line, and exits; in one line, if a package is missing that it imports."""
    module = _benchmarks() if name == "benchmark" else f"parser.commands.{name}"
    command_line.run(lambda: import_module(module).main())


def _benchmarks() -> str:
    """The module of the benchmarks, which are not installed."""
    if not (_CHECKOUT / "scripts" / "benchmarks").is_dir():
        sys.exit(
            "error: benchmarks need a checkout of the source, where scripts/benchmark.py runs them; they are not installed"
        )
    return "scripts.benchmarks.command"


if __name__ == "__main__":
    main()
