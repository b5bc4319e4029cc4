"""The page of Table 7: the cells beside the paper's, and its claims."""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

import numpy as np

from experiments.claims import CLAIMS, SECOND_PASS, Claim, as_table
from experiments.tables import markdown, mean_and_deviation
from experiments.trainings import Row

# The treebanks of the paper's table; hu, el, cu and got first, whose training parts were available.
ALL = ["hu", "el", "cu", "got", "da", "eu", "de"]
COLUMNS = range(1, 7)  # the sixth is ours

Key = tuple[str, ...]
# By treebank and column: LAS and UAS in percent.
Printed = dict[tuple[str, int], tuple[float, float]]


def read_printed(path: Path) -> Printed:
    """The paper's own table."""
    with path.open(newline="", encoding="utf-8") as file:
        return {
            (line["treebank"], int(line["column"])): (float(line["las"]), float(line["uas"])) for line in csv.DictReader(file)
        }


def treebanks_of(rows: Mapping[Key, Row], recipe: str, asked: Iterable[str]) -> list[str]:
    """Those of the paper's table, those with rows, and those asked for."""
    with_rows = sorted(row.treebank for row in rows.values() if row.recipe == recipe)
    return list(dict.fromkeys([*ALL, *with_rows, *asked]))


def published_page(
    rows: Mapping[Key, Row],
    claims: Collection[Claim],
    recipe: str,
    treebanks: list[str],
    printed: Printed,
) -> str:
    """Markdown: the paper's cells and the published rows, and the claims tested on these.

    Args:
        rows: those that are published.
        claims: tested on them.
        recipe: whose page it is.
        treebanks: in the order of the table.
        printed: the paper's own table.
    """
    lines = []
    for treebank in treebanks:
        for column in COLUMNS:
            found = _scores(rows.values(), recipe, treebank, column)
            cell = printed.get((treebank, column))
            ours = _mean(found) if len(found) else "not run"
            lines.append([treebank, str(column), _pair(cell), ours, _difference(found, cell), str(len(found) or "")])
    about = (
        "Test part, all words, full relations. LAS / UAS in percent: the paper's cell; ours, mean ± standard deviation over "
        "the seeds; the difference of the means; the number of seeds."
    )
    table = markdown(["treebank", "column", "paper", "ours", "difference", "seeds"], lines)
    return "\n".join([f"# Table 7, recipe={recipe}", "", about, "", table, *_claims((claims, ""), treebanks=treebanks)])


def own_page(
    published: Mapping[Key, Row],
    own: Mapping[Key, Row],
    published_claims: Collection[Claim],
    own_claims: Collection[Claim],
    recipe: str,
    treebanks: list[str],
    printed: Printed,
) -> str:
    """Markdown: the paper's cells, the published rows and your own side by side, and the claims tested on both.

    Args:
        published: the published rows.
        own: your own.
        published_claims: tested on the published rows.
        own_claims: tested on your own.
        recipe: whose page it is.
        treebanks: in the order of the table.
        printed: the paper's own table.
    """
    lines = []
    for treebank in treebanks:
        for column in COLUMNS:
            theirs, mine = (_scores(rows.values(), recipe, treebank, column) for rows in (published, own))
            lines.append(
                [
                    *(treebank, str(column), _pair(printed.get((treebank, column)))),
                    *(_mean(theirs) if len(theirs) else "none", str(len(theirs) or "")),
                    *(_mean(mine) if len(mine) else "none", str(len(mine) or "")),
                    _difference(mine, tuple(theirs.mean(axis=0)) if len(theirs) else None),
                ]
            )
    about = (
        "Test part, all words, full relations. LAS / UAS in percent: the paper's cell; the published rows and your own, mean ± "
        "standard deviation over the seeds, with the number of seeds; the difference of your means from the published ones."
    )
    columns = ["treebank", "column", "paper", "published", "seeds", "yours", "seeds", "yours over published"]
    found = _claims((published_claims, ", published"), (own_claims, ", yours"), treebanks=treebanks)
    return "\n".join([f"# Table 7, recipe={recipe}", "", about, "", markdown(columns, lines), *found])


def _scores(rows: Iterable[Row], recipe: str, treebank: str, column: int) -> np.ndarray:
    """float[seeds, 2]: LAS and UAS of the rows of a cell."""
    key = (treebank, recipe, str(column))
    return np.array([(float(row.las), float(row.uas)) for row in rows if row.key[:3] == key])


def _mean(scores: np.ndarray) -> str:
    return " / ".join(mean_and_deviation(of_metric) for of_metric in scores.T)


def _pair(cell: tuple[float, float] | None) -> str:
    return "" if cell is None else f"{cell[0]:.2f} / {cell[1]:.2f}"


def _difference(scores: np.ndarray, other: tuple[float, ...] | None) -> str:
    if other is None or not len(scores):
        return ""
    return " / ".join(f"{mean - score:+.2f}" for mean, score in zip(scores.mean(axis=0), other, strict=True))


def _claims(*found: tuple[Collection[Claim], str], treebanks: list[str]) -> list[str]:
    """The two tables of claims; each of ``found`` is claims, and what is put after the treebanks' names."""
    lines = []
    for text, pairs in ((_ABOUT_CLAIMS, CLAIMS), (_ABOUT_SECOND_PASS, SECOND_PASS)):
        head = ["| treebank | " + " | ".join(f"({a}) over ({b})" for a, b in pairs) + " |", "|---" * (len(pairs) + 1) + "|"]
        lines += [text, *head, *(line for claims, label in found for line in as_table(claims, pairs, treebanks, label)), ""]
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
