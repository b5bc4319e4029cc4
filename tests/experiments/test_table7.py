"""Experiments on Table 7: a whole run of the command, what it takes and what it keeps, and the
arithmetic of the claims.
"""

import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pytest

from experiments import engine, table7
from experiments.columns import SentenceCounts, counted, difference, read_counts, write_counts
from experiments.command import settings_of
from experiments.table7 import EXPERIMENT, claims_from, interval_of, read_claims
from experiments.tables import Key, Row, read_rows, write_rows
from tests.forked import works
from tests.toy import ROOT, TINY

OVERRIDES = f"overrides=[{','.join(TINY)}]"
PUBLISHED = ROOT / "experiments" / "results" / "table7"

# The published difference of column 2 over column 1, all treebanks together.
PUBLISHED_CLAIM = interval_of(read_claims(PUBLISHED)["paper", "hu el cu got", "2", "1"])


def rows_in(folder: Path) -> dict[Key, Row]:
    return read_rows(folder / "results.csv", EXPERIMENT.columns, len(EXPERIMENT.key))


@pytest.fixture(scope="module")
def trained(tmp_path_factory, small_sample) -> Path:
    """Return a folder that the command has trained columns 1 and 3 in, as people type it,
    started in another folder.
    """
    folder = tmp_path_factory.mktemp("table7")
    (folder / "data").symlink_to(small_sample / "data")
    arguments = ["languages=[sample,hu]", "seeds=1", "columns=[3]", OVERRIDES]
    done = works("experiments/table7.py", *arguments, folder=folder)
    assert "0 cells are published rows, 1 to train\n1 more to train" in done.stdout
    assert "hu_szeged-ud-train.conllu does not exist" in done.stderr
    assert done.stdout.endswith((folder / "runs" / "table7" / "paper.md").read_text())
    return folder


@pytest.fixture
def in_folder(trained, small_sample, tmp_path, monkeypatch) -> Path:
    """Return a copy of that folder, as the current one."""
    shutil.copytree(
        trained / "runs" / "table7",
        tmp_path / "runs" / "table7",
        ignore=shutil.ignore_patterns("paper"),
    )
    (tmp_path / "data").symlink_to(small_sample / "data")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ask(*overrides: str) -> None:
    table7.EXPERIMENT.main(
        settings_of(table7.Table7, "table7", ["languages=[sample]", "seeds=1", *overrides])
    )


def test_a_users_rows_and_counts_go_under_runs(in_folder):
    rows = rows_in(in_folder / "runs" / "table7")
    assert list(rows) == [("sample", "paper", "1", "1"), ("sample", "paper", "3", "1")]
    first, third = rows.values()
    # column 3 starts from the first pass of column 1
    assert third["las_first_pass"] == first["las"]
    counts = read_counts(in_folder / "runs" / "table7" / "paper_counts.csv")
    assert list(counts) == [("sample", 1, 1), ("sample", 3, 1)]
    for row, of_row in zip(rows.values(), counts.values(), strict=True):
        for name, right in (("las", of_row.las), ("uas", of_row.uas)):
            assert 100 * right.sum() / of_row.words.sum() == pytest.approx(
                float(row[name]), abs=1e-4
            )


def test_cells_that_are_there_are_not_trained_and_stand_beside_the_published_and_the_papers(
    in_folder, capsys, monkeypatch
):
    monkeypatch.setattr(
        engine, "run_jobs", lambda jobs, workers: iter([]) if not jobs else pytest.fail("it trains")
    )
    ask("columns=[1,3]", OVERRIDES)
    text = capsys.readouterr().out
    assert (
        "0 cells are published rows, 2 are rows of your own (under runs/table7), 0 to train" in text
    )
    row = rows_in(in_folder / "runs" / "table7")["sample", "paper", "3", "1"]
    assert (
        f"| sample | 3 |  | none |  | {float(row['las']):.2f} / {float(row['uas']):.2f} | 1 |  |"
        in text
    )
    # the only language asked for
    assert {*re.findall(r"^\| (\w+)", text, re.MULTILINE)} == {"treebank", "sample"}
    assert ", published |" not in text
    assert re.search(
        r"\| sample, yours \| \S+ \[\S+ \S+, (open|holds|the opposite holds) \| no counts \|", text
    )


