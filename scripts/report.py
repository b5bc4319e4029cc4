"""Writes a page about a run, or two runs compared: python scripts/report.py RUN [RUN2]
[--part test] [-o report.html].
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    # not this folder, where a parser.py of yours may lie
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from parser.commands.__main__ import start

    start("report")
