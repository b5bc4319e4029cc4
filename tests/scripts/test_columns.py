"""column= and oracle= in sweeps, oracles in completion, shares as a list."""

from __future__ import annotations

import sys

import pytest

from parser.commands import train
from parser.commands.train import with_shares
from parser.training.sweeps import JobFolders
from tests.toy import forget_what_is_stored


@pytest.fixture
def command(monkeypatch):
    """Runs the command in this process, but for the work of its jobs: a function of its arguments, and columns and oracles."""
    jobs: list[tuple[int | None, str]] = []
    monkeypatch.setattr(train, "run", lambda made: jobs.append((made.column, made.oracle)))
    monkeypatch.setattr(JobFolders, "sweep", None)
    forget_what_is_stored(monkeypatch)

    def run(*arguments: str) -> None:
        monkeypatch.setattr(sys, "argv", ["train.py", *arguments])
        train.main()

    return run, jobs


def test_two_shares_are_a_list_but_in_a_sweep():
    assert with_shares(["treebank.held_out=0.1,0.2", "seed=1,2"]) == ["treebank.held_out=[0.1,0.2]", "seed=1,2"]
    for plain in (["treebank.held_out=0.1"], ["treebank.held_out=[0.1,0.1]"], ["-m", "treebank.held_out=0.1,0.2"]):
        assert with_shares(plain) == plain


@pytest.mark.parametrize(
    ("given", "jobs"),
    [
        (["column=1,4"], [(1, "nederhof_linear"), (4, "nederhof_linear")]),
        (["column=4", "oracle=glob('nederhof_[cq]*')"], [(4, "nederhof_cubic"), (4, "nederhof_quadratic")]),
    ],
)
def test_a_sweep_has_a_job_for_each(command, tmp_path, given, jobs):
    run, found = command
    with pytest.raises(SystemExit):  # none of them has left a result
        run("-m", *given, f"hydra.sweep.dir={tmp_path}")
    assert found == jobs


def test_a_sweep_without_jobs_is_an_error(command, tmp_path):
    with pytest.raises(ValueError, match=r"no jobs: glob\(\)"):
        command[0]("-m", "strategy=glob(*)", f"hydra.sweep.dir={tmp_path}")


def test_a_shell_completes_oracles(command, monkeypatch, capsys):
    monkeypatch.setenv("COMP_LINE", "python scripts/train.py oracle=nederhof_l")
    command[0]("-sc", "query=bash")
    assert capsys.readouterr().out == "oracle=nederhof_linear\n"
