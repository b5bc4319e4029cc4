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
from itertools import product
from pathlib import Path

import numpy as np

from experiments.columns import (
    KEY,
    MEASURED,
    AllCounts,
    Difference,
    counted,
    counts_file,
    difference,
    keep_counts,
    measure_family,
    read_counts,
    write_counts,
)
from experiments.command import Trainings, check_known, run
from experiments.engine import Cell, Experiment, Found, check
from experiments.figures import BLUE, GREY, RED, panels, provenance, save, write_csv
from experiments.tables import NOT_RUN, Key, Row, chosen, markdown, mean_and_deviation, names_of, numbers, write_page
from experiments.trainings import Training
from experiments.treebanks import files
from oracles import Trees
from parser.data.treebank import read_treebank

ALL = "all"
FIRST_PASS = 2  # the column whose first pass the others continue
COLUMNS = (4, 5, 6)
PAIRS = ((5, 4), (6, 4), (6, 5))

SENTENCES = 600  # of a drawn part
HELD_OUT = 300  # sentences of test that choose the epoch where dev is what is trained on


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
        parts = tuple(f"treebank.{part}={self.folder(name) / part}.conllu" for part in ("train", "dev", "test"))
        return replace(Training.of(self, name.split("-")[0], seed), column=column, files=parts)


def cells(wanted: Nonprojectivity) -> list[Cell]:
    """The columns of a part and seed, which share a job."""
    check(wanted, (), [])
    Training.of(wanted, "", 1).check()
    check_known("shares", wanted.shares, [str(share) for share in range(1, 101)])
    names = [wanted.name(*part) for part in wanted.parts]
    asked = product(range(1, wanted.seeds + 1), names, (FIRST_PASS, *COLUMNS))
    return [Cell((name, wanted.recipe, str(column), str(seed)), "", f"{name} seed {seed}") for seed, name, column in asked]


def measure(wanted: Nonprojectivity, group: list[Cell]) -> Iterator[tuple[Key, dict[str, str]]]:
    """Trains the columns of a part and seed."""
    name, recipe, _, seed = group[0].key
    family: dict[Key, Training] = {
        (name, recipe, str(column), seed): wanted.training(name, column, seed) for column in (FIRST_PASS, *COLUMNS)
    }
    return measure_family(family, wanted.runs, wanted.fresh)


def keep(wanted: Nonprojectivity, found: Found) -> None:
    """Writes the counts."""
    keep_counts(Path(wanted.results), wanted.recipe, found)


def main(wanted: Nonprojectivity) -> None:
    """Makes the trainings that are not there yet, then writes the page and the plot."""
    asked = cells(wanted)
    results = EXPERIMENT.results(wanted)
    missing = results.missing(asked)
    for treebank, share in wanted.parts if missing else []:
        write_part(wanted, treebank, share)
    EXPERIMENT.fill(wanted, results, missing)
    name, folder = counts_file(wanted.recipe), results.published_folder
    counts = ({} if folder is None else read_counts(folder / name)) | read_counts(results.own_folder / name)
    if wanted.publish:
        assert folder is not None
        results.publish(asked)
        rows = [*results.published.values()]
        write_counts(folder / name, counted(counts, rows, wanted.recipe))
        write(folder, wanted, rows, counts)
    else:
        write(results.own_folder, wanted, results.shown(asked), counts)


def write_part(wanted: Nonprojectivity, treebank: str, share: str) -> None:
    """Writes train, dev and test of a part, the same ones each time.

    Raises:
        ValueError: the treebank has too few trees of a kind.
    """
    there = files(treebank, wanted.paths.treebanks)
    test = blocks(there["test"])
    train = there[wanted.drawn_from(treebank)]
    dev, test = (blocks(there["dev"]), test) if "train" in there else (test[:HELD_OUT], test[HELD_OUT:])
    sentences = blocks(train)
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
    text = path.read_text(encoding="utf-8").strip("\n")
    return [f"{block}\n\n" for block in text.split("\n\n")]


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


def page(rows: list[Row], wanted: Nonprojectivity) -> str:
    """Markdown from the rows and the published counts."""
    counts = read_counts(Path(str(wanted.published)) / counts_file(wanted.recipe))
    return tables(wanted, rows, counts)[0]


