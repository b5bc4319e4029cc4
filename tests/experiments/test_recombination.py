"""Recombination: who learns from what, and what the page says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments import recombination, taught
from experiments.command import settings_of
from experiments.recombination import ENCODER, MLP, PARSERS, RECOMBINED, TAUGHT, Row
from experiments.trainings import Training
from parser.data.treebank import read_treebank
from tests.toy import ROOT

TRAINING = Training("sample", "accurate", 5, 1, "data", ())


def row(system: str, las: float) -> Row:
    return Row(system, "got", "accurate", "3", "1", "35024", f"{las}", f"{las + 5}", f"{las + 1}", "config")


def test_each_learns_from_what_the_encoder_has_parsed(tmp_path, monkeypatch):
    trained, parsed = [], []

    def train(training, folder, fresh):
        trained.append((folder.name, training.overrides))
        return {"train": {"words": 10}, "dev": {"las": 70.0}, "test": {"las": 71.0, "uas": 75.0}}

    monkeypatch.setattr(recombination, "run_training", train)
    monkeypatch.setattr(
        recombination, "parse", lambda model, text, target: parsed.append((len(trained), model.parent.name, target.name))
    )
    monkeypatch.chdir(ROOT)
    rows = recombination.measure(PARSERS, TRAINING, 2, tmp_path)
    assert [made.key for made in rows] == taught.keys_of(TRAINING, 2, PARSERS)
    assert (rows[0].words, rows[0].las, rows[0].uas, rows[0].dev_las) == ("10", "71.0000", "75.0000", "70.0000")
    folder = tmp_path / "sample-copies2-seed1"
    train_file = str(TRAINING.settings().treebank.train)
    assert len(read_treebank(folder / "new.conllu").sentences) == 2 * len(read_treebank(train_file).sentences)
    assert parsed == [(2, ENCODER, "parsed.conllu")]  # after the first two trainings
    both = f"treebank.train=[{train_file},{folder / 'parsed.conllu'}]"
    rare = ("vectors.min_count=4", "classifier.word_dropout=0.75")  # 1 and 2 new ones: three times as often
    assert trained == [
        (MLP, ()),
        (ENCODER, ("model=bilstm",)),
        (RECOMBINED, (both, *rare)),
        (TAUGHT, (both, *rare, f"distillation.teacher={folder / ENCODER}", "distillation.over=all")),
    ]
    for _, overrides in trained:
        replace(TRAINING, overrides=overrides).settings()  # which are understood


def test_the_page():
    rows = {made.key: made for made in (row(MLP, 70.0), row(ENCODER, 74.0), row(TAUGHT, 72.0))}
    wanted = settings_of(recombination.Recombination, "recombination", ["languages=[got]"])
    lines = recombination.page_of(rows, wanted).splitlines()[-len(PARSERS.systems) :]
    assert lines[2] == f"| got | {RECOMBINED} | not run |  |  |  |  |"
    assert lines[3] == "| got | taught | 35,024 | 72.00 / 77.00 | 50 | 73.00 | 50 |"


def test_there_must_be_copies_and_pupils_are_known():
    with pytest.raises(ValueError, match="copies"):
        recombination.main(settings_of(recombination.Recombination, "recombination", ["copies=0"]))
    with pytest.raises(ValueError, match="pupils has 'mlp'; known are 'recombined', 'taught'"):
        recombination.main(settings_of(recombination.Recombination, "recombination", ["pupils=[mlp]"]))
