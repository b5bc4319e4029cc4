"""Table 7 of Nederhof (2019): five ways to train, for each treebank, with several seeds; and tests
of the claims of its Section 8.3.

    python experiments/table7.py languages=[hu,el,cu,got] seeds=5 recipe=paper
    paths.treebanks=ud-v2.2

The rows of experiments/results/table7/results.csv are published with this project, and count as
done: the command prints how many cells they fill, and trains the missing cells; with fresh=true it
trains all. In a clean clone, the command above trains nothing: it prints published rows. Rows go to
runs/table7/results.csv as training runs end; the same command, started again, trains what is still
missing. At the end it writes RECIPE.md beside the rows, for the languages asked for: the paper's
cells, the published rows and yours side by side, and tests of the paper's claims (see columns.py).
publish=true publishes the rows asked for.

The first pass is trained once per language, seed and kind of trees: columns 1 and 3 share it, and
so do 2, 4, 5 and 6. Section 8.3 says that accuracy is generally higher if training can benefit from
all trees: column 2 over 1, 4 over 3, 5 over 3; and that the original trees are slightly better in a
few cases: 5 over 4. A difference that is not significant (``open``) does not contradict this.
Whether a second pass helps, 3 over 1 and 4 over 2, is our question, not a claim of the paper.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from experiments.columns import (
    KEY,
    MEASURED,
    AllCounts,
    counts_file,
    counts_of,
    difference,
    keep,
    measure_family,
    write_counts,
)
from experiments.command import ROOT, Trainings, check_known
from experiments.engine import Cell, Experiment, Results, check
from experiments.tables import (
    Interval,
    Key,
    Row,
    chosen,
    markdown,
    names_of,
    plain_table,
    read_rows,
    score,
    write_rows,
)
from experiments.trainings import Training
from experiments.treebanks import has_parts, paths
from oracles.errors import OptimalStepError

# The treebanks of the paper's table; first hu, el, cu and got, whose training parts were available.
ALL = ["hu", "el", "cu", "got", "da", "eu", "de"]
COLUMNS = range(1, 7)  # the sixth is ours

# Columns that share a first pass; the first column trains it.
FAMILIES = ((1, 3), (2, 4, 5, 6))

# (better, worse) columns. Nederhof (2019), Section 8.3: training benefits from all trees, and
# "in a few cases" from original trees.
CLAIMS = ((2, 1), (4, 3), (5, 3), (5, 4))

# Our question, not a claim of the paper: whether a second pass helps.
SECOND_PASS = ((3, 1), (4, 2))

PRINTED = Path(__file__).resolve().parent / "results" / "table7" / "paper.csv"
CLAIM_COLUMNS = ("recipe", "treebanks", "better", "worse", "mean", "low", "high")

# Lines of claims.csv by recipe, treebanks, better and worse column.
Claims = dict[Key, Row]


@dataclass
class Table7(Trainings):
    """Which cells to fill; configs/experiments/table7.yaml explains the keys."""

    columns: list[int]
    overrides: list[str]
    told: dict[str, str]

    @property
    def treebanks(self) -> list[str]:
        """The treebanks asked for."""
        return ALL if self.languages == ["all"] else self.languages

    def training(self, key: Key) -> Training:
        """Return the training of a cell."""
        treebank, recipe, column, seed = key
        return Training(
            treebank, recipe, int(column), int(seed), self.paths.treebanks, tuple(self.overrides)
        )

    def cell(self, treebank: str, column: int, seed: int) -> Cell:
        """Return a cell; cells that share a first pass share a job."""
        label = f"{treebank} columns {', '.join(map(str, family_of(column)))} seed {seed}"
        key = treebank, self.recipe, str(column), str(seed)
        self.training(key).check()
        return Cell(key, " ".join(self.overrides), label)


def family_of(column: int) -> tuple[int, ...]:
    """Return the columns that share a first pass with this one."""
    return next(columns for columns in FAMILIES if column in columns)


def cells(wanted: Table7) -> list[Cell]:
    """Return the cells of the available treebanks.

    Raises:
        OptimalStepError: the settings are wrong, or no treebank is available.
    """
    check(wanted, (), [])
    check_known("columns", wanted.columns, COLUMNS)
    if wanted.publish and wanted.overrides:
        raise OptimalStepError(
            "publish=true with overrides=: published rows have only the recipe's settings; "
            "leave out one of them"
        )
    there = [
        name
        for name in wanted.treebanks
        if has_parts(name, wanted.paths.treebanks, ("train", "test"))
    ]
    absent = [
        str(paths(name, wanted.paths.treebanks)["train"])
        for name in wanted.treebanks
        if name not in there
    ]
    if not there:
        raise OptimalStepError(
            f"nothing to train on: {', '.join(absent)} not there, or no test part beside; "
            "set paths.treebanks=DIR"
        )
    for path in absent:
        print(
            f"{path} does not exist, or has no test part beside it: its cells stay unchanged",
            file=sys.stderr,
        )
    asked = product(range(1, wanted.seeds + 1), there, wanted.columns)
    return [wanted.cell(treebank, column, seed) for seed, treebank, column in asked]


def complete(wanted: Table7, missing: list[Cell]) -> list[Cell]:
    """Add the cells whose first pass the missing cells share, even if they have rows;
    these come first.
    """
    by_key: dict[Key, Cell] = {}
    for cell in missing:
        treebank, _, column, seed = cell.key
        first = wanted.cell(treebank, family_of(int(column))[0], int(seed))
        by_key |= {first.key: first, cell.key: cell}
    return [*by_key.values()]


def measure(wanted: Table7, group: list[Cell]) -> Iterator[tuple[Key, dict[str, str]]]:
    """Train columns that share a first pass."""
    by_column = sorted(group, key=lambda cell: int(cell.key[2]))
    return measure_family(
        {cell.key: wanted.training(cell.key) for cell in by_column}, wanted.runs, wanted.fresh
    )


def draw(rows: list[Row], wanted: Table7, folder: Path) -> None:
    """Publish the counts and the claims of published rows."""
    if wanted.publish and (counts := counts_of(wanted, rows)):
        write_counts(folder / counts_file(wanted.recipe), counts)
        before = read_claims(folder)
        claims = claims_from(counts, wanted.recipe, treebanks_of(rows, wanted), before)
        write_rows(folder / "claims.csv", CLAIM_COLUMNS, before | claims)


def read_claims(folder: Path) -> Claims:
    """Return the results of earlier tests of claims."""
    return read_rows(folder / "claims.csv", CLAIM_COLUMNS, 4)


def claims_from(counts: AllCounts, recipe: str, treebanks: Sequence[str], before: Claims) -> Claims:
    """Test the claims for each treebank, in the order of the table, and for all together; other
    claims ``before`` stay.
    """
    claims = {key: claim for key, claim in before.items() if key[0] == recipe}
    trained = [treebank for treebank in treebanks if any(key[0] == treebank for key in counts)]
    for names, pair in product(
        dict.fromkeys([*((name,) for name in trained), tuple(trained)]), (*CLAIMS, *SECOND_PASS)
    ):
        if names and (interval := difference(counts, names, *pair)):
            key = (recipe, " ".join(names), *map(str, pair))
            figures = (f"{number:.4f}" for number in (interval.mean, interval.low, interval.high))
            claims[key] = dict(zip(CLAIM_COLUMNS, [*key, *figures], strict=True))
    return claims


def interval_of(claim: Row) -> Interval:
    """Return the interval of a claim."""
    return Interval(*(float(claim[name]) for name in ("mean", "low", "high")))


def read_printed() -> dict[Key, Row]:
    """Return the paper's table, by treebank and column."""
    return read_rows(PRINTED, ("treebank", "column", "las", "uas"), 2)


