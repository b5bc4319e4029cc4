"""Gives a model a tokenizer, so that it parses text:
python scripts/train_tokenizer.py RUN --train FILE --dev FILE.
"""

import sys
from pathlib import Path

if __name__ == "__main__":
    # import from the checkout, not from this folder, which may hold a parser.py of yours
    sys.path[0] = str(Path(__file__).resolve().parents[1])
    from parser.commands.__main__ import start

    start("train_tokenizer")
