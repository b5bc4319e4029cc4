"""Runs whose third pass trains for whole computations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from parser.beam_settings import Beam, Scores
from parser.data.treebank import read_treebank
from parser.decoding.parsers import parser_with_beam
from parser.evaluation.gold_part import GoldPart
from parser.model.model import Model
from parser.model_folder import ModelError
from parser.settings import SettingsError
from parser.training.run import train
from parser.training.run_folder import CheckpointError
from tests.training.small_runs import Searches, files_of, run, train_until_killed

GLOBAL = [
    "beam=global",
    "beam.size=4",
    "beam.training.epochs=3",
    "beam.training.learning_rate=0.05",
    "beam.training.batch_sentences=5",
    "first_pass.epochs=1",
    "second_pass.epochs=1",
]
LINEAR = ["model=linear", "beam=global"]


def test_the_third_pass_makes_the_beam_better_and_the_model_remembers_it(treebank, tmp_path):
    local = train(run(treebank, "beam=local", "beam.size=4", "first_pass.epochs=1", "second_pass.epochs=1"), tmp_path / "local")
    searches = Searches()
    longer = "beam.training.epochs=8", "beam.training.learning_rate=0.01"
    metrics = train(run(treebank, *GLOBAL, *longer), tmp_path / "global", [searches])
    assert metrics["beam"] == "global"
    assert metrics["after_first_pass"] == local["after_first_pass"]
    assert metrics["dev"]["las"] > max(local["dev"]["las"], metrics["after_second_pass"]["dev"]["las"]) + 5
    assert [search.epoch for search in searches.seen] == [*range(8)]
    assert all(0 < search.report.updated_percent <= 100 for search in searches.seen)
    model = Model.load(tmp_path / "global")
    assert model.beam == Beam(4, scores=Scores.GLOBAL)
    gold = GoldPart.of(read_treebank(str(treebank)).sentences, model.vocabularies, model.relations)
    assert metrics["dev"] == gold.scores(parser_with_beam(model, model.beam).parse(gold.sentences))


def test_without_a_second_pass_the_beam_follows_the_first(treebank, tmp_path):
    metrics = train(run(treebank, *GLOBAL, "column=2", "beam.training.epochs=1", "beam.merge=signature"), tmp_path)
    assert "after_second_pass" not in metrics
    settings = json.loads((tmp_path / "model" / "settings.json").read_text())
    assert settings["beam"] == {"size": 4, "merge": "signature", "scores": "global"}


def test_a_third_pass_can_begin_with_the_model_of_another_run(treebank, tmp_path):
    local = train(run(treebank, "beam=local", "beam.size=4", "first_pass.epochs=1", "second_pass.epochs=1"), tmp_path / "local")
    start = [*GLOBAL, "beam.training.epochs=1", f"start={tmp_path}/local"]
    metrics = train(run(treebank, *start), tmp_path / "global")
    assert not {"first_pass_fit", "second_pass_fit"} & metrics["seconds"].keys()
    greedy = parser_with_beam(Model.load(tmp_path / "local"), None)
    model = Model.load(tmp_path / "global")
    gold = GoldPart.of(read_treebank(str(treebank)).sentences, model.vocabularies, model.relations)
    assert metrics["after_first_pass"]["dev"] == gold.scores(greedy.parse(gold.sentences))
    assert metrics["dev"]["las"] != local["dev"]["las"]
    assert "after_second_pass" not in metrics
    train_until_killed(run(treebank, *start, "beam.training.epochs=2"), tmp_path / "killed", 1)
    resumed = train(run(treebank, *start, "beam.training.epochs=2"), tmp_path / "killed")
    train(run(treebank, *start, "beam.training.epochs=2"), tmp_path / "whole")
    assert files_of(tmp_path / "killed") == files_of(tmp_path / "whole")
    assert resumed["after_first_pass"] == metrics["after_first_pass"]


def test_a_model_that_does_not_fit_the_third_pass_is_refused(treebank, tmp_path):
    train(run(treebank, "column=2", "first_pass.epochs=1"), tmp_path / "local")
    start = f"start={tmp_path}/local"
    with pytest.raises(SettingsError, match=r"start=.*classifier\.hidden=33"):
        train(run(treebank, *GLOBAL, start, "classifier.hidden=33"), tmp_path / "other")
    with pytest.raises(ModelError, match="neither a folder nor a model"):
        train(run(treebank, *GLOBAL, f"start={tmp_path}/nowhere"), tmp_path / "none")
    train(run(treebank, *GLOBAL, start, "beam.training.epochs=1"), tmp_path / "run")
    weights = (tmp_path / "run/model/classifier.safetensors").read_bytes()
    (tmp_path / "local/model/classifier.safetensors").write_bytes(weights)
    with pytest.raises(CheckpointError, match=r"start/classifier\.safetensors"):
        train(run(treebank, *GLOBAL, start, "beam.training.epochs=1"), tmp_path / "run")


WITH_DROPOUT = [*GLOBAL, "classifier.dropout=0.3", "classifier.word_dropout=0.25"]


# Vectors that training changes, each attribute read by one slot: last digits depend on how the weights lie in memory.
_SLOTS = ["features.form=[s0]", "features.upos=[b0]", "features.deprel=[s0.l1]"]
WITH_VECTORS = [*GLOBAL, *_SLOTS, "classifier.hidden=33", "vectors.trained=true", "+embeddings.upos=7", "+embeddings.deprel=5"]


@pytest.fixture(scope="module", params=[WITH_DROPOUT, WITH_VECTORS], ids=["dropout", "vectors"])
def whole(request, treebank, tmp_path_factory) -> tuple[list[str], Path, dict[str, Any]]:
    """Overrides, and folder and metrics of a run with them that nobody kills."""
    folder = tmp_path_factory.mktemp("whole")
    return request.param, folder, train(run(treebank, *request.param), folder)


@pytest.mark.parametrize("epochs_until_death", [2, 3, 4])
def test_a_killed_third_pass_is_resumed_to_the_same_end(treebank, tmp_path, whole, epochs_until_death):
    overrides, folder, metrics = whole
    train_until_killed(run(treebank, *overrides), tmp_path, epochs_until_death)
    resumed = train(run(treebank, *overrides), tmp_path)
    assert files_of(tmp_path) == files_of(folder)
    assert resumed["test"] == metrics["test"]
    assert resumed["after_second_pass"] == metrics["after_second_pass"]
