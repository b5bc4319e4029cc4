"""usage: optimal-step COMMAND [ARGUMENTS]

Run optimal-step COMMAND --help for details, optimal-step --version for the version.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import NoReturn

from oracles.errors import did_you_mean
from parser.commands import command_line

_CHECKOUT = Path(__file__).parents[2]

# What each command does, by name. Its code is ``main`` in the module of the same name, which is
# imported when the command is run.
COMMANDS = {
    "check": "list the faults of treebank files",
    "train": "train a parser, or with -m a sweep of parsers",
    "train_tokenizer": "give a model's folder a tokenizer, so that it parses text",
    "parse": "parse CoNLL-U, or text",
    "parse_many": "parse many files in parallel",
    "serve": "serve a model over HTTP, with UDPipe's REST interface and a web page",
    "evaluate": "score a file of trees against gold trees",
    "draw": "draw trees in the terminal, as SVG or as HTML, also predicted against gold",
    "report": "write a page about a run, or two runs compared",
    "pack": "pack a model into one file to distribute",
    "get": "list models, or fetch one by its name",
    "fetch_treebanks": "fetch treebanks of Universal Dependencies",
    "train_treebanks": "train a parser for every treebank of a folder, and write a table",
    "trace": "show a computation step by step, with the scores of oracle and classifier",
    "projectivize": "make the trees of a file projective",
    "lattices": "make word lattices with the lexicon of a treebank",
    "benchmark": (
        "measure oracles, parsing and training on this machine (needs a checkout of the source)"
    ),
}

# What other toolkits call a command.
_ELSEWHERE = {
    **dict.fromkeys(("fit", "learn"), "train"),
    **dict.fromkeys(("predict", "tag", "annotate", "apply", "run", "tokenize", "process"), "parse"),
    **dict.fromkeys(("score", "test", "accuracy"), "evaluate"),
    **dict.fromkeys(("validate", "lint", "debug"), "check"),
    **dict.fromkeys(("visualize", "render", "show", "view", "plot"), "draw"),
    **dict.fromkeys(("server", "web", "rest"), "serve"),
    **dict.fromkeys(("download", "fetch", "models", "list", "install"), "get"),
    **dict.fromkeys(("package", "export"), "pack"),
    **dict.fromkeys(("speed", "profile"), "benchmark"),
}

# For each command that has been removed, what to type instead.
_REMOVED = {
    "recombine": (
        "it made new training sentences; parse text with the better model, and give "
        "treebank.train=[TRAIN,PARSED] (commit b043ab10 still has this command)"
    ),
}


def usage() -> str:
    """Return the text of --help: all commands."""
    return "\n".join([str(__doc__), *(f"  {name:18}{what}" for name, what in COMMANDS.items())])


def main() -> NoReturn:
    """Run the command that the first argument names with the remaining arguments, and exit."""
    words = sys.argv[1:]
    if not words or words[0] in ("-h", "--help"):
        command_line.run(lambda: print(usage()))
    if words[0] == "--version":
        command_line.run(lambda: print(f"optimal-step {version('optimal-step')}"))
    if words[0] in _REMOVED:
        sys.exit(f"error: the command {words[0]} has been removed: {_REMOVED[words[0]]}")
    if words[0] not in COMMANDS:
        near = did_you_mean(words[0], [*COMMANDS, "--help", "--version"], _ELSEWHERE)
        sys.exit(
            f"error: there is no command {words[0]!r}{near}; the commands are {', '.join(COMMANDS)}"
        )
    sys.argv = [f"{sys.argv[0]} {words[0]}", *words[1:]]
    start(words[0])


def start(name: str) -> NoReturn:
    """Run a command with the arguments of the command line, and exit;
    a missing package is reported in one line.
    """
    module = _benchmarks() if name == "benchmark" else f"parser.commands.{name}"
    command_line.run(lambda: import_module(module).main())


def _benchmarks() -> str:
    """Return the module of the benchmarks; exit where they are not installed."""
    if not (_CHECKOUT / "scripts" / "benchmarks").is_dir():
        sys.exit(
            "error: the benchmarks are not installed; "
            "run scripts/benchmark.py in a checkout of the source"
        )
    return "scripts.benchmarks.command"


if __name__ == "__main__":
    main()