def treebanks_of(rows: Iterable[Row], wanted: Table7) -> list[str]:
    """Return the treebanks of the paper's table, with rows, and asked for."""
    return list(
        dict.fromkeys(
            [*names_of(chosen(rows, recipe=wanted.recipe), "treebank", ALL), *wanted.treebanks]
        )
    )


def page(rows: list[Row], wanted: Table7) -> str:
    """Return Markdown: the paper's cells, the published rows,
    and the claims tested on these rows.
    """
    treebanks, lines = treebanks_of(rows, wanted), []
    for treebank, column, printed in _cells(treebanks):
        chosen_rows = chosen(rows, treebank=treebank, recipe=wanted.recipe, column=column)
        ours = score(chosen_rows, "las", "uas") if chosen_rows else "not run"
        lines.append(
            [
                treebank,
                column,
                _pair(printed),
                ours,
                _over(chosen_rows, printed),
                str(len(chosen_rows) or ""),
            ]
        )
    table = markdown(["treebank", "column", "paper", "ours", "difference", "seeds"], lines)
    before = {} if wanted.published is None else read_claims(ROOT / wanted.published)
    return _page(
        wanted,
        "published",
        table,
        {"": claims_from(counts_of(wanted, rows), wanted.recipe, treebanks, before)},
        treebanks,
    )


