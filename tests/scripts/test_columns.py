"""column= and oracle= in sweeps and completion: column as if it were a group of hydra's."""

from __future__ import annotations

import sys

import pytest

from parser.commands import train
from parser.commands.train import columns, with_columns, with_shares
from parser.training.sweeps import JobFolders
from tests.toy import forget_what_is_stored, settings


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


def test_they_are_those_of_the_settings():
    assert columns() == [*settings().table7] == ["1", "2", "3", "4", "5", "6"]


def test_two_shares_are_a_list_but_in_a_sweep():
    assert with_shares(["treebank.held_out=0.1,0.2", "seed=1,2"]) == ["treebank.held_out=[0.1,0.2]", "seed=1,2"]
    for plain in (["treebank.held_out=0.1"], ["treebank.held_out=[0.1,0.1]"], ["-m", "treebank.held_out=0.1,0.2"]):
        assert with_shares(plain) == plain


def test_patterns_become_lists():
    assert with_columns(["-m", "column=glob(*)", "seed=1,2"]) == ["-m", "column=1,2,3,4,5,6", "seed=1,2"]
    assert with_columns(["column=glob(*,exclude='6')"]) == ["column=1,2,3,4,5"]
    assert with_columns(["column=glob('[1-3]')"]) == ["column=1,2,3"]
    for plain in ("column=5", "column=1,2", "column=range(1,4)", "oracle=glob(*)", "+x=glob(*)"):
        assert with_columns([plain]) == [plain]
    with pytest.raises(ValueError, match=r"no column.*: 1, 2, 3"):
        with_columns(["column=glob(x*)"])


@pytest.mark.parametrize(
    ("given", "jobs"),
    [
        (["column=glob('[14]')"], [(1, "nederhof_linear"), (4, "nederhof_linear")]),
        (["column=4", "oracle=glob('nederhof_[cq]*')"], [(4, "nederhof_cubic"), (4, "nederhof_quadratic")]),
    ],
)
def test_a_sweep_has_a_job_for_each(command, tmp_path, given, jobs):
    run, found = command
    with pytest.raises(SystemExit):  # none of them has left a result
        run("-m", *given, f"hydra.sweep.dir={tmp_path}")
    assert found == jobs


@pytest.mark.parametrize("given", ["strategy=glob(*)", "column=glob(7)"])
def test_a_sweep_without_jobs_is_an_error(command, tmp_path, given):
    with pytest.raises(ValueError, match=r"no jobs: glob\(\)|'column=glob\(7\)'"):
        command[0]("-m", given, f"hydra.sweep.dir={tmp_path}")


@pytest.mark.parametrize(
    ("line", "offered"),
    [("column=", "column=1 column=2 column=3 column=4 column=5 column=6\n"), ("seed=2 column=3", "column=3\n")],
)
def test_a_shell_completes_them(command, monkeypatch, capsys, line, offered):
    monkeypatch.setenv("COMP_LINE", f"python scripts/train.py {line}")
    command[0]("-sc", "query=bash")
    assert capsys.readouterr().out == offered


def test_a_shell_completes_oracles(command, monkeypatch, capsys):
    monkeypatch.setenv("COMP_LINE", "python scripts/train.py oracle=nederhof_l")
    command[0]("-sc", "query=bash")
    assert capsys.readouterr().out == "oracle=nederhof_linear\n"
