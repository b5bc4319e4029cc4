"""A few of the deaths of run.py; each process is forked from this one."""

import random
from pathlib import Path

import pytest

from tests.crash import crashes
from tests.crash.checks import Subject, treebank
from tests.crash.crashes import (
    DONE,
    TOLD,
    ended,
    failing_from_operation,
    killed_at_operation,
    run_of,
)

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    return treebank(tmp_path_factory.mktemp("crash"))


@pytest.mark.parametrize("model", ["mlp", "linear"])
def test_a_killed_run_comes_to_the_same_end(data, tmp_path, model):
    subject = Subject(model, data, tmp_path / model)
    for case in range(3):
        subject.survive_a_kill(random.Random(f"0 {model} {case}"))
    assert subject.deaths >= 3


def test_the_traps_close(data, tmp_path):
    """Else nothing would have been tried."""
    run = run_of("linear", data)
    assert ended(run, tmp_path / "killed", killed_at_operation(3)) < 0
    assert ended(run, tmp_path / "full", failing_from_operation(3)) == TOLD
    assert ended(run, tmp_path / "limited", crashes.no_file_larger_than(100)) == TOLD
    assert ended(run, tmp_path / "late", crashes.killed_after(1000.0)) == DONE
