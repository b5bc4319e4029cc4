"""Table 7 of Nederhof (2019): five ways to train, per treebank, with several seeds.

    python experiments/table7.py languages=[hu,el,cu,got] seeds=5 recipe=paper paths.treebanks=../shared/ud-v2.2

The rows of experiments/table7/results.csv are published with this project, and count as done: the command says how many cells
they are, and trains the others. With fresh=true it trains all of them. Rows go to runs/table7/results.csv as trainings end, and
the command, started again, trains what is still missing. At the end it writes RECIPE.md beside the rows: the paper's cells, the
published rows and yours side by side, and the paper's claims tested (see claims.py). With publish=true the rows that were asked
for are published.

The first pass is trained once per language, seed and kind of trees: columns 1 and 3 share theirs, and so do 2, 4, 5 and 6.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from hydra.core.config_store import ConfigStore
from omegaconf import MISSING

from experiments.claims import Claim, claims_from, counted
from experiments.command import Trainings, check_known, run
from experiments.counts import Counts, counts_file, read_counts, write_counts
from experiments.jobs import Job
from experiments.results import Key, Results, check_numbers, write_page
from experiments.rows import read_rows, write_rows
from experiments.table7_page import ALL, COLUMNS, own_page, published_page, read_printed, treebanks_of
from experiments.trainings import Row, Training, run_families, run_family
from experiments.treebanks import has_parts, paths

# Columns that share a first pass, the one that trains it first.
FAMILIES = ((1, 3), (2, 4, 5, 6))

PRINTED = Path(__file__).resolve().parent / "table7" / "paper.csv"


@dataclass
class Table7(Trainings):
    """Which cells to fill; configs/experiments/table7.yaml says what each key is for."""

    columns: list[int] = field(default_factory=list)
    recipe: str = MISSING
    overrides: list[str] = field(default_factory=list)


ConfigStore.instance().store(name="table7_schema", node=Table7)


def main(wanted: Table7) -> None:
    """Fills the cells that are not there yet, then writes the table and the claims."""
    check(wanted)
    languages = ALL if wanted.languages == ["all"] else wanted.languages
    available = [name for name in languages if has_parts(name, wanted.paths.treebanks, ("train", "test"))]
    absent = [str(paths(name, wanted.paths.treebanks)["train"]) for name in languages if name not in available]
    if not available:
        raise ValueError(f"nothing to train on: {', '.join(absent)} not there, or no test part beside; set paths.treebanks=DIR")
    for path in absent:
        print(f"{path} is not there, or no test part beside: its cells stay as they are", file=sys.stderr)

    results = Results.of(Row, wanted)
    cells = [
        cell_of(wanted, language, column, seed)
        for seed in range(1, wanted.seeds + 1)
        for language in available
        for column in wanted.columns
    ]
    asked: dict[Key, str] = {cell.key: cell.fingerprint() for cell in cells}
    missing = set(results.missing(asked))
    train(wanted, [cell for cell in cells if cell.key in missing], results)

    page = publish(wanted, results, asked, languages) if wanted.publish else compare(wanted, results, languages)
    print(page, end="")


def check(wanted: Table7) -> None:
    """Refuses what cannot be asked for.

    Raises:
        ValueError: what is wrong.
    """
    check_numbers(wanted)
    check_known("columns", wanted.columns, COLUMNS)
    if wanted.publish and wanted.overrides:
        raise ValueError("publish=true with overrides=: published rows are those of the recipe as it stands; leave one out")


def cell_of(wanted: Table7, language: str, column: int, seed: int) -> Training:
    """The training of a cell."""
    return Training(language, wanted.recipe, column, seed, wanted.paths.treebanks, tuple(wanted.overrides))


def train(wanted: Table7, missing: list[Training], results: Results[Row]) -> None:
    """Trains cells, side by side where they do not share a first pass."""
    jobs = []
    for family in families(wanted, missing, results):
        first = family[0]
        label = f"{first.treebank} column {', '.join(str(cell.column) for cell in family)} seed {first.seed}"
        jobs.append(Job(label, partial(run_family, family, Path(wanted.runs), wanted.fresh)))
    run_families(jobs, wanted.workers, results, wanted.recipe)


def families(wanted: Table7, missing: list[Training], results: Results[Row]) -> list[list[Training]]:
    """The cells to train, in lists that share a first pass. The first of a list trains it, even if its row is there."""
    found: dict[tuple[str, int, tuple[int, ...]], list[Training]] = {}
    for cell in missing:
        columns = next(columns for columns in FAMILIES if cell.column in columns)
        first = cell_of(wanted, cell.treebank, columns[0], cell.seed)
        family = found.setdefault((cell.treebank, cell.seed, columns), [first])
        if cell.column != columns[0]:
            family.append(cell)
    more = sum(family[0] not in missing for family in found.values())
    if more:
        print(f"{more} more to train, for the first pass that they share with these", flush=True)
    return list(found.values())


def compare(wanted: Table7, results: Results[Row], languages: list[str]) -> str:
    """Writes and returns the page of the published rows and your own, those of the asked seeds and of today's settings."""
    configs = {str(column): cell_of(wanted, "sample", column, 1).fingerprint() for column in COLUMNS}
    seeds = {str(seed) for seed in range(1, wanted.seeds + 1)}
    recipe = wanted.recipe
    own = {
        key: row
        for key, row in results.own.items()
        if row.recipe == recipe and row.seed in seeds and row.config == configs[row.column]
    }
    treebanks = treebanks_of(results.published | own, recipe, languages)
    counts = counted(read_counts(results.own_folder / counts_file(recipe)), own, recipe)
    mine = claims_from(counts, recipe, treebanks, {}).values()
    theirs = published_claims(results, recipe, treebanks).values()
    text = own_page(results.published, own, theirs, mine, recipe, treebanks, read_printed(PRINTED))
    write_page(results.own_folder / f"{recipe}.md", text)
    return text


def publish(wanted: Table7, results: Results[Row], asked: dict[Key, str], languages: list[str]) -> str:
    """Publishes your own rows of the asked cells, with their counts; writes and returns the page of all published rows."""
    folder, recipe = results.published_folder, wanted.recipe
    assert folder is not None
    published = {(treebank, int(column), int(seed)) for treebank, _, column, seed in results.publish(asked)}
    own_counts = read_counts(results.own_folder / counts_file(recipe))
    new: dict[tuple[str, int, int], Counts] = {key: of_row for key, of_row in own_counts.items() if key in published}
    if new:
        write_counts(folder / counts_file(recipe), read_counts(folder / counts_file(recipe)) | new)
    treebanks = treebanks_of(results.published, recipe, languages)
    claims = published_claims(results, recipe, treebanks)
    write_rows(folder / "claims.csv", Claim, read_rows(folder / "claims.csv", Claim) | claims)
    text = published_page(results.published, claims.values(), recipe, treebanks, read_printed(PRINTED))
    write_page(folder / f"{recipe}.md", text)
    return text


def published_claims(results: Results[Row], recipe: str, treebanks: list[str]) -> dict[Key, Claim]:
    """The claims tested on the published rows; where their counts are not published, what was found when they were made."""
    folder = results.published_folder
    if folder is None:
        return {}
    counts = counted(read_counts(folder / counts_file(recipe)), results.published, recipe)
    return claims_from(counts, recipe, treebanks, read_rows(folder / "claims.csv", Claim))


if __name__ == "__main__":
    run(main, Table7, "table7", __doc__)
