"""When the original trees help: columns 4, 5 and 6 of Table 7 against the share of non-projective trees.

    python experiments/nonprojectivity.py paths.treebanks=../shared/ud-v2.2
    python experiments/nonprojectivity.py recipe=accurate shares=[100] seeds=3 paths.treebanks=../shared/ud-v2.2

Training parts with 50 and 100% non-projective trees are drawn from each treebank, as many sentences in each; ``all`` is the
treebank as it is. A share of 0 makes the columns the same by definition, so it is not trained. A treebank without a training
part is trained on its dev part, and the first sentences of its test part choose the epoch; the rest is test.
The differences of LAS have intervals from a paired bootstrap over sentences and seeds (columns.py). Writes the parts and run
folders under runs/, and RECIPE.csv, RECIPE.md and RECIPE.svg.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from experiments.columns import KEY, MEASURED, counts_file, counts_of, difference, keep, measure_family, write_counts
from experiments.command import Trainings, check_known
from experiments.engine import Cell, Experiment, Job, check
from experiments.figures import BLUE, GREY, RED, panels, provenance, save, write_csv
from experiments.tables import NOT_RUN, Interval, Key, Row, chosen, markdown, mean_and_deviation, names_of, numbers
from experiments.trainings import Training
from experiments.treebanks import files
from oracles import Trees
from parser.data.treebank import read_treebank
from parser.settings.paths import override

ALL = "all"
FIRST_PASS = 2  # the column whose first pass the others continue
COLUMNS = (4, 5, 6)
PAIRS = ((5, 4), (6, 4), (6, 5))

SENTENCES = 600  # of a drawn part
HELD_OUT = 300  # sentences of test that choose the epoch where dev is what is trained on

# By pair, its line in the plot: how far from the middle it is drawn, colour and label.
_LINES = {
    (5, 4): (-0.12, BLUE, "original trees (5) over projectivized (4)"),
    (6, 4): (0.12, RED, "with ties=nearest_ancestor (6) over (4)"),
}


@dataclass
class Nonprojectivity(Trainings):
    """Which parts to train on; configs/experiments/nonprojectivity.yaml says what each key is for."""

    shares: list[str]
    whole: list[str]

    @property
    def parts(self) -> list[tuple[str, str]]:
        """Treebank and share of each part."""
        return [*product(self.languages, self.shares), *((treebank, ALL) for treebank in self.whole)]

    def drawn_from(self, treebank: str) -> str:
        """``train``, or ``dev`` where there is no train part."""
        return "train" if "train" in files(treebank, self.paths.treebanks) else "dev"

    def name(self, treebank: str, share: str) -> str:
        """Of a part, in rows: ``got-train-50``."""
        return f"{treebank}-{self.drawn_from(treebank)}-{share}"

    def folder(self, name: str) -> Path:
        """Where the files of a part go."""
        return Path(self.runs).absolute() / "parts" / name

    def training(self, name: str, column: int, seed: str) -> Training:
        """A training on a part."""
        parts = tuple(override(f"treebank.{part}", self.folder(name) / f"{part}.conllu") for part in ("train", "dev", "test"))
        return replace(Training.of(self, name.split("-")[0], seed), column=column, files=parts)


def cells(wanted: Nonprojectivity) -> list[Cell]:
    """The columns of a part and seed, which share a job."""
    check(wanted, (), [])
    Training.of(wanted, "", 1).check()
    check_known("shares", wanted.shares, [str(share) for share in range(1, 101)])
    names = [wanted.name(*part) for part in wanted.parts]
    asked = product(range(1, wanted.seeds + 1), names, (FIRST_PASS, *COLUMNS))
    return [Cell((name, wanted.recipe, str(column), str(seed)), "", f"{name} seed {seed}") for seed, name, column in asked]


def prepare(wanted: Nonprojectivity, missing: list[Cell]) -> list[Job[Any]]:
    """Writes the parts."""
    return [Job(f"the part of {part[0]}", partial(write_part, wanted, *part)) for part in wanted.parts if missing]


def measure(wanted: Nonprojectivity, group: list[Cell]) -> Iterator[tuple[Key, dict[str, str]]]:
    """Trains the columns of a part and seed."""
    name, recipe, _, seed = group[0].key
    columns = (FIRST_PASS, *COLUMNS)
    family: dict[Key, Training] = {(name, recipe, str(c), seed): wanted.training(name, c, seed) for c in columns}
    return measure_family(family, wanted.runs, wanted.fresh)


def write_part(wanted: Nonprojectivity, treebank: str, share: str) -> None:
    """Writes train, dev and test of a part, the same ones each time.

    Raises:
        ValueError: the treebank has too few trees of a kind.
    """
    there = files(treebank, wanted.paths.treebanks)
    train = there[wanted.drawn_from(treebank)]
    sentences, test = blocks(train), blocks(there["test"])
    dev, test = (blocks(there["dev"]), test) if "train" in there else (test[:HELD_OUT], test[HELD_OUT:])
    projective = Trees.from_heads([sentence.heads for sentence in read_treebank(train).sentences]).projective
    if len(projective) != len(sentences):
        raise ValueError(f"{train}: {len(sentences)} blocks of lines, {len(projective)} sentences; some are without words")
    if share != ALL:
        try:
            sentences = [sentences[number] for number in drawn(projective, int(share), SENTENCES)]
        except ValueError as error:
            raise ValueError(f"{train}: {error}; give shares= for which there are enough trees") from error
    folder = wanted.folder(wanted.name(treebank, share))
    folder.mkdir(parents=True, exist_ok=True)
    for name, part in (("train", sentences), ("dev", dev), ("test", test)):
        (folder / f"{name}.conllu").write_text("".join(part), encoding="utf-8", newline="\n")


def blocks(path: Path) -> list[str]:
    """The text of each sentence of a CoNLL-U file, with the blank line after it."""
    return [f"{block}\n\n" for block in path.read_text(encoding="utf-8").strip("\n").split("\n\n")]


def drawn(projective: np.ndarray, share: int, size: int) -> list[int]:
    """Numbers of sentences, ascending: ``share`` percent of ``size`` that are not projective, the others projective.

    Args:
        projective: bool[sentences].
        share: in percent.
        size: how many.

    Raises:
        ValueError: there are too few of a kind.
    """
    rng = np.random.default_rng(1)
    numbers: list[int] = []
    for kind, count in ((False, round(size * share / 100)), (True, size - round(size * share / 100))):
        there = np.flatnonzero(projective == kind)
        if len(there) < count:
            raise ValueError(f"{len(there)} {'' if kind else 'non-'}projective trees, {count} wanted")
        numbers += rng.permutation(there)[:count].tolist()
    return sorted(numbers)


def differences(wanted: Nonprojectivity, rows: list[Row]) -> dict[tuple[str, ...], list[Interval | None]]:
    """PAIRS by the names of parts: of each part, those that are asked for first, and of all drawn ones of a share together."""
    counts, there = counts_of(wanted, rows), names_of(chosen(rows, recipe=wanted.recipe), "treebank")
    asked = [name for treebank, share in wanted.parts for name in there if fnmatchcase(name, f"{treebank}-*-{share}")]
    names = list(dict.fromkeys([*asked, *there]))
    shares = sorted({share for name in names if (share := name.rpartition("-")[2]) != ALL}, key=int)
    groups = [*((name,) for name in names), *(tuple(n for n in names if n.endswith(f"-{share}")) for share in shares)]
    return {group: [difference(counts, group, *pair) for pair in PAIRS] for group in groups}


def page(rows: list[Row], wanted: Nonprojectivity) -> str:
    """Markdown: LAS and differences of each part, then the differences of those that have a share in common."""
    lines = []
    for names, found in differences(wanted, rows).items():
        own = chosen(rows, recipe=wanted.recipe, treebank=names[0]) if len(names) == 1 else []
        scores = [numbers(chosen(own, column=column), "las") for column in COLUMNS]
        cells = [mean_and_deviation(of_column) if of_column else NOT_RUN for of_column in scores]
        shown = [str(one) if one else NOT_RUN for one in found]
        together = [f"{names[0].rpartition('-')[2]}%, all together", "", "", "", *shown, ""]
        lines.append([names[0], *cells, *shown, str(max(map(len, scores)))] if own else together)
    head = ["trained on", *(f"({c})" for c in COLUMNS), *(f"({better}) over ({worse})" for better, worse in PAIRS), "seeds"]
    return wanted.head() + markdown(head, lines)


def draw(rows: list[Row], wanted: Nonprojectivity, folder: Path) -> None:
    """The differences of parts as CSV, and in a plot; of published rows, the counts."""
    recipe = wanted.recipe
    if wanted.publish:
        write_counts(folder / counts_file(recipe), counts_of(wanted, rows))
    found = {names[0]: of_part for names, of_part in differences(wanted, rows).items() if len(names) == 1}
    pairs = [(name, *each) for name, of_part in found.items() for each in zip(PAIRS, of_part, strict=True)]
    lines = [(name, *pair, one.mean, one.low, one.high) for name, pair, one in pairs if one]
    head = provenance(f"python experiments/nonprojectivity.py recipe={recipe}", found)
    write_csv(folder / f"{recipe}.csv", head, ("part", "better", "worse", "difference", "low", "high"), lines)
    plot(folder / f"{recipe}.svg", found)


def plot(path: Path, found: dict[str, list[Interval | None]]) -> None:
    """Differences with their intervals, a part a line; columns 5 and 6 over 4."""
    figure, (axes,) = panels(1, width=5.6, height=0.9 + 0.34 * max(3, len(found)))
    for pair, (offset, colour, label) in _LINES.items():
        of_pair = (of_part[PAIRS.index(pair)] for of_part in found.values())
        shown = [(number + offset, one) for number, one in enumerate(of_pair) if one is not None]
        errors = np.array([[one.mean - one.low, one.high - one.mean] for _, one in shown]).reshape(-1, 2).T
        look: dict[str, Any] = {"fmt": "o", "color": colour, "label": label, "capsize": 2}
        axes.errorbar(np.array([one.mean for _, one in shown]), [place for place, _ in shown], xerr=errors, **look)
    axes.axvline(0, color=GREY, linewidth=0.8)
    axes.set_yticks(range(len(found)), list(found))
    axes.invert_yaxis()
    axes.set_xlabel("difference in LAS on test (points)")
    figure.legend(loc="outside upper center", ncols=1)
    save(figure, path)


EXPERIMENT = Experiment(
    *("nonprojectivity", Nonprojectivity, KEY, MEASURED, cells, measure, page, "{recipe}.md"),
    draw=draw,
    prepare=prepare,
    keep=keep,
)

if __name__ == "__main__":
    EXPERIMENT.run(__doc__)
