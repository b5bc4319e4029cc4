"""Table 7 of Nederhof (2019): five ways to train, per treebank, with several seeds; the claims of its Section 8.3 tested.

    python experiments/table7.py languages=[hu,el,cu,got] seeds=5 recipe=paper paths.treebanks=../shared/ud-v2.2

The rows of experiments/table7/results.csv are published with this project, and count as done: the command says how many cells
they are, and trains the others. With fresh=true it trains all of them. Rows go to runs/table7/results.csv as trainings end, and
the command, started again, trains what is still missing. At the end it writes RECIPE.md beside the rows: the paper's cells, the
published rows and yours side by side, and the paper's claims tested (see columns.py). With publish=true the rows that were
asked for are published.

The first pass is trained once per language, seed and kind of trees: columns 1 and 3 share theirs, and so do 2, 4, 5 and 6.
Section 8.3 says that accuracy is generally higher if training can benefit from all trees: column 2 over 1, 4 over 3, 5 over
3; and that using the original trees is slightly better in a few cases: 5 over 4, which an open difference does not
contradict. Whether a second pass helps, 3 over 1 and 4 over 2, is our question, not a claim of the paper.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from experiments.engine import Cell, Experiment, Found, Results, check
from experiments.tables import Key, Row, chosen, markdown, mean_and_deviation, names_of, read_rows, write_page, write_rows
from experiments.trainings import Training
from experiments.treebanks import has_parts, paths

# The treebanks of the paper's table; hu, el, cu and got first, whose training parts were available.
ALL = ["hu", "el", "cu", "got", "da", "eu", "de"]
COLUMNS = range(1, 7)  # the sixth is ours

# Columns that share a first pass, the one that trains it first.
FAMILIES = ((1, 3), (2, 4, 5, 6))

# (better, worse) columns. Nederhof (2019), Section 8.3: training benefits from all trees; then, "in a few cases" only,
# original trees.
CLAIMS = ((2, 1), (4, 3), (5, 3), (5, 4))

# Our question, which the paper claims nothing about: whether a second pass helps.
SECOND_PASS = ((3, 1), (4, 2))

PRINTED = Path(__file__).resolve().parent / "table7" / "paper.csv"
CLAIM_COLUMNS = ("recipe", "treebanks", "better", "worse", "mean", "low", "high")

# By recipe, treebanks, better and worse column: a line of claims.csv.
Claims = dict[Key, Row]

# By treebank and column: LAS and UAS in percent.
Printed = dict[tuple[str, int], tuple[float, float]]


@dataclass
class Table7(Trainings):
    """Which cells to fill; configs/experiments/table7.yaml says what each key is for."""

    columns: list[int]
    overrides: list[str]

    @property
    def treebanks(self) -> list[str]:
        """Those that are asked for."""
        return ALL if self.languages == ["all"] else self.languages

    def training(self, key: Key) -> Training:
        """The training of a cell."""
        treebank, recipe, column, seed = key
        return Training(treebank, recipe, int(column), int(seed), self.paths.treebanks, tuple(self.overrides))

    def cell(self, treebank: str, column: int, seed: int) -> Cell:
        """A cell; those that share a first pass share a job."""
        family = next(columns for columns in FAMILIES if column in columns)
        label = f"{treebank} columns {', '.join(map(str, family))} seed {seed}"
        key = treebank, self.recipe, str(column), str(seed)
        self.training(key).check()
        return Cell(key, " ".join(self.overrides), label)


def cells(wanted: Table7) -> list[Cell]:
    """Those of the treebanks that are there.

    Raises:
        ValueError: what cannot be asked for.
    """
    check(wanted, (), [])
    check_known("columns", wanted.columns, COLUMNS)
    if wanted.publish and wanted.overrides:
        raise ValueError("publish=true with overrides=: published rows are those of the recipe as it stands; leave one out")
    there = [name for name in wanted.treebanks if has_parts(name, wanted.paths.treebanks, ("train", "test"))]
    absent = [str(paths(name, wanted.paths.treebanks)["train"]) for name in wanted.treebanks if name not in there]
    if not there:
        raise ValueError(f"nothing to train on: {', '.join(absent)} not there, or no test part beside; set paths.treebanks=DIR")
    for path in absent:
        print(f"{path} is not there, or no test part beside: its cells stay as they are", file=sys.stderr)
    asked = product(range(1, wanted.seeds + 1), there, wanted.columns)
    return [wanted.cell(treebank, column, seed) for seed, treebank, column in asked]


def with_first(wanted: Table7, missing: list[Cell]) -> list[Cell]:
    """The missing cells, and those whose first pass they share, even if their rows are there; these come first."""
    found: dict[Key, Cell] = {}
    for cell in missing:
        treebank, _, column, seed = cell.key
        first = wanted.cell(treebank, next(columns[0] for columns in FAMILIES if int(column) in columns), int(seed))
        found |= {first.key: first, cell.key: cell}
    if more := len(found) - len(missing):
        print(f"{more} more to train, for the first pass that they share with these", flush=True)
    return [*found.values()]


def measure(wanted: Table7, group: list[Cell]) -> Iterator[tuple[Key, dict[str, str]]]:
    """Trains columns that share a first pass."""
    by_column = sorted(group, key=lambda cell: int(cell.key[2]))
    return measure_family({cell.key: wanted.training(cell.key) for cell in by_column}, wanted.runs, wanted.fresh)


def keep(wanted: Table7, found: Found) -> None:
    """Writes the counts."""
    keep_counts(Path(wanted.results), wanted.recipe, found)


def main(wanted: Table7) -> None:
    """Fills the cells that are not there yet, then writes the table and the claims."""
    asked = cells(wanted)
    results = EXPERIMENT.results(wanted)
    EXPERIMENT.fill(wanted, results, with_first(wanted, results.missing(asked)))
    print(publish(wanted, results, asked) if wanted.publish else compare(wanted, results), end="")


def compare(wanted: Table7, results: Results) -> str:
    """Writes and returns the page of the published rows and your own, those of the asked seeds and of the same settings."""
    recipe, published = wanted.recipe, [*results.published.values()]
    own = chosen(results.own.values(), recipe=recipe, settings=" ".join(wanted.overrides))
    own = [row for row in own if int(row["seed"]) <= wanted.seeds]
    treebanks = treebanks_of([*published, *own], recipe, wanted.treebanks)
    counts = counted(read_counts(results.own_folder / counts_file(recipe)), own, recipe)
    mine, theirs = claims_from(counts, recipe, treebanks, {}), published_claims(results, recipe, treebanks)
    text = own_page(published, own, theirs, mine, recipe, treebanks, read_printed())
    write_page(results.own_folder / f"{recipe}.md", text)
    return text


def publish(wanted: Table7, results: Results, asked: list[Cell]) -> str:
    """Publishes your own rows of the asked cells, with their counts; writes and returns the page of all published rows."""
    folder, recipe = results.published_folder, wanted.recipe
    assert folder is not None
    published = {(treebank, int(column), int(seed)) for treebank, _, column, seed in results.publish(asked)}
    own_counts = read_counts(results.own_folder / counts_file(recipe))
    if new := {key: of_row for key, of_row in own_counts.items() if key in published}:
        write_counts(folder / counts_file(recipe), read_counts(folder / counts_file(recipe)) | new)
    claims = published_claims(results, recipe, treebanks_of(results.published.values(), recipe, wanted.treebanks))
    write_rows(folder / "claims.csv", CLAIM_COLUMNS, read_claims(folder) | claims)
    text = page([*results.published.values()], wanted)
    write_page(folder / f"{recipe}.md", text)
    return text


def read_claims(folder: Path) -> Claims:
    """What was found when claims were tested."""
    return read_rows(folder / "claims.csv", CLAIM_COLUMNS, 4)


def published_claims(results: Results, recipe: str, treebanks: list[str]) -> Claims:
    """The claims tested on the published rows; where their counts are not published, what was found when they were made."""
    folder = results.published_folder
    if folder is None:
        return {}
    counts = counted(read_counts(folder / counts_file(recipe)), results.published.values(), recipe)
    return claims_from(counts, recipe, treebanks, read_claims(folder))


def claims_from(counts: AllCounts, recipe: str, treebanks: Sequence[str], before: Mapping[Key, Row]) -> Claims:
    """The claims of each treebank, and of all together.

    Args:
        counts: of the trainings to test them on.
        recipe: of these trainings.
        treebanks: in the order of the table.
        before: what came out earlier; it stays where there are no counts to compute it from.
    """
    claims = {key: claim for key, claim in before.items() if key[0] == recipe}
    trained = [treebank for treebank in treebanks if any(key[0] == treebank for key in counts)]
    for names in {(name,): None for name in trained} | {tuple(trained): None}:
        for pair in (*CLAIMS, *SECOND_PASS):
            found = difference(counts, names, *pair) if names else None
            if found is not None:
                key = (recipe, " ".join(names), *map(str, pair))
                numbers = (f"{number:.4f}" for number in (found.mean, found.low, found.high))
                claims[key] = dict(zip(CLAIM_COLUMNS, [*key, *numbers], strict=True))
    return claims


def difference_of(claim: Row) -> Difference:
    """What was found of a claim."""
    return Difference(*(float(claim[name]) for name in ("mean", "low", "high")))


def read_printed() -> Printed:
    """The paper's own table."""
    with PRINTED.open(newline="", encoding="utf-8") as file:
        return {
            (line["treebank"], int(line["column"])): (float(line["las"]), float(line["uas"])) for line in csv.DictReader(file)
        }


