"""Runs whose parser searches with a beam, or whose third pass trains for whole computations."""

import json

from parser.beam_settings import Beam, Scores
from parser.linear.model import LinearModel
from parser.model.loading import load
from parser.model.trained_model import TrainedModel
from parser.training.observers import SearchEnd
from parser.training.run import train
from tests.training.small_runs import (
    BILSTM,
    GLOBAL,
    Heard,
    check_measured,
    check_resumes,
    files_of,
    run,
)

LOCAL = ["beam=local", "beam.size=4", "first_pass.epochs=1", "second_pass.epochs=1"]


def test_a_local_beam_measures_and_is_remembered(treebank, finished):
    (plain, greedy), (folder, metrics) = finished(), finished("beam=local", "beam.size=3")
    assert (greedy["beam"], metrics["beam"]) == ("none", "local")
    assert metrics["after_first_pass"] == greedy["after_first_pass"]
    assert TrainedModel.load(folder).beam == Beam(3)
    check_measured(treebank, folder, metrics["dev"], Beam(3))
    written, others = files_of(folder), files_of(plain)
    settings, greedily = (json.loads(files.pop("settings.json")) for files in (written, others))
    assert settings.pop("beam") == {"size": 3, "merge": "configuration", "scores": "local"}
    for of_model in (settings, greedily):
        of_model.pop("calibration")  # it is of the search
    assert settings == greedily
    assert written == others


def test_a_linear_model_has_a_local_beam_or_learns_from_whole_computations(treebank, finished):
    linear = "model=linear", "online.iterations=2"
    folder, local = finished(*linear, "beam=local", "beam.size=3")
    assert (local["beam"], load(folder).beam) == ("local", Beam(3))
    check_measured(treebank, folder, local["dev"], Beam(3))
    _, greedy = finished(*linear)
    folder, metrics = finished(*linear, "beam=global", "beam.size=3", "beam.training.epochs=3")
    assert metrics["after_first_pass"] == greedy["after_first_pass"]
    assert metrics["dev"]["las"] > greedy["dev"]["las"]
    assert LinearModel.load(folder).beam == Beam(3, scores=Scores.GLOBAL)


def test_the_third_pass_makes_the_beam_better_and_the_model_remembers_it(
    treebank, finished, tmp_path
):
    _, local = finished(*LOCAL)
    heard = Heard()
    longer = "beam.training.epochs=8", "beam.training.learning_rate=0.01"
    metrics = train(run(treebank, *GLOBAL, *longer), tmp_path, [heard])
    assert metrics["beam"] == "global"
    assert metrics["after_first_pass"] == local["after_first_pass"]
    assert (
        metrics["dev"]["las"]
        > max(local["dev"]["las"], metrics["after_second_pass"]["dev"]["las"]) + 5
    )
    assert [search.epoch for search in heard.of(SearchEnd)] == [*range(8)]
    assert all(0 < search.report.updated_percent <= 100 for search in heard.of(SearchEnd))
    assert TrainedModel.load(tmp_path).beam == Beam(4, scores=Scores.GLOBAL)
    check_measured(treebank, tmp_path, metrics["dev"], Beam(4, scores=Scores.GLOBAL))


def test_with_an_encoder_the_third_pass_remembers_the_beam(treebank, finished):
    folder, metrics = finished(*BILSTM, *GLOBAL, "beam.training.learning_rate=0.005")
    assert metrics["beam"] == "global"
    assert metrics["dev"] != metrics["after_second_pass"]["dev"]
    assert TrainedModel.load(folder).beam == Beam(4, scores=Scores.GLOBAL)
    check_measured(treebank, folder, metrics["dev"], Beam(4, scores=Scores.GLOBAL))


def test_without_a_second_pass_the_beam_follows_the_first(treebank, tmp_path):
    metrics = train(
        run(treebank, *GLOBAL, "column=2", "beam.training.epochs=1", "beam.merge=signature"),
        tmp_path,
    )
    assert "after_second_pass" not in metrics
    settings = json.loads((tmp_path / "model" / "settings.json").read_text())
    assert settings["beam"] == {"size": 4, "merge": "signature", "scores": "global"}


def test_a_third_pass_can_begin_with_the_model_of_another_run(treebank, finished, tmp_path):
    first, local = finished(*LOCAL)
    settings = run(treebank, *GLOBAL, "beam.training.epochs=2", f"start={first}")
    metrics = train(settings, tmp_path / "global")
    assert not {"first_pass_fit", "second_pass_fit"} & metrics["seconds"].keys()
    check_measured(treebank, first, metrics["after_first_pass"]["dev"], None)
    assert metrics["dev"]["las"] != local["dev"]["las"]
    assert "after_second_pass" not in metrics
    resumed = check_resumes(settings, tmp_path, 1, tmp_path / "global")
    assert resumed["after_first_pass"] == metrics["after_first_pass"]
