"""Runs that are killed, and resumed to the same end."""

from __future__ import annotations

import pytest

from parser.training.checkpoint import CheckpointError
from parser.training.passes import train
from tests.training.small_runs import SMALL, files_of, run, train_until_killed


@pytest.mark.parametrize("epochs_until_death", [1, 3, 4, 5])
@pytest.mark.parametrize(
    "overrides",
    [
        [],
        ["classifier.dropout=0.5", "keep=last", "second_pass.explore_every=2", "second_pass.examples=join"],
        ["recipe=accurate", *SMALL, "second_pass.policy=sample"],
    ],
)
def test_a_killed_run_is_resumed_to_the_same_end(treebank, tmp_path, epochs_until_death, overrides):
    whole = train(run(treebank, *overrides), tmp_path / "whole")
    train_until_killed(run(treebank, *overrides), tmp_path / "killed", epochs_until_death)
    assert not (tmp_path / "killed" / "model").exists()
    resumed = train(run(treebank, *overrides), tmp_path / "killed")
    assert files_of(tmp_path / "killed") == files_of(tmp_path / "whole")
    assert resumed["test"] == whole["test"]
    assert resumed["after_first_pass"] == whole["after_first_pass"]


def test_other_settings_do_not_resume_a_killed_run(treebank, tmp_path):
    train_until_killed(run(treebank), tmp_path, 1)
    with pytest.raises(CheckpointError, match="resume=false"):
        train(run(treebank, "column=2"), tmp_path)
    train(run(treebank, "column=2", "resume=false"), tmp_path)
