"""Whole runs on tiny treebanks: learning by heart, determinism, what is written."""

import json
import random
from dataclasses import replace
from weakref import ref

import numpy as np
import pytest

from parser.data.treebank import read_treebank
from parser.decoding.search import parse
from parser.inference.calibration import Calibration
from parser.linear.model import LinearModel
from parser.model.loading import load
from parser.model.model import FrozenModel
from parser.model_folder import ModelError
from parser.training.examples.examples import Examples
from parser.training.observers import ExplorationEnd, Observer
from parser.training.observers.console import final_table
from parser.training.passes.classifier_passes import GoldPass
from parser.training.run import train
from tests.toy import sentence, write_conllu
from tests.training.small_runs import BILSTM, SMALL, Heard, files_of, run, run_alone

NO_DROPOUT = [
    "encoder.dropout=0", "encoder.attribute_dropout=0", "classifier.dropout=0",
    "classifier.input_dropout=0", "classifier.word_dropout=0",
]  # fmt: skip


@pytest.mark.parametrize(
    "overrides",
    [
        [
            "column=5",
            "classifier.hidden=128",
            "optimizer.name=adam",
            "vectors.trained=true",
            "second_pass.explore_every=5",
        ],
        [*BILSTM, "encoder.hidden=32", "encoder.layers=2", "classifier.hidden=64", *NO_DROPOUT],
    ],
)
def test_it_learns_a_tiny_treebank_by_heart(treebank, tmp_path, overrides):
    """Random trees cannot be guessed, so only a parser that has learned them gets them right."""
    longer = ["optimizer.learning_rate=0.01", "first_pass.epochs=30", "second_pass.epochs=30"]
    metrics = train(run(treebank, *overrides, *longer), tmp_path)
    trees = read_treebank(treebank).trees
    words, projective_words = trees.lengths.sum(), trees.lengths[trees.projective].sum()
    # all of the projective ones, and much of the others
    assert metrics["test"]["las"] > 100 * projective_words / words
    assert metrics["test"]["las"] > 90


def test_what_a_run_writes(finished):
    folder, metrics = finished()
    assert json.loads((folder / "metrics.json").read_text()) == metrics
    keys = {
        "treebank",
        "column",
        "recipe",
        "oracle",
        "strategy",
        "ties",
        "seed",
        "train",
        "dev",
        "test",
        "after_first_pass",
    }
    assert keys | {"seconds", "cpu_seconds"} < set(metrics)
    scores = {"uas", "las", "las_universal", "uas_nopunct", "las_nopunct"}
    for found in (
        metrics["dev"],
        metrics["test"],
        metrics["after_first_pass"]["dev"],
        metrics["after_first_pass"]["test"],
    ):
        assert set(found) == scores
        assert all(0 <= value <= 100 for value in found.values())
    assert 0 <= metrics["calibration_error_percent"] < 50
    assert metrics["train"]["sentences"] == 30
    assert list(folder.glob("events.out.tfevents.*"))
    assert not list(folder.glob("*checkpoint*"))
    assert "test at the end" in final_table(metrics)


@pytest.mark.parametrize("overrides", [[], ["model=linear", "online.iterations=4"]])
def test_the_written_model_gives_the_reported_metrics(finished, treebank, overrides):
    folder, metrics = finished(*overrides)
    sentences = read_treebank(treebank).sentences
    gold = np.concatenate([[-1, *s.heads] for s in sentences])
    for threads in (1, 2):
        heads = parse(load(folder), sentences, threads=threads).heads
        assert 100 * (heads == gold)[gold >= 0].mean() == pytest.approx(metrics["test"]["uas"])


@pytest.mark.parametrize("system", ["arc_hybrid", "swap"])
def test_every_system_learns_online(treebank, finished, system):
    folder, metrics = finished("model=linear", "online.iterations=4", f"system={system}")
    assert json.loads((folder / "metrics.json").read_text()) == metrics
    assert (metrics["model"], metrics["column"], metrics["system"]) == ("linear", None, system)
    assert metrics["dev"]["las"] > 60  # the same sentences
    assert list(folder.glob("events.out.tfevents.*"))
    assert isinstance(load(folder), LinearModel)
    with pytest.raises(ModelError, match="model=mlp or model=bilstm"):  # it is no first pass
        FrozenModel.load(folder)


def test_another_seed_gives_another_model(finished):
    assert files_of(finished("seed=2")[0]) != files_of(finished()[0])


@pytest.mark.parametrize("column", [1, 2, 3, 4, 5, 6])
def test_every_column_of_table_7(finished, column):
    _, metrics = finished(f"column={column}")
    assert metrics["column"] == column
    if column <= 2:
        assert metrics["after_first_pass"]["test"] == metrics["test"]
    assert ("second_pass_exploration" in metrics["seconds"]) == (column > 2)


def test_a_first_pass_can_be_shared(treebank, finished, tmp_path):
    folder, first = finished("column=2")
    second = train(run(treebank, "column=5", f"start={folder}/model"), tmp_path / "second")
    assert second["after_first_pass"] == first["after_first_pass"]
    assert "first_pass_fit" not in second["seconds"]


def test_a_second_pass_that_starts_afresh_is_explored_by_the_first(treebank, tmp_path):
    kept, afresh = Heard(), Heard()
    explored = "column=5", "second_pass.explore_every=2"
    train(run(treebank, *explored), tmp_path / "kept", [kept])
    train(
        run(treebank, *explored, "second_pass.start_from_first_pass=false"),
        tmp_path / "afresh",
        [afresh],
    )
    first, second = (heard.of(ExplorationEnd) for heard in (kept, afresh))
    assert [one.epoch for one in second] == [0, 2]
    assert [one.report == other.report for one, other in zip(first, second, strict=True)] == [
        True,
        False,
    ]