def test_fresh_takes_no_row(in_folder, capsys, monkeypatch):
    asked = []
    monkeypatch.setattr(
        engine,
        "run_jobs",
        lambda jobs, workers: iter(asked.extend(job.label for job in jobs) or []),
    )
    ask("columns=[1,3]", OVERRIDES, "fresh=true")
    assert asked == ["sample columns 1, 3 seed 1"]
    assert "fresh=true: existing rows are ignored, 2 to train" in capsys.readouterr().out


def test_published_rows_count(capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(table7, "has_parts", lambda *_: True)
    ask("languages=[hu,got]", "seeds=2", "columns=[1,2,3,4,5]", f"results={tmp_path}")
    text = capsys.readouterr().out
    assert "20 cells are published rows, 0 to train; fresh=true trains all 20 again" in text
    assert re.search(
        r"\| hu \| 5 \| 57.62 / 70.30 \| \S+ ± \S+ / \S+ ± \S+ \| 5 \| none \|  \|  \|", text
    )
    # the languages asked for, and no other
    assert re.findall(r"^\| (\w+) \| 1 \|", text, re.MULTILINE) == ["hu", "got"]
    assert (
        re.findall(r"^\| ([\w, ]+), published \|", text, re.MULTILINE)
        == ["hu", "got", "hu, got together"] * 2
    )


def test_what_fresh_trains_is_what_is_told_before(capsys, monkeypatch, tmp_path):
    """Column 3 shares the first pass that column 1 trains."""
    asked = []
    monkeypatch.setattr(table7, "has_parts", lambda *_: True)
    monkeypatch.setattr(engine, "run_jobs", lambda jobs, workers: iter(asked.extend(jobs) or []))
    ask("languages=[hu]", "columns=[3]", f"results={tmp_path}")
    assert (
        "1 cell is a published row, 0 to train; fresh=true trains all 2 again"
        in capsys.readouterr().out
    )
    ask("languages=[hu]", "columns=[3]", f"results={tmp_path}", "fresh=true")
    assert (
        "fresh=true: existing rows are ignored, 1 to train\n1 more to train"
        in capsys.readouterr().out
    )
    assert [job.label for job in asked] == ["hu columns 1, 3 seed 1"]


def test_the_number_of_the_readme_is_what_the_command_prints(capsys, monkeypatch, tmp_path):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (words,) = re.findall(r"python experiments/table7\.py ((?:[^`\\]|\\\n)+?)\n", text)
    monkeypatch.setattr(table7, "has_parts", lambda *_: True)
    given = [
        word for word in shlex.split(words.replace("\\\n", " ")) if not word.startswith("paths.")
    ]
    table7.EXPERIMENT.main(settings_of(table7.Table7, "table7", [*given, f"results={tmp_path}"]))
    found = re.search(r"0 to train; fresh=true trains all ([0-9]+) again", capsys.readouterr().out)
    assert found is not None
    assert (
        f"only prints its committed results; `fresh=true` repeats all {found[1]} runs."
        in " ".join(text.split())
    )


@pytest.fixture
def published(tmp_path) -> Path:
    return Path(shutil.copytree(PUBLISHED, tmp_path / "published"))


def test_publishing_less_drops_no_row_no_cell_and_no_claim(published, tmp_path, monkeypatch):
    monkeypatch.setattr(table7, "has_parts", lambda *_: True)
    before = {path.name: path.read_text() for path in published.iterdir()}
    ask(
        "languages=[hu]",
        "columns=[2]",
        "publish=true",
        f"published={published}",
        f"results={tmp_path}/results",
    )
    after = {path.name: path.read_text() for path in published.iterdir()}
    assert before == after


def test_publishing_copies_rows_and_counts_and_tests_the_claims_on_them(in_folder, published):
    own = in_folder / "runs" / "table7"
    rows = rows_in(own)
    write_rows(
        own / "results.csv",
        EXPERIMENT.columns,
        {key: row | {"settings": ""} for key, row in rows.items()},
    )
    counts = read_counts(own / "paper_counts.csv")
    ask("columns=[1,3]", "publish=true", f"published={published}")
    assert set(rows_in(published)) == {*rows_in(PUBLISHED), *rows}
    assert set(read_counts(published / "paper_counts.csv")) == {
        *read_counts(PUBLISHED / "paper_counts.csv"),
        *counts,
    }
    page = (published / "paper.md").read_text()
    found = difference(read_counts(published / "paper_counts.csv"), ["sample"], 3, 1)
    assert f"| sample | {found}, {found.verdict} | no counts |" in page
    assert f"| hu, el, cu, got together | {PUBLISHED_CLAIM}, holds |" in page


def test_committed_counts_are_those_of_the_committed_rows_and_claims():
    """Whoever has the counts can compute every interval on the page."""
    rows, claims = rows_in(PUBLISHED), read_claims(PUBLISHED)
    for recipe in {row["recipe"] for row in rows.values()}:
        path = PUBLISHED / f"{recipe}_counts.csv"
        counts = read_counts(path)
        assert len(counted(counts, rows.values(), recipe)) == len(counts)
        assert not path.exists() or path.stat().st_size < 1.5e6
        for (treebank, column, seed), of_one in counts.items():
            row = rows[treebank, recipe, str(column), str(seed)]
            assert 100 * of_one.las.sum() / of_one.words.sum() == pytest.approx(
                float(row["las"]), abs=1e-4
            )
        order = ["hu", "el", "cu", "got", "da", "eu", "de"]
        of_recipe = {key: claim for key, claim in claims.items() if key[0] == recipe}
        assert claims_from(counts, recipe, order, {}) == of_recipe


def test_counts_are_read_as_they_were_written(tmp_path):
    counts = {("a", 1, 1): counts_of([1, 2], [4, 5]), ("a", 2, 1): counts_of([0, 5], [4, 5])}
    write_counts(tmp_path / "counts.csv", counts)
    again = read_counts(tmp_path / "counts.csv")
    assert again.keys() == counts.keys()
    for key, of_one in counts.items():
        assert [again[key].words.tolist(), again[key].las.tolist()] == [
            of_one.words.tolist(),
            of_one.las.tolist(),
        ]
    with pytest.raises(ValueError, match=r"column 3, seed 1"):
        write_counts(tmp_path / "counts.csv", counts | {("a", 3, 1): counts_of([1], [4])})


def counts_of(las: list[int], words: list[int]) -> SentenceCounts:
    return SentenceCounts(np.array(words), np.array(las), np.array(las))


def test_differences_are_paired_by_seed_and_averaged_over_treebanks():
    counts = {
        ("a", 1, 1): counts_of([1, 2], [4, 4]),
        ("a", 1, 2): counts_of([2, 2], [4, 4]),
        ("a", 2, 1): counts_of([2, 2], [4, 4]),
        ("a", 2, 2): counts_of([2, 4], [4, 4]),
        ("a", 2, 3): counts_of([0, 0], [4, 4]),  # no partner: left out
        ("b", 1, 1): counts_of([1], [2]),
        ("b", 2, 1): counts_of([2], [2]),
    }
    found = difference(counts, ["a"], 2, 1)
    assert found is not None
    assert found.mean == pytest.approx(100 * ((1 + 2) / 2) / 8)
    assert found.low <= found.mean <= found.high
    both = difference(counts, ["a", "b"], 2, 1)
    assert both is not None
    assert both.mean == pytest.approx((found.mean + 50) / 2)
    assert difference(counts, ["a", "c"], 2, 1) is None


def test_intervals_are_those_of_the_bootstrap():
    """With one seed and sentences of one word the mean of a draw is binomial,
    whose middle 95% is known.
    """
    rng = np.random.default_rng(1)
    gain = (rng.random(1000) < 0.3).astype(int)
    counts = {
        ("a", 2, 1): counts_of(gain, [1] * 1000),
        ("a", 1, 1): counts_of([0] * 1000, [1] * 1000),
    }
    found = difference(counts, ["a"], 2, 1)
    assert found is not None
    mean = gain.mean()
    half = 100 * 1.96 * np.sqrt(mean * (1 - mean) / 1000)
    assert found.low == pytest.approx(100 * mean - half, abs=0.4)
    assert found.high == pytest.approx(100 * mean + half, abs=0.4)
