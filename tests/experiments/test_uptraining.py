"""Uptraining: how the training part is divided, who teaches whom, and what the table says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments import taught, uptraining
from experiments.command import settings_of
from experiments.trainings import Training
from experiments.uptraining import ENCODER, MLP, PARSERS, SELF_TRAINED, UPTRAINED, Row

TRAINING = Training("sample", "accurate", 5, 1, "data", ())


def row(system: str, las: float, seed: int = 1) -> Row:
    return Row(system, "got", "accurate", "4", str(seed), "8813", f"{las}", f"{las + 5}", f"{las + 1}", "config")


def test_every_so_many_sentences_keep_their_trees():
    text = "".join(f"# {number}\n1\ta\n\n" for number in range(7))
    trees, others = uptraining.divide(text, 3)
    assert [line for line in trees.split("\n") if line.startswith("#")] == ["# 0", "# 3", "# 6"]
    assert sorted((trees + others).split("\n\n")) == sorted(text.split("\n\n"))
    assert trees.endswith("\n\n")


def test_each_learns_from_what_its_teacher_has_parsed(tmp_path, monkeypatch):
    trained, parsed = [], []

    def train(training, folder, fresh):
        trained.append((folder.name, training.overrides))
        return {"train": {"words": 10}, "dev": {"las": 70.0}, "test": {"las": 71.0, "uas": 75.0}}

    monkeypatch.setattr(uptraining, "run_training", train)
    monkeypatch.setattr(
        uptraining, "parse", lambda model, text, target: parsed.append((model.parent.name, text.name, target.name))
    )
    rows = uptraining.measure(4, TRAINING, tmp_path)
    assert [made.key for made in rows] == taught.keys_of(TRAINING, [4], PARSERS)
    assert (rows[0].words, rows[0].las, rows[0].uas, rows[0].dev_las) == ("10", "71.0000", "75.0000", "70.0000")
    assert parsed == [(MLP, "text.conllu", f"text-{MLP}.conllu"), (ENCODER, "text.conllu", f"text-{ENCODER}.conllu")]
    folder = tmp_path / "sample-share4-seed1"
    trees = f"treebank.train=[{folder / 'trees.conllu'}"
    assert trained == [
        (MLP, (f"{trees}]",)),
        (ENCODER, (f"{trees}]", "model=bilstm")),
        (SELF_TRAINED, (f"{trees},{folder / 'text-mlp.conllu'}]",)),
        (UPTRAINED, (f"{trees},{folder / 'text-encoder.conllu'}]",)),
    ]
    for _, overrides in trained:
        replace(TRAINING, overrides=overrides).settings()  # which are understood


def test_the_table():
    rows = [row(MLP, 70.0), row(MLP, 71.0, 2), row(ENCODER, 74.5), row(UPTRAINED, 73.5)]
    wanted = settings_of(uptraining.Uptraining, "uptraining")
    lines = uptraining.report(rows, ["got"], wanted).splitlines()[-len(PARSERS.systems) :]
    assert lines[0] == "| got | mlp | 8,813 | 70.50 ± 0.71 / 75.50 ± 0.71 |  | 71.50 ± 0.71 |  |"
    assert lines[2] == "| got | self-trained | not run |  |  |  |  |"
    assert lines[3] == "| got | uptrained | 8,813 | 73.50 / 78.50 | 75 | 74.50 | 75 |"


def test_the_share_must_leave_something():
    wanted = settings_of(uptraining.Uptraining, "uptraining", ["share=1"])
    with pytest.raises(ValueError, match="share"):
        uptraining.main(wanted)
