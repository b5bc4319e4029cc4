"""Draws dependency trees: python scripts/draw.py FILE [--gold GOLD] [--sentence N]
[--format text|svg|html] [-o OUTPUT].
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    # not this folder, where a parser.py of yours may lie
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from parser.commands.__main__ import start

    start("draw")
