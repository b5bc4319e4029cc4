"""parse_many.py interrupted, terminated and killed, and its processes killed: none goes on,
and no half file is left.
"""

import multiprocessing
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from parser.conllu.files import open_binary_output
from parser.decoding.parse_options import ParseOptions
from parser.text.local_engine import parse_shards
from parser.text.shards import NOTE, Outcome, Shard
from tests.text.dying import begin_nothing

ROOT = Path(__file__).parents[2]

# The command, whose processes load no model.
_COMMAND = """
from functools import partial
from types import SimpleNamespace
from parser.commands.__main__ import start
from parser.text import local_engine, worker
from tests.text import staying

worker.ShardParser = lambda *_: SimpleNamespace(tokenizer_path=None, warm_up=lambda: None)
local_engine.parse_shards = partial(local_engine.parse_shards, work=staying.{work})
start("parse_many")
"""


def die_half_way(shard: Shard) -> Outcome:
    with open_binary_output(shard.target):
        os._exit(9)


def interrupted(folder: Path, work: str, kill: Callable[[int], None]) -> tuple[int, str]:
    """Return the exit status of the command, and what it said,
    after ``kill`` while a process loads and another has half a file.
    """
    (folder / "model").mkdir()
    (folder / "model" / "settings.json").write_text("{}")
    (folder / "in").mkdir()
    for name in "ab":
        (folder / "in" / name).touch()
    program = [sys.executable, "-c", _COMMAND.format(work=work)]
    arguments = [f"{folder}/model", f"{folder}/in/*", "-o", f"{folder}/out", "--workers", "2"]
    with subprocess.Popen(
        program + arguments,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as parent:
        assert parent.stdout is not None
        assert parent.stderr is not None
        words = {parent.stdout.readline() for _ in range(2)}
        if words != {"loading\n", "parsing\n"}:
            os.killpg(parent.pid, signal.SIGKILL)
            pytest.fail(f"{words} {parent.stderr.read()}")
        assert list((folder / "out").glob(".*.tmp"))
        kill(parent.pid)
        # it ends with the last process that has it
        ended, _, _ = select.select([parent.stdout], [], [], 60)
        if not ended:
            os.killpg(parent.pid, signal.SIGKILL)
        said = parent.stderr.read()
    assert ended, "a process works on"
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["a", NOTE]
    return parent.returncode, said


@pytest.mark.parametrize(
    ("kill", "status"),
    [
        (lambda parent: os.killpg(parent, signal.SIGINT), 130),  # as a terminal does
        (lambda parent: os.kill(parent, signal.SIGTERM), 143),
    ],
    ids=["Ctrl-C", "terminated"],
)
def test_an_interrupted_command_ends_its_processes_in_order(tmp_path, kill, status):
    found, said = interrupted(tmp_path, "STAYING_AT_ONCE", kill)
    assert found == status
    assert (
        said
        == "interrupted; finished files are kept: start the same command again to parse the rest\n"
    )


def test_processes_end_with_the_one_that_started_them(tmp_path):
    found, _ = interrupted(tmp_path, "STAYING", lambda parent: os.kill(parent, signal.SIGKILL))
    assert found == -signal.SIGKILL


def test_what_a_process_that_died_had_half_written_is_removed(tmp_path, monkeypatch):
    forking = multiprocessing.get_context("fork")  # sooner
    monkeypatch.setattr(multiprocessing, "get_context", lambda method: forking)
    shard, other = (
        Shard(str(tmp_path / "a"), str(tmp_path / "b")),
        tmp_path / ".c.0123456789abcdef.tmp",
    )
    other.touch()
    (found,) = parse_shards(
        tmp_path, [shard], ParseOptions(), 1, partial(begin_nothing, die_half_way)
    )
    assert "died twice" in str(found.error)
    assert list(tmp_path.iterdir()) == [other]
