"""Recombination: who learns from what, and what the page says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments import encoders, recombination, taught
from experiments.command import settings_of
from experiments.recombination import ENCODER, MLP, PARSERS, RECOMBINED, TAUGHT, Row, Teaching
from experiments.results import Results
from experiments.trainings import Training
from parser.data.treebank import read_treebank
from tests.toy import ROOT

TRAINING = Training("sample", "accurate", 5, 1, "data", ())


def row(system: str, las: float) -> Row:
    return Row(system, "got", "accurate", "10", "3", "8", "1", "35024", f"{las}", f"{las + 5}", f"{las + 1}", "config")


def test_each_learns_from_what_the_encoder_has_parsed(tmp_path, monkeypatch):
    trained, parsed = [], []

    def train(training, folder, fresh):
        trained.append((folder, training.overrides))
        return {"train": {"words": 10}, "dev": {"las": 70.0}, "test": {"las": 71.0, "uas": 75.0}}

    monkeypatch.setattr(recombination, "run_training", train)
    monkeypatch.setattr(encoders, "run_training", train)
    monkeypatch.setattr(recombination, "parse", lambda model, text, target: parsed.append((len(trained), model, target.name)))
    monkeypatch.chdir(ROOT)
    teaching = Teaching(PARSERS, 2, 2, 5, tmp_path / "encoders")
    training = replace(TRAINING, seed=3)  # whose encoder is not among the teachers
    rows = recombination.measure(teaching, training, tmp_path)
    assert [made.key for made in rows] == taught.keys_of(training, teaching.amounts, PARSERS)
    assert (rows[0].words, rows[0].las, rows[0].uas, rows[0].dev_las) == ("10", "71.0000", "75.0000", "70.0000")
    folder = tmp_path / "sample-copies2-teachers2-epochs5-seed3"
    train_file = str(TRAINING.settings().treebank.train)
    assert len(read_treebank(folder / "new.conllu").sentences) == 2 * len(read_treebank(train_file).sentences)
    folders = [tmp_path / "encoders" / "accurate_bilstm" / f"sample-seed{seed}" for seed in (1, 2, 3)]
    assert parsed == [(0, folders[2] / "model", "parsed.conllu")]  # before any MLP is trained
    both = f"treebank.train=[{train_file},{folder / 'parsed.conllu'}]"
    # 1 and 2 new ones: forms come three times as often.
    how = ("vectors.min_count=4", "classifier.word_dropout=0.75", "second_pass.epochs=5")
    assert trained == [
        (folder / MLP, ()),
        (folders[2], ("model=bilstm",)),
        (folder / RECOMBINED, (both, *how)),
        (folder / TAUGHT, (both, *how, f"distillation.teacher=[{folders[0]},{folders[1]}]", "distillation.over=all")),
    ]
    for _, overrides in trained:
        replace(TRAINING, overrides=overrides).settings()  # which are understood


def test_the_encoders_are_trained_before_the_jobs_that_share_them(monkeypatch, tmp_path):
    jobs = []

    def run_jobs(given, workers):
        jobs.append([job.label for job in given])
        return iter(())

    monkeypatch.setattr(recombination, "run_jobs", run_jobs)
    monkeypatch.setattr(Results, "run", lambda results, given, workers: jobs.append([job.label for job in given]))
    monkeypatch.chdir(ROOT)
    here = ["paths.treebanks=data", "published=null", f"results={tmp_path}", "languages=[sample]"]
    recombination.main(settings_of(recombination.Recombination, "recombination", [*here, "teachers=1", "seeds=2"]))
    assert jobs == [["sample encoder seed 1", "sample encoder seed 2"], ["sample seed 1", "sample seed 2"]]


def test_the_page():
    rows = {made.key: made for made in (row(MLP, 70.0), row(ENCODER, 74.0), row(TAUGHT, 72.0))}
    wanted = settings_of(recombination.Recombination, "recombination", ["languages=[got]"])
    lines = recombination.page_of(rows, wanted).splitlines()[-len(PARSERS.systems) :]
    assert lines[2] == f"| got | {RECOMBINED} | not run |  |  |  |  |"
    assert lines[3] == "| got | taught | 35,024 | 72.00 / 77.00 | 50 | 73.00 | 50 |"


def test_there_must_be_copies_and_students_are_known():
    with pytest.raises(ValueError, match="copies"):
        recombination.main(settings_of(recombination.Recombination, "recombination", ["copies=0"]))
    with pytest.raises(ValueError, match="students has 'mlp'; known are 'recombined', 'taught'"):
        recombination.main(settings_of(recombination.Recombination, "recombination", ["students=[mlp]"]))
