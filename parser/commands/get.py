"""Fetches models by name, or lists them: optimal-step get; optimal-step get pt;
optimal-step get hu --from URL_OR_FOLDER.

Without a name, it lists the models that come with this installation and those of --from, where
index.json lists the packs that optimal-step pack has made, with their SHA-256. The model is
unpacked into the folder of fetched models (~/.cache/optimal-step, or below XDG_CACHE_HOME), and
other commands and the library then know it by its name: optimal-step parse hu, Parser.load("hu").
An older model of that name is replaced, and so is one with a part that is damaged.

An installation may have only some of the project's models: a checkout has all of them, in models/,
but pip install . takes only en. The others are fetched from there: optimal-step get en-text --from
CHECKOUT/models. The environment variable OPTIMAL_STEP_MODELS, a URL or a folder, takes the place of
--from.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from oracles.errors import OptimalStepError
from parser.commands.arguments import Arguments
from parser.model.packs import (
    SHIPPED,
    SOURCE,
    Entry,
    absent_pack,
    absent_packs,
    fetch,
    held_cache,
    meant_model,
    noted_pack,
    places,
    read_index,
    shipped_packs,
    stored_name,
)
from parser.model_folder import holds_model, plain_name

# For each key of index.json, how the entry of a model is shown; LAS is from raw text, without
# subtypes.
_COLUMNS = (
    *("language", "treebank", "licence", "words", "LAS", "UPOS"),
    *("lemmas", "bytes", "words_per_second"),
)
_SHOWN = {
    "bytes": "MB",
    "words_per_second": "words/s",
    "words": "training words",
    "LAS": "LAS (official)",
}


def main() -> None:
    """Fetch the models that the command line names, or list them."""
    parser = Arguments(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="the models; none: list them")
    parser.add_argument(
        "--from",
        dest="source",
        default=os.environ.get(SOURCE),
        metavar="URL_OR_FOLDER",
        help="has index.json",
    )
    args = parser.parse_args()
    fetchable = {} if args.source is None else read_index(args.source)
    shipped = {name: entry for name, entry in shipped_packs().items() if name not in fetchable}
    listed = {**fetchable, **shipped}
    if not args.names:
        print(_table(listed))
        if absent := [name for name in absent_packs() if name not in listed]:
            print(
                f"not in this installation: {', '.join(absent)}; for each, {places()}",
                file=sys.stderr,
            )
        return
    sources = dict.fromkeys(fetchable, args.source) | dict.fromkeys(shipped, SHIPPED)
    for name in args.names:
        if name not in listed and (noted := noted_pack(name)) is not None:
            listed[name], sources[name] = noted, noted["source"]
        if name not in listed:
            if (why := absent_pack(name)) is not None:
                raise OptimalStepError(why)
            fix = (
                ""
                if args.source
                else (
                    "; --from URL_OR_FOLDER, where optimal-step pack has written models, has others"
                )
            )
            near = meant_model(name, listed)
            raise OptimalStepError(
                f"there is no model {name!r}{near}; there are {', '.join(listed) or 'none'}{fix}"
            )
    with held_cache() as folder:
        for name in args.names:
            print(
                f"{name}: {fetch(plain_name(name), listed[name], sources[name], folder)}",
                file=sys.stderr,
            )
            if holds_model(Path(name)):
                there = folder / stored_name(name, listed[name], sources[name])
                print(
                    f"warning: here {name} means {Path(name).absolute()}; give {there}",
                    file=sys.stderr,
                )


def _table(packs: Mapping[str, Entry]) -> str:
    """Return a line for each model; a column is left empty where the index says nothing."""
    rows = [["name", *(_SHOWN.get(column, column) for column in _COLUMNS)]]
    rows += [
        [name, *(_cell(column, entry.get(column, "")) for column in _COLUMNS)]
        for name, entry in packs.items()
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _cell(column: str, value: object) -> str:
    if not isinstance(value, int | float):
        return str(value)
    if column == "bytes":
        return f"{value / 1e6:.1f}"
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f}"