def own_page(wanted: Table7, results: Results) -> str:
    """Return Markdown: the paper's cells, published rows, your own rows of these seeds and
    settings, and both rows' claims.

    It has the treebanks asked for, in the order of the paper's table.
    """
    settings, treebanks = (
        " ".join(wanted.overrides),
        sorted(wanted.treebanks, key=[*ALL, *wanted.treebanks].index),
    )
    theirs, mine = (
        [row for row in rows if row["treebank"] in treebanks]
        for rows in (results.published.values(), chosen(results.own.values(), settings=settings))
    )
    mine, lines = [row for row in mine if int(row["seed"]) <= wanted.seeds], []
    for treebank, column, printed in _cells(treebanks):
        both = [
            chosen(rows, treebank=treebank, recipe=wanted.recipe, column=column)
            for rows in (theirs, mine)
        ]
        figures = [
            cell
            for rows_of_cell in both
            for cell in (
                score(rows_of_cell, "las", "uas") if rows_of_cell else "none",
                str(len(rows_of_cell) or ""),
            )
        ]
        lines.append([treebank, column, _pair(printed), *figures, _over(both[1], both[0])])
    columns = [
        "treebank",
        "column",
        "paper",
        "published",
        "seeds",
        "yours",
        "seeds",
        "yours over published",
    ]
    before = {} if results.published_folder is None else read_claims(results.published_folder)
    before = {
        key: claim for key, claim in before.items() if {*claim["treebanks"].split()} <= {*treebanks}
    }
    claims = {
        label: claims_from(counts_of(wanted, rows), wanted.recipe, treebanks, there)
        for label, rows, there in ((", published", theirs, before), (", yours", mine, {}))
    }
    return _page(wanted, "own", markdown(columns, lines), claims, treebanks)


def _cells(treebanks: Sequence[str]) -> Iterator[tuple[str, str, list[Row]]]:
    """Yield treebank and column of each cell, and the paper's row."""
    printed = read_printed()
    for key in product(treebanks, map(str, COLUMNS)):
        yield *key, [printed[key]] if key in printed else []


def _pair(cell: list[Row]) -> str:
    return " / ".join(f"{float(cell[0][name]):.2f}" for name in ("las", "uas")) if cell else ""


def _over(rows: list[Row], others: list[Row]) -> str:
    """Return the difference of the means."""
    if not rows or not others:
        return ""
    means = (
        [np.mean([float(row[name]) for row in some]) for some in (rows, others)]
        for name in ("las", "uas")
    )
    return " / ".join(f"{mean - other:+.2f}" for mean, other in means)


def _page(
    wanted: Table7, which: str, table: str, claims: dict[str, Claims], treebanks: list[str]
) -> str:
    """Return the page with two tables of claims; ``claims`` has them by the text after the names of
    treebanks.
    """
    parts = [wanted.head(wanted.told[which]) + table]
    for name, pairs in (("claims", CLAIMS), ("second_pass", SECOND_PASS)):
        lines = [
            line
            for label, intervals in claims.items()
            for line in _lines(intervals, pairs, label, treebanks)
        ]
        parts.append(
            wanted.told[name]
            + plain_table(["treebank", *(f"({a}) over ({b})" for a, b in pairs)], lines)
        )
    return "\n".join(parts)


def _lines(
    claims: Claims, pairs: Sequence[tuple[int, int]], label: str, treebanks: list[str]
) -> Iterator[list[str]]:
    """Yield a line for each treebank, and each group of treebanks, that has claims."""
    groups = {claim["treebanks"]: claim["treebanks"].split() for claim in claims.values()}
    for names, group in sorted(
        groups.items(), key=lambda item: (len(item[1]), list(map(treebanks.index, item[1])))
    ):
        claims_of_pairs = [
            chosen(claims.values(), treebanks=names, better=better, worse=worse)
            for better, worse in pairs
        ]
        intervals = [interval_of(claim[0]) if claim else None for claim in claims_of_pairs]
        cells = [
            "no counts" if interval is None else f"{interval}, {interval.verdict}"
            for interval in intervals
        ]
        yield [f"{', '.join(group)}{' together' * (len(group) > 1)}{label}", *cells]


EXPERIMENT = Experiment(
    *("table7", Table7, KEY, MEASURED, cells, measure, page),
    page_name="{recipe}.md",
    draw=draw,
    complete=complete,
    keep=keep,
    own_page=own_page,
)

if __name__ == "__main__":
    EXPERIMENT.run(__doc__)
