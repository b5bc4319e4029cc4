"""When the original trees help: columns 4, 5 and 6 of Table 7 against the share of non-projective trees.

    python experiments/nonprojectivity.py paths.treebanks=../shared/ud-v2.2
    python experiments/nonprojectivity.py recipe=accurate shares=[100] seeds=3 paths.treebanks=../shared/ud-v2.2

Training parts with 50 and 100% non-projective trees are drawn from each treebank, as many sentences in each; ``all`` is the
treebank as it is. A share of 0 makes the columns the same by definition, so it is not trained. A treebank without a training
part is trained on its dev part, and the first sentences of its test part choose the epoch; the rest is test.
The differences of LAS have intervals from a paired bootstrap over sentences and seeds (claims.py). Writes the parts and run
folders under runs/, and RECIPE.csv, RECIPE.md and RECIPE.svg.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
from hydra.core.config_store import ConfigStore
from omegaconf import MISSING

from experiments.claims import Difference, counted, difference
from experiments.command import Trainings, check_known, run
from experiments.counts import AllCounts, counts_file, read_counts, write_counts
from experiments.figures import BLUE, GREY, RED, panels, provenance, save, write_csv
from experiments.jobs import Job
from experiments.results import Key, Results, check_numbers, write_page
from experiments.tables import markdown, mean_and_deviation
from experiments.trainings import Row, Training, run_families, run_family
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

    recipe: str = MISSING
    shares: list[str] = field(default_factory=list)
    whole: list[str] = field(default_factory=list)


ConfigStore.instance().store(name="nonprojectivity_schema", node=Nonprojectivity)


@dataclass(frozen=True)
class OnPart(Training):
    """A training on a part of a treebank, which its row is named after: ``got-train-50``."""

    part: str = "train"
    share: str = ALL

    @property
    def name(self) -> str:
        """Of the part."""
        return f"{self.treebank}-{self.part}-{self.share}"

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The key of its row."""
        return self.name, self.recipe, str(self.column), str(self.seed)

    @property
    def label(self) -> str:
        """For progress bars."""
        return f"{self.name} columns {FIRST_PASS} to {COLUMNS[-1]} seed {self.seed}"


def main(wanted: Nonprojectivity) -> None:
    """Makes the trainings that are not there yet, then writes the page and the plot."""
    check_numbers(wanted)
    check_known("shares", wanted.shares, [str(share) for share in range(1, 101)])
    results = Results.of(Row, wanted)
    families = [
        [_training(wanted, treebank, share, column, seed) for column in (FIRST_PASS, *COLUMNS)]
        for seed in range(1, wanted.seeds + 1)
        for treebank, share in parts_of(wanted)
    ]
    asked: dict[Key, str] = {training.key: training.fingerprint() for family in families for training in family}
    missing = set(results.missing(asked))
    jobs = [
        Job(family[0].label, partial(run_family, family, Path(wanted.runs), wanted.fresh))
        for family in families
        if any(training.key in missing for training in family)
    ]
    if jobs:
        for treebank, share in parts_of(wanted):
            write_part(wanted, treebank, share)
    run_families(jobs, wanted.workers, results, wanted.recipe)
    name, folder = counts_file(wanted.recipe), results.published_folder
    published = {} if folder is None else read_counts(folder / name)
    counts = published | read_counts(results.own_folder / name)
    if wanted.publish:
        assert folder is not None
        results.publish(asked)
        write_counts(folder / name, counted(counts, results.published, wanted.recipe))
        write(folder, wanted, results.published, counts)
    else:
        write(results.own_folder, wanted, results.shown(asked), counts)


def parts_of(wanted: Nonprojectivity) -> list[tuple[str, str]]:
    """Treebank and share of each part."""
    return [
        *((treebank, share) for treebank in wanted.languages for share in wanted.shares),
        *((treebank, ALL) for treebank in wanted.whole),
    ]


def _training(wanted: Nonprojectivity, treebank: str, share: str, column: int, seed: int) -> Training:
    folder = _folder(wanted, treebank, share)
    parts = tuple(f"treebank.{part}={folder / part}.conllu" for part in ("train", "dev", "test"))
    part = part_drawn_from(wanted, treebank)
    return OnPart(treebank, wanted.recipe, column, seed, wanted.paths.treebanks, parts, part, share)


def part_drawn_from(wanted: Nonprojectivity, treebank: str) -> str:
    """``train``, or ``dev`` where there is no train part."""
    return "train" if "train" in files(treebank, wanted.paths.treebanks) else "dev"


def _folder(wanted: Nonprojectivity, treebank: str, share: str) -> Path:
    return Path(wanted.runs).absolute() / "parts" / f"{treebank}-{part_drawn_from(wanted, treebank)}-{share}"