def treebanks_of(rows: Iterable[Row], recipe: str, asked: Iterable[str]) -> list[str]:
    """Those of the paper's table, those with rows, and those asked for."""
    return list(dict.fromkeys([*names_of(chosen(rows, recipe=recipe), "treebank", ALL), *asked]))


def page(rows: list[Row], wanted: Table7) -> str:
    """Markdown: the paper's cells and the published rows, and the claims tested on these."""
    results, recipe = EXPERIMENT.results(wanted), wanted.recipe
    treebanks = treebanks_of(rows, recipe, wanted.treebanks)
    printed, lines = read_printed(), []
    for treebank, column in product(treebanks, COLUMNS):
        found, cell = _scores(rows, recipe, treebank, column), printed.get((treebank, column))
        ours = _mean(found) if len(found) else "not run"
        lines.append([treebank, str(column), _pair(cell), ours, _difference(found, cell), str(len(found) or "")])
    about = (
        "Test part, all words, full relations. LAS / UAS in percent: the paper's cell; ours, mean ± standard deviation over "
        "the seeds; the difference of the means; the number of seeds."
    )
    table = markdown(["treebank", "column", "paper", "ours", "difference", "seeds"], lines)
    claims = _claims((published_claims(results, recipe, treebanks), ""), treebanks=treebanks)
    return "\n".join([f"# Table 7, recipe={recipe}", "", about, "", table, *claims])


