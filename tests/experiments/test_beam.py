"""Accuracy against the size of a beam: the command on the sample treebank, and what its table says."""

from __future__ import annotations

from experiments import beam
from tests.experiments.test_accurate import TINY, run


def test_the_command_trains_once_and_parses_with_every_beam(tmp_path, small_sample):
    command = [
        *("experiments/beam.py", "languages=[sample]", "seeds=1", "systems=[tiny]", f"+all_systems.tiny=[{TINY}]"),
        *("sizes=[1,2]", "merges=[configuration]", "published=null", f"results={tmp_path}/results", f"runs={tmp_path}/runs"),
    ]
    run(small_sample, *command)
    rows = (tmp_path / "results" / "results.csv").read_text()
    assert rows.count("\n") == 3
    text = (tmp_path / "results" / "table.md").read_text()
    assert "## tiny, merge=configuration\n\n| beam | sample |" in text
    assert (tmp_path / "results" / "tiny.svg").exists()


def test_the_table_has_means_probabilities_and_what_was_not_run():
    made = [
        ("hu", "1", "1", "70", "-0.2"),
        ("hu", "2", "1", "72", "-0.4"),
        ("hu", "1", "8", "74", "-0.1"),
        ("el", "1", "8", "80", "-0.1"),
    ]
    rows = [beam.Row("ours", treebank, seed, "none", size, las, las, score, "") for treebank, seed, size, las, score in made]
    rows.append(beam.Row("ours", "el", "1", "exact", "exact", "81", "81", "-0.1", ""))
    text = beam.report({row.key: row for row in rows})
    assert "## ours, exact search\n\n| beam | el |\n|---|---|\n| exact | 81.00 (-0.100) |" in text
    assert "| 1 | not run | 71.00 ± 1.41 (-0.300) |" in text
    assert "| 8 | 80.00 (-0.100) | 74.00 (-0.100) |" in text
