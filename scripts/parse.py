"""Parses CoNLL-U: python scripts/parse.py MODEL_DIR [INPUT] [-o OUTPUT].

INPUT and OUTPUT are files (.gz and .xz by name) or - for standard input and output, which is the default. HEAD and DEPREL are
rewritten, DEPS becomes _; comments, multiword tokens, empty nodes and every other column pass through byte for byte.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import torch

from parser.conllu.files import STANDARD_STREAM, open_binary_output, open_input
from parser.decoding.file_parsing import parse_file
from parser.model import Model
from scripts.command_line import run


def main() -> None:
    """Parses as the command line says, and reports the speed on standard error."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model", type=Path, metavar="MODEL_DIR", help="a model folder, such as RUN_FOLDER/model")
    arguments.add_argument("input", nargs="?", default=STANDARD_STREAM, metavar="INPUT")
    arguments.add_argument("-o", "--output", default=STANDARD_STREAM)
    arguments.add_argument("--several-roots", action="store_true", help="let the artificial root have several children")
    arguments.add_argument("--threads", type=int, default=1, help="sentences parsed side by side (default 1)")
    given = arguments.parse_args()
    torch.set_num_threads(1)  # the threads of the parser are enough
    model = Model.load(given.model)
    start = time.perf_counter()
    with open_input(given.input) as source, open_binary_output(given.output) as target:
        parsed = parse_file(model, source, target, given.input, single_root=not given.several_roots, threads=given.threads)
    seconds = time.perf_counter() - start
    rate = f"{parsed.words / seconds:,.0f} words a second"
    print(f"{parsed}; {seconds:.1f} s, {rate}", file=sys.stderr)


if __name__ == "__main__":
    run(main)
