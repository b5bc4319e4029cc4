"""Table 7 of Nederhof (2019): five ways to train, per treebank, with several seeds.

    python experiments/table7.py languages=[hu,el,cu,got] seeds=5 recipe=paper paths.treebanks=../shared/ud-v2.2

Rows go to experiments/table7/results.csv as trainings end; a row that is there is not run again, so a killed run goes on. The
first pass is trained once per language, seed and kind of trees: columns 1 and 3 share theirs, and so do 2, 4, 5 and 6. At the
end RECIPE.md is written beside the rows: the table, and the paper's claims tested (see claims.py).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import hydra
from hydra.core.config_store import ConfigStore
from omegaconf import MISSING

from cells import Row, Training, run_family
from claims import report
from jobs import make_rows
from parser.settings import Paths
from rows import read_rows

ALL = ["hu", "el", "cu", "got", "da", "eu", "de"]

# Columns that share a first pass, the one that trains it first.
FAMILIES = ((1, 3), (2, 4, 5, 6))

log = logging.getLogger(__name__)


@dataclass
class Table7:
    """Which cells to fill; configs/experiments/table7.yaml says what each key is for."""

    languages: list[str] = field(default_factory=list)
    seeds: int = MISSING
    columns: list[int] = field(default_factory=list)
    recipe: str = MISSING
    workers: int = MISSING
    overrides: list[str] = field(default_factory=list)
    results: str = MISSING
    runs: str = MISSING
    paths: Paths = field(default_factory=Paths)


ConfigStore.instance().store(name="table7_schema", node=Table7)


@hydra.main(version_base="1.3", config_path="../configs/experiments", config_name="table7")
def main(wanted: Table7) -> None:
    """Fills the cells that are not there yet, then writes the table and the claims."""
    results = Path(wanted.results)
    languages = ALL if list(wanted.languages) == ["all"] else list(wanted.languages)
    rows = read_rows(results / "results.csv", Row)
    available = [language for language in languages if _cell(wanted, language, 1, 1).has_train_part()]
    for language in sorted(set(languages) - set(available)):
        log.warning("%s: train part not available under %s", language, wanted.paths.treebanks)
    jobs = [partial(run_family, family, Path(wanted.runs)) for family in _missing_families(wanted, available, rows)]
    make_rows(jobs, wanted.workers, rows, results / "results.csv", Row)
    paper = Path(__file__).parent / "table7" / "paper.csv"
    text = report(rows, wanted.recipe, languages, available, Path(wanted.runs), paper)
    (results / f"{wanted.recipe}.md").write_text(text, encoding="utf-8")
    print(text)


def _cell(wanted: Table7, language: str, column: int, seed: int) -> Training:
    return Training(language, wanted.recipe, column, seed, wanted.paths.treebanks, tuple(wanted.overrides))


def _missing_families(wanted: Table7, languages: list[str], rows: dict[tuple[str, ...], Row]) -> list[list[Training]]:
    """The cells to train, in lists that share a first pass."""
    families = []
    for seed in range(1, wanted.seeds + 1):
        for language in languages:
            for columns in FAMILIES:
                asked = [column for column in columns if column in wanted.columns]
                cells = [_cell(wanted, language, column, seed) for column in dict.fromkeys([columns[0], *asked])]
                if asked and not all(cell.made(rows.get(cell.key)) for cell in cells):
                    families.append(cells)
    return families


if __name__ == "__main__":
    main()