def own_page(
    published: list[Row],
    own: list[Row],
    published_claims: Claims,
    own_claims: Claims,
    recipe: str,
    treebanks: list[str],
    printed: Printed,
) -> str:
    """Markdown: the paper's cells, the published rows and your own side by side, and the claims tested on both."""
    lines = []
    for treebank, column in product(treebanks, COLUMNS):
        theirs, mine = (_scores(rows, recipe, treebank, column) for rows in (published, own))
        cells = [cell for found in (theirs, mine) for cell in (_mean(found) if len(found) else "none", str(len(found) or ""))]
        over = _difference(mine, tuple(theirs.mean(axis=0)) if len(theirs) else None)
        lines.append([treebank, str(column), _pair(printed.get((treebank, column))), *cells, over])
    about = (
        "Test part, all words, full relations. LAS / UAS in percent: the paper's cell; the published rows and your own, mean ± "
        "standard deviation over the seeds, with the number of seeds; the difference of your means from the published ones."
    )
    columns = ["treebank", "column", "paper", "published", "seeds", "yours", "seeds", "yours over published"]
    found = _claims((published_claims, ", published"), (own_claims, ", yours"), treebanks=treebanks)
    return "\n".join([f"# Table 7, recipe={recipe}", "", about, "", markdown(columns, lines), *found])


