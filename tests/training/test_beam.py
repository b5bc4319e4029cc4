"""Runs whose parser searches with a beam."""

from __future__ import annotations

import json

from parser.beam_settings import Beam
from parser.data.treebank import read_treebank
from parser.decoding.parsers import parser_with_beam
from parser.evaluation.gold_part import GoldPart
from parser.model.loading import load
from parser.model.model import Model
from parser.training.run import train
from tests.training.small_runs import files_of, run


def test_a_local_beam_measures_and_is_remembered(treebank, tmp_path):
    greedy = train(run(treebank), tmp_path / "greedy")
    metrics = train(run(treebank, "beam=local", "beam.size=3"), tmp_path / "local")
    assert (greedy["beam"], metrics["beam"]) == ("none", "local")
    assert metrics["after_first_pass"] == greedy["after_first_pass"]
    model = Model.load(tmp_path / "local")
    assert model.beam == Beam(3)
    gold = GoldPart.of(read_treebank(str(treebank)).sentences, model.vocabularies, model.relations)
    assert metrics["dev"] == gold.scores(parser_with_beam(model, model.beam).parse(gold.sentences))
    written, others = files_of(tmp_path / "local"), files_of(tmp_path / "greedy")
    for files in (written, others):
        files.pop("README.md", None)  # it has scores and the command
    settings = json.loads(written.pop("settings.json"))
    assert settings.pop("beam") == {"size": 3, "merge": "configuration", "scores": "local"}
    greedily = json.loads(others.pop("settings.json"))
    for of_model in (settings, greedily):
        of_model.pop("calibration")  # it is of the search
    assert settings == greedily
    assert written == others


def test_a_linear_model_has_a_local_beam(treebank, tmp_path):
    metrics = train(run(treebank, "model=linear", "online.iterations=2", "beam=local", "beam.size=3"), tmp_path)
    model = load(tmp_path)
    assert (metrics["beam"], model.beam) == ("local", Beam(3))
    gold = GoldPart.of(read_treebank(str(treebank)).sentences, model.vocabularies, model.relations)
    assert metrics["dev"] == gold.scores(parser_with_beam(model, model.beam).parse(gold.sentences))
