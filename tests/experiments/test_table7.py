"""Experiments on Table 7: a whole run of the command, going on with it, and the arithmetic of the claims."""

from __future__ import annotations

import csv
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from omegaconf import OmegaConf

from cells import Row, Training
from claims import Difference, difference
from rows import read_rows, write_rows
from tests.toy import ROOT

TINY = "overrides=['first_pass.epochs=1','second_pass.epochs=1','classifier.hidden=8','vectors.dimensions=8']"


def table7(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "experiments/table7.py", f"results={folder}/results", f"runs={folder}/runs", TINY, *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def test_the_command_fills_cells_once_and_writes_table_and_claims(tmp_path):
    arguments = ("languages=[sample,hu]", "seeds=1", "columns=[1,3]", f"paths.treebanks={tmp_path}/nowhere")
    text = table7(tmp_path, *arguments)
    path = tmp_path / "results" / "results.csv"
    with path.open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [(line["treebank"], line["column"], line["seed"]) for line in lines] == [("sample", "1", "1"), ("sample", "3", "1")]
    assert lines[1]["las_first_pass"] == lines[0]["las"]  # column 3 starts from the first pass of column 1
    assert "| hu | 1 | 52.70 / 65.72 | train part not available" in text
    assert "| sample | 2 |  | not run" in text
    assert text.endswith((tmp_path / "results" / "paper.md").read_text() + "\n")

    marked = read_rows(path, Row)
    key = ("sample", "paper", "3", "1")
    marked[key] = Row(**{**vars(marked[key]), "las": "12.3456"})
    write_rows(path, Row, marked)
    table7(tmp_path, *arguments)
    assert read_rows(path, Row)[key].las == "12.3456"  # a finished cell was not run again


def test_rows_of_other_settings_are_stale():
    cell = Training("sample", "paper", 2, 1, "data", ())
    other = Training("sample", "paper", 2, 1, "data", ("optimizer.learning_rate=0.5",))
    row = Row(*cell.key, "0", "0", "0", "0", "0", cell.fingerprint(), "")
    rows = {row.key: row}
    assert cell.made(rows.get(cell.key))
    assert not other.made(rows.get(other.key))
    assert not cell.made(None)
    elsewhere = Training("sample", "paper", 2, 7, "elsewhere", ())
    assert elsewhere.fingerprint() == cell.fingerprint()


def test_rows_from_before_ties_could_be_set_are_not_stale():
    column_5 = Training("hu", "paper", 5, 1, "data", ())
    plain = OmegaConf.to_container(column_5.settings(), resolve=True)
    for key in ("seed", "paths", "treebank", "resume", "table7", "ties"):
        del plain[key]
    assert column_5.fingerprint() == hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:8]
    assert Training("hu", "paper", 5, 1, "data", ("ties=nearest_ancestor",)).fingerprint() != column_5.fingerprint()


def counts_of(las: list[int], words: list[int]) -> dict[str, np.ndarray]:
    return {"words": np.array(words), "las": np.array(las), "uas": np.array(las)}


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
    """With one seed and sentences of one word the mean of a draw is binomial, whose middle 95% is known."""
    rng = np.random.default_rng(1)
    gain = (rng.random(1000) < 0.3).astype(int)
    counts = {("a", 2, 1): counts_of(gain, [1] * 1000), ("a", 1, 1): counts_of([0] * 1000, [1] * 1000)}
    found = difference(counts, ["a"], 2, 1)
    assert found is not None
    mean = gain.mean()
    half = 100 * 1.96 * np.sqrt(mean * (1 - mean) / 1000)
    assert found.low == pytest.approx(100 * mean - half, abs=0.4)
    assert found.high == pytest.approx(100 * mean + half, abs=0.4)


@pytest.mark.parametrize(
    ("low", "high", "verdict"), [(0.1, 2, "holds"), (-1, 2, "open"), (-2, -0.1, "the opposite holds"), (0, 1, "open")]
)
def test_verdicts(low, high, verdict):
    assert Difference(0.5, low, high).verdict == verdict
