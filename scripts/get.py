"""Fetches a model by its name: python scripts/get.py hu --from URL_OR_FOLDER."""

import sys
from pathlib import Path

if __name__ == "__main__":
    # import from the checkout, not from this folder, which may hold a parser.py of yours
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from parser.commands.__main__ import start

    start("get")
