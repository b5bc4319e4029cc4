"""Fetches a model by its name: optimal-step get hu --from URL_OR_FOLDER.

There, index.json lists the packs that optimal-step pack has made, with their SHA-256. An interrupted download is continued. The
model is unpacked into the folder of fetched models (~/.cache/optimal-step, or below XDG_CACHE_HOME), and is then known by its
name in other commands and in the library: optimal-step parse hu, Parser.load("hu"). An older model of that name is replaced.

OPTIMAL_STEP_MODELS, a URL or a folder, takes the place of --from.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from parser.model.packs import fetch, read_index
from parser.model_folder import fetched_models, plain_name
from parser.storage import locked, remove_leftovers


def main() -> None:
    """Fetches what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", metavar="NAME")
    default = os.environ.get("OPTIMAL_STEP_MODELS")
    parser.add_argument("--from", dest="source", default=default, metavar="URL_OR_FOLDER", help="where index.json is")
    given = parser.parse_args()
    if given.source is None:
        raise ValueError("where from? give --from URL_OR_FOLDER, where optimal-step pack has written models and index.json")
    folder = fetched_models()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"{folder}: {error.strerror}; set XDG_CACHE_HOME to a folder that you can write to") from error
    listed = read_index(given.source)
    for name in given.names:
        if name not in listed:
            raise ValueError(f"{given.source}: there is no model {name!r}; there are {', '.join(listed) or 'none'}")
    with locked(folder / ".lock", wait=True):
        remove_leftovers(folder)
        for name in given.names:
            print(f"{name}: {fetch(plain_name(name), listed[name], given.source, folder)}", file=sys.stderr)
            if Path(name).exists():
                print(f"warning: here {name} means {Path(name).absolute()}; give {folder / name}", file=sys.stderr)
