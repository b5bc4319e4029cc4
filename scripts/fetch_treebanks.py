"""Fetches treebanks of Universal Dependencies: python scripts/fetch_treebanks.py hu el
[--release 2.2] [-d ud-v2.2].
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    # not this folder, where a parser.py of yours may lie
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from parser.commands.__main__ import start

    start("fetch_treebanks")
