"""The speed table of README.md, written from the rows of experiments/speed/parsing.csv: python experiments/speed.py.

Each line is a label of the rows, which one command measures on a machine where nothing else runs (the same treebanks for all;
UDPipe trained by experiments/comparison.py --config-name=accurate):

    python scripts/benchmark.py parsing RUN_FOLDER/model ud-v2.2/*/{hu,el,cu,got,tr}_*-ud-{dev,test}.conllu --repeat 10 \\
        --beam 5 --times 3 --udpipe runs/accurate/UDPipe/hu.udpipe \\
        --spacy-train ud-v2.2/UD_Hungarian-Szeged/hu_szeged-ud-train.conllu \\
        --rows experiments/speed/parsing.csv --label recipe=accurate

and the same with recipe=paper, with "recipe=accurate model=bilstm", and with --int8 besides. A test compares README.md with the
rows.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from experiments.tables import plain_table
from scripts.benchmarks.measurements import Measurement, read_measurements
from scripts.benchmarks.parsing import WHOLE_PROCESS
from scripts.benchmarks.ratios import repeated

ROWS = Path(__file__).parent / "speed" / "parsing.csv"
LABELS = ("recipe=paper", "recipe=accurate", "recipe=accurate model=bilstm", "recipe=accurate model=bilstm, --int8")
_REPEAT = 10

# By head of a column, the quantities that a cell shows, and how.
_COLUMNS = {
    "text read once": (
        "{:.1f} ({:,.0f} words/s)",
        ("end to end, 1 thread, over UDPipe, CPU time", "end to end, 1 thread"),
    ),
    "ten times over": ("{:.1f}", (f"{repeated(_REPEAT)}, 1 thread, over UDPipe, CPU time",)),
    "decoding alone": ("{:.1f}", ("decoding, 1 thread, over UDPipe, CPU time",)),
    "a beam of 5 over UDPipe's": ("{:.1f}", ("end to end, beam 5, over UDPipe's",)),
    "over spaCy": ("{:.1f}", ("end to end, 1 thread, over spaCy, CPU time",)),
    "two threads over one": ("{:.2f}", ("end to end, 2 threads over 1",)),
    "CPU time of a process over UDPipe's": ("{:.2f}", (WHOLE_PROCESS,)),
    "first sentence": ("{:.2f} s", ("start-up",)),
}


def table(rows: Sequence[Measurement]) -> list[list[str]]:
    """The cells of the table, the head first; a line for each of LABELS that was measured.

    Raises:
        ValueError: a quantity of a label is missing; the message says how it is measured.
    """
    values = {(row.label, row.quantity): float(row.value) for row in rows}
    lines = [["", *_COLUMNS]]
    for label in LABELS:
        if not any(row.label == label for row in rows):
            continue
        lines.append([f"`{label}`"])
        for form, quantities in _COLUMNS.values():
            for quantity in quantities:
                if (label, quantity) not in values:
                    raise ValueError(
                        f"{label}: {quantity!r} was not measured; measure as python experiments/speed.py --help says"
                    )
            lines[-1].append(form.format(*(values[label, quantity] for quantity in quantities)))
    return lines


if __name__ == "__main__":
    if "--help" in sys.argv:
        print(__doc__)
    else:
        head, *lines = table(read_measurements(ROWS))
        print(plain_table(head, lines), end="")
