r"""What the items of a beam stand for if they merge by signature: derivations per item, against the length of the sentence.

    python experiments/derivations.py "+models={paper: RUN_FOLDER/model, accurate: OTHER/model}" \
        paths.treebanks=../shared/ud-v2.2

Items that no feature of the model can tell apart are one (parser/decoding/lattice/merging.py), which stands for all of
their derivations: computations that the parser compares without having them in its beam (Huang and Sagae 2010, Figure 5).
Counted for the items of the last step, which stand for whole trees; of a sentence, the mean over its items. A tree may have
several derivations. Without merging an item stands for one. Writes results.csv, derivations.svg and table.md.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from experiments.figures import BLUE, GREEN, ORANGE, RED, FigureExperiment, panels, save
from experiments.parsed_part import ParsedPart
from experiments.tables import Row, markdown, numbers
from parser.beam_settings import Beam, Merge
from parser.data.treebank import Treebank
from parser.decoding.beam.derivations import Item
from parser.decoding.beam.signature import arc_standard_alone
from parser.decoding.beam.signature_beam import SignatureBeamParser
from parser.model.model import Model

COMMAND = "python experiments/derivations.py"
COLUMNS = ("model", "size", "length", "items", "log10_derivations")

_COLOURS = (BLUE, ORANGE, GREEN, RED)
_MARKERS = "osD^"


@dataclass
class Derivations(ParsedPart):
    """What to count; configs/experiments/derivations.yaml says what each key is for."""

    together: int
    format: str


def count_derivations(item: Item) -> int:
    """How many computations since the first token of s0 was shifted the item stands for."""
    counts: dict[int, int] = {}
    waiting = [item]
    while waiting:  # no recursion: items are as deep as sentences are long
        one = waiting[-1]
        parts = [part for made in one.backpointers for part in (made.item, made.below.item)]
        unknown = [part for part in parts if id(part) not in counts]
        if unknown:
            waiting += unknown
            continue
        waiting.pop()
        counts[id(one)] = sum(counts[id(made.item)] * counts[id(made.below.item)] for made in one.backpointers) or 1
    return counts[id(item)]


def rows_of(name: str, model: Model, size: int, treebank: Treebank) -> Iterator[tuple[Any, ...]]:
    """Lines of COLUMNS, one for each sentence: the items of the last step, and the logarithm of their mean of derivations.

    Raises:
        BeamError: items of the model cannot merge by signature.
    """
    system = arc_standard_alone(model.system)
    parser = SignatureBeamParser(model.weights(), system, model.table, Beam(size, Merge.SIGNATURE))
    encoded = model.vocabularies.encode(treebank.sentences)
    for length, items in zip(encoded.lengths.tolist(), parser.final_items(encoded), strict=True):
        derivations = sum(map(count_derivations, items))  # an integer of any size
        yield name, size, length, len(items), math.log10(derivations) - math.log10(len(items))


def measure(settings: Derivations) -> tuple[list[Any], list[str]]:
    """Counts."""
    treebank = settings.read()
    models = settings.loaded()
    rows = [row for name, model in models for size in settings.sizes for row in rows_of(name, model, size, treebank)]
    return rows, settings.provenance(COMMAND, treebank)


def by_length(rows: list[Row], together: int) -> dict[tuple[str, str], dict[int, list[Row]]]:
    """By model and size of the beam, then by the most words of a range of lengths, the rows."""
    found: dict[tuple[str, str], dict[int, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        found[row["model"], row["size"]][-(-int(row["length"]) // together) * together].append(row)
    return found


def draw(rows: list[Row], settings: Derivations, folder: Path) -> None:
    """The median over sentences of about one length, for each model and size of the beam."""
    figure, (axes,) = panels()
    for place, ((name, size), groups) in enumerate(by_length(rows, settings.together).items()):
        lengths = sorted(groups)
        medians = [np.median(numbers(groups[length], "log10_derivations")) for length in lengths]
        middles = [length - (settings.together - 1) / 2 for length in lengths]
        look = {"color": _COLOURS[place % len(_COLOURS)], "marker": _MARKERS[place % len(_MARKERS)]}
        axes.plot(middles, np.power(10, medians), label=f"{name}, beam {size}", markersize=4, **look)
    axes.set_yscale("log")
    axes.set_xlabel("words of the sentence")
    axes.set_ylabel("derivations per item, median")
    axes.legend()
    save(figure, folder / f"derivations.{settings.format}")


def page(rows: list[Row], settings: Derivations) -> str:
    """For people."""
    together, groups = settings.together, by_length(rows, settings.together)
    lines = []
    for length in sorted({length for of_beam in groups.values() for length in of_beam}):
        sentences = len(next(iter(groups.values()))[length])
        cells = [_cell(numbers(of_beam[length], "log10_derivations")) for of_beam in groups.values()]
        lines.append([f"{length - together + 1} to {length}", f"{sentences:,}", *cells])
    heads = ["words", "sentences", *(f"{name}, beam {size}" for name, size in groups)]
    return (
        "Derivations per item of the last step, items merged by signature; median over sentences, in parentheses the tenth\n"
        f"and the ninetieth percentile; see experiments/derivations.py.\n\n{markdown(heads, lines)}"
    )


def _cell(logarithms: list[float]) -> str:
    tenth, median, ninetieth = (f"{10**value:,.3g}" for value in np.percentile(logarithms, [10, 50, 90]))
    return f"{median} ({tenth}, {ninetieth})"


EXPERIMENT = FigureExperiment(Derivations, COLUMNS, measure, page, draw)

if __name__ == "__main__":
    EXPERIMENT.run("derivations", __doc__)