def tables(
    wanted: Nonprojectivity, rows: list[Row], counts: AllCounts
) -> tuple[str, dict[str, dict[tuple[int, int], Difference | None]]]:
    """Markdown, and the differences of each part; parts that are asked for first, in that order."""
    counts = counted(counts, rows, wanted.recipe)
    rows = chosen(rows, recipe=wanted.recipe)
    there = names_of(rows, "treebank")
    asked = [name for treebank, share in wanted.parts for name in there if fnmatchcase(name, f"{treebank}-*-{share}")]
    names = list(dict.fromkeys([*asked, *there]))
    found = {name: {pair: difference(counts, [name], *pair) for pair in PAIRS} for name in names}
    lines = []
    for name in names:
        scores = [numbers(chosen(rows, treebank=name, column=column), "las") for column in COLUMNS]
        cells = [mean_and_deviation(of_column) if of_column else NOT_RUN for of_column in scores]
        lines.append([name, *cells, *map(_shown, found[name].values()), str(max(map(len, scores)))])
    together = [name for name in names if not name.endswith(f"-{ALL}")]
    for share in sorted({name.rpartition("-")[2] for name in together}, key=int):
        of_share = [name for name in together if name.endswith(f"-{share}")]
        pooled = [_shown(difference(counts, of_share, *pair)) for pair in PAIRS]
        lines.append([f"{share}%, all together", *[""] * len(COLUMNS), *pooled, ""])
    head = ["trained on", *(f"({c})" for c in COLUMNS), *(f"({better}) over ({worse})" for better, worse in PAIRS), "seeds"]
    text = (
        f"# Original trees against the share of non-projective ones, recipe={wanted.recipe}\n\n"
        "LAS on test in percent, mean ± standard deviation over seeds; differences with 95% intervals of a paired bootstrap "
        f"over sentences and seeds. got-train-50: {SENTENCES} sentences of the Gothic training part, half with non-projective "
        "trees; all: the whole part.\n\n" + markdown(head, lines)
    )
    return text, found


def _shown(found: Difference | None) -> str:
    return str(found) if found else NOT_RUN


def write(folder: Path, wanted: Nonprojectivity, rows: list[Row], counts: AllCounts) -> None:
    """The page, its numbers as CSV, and the plot."""
    recipe = wanted.recipe
    text, found = tables(wanted, rows, counts)
    write_page(folder / f"{recipe}.md", text)
    lines = [(name, *pair, d.mean, d.low, d.high) for name, of_one in found.items() for pair, d in of_one.items() if d]
    head = provenance(f"python experiments/nonprojectivity.py recipe={recipe}", [*found])
    write_csv(folder / f"{recipe}.csv", head, ("part", "better", "worse", "difference", "low", "high"), lines)
    plot(folder / f"{recipe}.svg", found)
    print(text, end="")


def plot(path: Path, found: dict[str, dict[tuple[int, int], Difference | None]]) -> None:
    """Differences with their intervals, a part a line; columns 5 and 6 over 4."""
    names = list(found)
    figure, (axes,) = panels(1, width=5.6, height=0.9 + 0.34 * max(3, len(names)))
    for offset, (pair, colour, label) in zip(
        (-0.12, 0.12),
        (((5, 4), BLUE, "original trees (5) over projectivized (4)"), ((6, 4), RED, "with ties=nearest_ancestor (6) over (4)")),
        strict=True,
    ):
        there = [(number, found[name][pair]) for number, name in enumerate(names)]
        shown = [(number, d) for number, d in there if d is not None]
        means = np.array([d.mean for _, d in shown])
        errors = np.array([[d.mean - d.low, d.high - d.mean] for _, d in shown]).reshape(-1, 2).T
        places = [number + offset for number, _ in shown]
        axes.errorbar(means, places, xerr=errors, fmt="o", color=colour, label=label, capsize=2)
    axes.axvline(0, color=GREY, linewidth=0.8)
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_xlabel("difference in LAS on test (points)")
    figure.legend(loc="outside upper center", ncols=1)
    save(figure, path)


EXPERIMENT = Experiment(Nonprojectivity, KEY, MEASURED, cells, measure, page, "{recipe}.md", keep=keep)

if __name__ == "__main__":
    run(main, Nonprojectivity, "nonprojectivity", __doc__)
