"""Run folders: one process at a time, finished runs are kept,
changed data and damaged checkpoints are noticed.
"""

import logging
import os
import random
from pathlib import Path

import pytest
import torch

from parser.model.loading import load
from parser.model_folder import SETTINGS, ModelError
from parser.storage import write_json
from parser.training import run_folder
from parser.training.run import train
from parser.training.run_folder import CheckpointError, Progress, RunFolderError, held
from tests.toy import sentence, write_conllu
from tests.training.small_runs import run_alone, train_until_killed

SENTENCES = [sentence([2, 0, 2], random.Random(seed)) for seed in range(6)]
TINY = [
    "classifier.hidden=4",
    "vectors.dimensions=4",
    "vectors.epochs=1",
    "first_pass.epochs=2",
    "second_pass.epochs=1",
]


@pytest.fixture
def treebank(tmp_path) -> Path:
    return write_conllu(tmp_path / "toy.conllu", SENTENCES)


def run(treebank: Path, *overrides: str):
    return run_alone(treebank, *TINY, *overrides)


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_one_process_at_a_time_holds_a_folder(tmp_path, treebank):
    with held(tmp_path / "run"):
        with pytest.raises(RunFolderError, match=rf"process {os.getpid()} is training"):
            train(run(treebank), tmp_path / "run")
        with held(tmp_path / "other"):
            pass
    with held(tmp_path / "run"):
        pass


@pytest.mark.posix
def test_the_lock_dies_with_its_process(tmp_path):
    child = os.fork()
    if child == 0:
        held(tmp_path).__enter__()
        os._exit(0)
    os.waitpid(child, 0)
    assert (tmp_path / ".lock").read_text() == f"\n{child}\n"
    with held(tmp_path):
        pass


def test_what_dead_processes_left_is_removed_at_the_start(tmp_path):
    (tmp_path / ".model.0123456789abcdef.tmp").mkdir()
    (tmp_path / ".checkpoint.safetensors.0123456789abcdef.tmp").touch()
    (tmp_path / "mine.txt").touch()
    with held(tmp_path):
        assert {path.name for path in tmp_path.iterdir()} == {".lock", "mine.txt"}


@pytest.mark.parametrize(
    "path",
    [
        "model/__init__.py",
        "model/settings.json",
        "model/README.md",
        "model",
        "metrics.json",
        "run.json",
    ],
)
def test_what_no_run_has_written_stays(tmp_path, treebank, path):
    mine = tmp_path / "project" / path
    mine.parent.mkdir(parents=True)
    mine.write_text('{"accuracy": 1}')
    (mine.parent / "notes.txt").touch()
    before = contents(tmp_path / "project")
    named = "model" if path.startswith("model") else path
    for resume in ("true", "false"):
        with pytest.raises(
            RunFolderError,
            match=rf"/{named}: .* of optimal-step.*; choose another hydra\.run\.dir$",
        ):
            train(run(treebank, f"resume={resume}"), tmp_path / "project")
    assert contents(tmp_path / "project") == before


@pytest.mark.parametrize("settings", [b"[]", None])
def test_a_damaged_model_and_events_of_others_hinder_no_run(tmp_path, treebank, settings):
    folder = tmp_path / "run"
    (folder / "model").mkdir(parents=True)
    train(run(treebank), folder)
    (folder / "model" / "classifier.safetensors").write_bytes(b"")
    if settings is None:
        (folder / "model" / SETTINGS).unlink()
    else:
        (folder / "model" / SETTINGS).write_bytes(settings)
    (folder / "events.out.tfevents.1.mine").write_bytes(b"others")
    train(run(treebank, "resume=false"), folder)
    events = [path.read_bytes() for path in folder.glob("events.*")]
    assert b"others" in events
    assert len(events) == 3  # two of this run, and none of the run before
    load(folder)


def test_a_finished_run_is_kept_and_not_replaced_by_another_unless_asked(
    tmp_path, treebank, caplog
):
    metrics = train(run(treebank), tmp_path / "run")
    before = contents(tmp_path / "run")
    with caplog.at_level(logging.INFO):
        assert train(run(treebank), tmp_path / "run") == metrics
    assert contents(tmp_path / "run") == before
    assert "the run is finished; resume=false trains again" in caplog.text
    with pytest.raises(CheckpointError, match=r"finished run .*\(seed\).*resume=false"):
        train(run(treebank, "seed=2"), tmp_path / "run")
    assert contents(tmp_path / "run") == before
    train(run(treebank, "seed=2", "resume=false"), tmp_path / "run")
    events = {name for name in before if name.startswith("events.")}
    assert not events & contents(tmp_path / "run").keys()  # no curves of the other
    train(run(treebank, "seed=2"), tmp_path / "run")
    (tmp_path / "run" / run_folder.MANIFEST).unlink()  # then it is of an unknown kind
    with pytest.raises(CheckpointError, match=r"without a readable run\.json"):
        train(run(treebank, "seed=2"), tmp_path / "run")