def _scores(rows: Iterable[Row], recipe: str, treebank: str, column: int) -> np.ndarray:
    """float[seeds, 2]: LAS and UAS of the rows of a cell."""
    found = chosen(rows, treebank=treebank, recipe=recipe, column=column)
    return np.array([(float(row["las"]), float(row["uas"])) for row in found])


def _mean(scores: np.ndarray) -> str:
    return " / ".join(mean_and_deviation(of_metric) for of_metric in scores.T)


def _pair(cell: tuple[float, float] | None) -> str:
    return "" if cell is None else f"{cell[0]:.2f} / {cell[1]:.2f}"


def _difference(scores: np.ndarray, other: tuple[float, ...] | None) -> str:
    if other is None or not len(scores):
        return ""
    return " / ".join(f"{mean - score:+.2f}" for mean, score in zip(scores.mean(axis=0), other, strict=True))


def _claims(*found: tuple[Claims, str], treebanks: list[str]) -> list[str]:
    """The two tables of claims; each of ``found`` is claims, and what is put after the treebanks' names."""
    lines = []
    for text, pairs in ((_ABOUT_CLAIMS, CLAIMS), (_ABOUT_SECOND_PASS, SECOND_PASS)):
        head = ["| treebank | " + " | ".join(f"({a}) over ({b})" for a, b in pairs) + " |", "|---" * (len(pairs) + 1) + "|"]
        lines += [text, *head, *(line for claims, label in found for line in _lines(claims, pairs, treebanks, label)), ""]
    return lines


def _lines(claims: Claims, pairs: Sequence[tuple[int, int]], treebanks: Sequence[str], label: str) -> list[str]:
    """A line for each treebank that there are claims of, and each set of them."""
    by_names: dict[tuple[str, ...], dict[tuple[int, int], Difference]] = {}
    for (_, names, better, worse), claim in claims.items():
        by_names.setdefault(tuple(names.split()), {})[int(better), int(worse)] = difference_of(claim)
    order = {name: number for number, name in enumerate(treebanks)}
    lines = []
    for group in sorted(by_names, key=lambda group: (len(group), [order.get(name, len(order)) for name in group])):
        found = (by_names[group].get(pair) for pair in pairs)
        cells = ["no counts" if one is None else f"{one}, {one.verdict}" for one in found]
        name = group[0] if len(group) == 1 else f"{', '.join(group)} together"
        lines.append(f"| {name}{label} | " + " | ".join(cells) + " |")
    return lines


_ABOUT_CLAIMS = (
    "## The paper's claims\n\n"
    "Section 8.3: accuracy is generally higher if training can benefit from all trees, (2) over (1), (4) over (3) and (5) over "
    "(3); the original trees are slightly better in a few cases, (5) over (4), which an open difference does not contradict. "
    "Difference of LAS between columns, with 95% intervals (paired bootstrap over sentences and seeds). RECIPE_counts.csv "
    "beside the rows has the counts by sentence that they are computed from, as far as these were kept.\n"
)

_ABOUT_SECOND_PASS = (
    "## Our question: does a second pass help?\n\n"
    "The paper does not claim it: in its table (3) is below (1) in LAS for eu and el, and (4) below (2) for eu, el and cu. "
    "Columns 3 to 5 have twice the updates of columns 1 and 2; what exploration brings over as many updates on gold "
    'computations is measured by the study `exploration` of experiments/choices.py, line "never, gold computations again".\n'
)

EXPERIMENT = Experiment(Table7, KEY, MEASURED, cells, measure, page, "{recipe}.md", keep=keep)

if __name__ == "__main__":
    run(main, Table7, "table7", __doc__)
