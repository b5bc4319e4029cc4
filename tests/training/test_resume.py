"""Runs that are killed, and resumed to the same end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from parser.training.run import train
from parser.training.run_folder import CheckpointError
from tests.training.small_runs import SMALL, files_of, run, train_until_killed

OVERRIDES = [
    [],
    ["classifier.dropout=0.5", "keep=last", "second_pass.explore_every=2", "second_pass.examples=join"],
    ["recipe=accurate", *SMALL, "second_pass.policy=sample"],
]


@pytest.fixture(scope="module", params=OVERRIDES, ids=["paper", "dropout", "accurate"])
def whole(request, treebank, tmp_path_factory) -> tuple[list[str], Path, dict[str, Any]]:
    """Overrides, and folder and metrics of a run with them that nobody kills."""
    folder = tmp_path_factory.mktemp("whole")
    return request.param, folder, train(run(treebank, *request.param), folder)


@pytest.mark.parametrize("epochs_until_death", [1, 3, 4, 5])
def test_a_killed_run_is_resumed_to_the_same_end(treebank, tmp_path, whole, epochs_until_death):
    overrides, folder, metrics = whole
    train_until_killed(run(treebank, *overrides), tmp_path, epochs_until_death)
    assert not (tmp_path / "model").exists()
    resumed = train(run(treebank, *overrides), tmp_path)
    assert files_of(tmp_path) == files_of(folder)
    assert resumed["test"] == metrics["test"]
    assert resumed["after_first_pass"] == metrics["after_first_pass"]


def test_other_settings_do_not_resume_a_killed_run(treebank, tmp_path):
    train_until_killed(run(treebank), tmp_path, 1)
    with pytest.raises(CheckpointError, match="resume=false"):
        train(run(treebank, "column=2"), tmp_path)
    train(run(treebank, "column=2", "resume=false"), tmp_path)