def write_part(wanted: Nonprojectivity, treebank: str, share: str) -> None:
    """Writes train, dev and test of a part, the same ones each time.

    Raises:
        ValueError: the treebank has too few trees of a kind.
    """
    there = files(treebank, wanted.paths.treebanks)
    test = blocks(there["test"])
    train = there[part_drawn_from(wanted, treebank)]
    dev, test = (blocks(there["dev"]), test) if "train" in there else (test[:HELD_OUT], test[HELD_OUT:])
    sentences = blocks(train)
    projective = Trees.from_heads([sentence.heads for sentence in read_treebank(train).sentences]).projective
    if len(projective) != len(sentences):
        raise ValueError(f"{train}: {len(sentences)} blocks of lines, {len(projective)} sentences; some are without words")
    if share != ALL:
        try:
            sentences = [sentences[number] for number in draw(projective, int(share), SENTENCES)]
        except ValueError as error:
            raise ValueError(f"{train}: {error}; give shares= for which there are enough trees") from error
    folder = _folder(wanted, treebank, share)
    folder.mkdir(parents=True, exist_ok=True)
    for name, part in (("train", sentences), ("dev", dev), ("test", test)):
        (folder / f"{name}.conllu").write_text("".join(part), encoding="utf-8")


def blocks(path: Path) -> list[str]:
    """The text of each sentence of a CoNLL-U file, with the blank line after it."""
    text = path.read_text(encoding="utf-8").strip("\n")
    return [f"{block}\n\n" for block in text.split("\n\n")]


def draw(projective: np.ndarray, share: int, size: int) -> list[int]:
    """Numbers of sentences, ascending: ``share`` percent of ``size`` that are not projective, the others projective.

    Args:
        projective: bool[sentences].
        share: in percent.
        size: how many.

    Raises:
        ValueError: there are too few of a kind.
    """
    rng = np.random.default_rng(1)
    drawn: list[int] = []
    for kind, count in ((False, round(size * share / 100)), (True, size - round(size * share / 100))):
        there = np.flatnonzero(projective == kind)
        if len(there) < count:
            raise ValueError(f"{len(there)} {'' if kind else 'non-'}projective trees, {count} wanted")
        drawn += rng.permutation(there)[:count].tolist()
    return sorted(drawn)


def write(folder: Path, wanted: Nonprojectivity, rows: dict[Key, Row], counts: AllCounts) -> None:
    """The page, its numbers as CSV, and the plot."""
    recipe = wanted.recipe
    counts = counted(counts, rows, recipe)
    of_recipe = [row for row in rows.values() if row.recipe == recipe]
    names = list(dict.fromkeys(row.treebank for row in of_recipe))
    lines, numbers, found = [], [], {}
    for name in names:
        scores = {c: [float(row.las) for row in of_recipe if (row.treebank, row.column) == (name, str(c))] for c in COLUMNS}
        cells = [mean_and_deviation(of_column) if of_column else "not run" for of_column in scores.values()]
        differences = {pair: difference(counts, [name], *pair) for pair in PAIRS}
        found[name] = differences
        numbers += [(name, *pair, d.mean, d.low, d.high) for pair, d in differences.items() if d]
        cells += [str(d) if d else "not run" for d in differences.values()]
        lines.append([name, *cells, str(max(map(len, scores.values()), default=0))])
    together = [name for name in names if not name.endswith(f"-{ALL}")]
    for share in sorted({name.rpartition("-")[2] for name in together}, key=int):
        of_share = [name for name in together if name.endswith(f"-{share}")]
        pooled = [difference(counts, of_share, *pair) for pair in PAIRS]
        lines.append([f"{share}%, all together", *[""] * len(COLUMNS), *[str(d) if d else "not run" for d in pooled], ""])
    head = ["trained on", *(f"({c})" for c in COLUMNS), *(f"({better}) over ({worse})" for better, worse in PAIRS), "seeds"]
    text = (
        f"# Original trees against the share of non-projective ones, recipe={recipe}\n\n"
        "LAS on test in percent, mean ± standard deviation over seeds; differences with 95% intervals of a paired bootstrap "
        f"over sentences and seeds. got-train-50: {SENTENCES} sentences of the Gothic training part, half with non-projective "
        "trees; all: the whole part.\n\n" + markdown(head, lines)
    )
    write_page(folder / f"{recipe}.md", text)
    head_lines = provenance(f"python experiments/nonprojectivity.py recipe={recipe}", names)
    write_csv(folder / f"{recipe}.csv", head_lines, ("part", "better", "worse", "difference", "low", "high"), numbers)
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
        shown: Sequence[tuple[int, Difference]] = [(number, d) for number, d in there if d is not None]
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


if __name__ == "__main__":
    run(main, Nonprojectivity, "nonprojectivity", __doc__)
