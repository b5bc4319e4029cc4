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

import numpy as np
from hydra.core.config_store import ConfigStore
from omegaconf import MISSING

from experiments.command import run
from experiments.figures import BLUE, GREEN, ORANGE, RED, describe, panels, provenance, save, write_csv
from experiments.parsed_part import ParsedPart
from experiments.tables import markdown
from parser.beam_settings import Beam, Merge
from parser.data.treebank import Treebank
from parser.decoding.beam.derivations import count_derivations
from parser.decoding.beam.signature import arc_standard_alone
from parser.decoding.beam.signature_beam import SignatureBeamParser
from parser.model.model import Model

COMMAND = "python experiments/derivations.py"
COLUMNS = ("model", "size", "length", "items", "log10_derivations")

_COLOURS = (BLUE, ORANGE, GREEN, RED)
_MARKERS = "osD^"


@dataclass
class DerivationsSettings(ParsedPart):
    """What to count; configs/experiments/derivations.yaml says what each key is for."""

    together: int = MISSING
    format: str = MISSING


ConfigStore.instance().store(name="derivations_schema", node=DerivationsSettings)


@dataclass(frozen=True)
class Row:
    """One sentence.

    Attributes:
        model: by which it was parsed.
        size: items of the beam.
        length: words of the sentence.
        items: of the last step.
        log10_derivations: the decimal logarithm of the mean number of derivations of these.
    """

    model: str
    size: int
    length: int
    items: int
    log10_derivations: float


def rows_of(name: str, model: Model, size: int, treebank: Treebank) -> Iterator[Row]:
    """Those of all sentences.

    Raises:
        BeamError: items of the model cannot merge by signature.
    """
    system = arc_standard_alone(model.system)
    parser = SignatureBeamParser(model.weights(), system, model.table, Beam(size, Merge.SIGNATURE))
    encoded = model.vocabularies.encode(treebank.sentences)
    for length, items in zip(encoded.lengths.tolist(), parser.final_items(encoded), strict=True):
        derivations = sum(map(count_derivations, items))  # an integer of any size
        yield Row(name, size, length, len(items), math.log10(derivations) - math.log10(len(items)))


def by_length(rows: list[Row], together: int) -> dict[tuple[str, int], dict[int, list[Row]]]:
    """By model and size of the beam, then by the most words of a range of lengths, the rows."""
    found: dict[tuple[str, int], dict[int, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        found[row.model, row.size][-(-row.length // together) * together].append(row)
    return found


def draw(rows: list[Row], together: int, path: Path) -> None:
    """The median over sentences of about one length, for each model and size of the beam."""
    figure, (axes,) = panels()
    for place, ((name, size), groups) in enumerate(by_length(rows, together).items()):
        lengths = sorted(groups)
        medians = [np.median([row.log10_derivations for row in groups[length]]) for length in lengths]
        middles = [length - (together - 1) / 2 for length in lengths]
        look = {"color": _COLOURS[place % len(_COLOURS)], "marker": _MARKERS[place % len(_MARKERS)]}
        axes.plot(middles, np.power(10, medians), label=f"{name}, beam {size}", markersize=4, **look)
    axes.set_yscale("log")
    axes.set_xlabel("words of the sentence")
    axes.set_ylabel("derivations per item, median")
    axes.legend()
    save(figure, path)


def as_table(rows: list[Row], together: int) -> str:
    """For people."""
    groups = by_length(rows, together)
    lengths = sorted({length for of_beam in groups.values() for length in of_beam})
    lines = []
    for length in lengths:
        sentences = len(next(iter(groups.values()))[length])
        cells = [_cell([row.log10_derivations for row in of_beam[length]]) for of_beam in groups.values()]
        lines.append([f"{length - together + 1} to {length}", f"{sentences:,}", *cells])
    heads = ["words", "sentences", *(f"{name}, beam {size}" for name, size in groups)]
    return (
        "Derivations per item of the last step, items merged by signature; median over sentences, in parentheses the tenth\n"
        f"and the ninetieth percentile; see experiments/derivations.py.\n\n{markdown(heads, lines)}"
    )


def _cell(logarithms: list[float]) -> str:
    tenth, median, ninetieth = (f"{10**value:,.3g}" for value in np.percentile(logarithms, [10, 50, 90]))
    return f"{median} ({tenth}, {ninetieth})"


def main(settings: DerivationsSettings) -> None:
    """Counts, and writes."""
    treebank = settings.read()
    rows: list[Row] = []
    for name, model in settings.loaded():
        for size in settings.sizes:
            rows += rows_of(name, model, size, treebank)
    output = settings.folder
    data = [describe(f"{settings.treebank} {settings.part}", len(treebank), treebank.n_words)]
    cells = [[*vars(row).values()] for row in rows]
    write_csv(output / "results.csv", provenance(COMMAND, data, []), COLUMNS, cells)
    draw(rows, settings.together, output / f"derivations.{settings.format}")
    table = as_table(rows, settings.together)
    (output / "table.md").write_text(table, encoding="utf-8")
    print(table, end="")


if __name__ == "__main__":
    run(main, DerivationsSettings, "derivations", __doc__)
