"""Whether a model multiplies in 8 bits: measured on dev when it is trained,
kept in its folder, overruled by options.
"""

import json

import pytest

from parser import Parser
from parser.decoding.parse_options import ParseOptions, TagUse
from parser.evaluation import evaluate_files
from parser.inference.weights import Int8Error
from parser.model.loading import load
from parser.model_folder import SETTINGS, ModelError
from parser.training import stages
from parser.training.run import train
from tests.forgery import change, set_at, small_model
from tests.parsed_files import parse_file
from tests.random_models import random_bilstm_model
from tests.toy import planned
from tests.training.small_runs import TEXT, run, train_until_killed

_DEV = "data/sample/sample-ud-dev.conllu"
_FILES = (
    "treebank.train=data/sample/sample-ud-test.conllu",
    f"treebank.dev={_DEV}",
    f"treebank.test={_DEV}",
)


def _planned(*overrides: str):
    return planned("treebank.name=toy", *_FILES, *TEXT, "encoder.lemmas=null", *overrides)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stages, "_LOST_IN_8_BITS", 100.0)
        train(_planned(), folder)
    return folder


def _settings(folder) -> dict:
    return json.loads((folder / "model" / SETTINGS).read_text())


def _las(folder, target, int8: bool | None) -> float:
    with open(_DEV, "rb") as source, target.open("wb") as written:
        parse_file(load(folder, int8=int8), source, written, tags=TagUse.OVERWRITE)
    return evaluate_files(_DEV, target)["las"].f1


def test_the_scores_of_a_run_are_those_of_its_model(folder, tmp_path):
    metrics = json.loads((folder / "metrics.json").read_text())
    single, eight = (_las(folder, tmp_path / "out.conllu", int8) for int8 in (False, True))
    assert metrics["int8"] is True
    assert metrics["int8_lost_las"] == pytest.approx(single - eight, abs=1e-3)
    assert metrics["dev"]["las"] == metrics["test"]["las"] == pytest.approx(eight, abs=1e-3)


def test_a_model_that_loses_more_on_dev_keeps_single_precision(tmp_path, monkeypatch):
    monkeypatch.setattr(stages, "_LOST_IN_8_BITS", -100.0)
    # resumed behind the last epoch, it is measured all the same
    train_until_killed(_planned(), tmp_path / "run", 3)
    metrics = train(_planned(), tmp_path / "run")
    assert metrics["int8"] is False
    assert _settings(tmp_path / "run")["int8"] is False
    assert not load(tmp_path / "run").int8
    assert metrics["dev"]["las"] == pytest.approx(
        _las(tmp_path / "run", tmp_path / "out.conllu", None), abs=1e-3
    )


def test_nothing_is_said_of_8_bits_without_dev_or_without_an_encoder(tmp_path):
    for name, plan in (
        ("dev", _planned("treebank.dev=null")),
        ("mlp", run(_DEV, "recipe=accurate")),
    ):
        metrics = train(plan, tmp_path / name)
        assert not {"int8", "int8_lost_las"} & (metrics.keys() | _settings(tmp_path / name).keys())


def test_options_come_before_the_folder(folder):
    assert load(folder).int8
    assert not load(folder, int8=False).int8
    assert [Parser.load(folder, int8=int8).model.int8 for int8 in (None, True, False)] == [
        True,
        True,
        False,
    ]
    assert [
        ParseOptions(**given).arithmetic for given in ({}, {"int8": True}, {"float32": True})
    ] == [None, True, False]
    with pytest.raises(ValueError, match="--int8 and --float32"):
        ParseOptions(int8=True, float32=True)


def test_a_folder_that_says_nothing_has_single_precision(sentences, tmp_path):
    random_bilstm_model(sentences).save(tmp_path)
    assert "int8" not in json.loads((tmp_path / SETTINGS).read_text())
    assert not load(tmp_path).int8
    assert load(tmp_path, int8=True).int8


@pytest.mark.parametrize(("kind", "value"), [("contextual", "yes"), ("static", True)])
def test_a_folder_with_8_bits_that_cannot_be_is_refused(tmp_path, kind, value):
    small_model(kind).save(tmp_path)
    if kind == "static":
        assert not load(tmp_path, int8=False).int8
        with pytest.raises(Int8Error, match=r"\(model=bilstm\).* --int8"):
            load(tmp_path, int8=True)
    change(tmp_path / SETTINGS, set_at("int8", value))
    with pytest.raises(ModelError, match="int8"):
        load(tmp_path)