def test_a_beam_is_not_taken_over_and_without_dev_the_calibration_is(treebank, tmp_path):
    train(run(treebank, "column=2", "beam=local", "beam.size=4"), tmp_path / "first")
    assert FrozenModel.load(tmp_path / "first").beam is not None
    assert (calibration := FrozenModel.load(tmp_path / "first").calibration) != Calibration()
    train(
        run(treebank, "column=5", f"start={tmp_path}/first/model", "treebank.dev=null"),
        tmp_path / "second",
    )
    second = FrozenModel.load(tmp_path / "second")
    assert (second.beam, second.lattice_beam, second.calibration) == (None, None, calibration)


@pytest.mark.parametrize(
    "overrides",
    [
        ["second_pass.target=fixed_order", "second_pass.start_from_first_pass=false"],
        ["second_pass.examples=join"],
        ["features.form=[]", "+features.lower=[s0,b0]", "vectors.attribute=lower"],
        [
            "features.form=[]",
            "features.upos=[]",
            "+features.xpos=[s0]",
            "+features.feats=[s0,b0.l1]",
        ],
        ["single_root=false", "projectivization=arbitrary", "strategy=right_before_left"],
        [*BILSTM, "optimizer.batch_size=60", "column=1", "treebank.dev=null"],
        [*BILSTM, "optimizer.batch_size=60", "column=4", "second_pass.examples=join"],
    ],
)
def test_settings_that_can_be_combined(treebank, tmp_path, overrides):
    train(run(treebank, *overrides), tmp_path)


@pytest.mark.parametrize("missing", [(), ("upos",), ("xpos", "feats"), ("upos", "xpos", "feats")])
@pytest.mark.parametrize("vectors", [(), ("vectors.attribute=null", "+embeddings.form=8")])
def test_the_accurate_recipe_copes_with_missing_columns(tmp_path, missing, vectors, caplog):
    """Each sentence has its own tags, so that a parser which reads any column can learn the trees
    by heart.
    """
    rng = random.Random(4)
    sentences = []
    for i in range(12):
        heads = [0, *(rng.randint(1, n) for n in range(1, 5))]
        columns = {
            name: "_" if name in missing else f"{name}={i % 4}|x={i % 3}"
            for name in ("upos", "xpos", "feats")
        }
        made = sentence(heads, rng)
        sentences.append(
            replace(made, **{name: [value] * len(heads) for name, value in columns.items()})
        )
    file = write_conllu(tmp_path / "toy.conllu", sentences)
    small = (
        "vectors.dimensions=8",
        "optimizer.batch_size=20",
        "optimizer.learning_rate=0.01",
        "second_pass.epochs=20",
    )
    metrics = train(
        run(file, "recipe=accurate", *small, "classifier.hidden=64", *vectors), tmp_path / "run"
    )
    left_out = {
        name
        for name in ("upos", "xpos", "feats", "feats_pairs")
        if f"every word has {name} '_'" in caplog.text
    }
    assert left_out == {*missing, *(["feats_pairs"] if "feats" in missing else [])}
    assert metrics["test"]["uas"] > 60
    assert parse(FrozenModel.load(tmp_path / "run" / "model"), sentences).heads.max() <= 5


def test_a_run_without_dev_and_test_says_why_there_is_no_table(treebank, tmp_path):
    metrics = train(run(treebank, "treebank.dev=null", "treebank.test=null"), tmp_path)
    assert metrics["test"] is None
    assert all(
        way in final_table(metrics)
        for way in ("treebank.dev=FILE", "treebank.held_out=0.1,0.1", "treebank.folds=10")
    )


def test_a_model_of_one_word_sentences_parses_longer_ones(tmp_path):
    """Its treebank has no relation but root."""
    path = write_conllu(
        tmp_path / "words.conllu", [sentence([0], random.Random(seed)) for seed in range(5)]
    )
    train(run_alone(path, *SMALL, "first_pass.epochs=1", "second_pass.epochs=1"), tmp_path / "run")
    model = FrozenModel.load(tmp_path / "run")
    assert model.relations.symbols == ["root", "dep"]
    parses = parse(model, [sentence([0, 1, 1, 2])])
    assert sorted(parses.relations[1:]) == [0, 1, 1, 1]
    assert (parses.heads[1:] == 0).sum() == 1


def test_relations_that_training_never_saw_are_counted_not_fatal(treebank, tmp_path, caplog):
    other = tmp_path / "other.conllu"
    other.write_text(treebank.read_text().replace("\tobj\t", "\tobj:strange\t"))
    metrics = train(run(treebank, f"treebank.test={other}"), tmp_path / "run")
    assert "obj:strange" in caplog.text
    assert metrics["test"]["las"] <= metrics["test"]["las_universal"]


@pytest.mark.parametrize("use", ["replace", "join"])
def test_examples_of_the_first_pass_are_let_go_when_others_replace_them(
    treebank, tmp_path, monkeypatch, use
):
    made = []
    begin = GoldPass.__init__

    def note(self, *arguments):
        made.append(ref(self))
        begin(self, *arguments)

    class StillThere(Observer):
        def on_exploration(self, exploration: ExplorationEnd) -> None:
            (gold,) = made
            kept.append(gold() is not None and isinstance(vars(gold())["examples"], Examples))

    kept: list[bool] = []
    monkeypatch.setattr(GoldPass, "__init__", note)
    train(run(treebank, "column=5", f"second_pass.examples={use}"), tmp_path, [StillThere()])
    assert kept == [use == "join"]
