"""Runs that are killed, and resumed to the same end."""

from __future__ import annotations

import pytest

from parser.training import checkpoint
from parser.training.checkpoint import CheckpointError
from parser.training.passes import train
from tests.training.small_runs import SMALL, files_of, run


class KilledError(Exception):
    """Stands for the death of the process."""


@pytest.mark.parametrize("epochs_until_death", [1, 3, 4, 5])
@pytest.mark.parametrize(
    "overrides",
    [
        [],
        ["classifier.dropout=0.5", "keep=last", "second_pass.explore_every=2", "second_pass.examples=join"],
        ["recipe=accurate", *SMALL, "second_pass.policy=sample"],
    ],
)
def test_a_killed_run_is_resumed_to_the_same_end(treebank, tmp_path, monkeypatch, epochs_until_death, overrides):
    whole = train(run(treebank, *overrides), tmp_path / "whole")
    saved = 0
    save = checkpoint.save

    def save_and_die(*arguments):
        nonlocal saved
        save(*arguments)
        saved += 1
        if saved == epochs_until_death:
            raise KilledError

    monkeypatch.setattr(checkpoint, "save", save_and_die)
    with pytest.raises(KilledError):
        train(run(treebank, *overrides), tmp_path / "killed")
    monkeypatch.undo()
    assert not (tmp_path / "killed" / "model").exists()
    resumed = train(run(treebank, *overrides), tmp_path / "killed")
    assert files_of(tmp_path / "killed") == files_of(tmp_path / "whole")
    assert resumed["test"] == whole["test"]
    assert resumed["after_first_pass"] == whole["after_first_pass"]


def test_other_settings_do_not_resume_a_killed_run(treebank, tmp_path, monkeypatch):
    save = checkpoint.save

    def save_and_die(*arguments):
        save(*arguments)
        raise KilledError

    monkeypatch.setattr(checkpoint, "save", save_and_die)
    with pytest.raises(KilledError):
        train(run(treebank), tmp_path)
    monkeypatch.undo()
    with pytest.raises(CheckpointError, match="resume=false"):
        train(run(treebank, "column=2"), tmp_path)
    train(run(treebank, "column=2", "resume=false"), tmp_path)