@pytest.mark.parametrize("killed", [True, False], ids=["interrupted", "finished"])
def test_changed_data_are_noticed(tmp_path, treebank, killed):
    if killed:
        train_until_killed(run(treebank), tmp_path / "run", 1)
    else:
        train(run(treebank), tmp_path / "run")
    write_conllu(treebank, SENTENCES[::-1])  # the same vocabulary
    with pytest.raises(CheckpointError, match=r"contents of treebank\.train"):
        train(run(treebank), tmp_path / "run")
    write_conllu(treebank, SENTENCES)
    train(run(treebank), tmp_path / "run")


def test_a_changed_first_pass_is_noticed(tmp_path, treebank):
    train(run(treebank, "column=2"), tmp_path / "first")
    shared = f"start={tmp_path}/first/model"
    train(run(treebank, shared), tmp_path / "run")
    train(run(treebank, "column=2", "seed=2"), tmp_path / "second")
    weights = (tmp_path / "second/model/classifier.safetensors").read_bytes()
    (tmp_path / "first/model/classifier.safetensors").write_bytes(weights)
    with pytest.raises(CheckpointError, match=r"start/classifier\.safetensors"):
        train(run(treebank, shared), tmp_path / "run")


@pytest.mark.parametrize("model", ["mlp", "linear"])
def test_what_was_saved_is_read_before_a_run_says_that_it_is_done(
    tmp_path, treebank, monkeypatch, model
):
    def damaged(path: Path, value: object) -> None:
        write_json(path, [] if path.name == SETTINGS else value)

    for module in ("parser.model.trained_model", "parser.linear.model"):
        monkeypatch.setattr(f"{module}.write_json", damaged)
    few = ["column=1"] if model == "mlp" else ["model=linear", "online.iterations=1"]
    with pytest.raises(ModelError, match=SETTINGS):
        train(run_alone(treebank, *few), tmp_path / "run")
    assert not (tmp_path / "run" / "metrics.json").exists()


@pytest.mark.parametrize("part", ["classifier.safetensors", "vocabularies.json", SETTINGS])
def test_a_finished_run_with_a_damaged_model_is_no_success(tmp_path, treebank, part):
    train(run(treebank), tmp_path / "run")
    (tmp_path / "run" / "model" / part).write_bytes(b"{")
    with pytest.raises(
        ModelError, match=rf"its model is damaged: .*{part}.*; resume=false trains it again$"
    ):
        train(run(treebank), tmp_path / "run")
    (tmp_path / "run" / "model" / part).unlink()
    with pytest.raises(ModelError, match=r"resume=false trains it again$"):
        train(run(treebank), tmp_path / "run")
    train(run(treebank, "resume=false"), tmp_path / "run")
    train(run(treebank), tmp_path / "run")


def test_a_run_that_started_over_can_be_resumed(tmp_path, treebank):
    train_until_killed(run(treebank, "resume=false"), tmp_path / "run", 1)
    train(run(treebank), tmp_path / "run")


def test_damaged_checkpoints_are_told(tmp_path):
    path = tmp_path / "checkpoint.safetensors"
    generator = torch.Generator().manual_seed(0)
    groups = {
        "weights": {"a": torch.rand(5, 3, generator=generator)},
        "best": {"a": torch.arange(7, dtype=torch.uint8)},
    }
    run_folder.save_checkpoint(
        path, Progress({"settings": {}, "files": {}}, seconds={"read": 1.5}), groups
    )
    whole = path.read_bytes()
    progress, tensors = run_folder.load_checkpoint(path)
    assert progress.seconds == {"read": 1.5}
    assert torch.equal(tensors["weights"]["a"], groups["weights"]["a"])

    damaged = [
        b"",
        b"\0" * len(whole),
        whole + b"\0",
        *(whole[:size] for size in range(0, len(whole), 7)),
    ]
    damaged += [
        whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :]
        for at in range(len(whole))
        for bit in (0, 3, 7)
    ]
    for data in damaged:
        path.write_bytes(data)
        with pytest.raises(CheckpointError, match="resume=false"):
            run_folder.load_checkpoint(path)
