"""Many files over a real cluster of Ray's on this machine, with workers that are killed."""

import io
import os
from functools import partial
from pathlib import Path

import pytest

from parser.decoding.parse_options import ParseOptions
from parser.model.trained_model import TrainedModel
from parser.text.shards import Shard, to_parse
from tests.forgery import small_model
from tests.parsed_files import parse_file
from tests.text.bulk import WORDS, run_command
from tests.text.dying import begin_nothing, die_at_times

ray = pytest.importorskip("ray", reason="Ray is not installed (extra ray)")
pytest.importorskip("ray.data")
from parser.text.ray_engine import parse_shards  # noqa: E402

pytestmark = pytest.mark.extras


@pytest.fixture(scope="module", autouse=True)
def cluster():
    os.environ |= {
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_worker_niceness": "0",
        "RAY_worker_register_timeout_seconds": "600",
    }
    ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def test_the_files_are_those_of_parse_file(tmp_path, monkeypatch, capsys):
    small_model("static").save(tmp_path / "model")
    (tmp_path / "in").mkdir()
    for name in "abc":
        (tmp_path / "in" / f"{name}.conllu").write_text(WORDS * (1 + ord(name) % 3))
    (tmp_path / "in" / "bad.conllu").write_text("1\tx\n\n")
    monkeypatch.chdir(tmp_path)  # where the cluster, which is there already, does not stand
    command = [
        "model",
        "in/*.conllu",
        "-o",
        "out",
        "--workers",
        "2",
        "--engine",
        "ray",
        "--allow-missing-columns",
    ]
    assert run_command(monkeypatch, *command) == 1
    assert "in/bad.conllu, line 1" in capsys.readouterr().err
    model = TrainedModel.load(tmp_path / "model")
    for name in "abc":
        target = io.BytesIO()
        parse_file(
            model,
            io.BytesIO((tmp_path / "in" / f"{name}.conllu").read_bytes()),
            target,
            allow_missing_columns=True,
        )
        assert (tmp_path / "out" / f"{name}.conllu").read_bytes() == target.getvalue()
    (tmp_path / "in" / "bad.conllu").write_text(WORDS)
    assert run_command(monkeypatch, *command) == 0
    assert "1 file parsed, 2 words; 3 were there already; 0 failed" in capsys.readouterr().err


def test_files_of_workers_that_were_killed_are_tried_again(tmp_path):
    names = ["a", "once", "b", "always", *"cdef"]
    shards = [Shard(str(tmp_path / name), str(tmp_path / f"{name}.out")) for name in names]
    found = list(
        parse_shards(tmp_path, shards, ParseOptions(), 2, partial(begin_nothing, die_at_times))
    )
    assert sorted(Path(outcome.shard.source).name for outcome in found) == sorted(names)
    assert [Path(outcome.shard.source).name for outcome in found if outcome.error] == ["always"]
    assert [shard.source for shard in to_parse(shards)] == [str(tmp_path / "always")]
    # a process has several files
    assert len({outcome.words for outcome in found if not outcome.error}) < len(names) - 1
