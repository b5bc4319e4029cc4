"""Trains a parser: python scripts/train.py [treebank=hu] [column=5] [recipe=paper] [KEY=VALUE ...];
--help shows all keys.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    # not this folder, where a parser.py of yours may lie
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from parser.commands.__main__ import start

    start("train")
