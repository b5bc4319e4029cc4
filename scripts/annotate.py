"""Chooses what to annotate next: python scripts/annotate.py MODEL_DIR INPUT -o OUTPUT."""

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])  # not this folder, where a parser.py of yours may lie
    from parser.commands.__main__ import start

    start("annotate")
