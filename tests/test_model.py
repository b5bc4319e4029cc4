"""A model's folder: what is saved comes back the same, nothing is unpickled, and a damaged one is
refused with the reason.
"""

from pathlib import Path

import pytest

from parser.beam_settings import Beam, Merge, Scores
from parser.decoding.search import parse
from parser.model.loading import load
from parser.model.model import FrozenModel
from parser.model.trained_model import TrainedModel
from parser.model_folder import SETTINGS, TENSORS, VOCABULARIES, ModelError
from tests.forgery import change, set_at, small_model
from tests.toy import assert_same_trees, flat_sentences


@pytest.fixture
def model() -> TrainedModel:
    return small_model("static")


@pytest.fixture
def saved(model, tmp_path) -> Path:
    model.save(tmp_path / "model")
    return tmp_path / "model"


def test_a_saved_model_parses_as_before(model, saved):
    sentences = flat_sentences((1, 4, 9, 2))
    again = TrainedModel.load(saved)
    assert_same_trees(parse(again, sentences), parse(model, sentences))
    assert again.spec == model.spec
    before = {path.name: path.read_bytes() for path in saved.iterdir()}
    assert before.keys() == {SETTINGS, VOCABULARIES, TENSORS}
    (saved / "stale").touch()
    again.save(saved)
    assert {path.name: path.read_bytes() for path in saved.iterdir()} == before
    assert [path.name for path in saved.parent.iterdir()] == ["model"]


@pytest.mark.parametrize(
    ("part", "edit", "message"),
    [
        (SETTINGS, set_at("format", 99), r"format 99, .* 1 and 2"),
        (
            VOCABULARIES,
            lambda value: value["relations"].append("more"),
            "do not belong to the same model",
        ),
    ],
)
def test_parts_of_other_models_are_refused(saved, part, edit, message):
    change(saved / part, edit)
    with pytest.raises(ModelError, match=message):
        FrozenModel.load(saved)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "this folder holds no model"),
        ("nowhere", "neither a folder nor a model"),
        ("in.conllu", "this is a file"),
    ],
)
def test_what_is_no_model_folder(tmp_path, name, message):
    (tmp_path / "in.conllu").touch()
    with pytest.raises(ModelError, match=message):
        FrozenModel.load(tmp_path / name)


@pytest.mark.parametrize(
    ("beam", "lattice_beam"),
    [(None, None), (Beam(8, Merge.NONE, Scores.GLOBAL), None), (None, Beam(4))],
)
def test_a_model_remembers_its_beam(model, tmp_path, beam, lattice_beam):
    model.beam, model.lattice_beam = beam, lattice_beam
    model.save(tmp_path / "model")
    loaded = FrozenModel.load(tmp_path / "model")
    assert (loaded.beam, loaded.lattice_beam) == (beam, lattice_beam)
    assert loaded.described() == model.described()


@pytest.mark.parametrize("device", ["gpu", "meta"])
def test_a_device_that_is_not_there_is_refused(saved, device):
    with pytest.raises(ModelError, match=rf"device={device}: .* available: cpu"):
        load(saved, device)
