"""The numbers of README.md, docs/ and the pages of experiments/ are those of the committed rows.

A table of a page is found by its head, and each of its cells is compared with what the rows say.
"""

import re
from pathlib import Path

import numpy as np
import pytest

from experiments import choices, comparison, speed, table7, text
from experiments.command import settings_of
from experiments.engine import Experiment
from experiments.figures import read_csv
from experiments.table7 import CLAIMS, SECOND_PASS, interval_of, read_claims, read_printed
from experiments.tables import Row, chosen, numbers, read_rows
from tests.toy import ROOT

README = ROOT / "README.md"
SPEED = ROOT / "docs" / "accuracy_and_speed.md"
EXPERIMENTS = ROOT / "experiments"
TABLE7 = ROOT / "experiments" / "results" / "table7"


def tables(path: Path) -> list[list[list[str]]]:
    """Return the Markdown tables of a page: lines of cells, the head first."""
    found: list[list[list[str]]] = [[]]
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("|"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if not re.fullmatch(r"[-:| ]+", line):
                found[-1].append(cells)
        elif found[-1]:
            found.append([])
    return [table for table in found if table]


def table(path: Path, head: list[str]) -> list[list[str]]:
    """Return the lines below the head of the one table that has it."""
    (found,) = [lines for lines in tables(path) if lines[0] == head]
    return found[1:]


def rows_of(experiment: Experiment, name: str) -> list[Row]:
    return [
        *read_rows(
            ROOT / "experiments" / "results" / name / "results.csv",
            experiment.columns,
            len(experiment.key),
        ).values()
    ]


def mean(rows: list[Row], *names: str) -> str:
    return " / ".join(f"{np.mean(numbers(rows, name)):.2f}" for name in names)


def of_column(recipe: str, column: object, **others: str) -> list[Row]:
    return chosen(rows_of(table7.EXPERIMENT, "table7"), recipe=recipe, column=column, **others)


@pytest.mark.parametrize("page", [README, ROOT / "docs" / "table7.md"])
def test_column_5_of_table_7(page):
    printed = read_printed()
    lines = table(page, ["treebank", "the paper", "`recipe=paper`", "`recipe=paper_tuned`"])
    assert [line[0] for line in lines] == ["hu", "el", "cu", "got"]
    for treebank, paper, ours, tuned in lines:
        assert paper == "{las} / {uas}".format(**printed[treebank, "5"])
        for cell, recipe in ((ours, "paper"), (tuned, "paper_tuned")):
            assert cell == mean(of_column(recipe, 5, treebank=treebank), "las", "uas")


def test_the_comparison_with_udpipe():
    systems = {
        "`recipe=accurate`": "accurate",
        "`recipe=accurate model=bilstm`": "accurate, bilstm",
        "UDPipe 1, greedy": "UDPipe, beam 1",
        "UDPipe 1, beam 5": "UDPipe, beam 5",
    }
    rows = rows_of(comparison.EXPERIMENT, "accurate")
    head = ["", "hu", "el", "cu", "got"]
    lines = table(SPEED, head)
    assert [line[0] for line in lines] == list(systems)
    with_speed = table(README, [*head, "speed"])
    assert [line[:-1] for line in with_speed] == lines
    _, *speeds = speed.table_of(settings_of(speed.Speed, "speed"))
    once = {line[0]: line[1].split(" ")[0] for line in speeds}
    assert {line[0]: line[-1] for line in with_speed[:2]} == {
        name: once[name] for name in list(systems)[:2]
    }
    for name, *cells in lines:
        for treebank, cell in zip(head[1:], cells, strict=True):
            assert cell == mean(
                chosen(rows, variant=systems[name], treebank=treebank), "las", "uas"
            )


def test_the_claims_of_the_experiments_page():
    claims = read_claims(TABLE7)
    lines = [
        line
        for lines in tables(EXPERIMENTS / "reproduction.md")
        for line in lines
        if re.search(r"\(\d\) over \(\d\)", line[0])
    ]
    assert len(lines) == len(CLAIMS) + len(SECOND_PASS)
    for name, *cells in lines:
        ((better, worse),) = re.findall(r"\((\d)\) over \((\d)\)", name)
        assert (int(better), int(worse)) in (*CLAIMS, *SECOND_PASS)
        for recipe, cell in zip(("paper", "paper_tuned", "paper_literal"), cells, strict=True):
            claim = claims.get((recipe, "hu el cu got", better, worse))
            if claim is None:  # no counts to compute an interval from
                las = [
                    np.mean(numbers(of_column(recipe, column), "las")) for column in (better, worse)
                ]
                assert cell == f"{las[0] - las[1]:+.2f}"
            else:
                found = interval_of(claim)
                assert cell == (
                    f"**{found.verdict}**: {found}" if found.verdict != "holds" else f"{found}"
                )


@pytest.mark.parametrize(
    ("config", "page", "studies"), [("choices", "open_choices.md", 8), ("ablation", "parts.md", 2)]
)
def test_the_tables_of_studies_are_those_of_their_pages(config, page, studies):
    """Every line of the page's tables that names a variant stands in the page that the command
    wrote.
    """
    wanted = settings_of(choices.OpenChoices, config)
    written = [
        line for lines in tables(ROOT / wanted.published / f"{wanted.recipe}.md") for line in lines
    ]
    of_page = [
        lines
        for lines in tables(EXPERIMENTS / page)
        if lines[0] == ["", *wanted.languages, "difference"]
    ]
    assert len(of_page) == studies
    for lines in of_page:
        for line in lines:
            assert line in written


def test_speed_is_what_was_measured():
    lines = speed.table_of(settings_of(speed.Speed, "speed"))
    assert table(SPEED, lines[0]) == lines[1:]


def test_what_8_bits_cost():
    by_treebank: dict[str, list[float]] = {}
    for row in chosen(read_csv(EXPERIMENTS / "results" / "int8" / "results.csv"), part="test"):
        by_treebank.setdefault(row["treebank"], []).append(
            float(row["las"]) - float(row["int8_las"])
        )
    most, worst = max(map(np.mean, by_treebank.values())), max(map(max, by_treebank.values()))
    text = " ".join(SPEED.read_text(encoding="utf-8").split())
    assert f"costs {most:.2f} LAS at most (hu, el, cu, got, test, mean of 3 seeds;" in text
    assert {name: len(losses) for name, losses in by_treebank.items()} == dict.fromkeys(
        ("hu", "el", "cu", "got"), 3
    )
    for page in ("README.md", "eight_bits.md"):
        of_experiments = (EXPERIMENTS / page).read_text(encoding="utf-8").lower()
        assert (
            f"at most {most:.2f} las in the mean of 3 seeds (goal: 0.1), and {worst:.2f} with one "
            "of the seeds of cu" in of_experiments
        )


def test_what_a_parser_of_text_reaches():
    rows, page = rows_of(text.EXPERIMENT, "text"), EXPERIMENTS / "from_text.md"
    head = [
        "",
        "lemmas",
        "goal for lemmas",
        "FEATS",
        "MLAS",
        "BLEX",
        "UDPipe 1: lemmas",
        "FEATS",
        "MLAS",
        "BLEX",
    ]
    for treebank, lemmas, _, *cells in table(page, head):
        ours, udpipe = (
            chosen(rows, system=name, treebank=treebank, seed="1") for name in ("text", "UDPipe")
        )
        names = "raw_lemmas", "raw_ufeats", "raw_mlas", "raw_blex"
        assert [lemmas.strip("*"), *cells] == [
            mean(found, name) for found in (ours, udpipe) for name in names
        ]
    head = [
        "",
        "greedy",
        "beam 8",
        "beam 8, reranked",
        "beam 32, reranked",
        "UDPipe 2's prototype",
    ]
    systems = "text", "text, beam 8", "text, beam 8, reranked", "text, beam 32, reranked"
    for treebank, *cells, _ in table(page, head):
        found = [chosen(rows, system=name, treebank=treebank) for name in systems]
        assert [cell.replace("*", "") for cell in cells] == [
            f"{mean(one, 'raw_las')}, {mean(one, 'las')}" for one in found
        ]
