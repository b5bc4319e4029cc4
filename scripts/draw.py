"""Draws dependency trees: python scripts/draw.py FILE [--gold GOLD] [--sentence N]
[--format text|svg|html] [-o OUTPUT].
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    # import from the checkout, not from this folder, which may hold a parser.py of yours
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from parser.commands.__main__ import start

    start("draw")
