"""Parsers taught by an encoder: who learns from what."""

from __future__ import annotations

import pytest

from experiments import recombination
from experiments.command import settings_of
from experiments.engine import Cell
from experiments.recombination import MLP, RECOMBINED, TAUGHT, Recombination
from experiments.trainings import Training
from parser.data.treebank import read_treebank
from tests.toy import ROOT

METRICS = {"train": {"words": 10}, "dev": {"las": 70.0}, "test": {"las": 71.0, "uas": 75.0}}
MEASURED = {"words": "10", "las": "71.0000", "uas": "75.0000", "dev_las": "70.0000"}


@pytest.fixture
def trained(monkeypatch) -> list:
    """What is trained where; nothing is."""
    found: list = []

    def train(training, folder, first_pass=None, fresh=False):
        training.settings()  # which are understood
        found.append((folder, training.overrides, training.files))
        return METRICS

    monkeypatch.setattr(recombination, "run_training", train)
    monkeypatch.chdir(ROOT)
    return found


def test_each_learns_from_what_the_encoder_has_parsed(tmp_path, monkeypatch, trained):
    parsed = []
    monkeypatch.setattr(recombination, "parse", lambda model, text, target: parsed.append((len(trained), model, target.name)))
    overrides = [
        f"runs={tmp_path}",
        f"encoders={tmp_path}/encoders",
        "copies=2",
        "teachers=2",
        "epochs=5",
        "languages=[sample]",
    ]
    wanted = settings_of(Recombination, "recombination", overrides)
    cells = [cell for cell in recombination.cells(wanted) if cell.key[-1] == "3"]  # whose encoder is not among the teachers
    assert list(recombination.measure(wanted, cells)) == [(cell.key, MEASURED) for cell in cells]
    folder = tmp_path / "sample-copies2-teachers2-epochs5-seed3"
    train_file = str(Training.of(wanted, "sample", 3).part("train"))
    assert len(read_treebank(folder / "new.conllu").sentences) == 2 * len(read_treebank(train_file).sentences)
    folders = [tmp_path / "encoders" / "accurate_bilstm" / f"sample-train-seed{seed}" for seed in (1, 2, 3)]
    assert parsed == [(0, folders[2] / "model", "parsed.conllu")]  # before any MLP is trained
    both = f"treebank.train=[{train_file},{folder / 'parsed.conllu'}]"
    # 1 and 2 new ones: forms come three times as often.
    how = ("vectors.min_count=4", "classifier.word_dropout=0.75", "second_pass.epochs=5")
    assert trained == [
        (folder / MLP, (), ()),
        (folders[2], ("model=bilstm",), ()),
        (folder / RECOMBINED, how, (both,)),
        (folder / TAUGHT, (*how, "distillation.over=all"), (both, f"distillation.teacher=[{folders[0]},{folders[1]}]")),
    ]


def test_the_encoders_that_jobs_share_are_trained_before_them():
    wanted = settings_of(Recombination, "recombination", ["teachers=1", "languages=[sample]", "seeds=2"])
    missing = [Cell((MLP, "sample", *wanted.amounts, seed), "", "") for seed in "12"]
    assert [job.label for job in recombination.prepare(wanted, missing)] == [f"sample encoder seed {seed}" for seed in "12"]


@pytest.mark.parametrize(
    ("module", "override", "message"),
    [
        (recombination, "copies=0", "copies=0 is too small"),
        (recombination, "students=[mlp]", "students has 'mlp'; known are 'recombined', 'taught'"),
    ],
)
def test_what_cannot_be_asked_for_is_refused(module, override, message):
    kind = module.EXPERIMENT.kind
    with pytest.raises(ValueError, match=message):
        module.EXPERIMENT.main(settings_of(kind, module.__name__.rpartition(".")[2], [override]))
