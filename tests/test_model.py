"""A model's folder: what is saved comes back the same, nothing is unpickled, and a damaged one is refused with the reason."""

import random
from pathlib import Path

import numpy as np
import pytest
import torch

from parser.beam_settings import Beam, Merge, Scores
from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import Vocabulary
from parser.decoding.parsers import parse
from parser.model.loading import load
from parser.model.model import SETTINGS, TENSORS, VOCABULARIES, Model, ModelError
from parser.network_spec import ClassifierSpec, Embedding
from parser.transitions.features import slots_of
from tests.forgery import change, set_at
from tests.toy import assert_same_trees, sentence


@pytest.fixture(scope="module")
def sentences():
    rng = random.Random(0)
    return [sentence([0] + [1] * (n - 1), rng) for n in (1, 4, 9, 2)]


@pytest.fixture
def saved(model, tmp_path) -> Path:
    model.save(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def model(sentences) -> Model:
    torch.manual_seed(0)
    vocabularies = Vocabularies(
        {
            "form": Vocabulary.of(form for s in sentences for form in s.forms),
            "upos": Vocabulary.of(tag for s in sentences for tag in s.upos),
        }
    )
    slots = slots_of({"form": ["s0", "b0"], "upos": ["s0", "s1"], "deprel": ["s0.l1"]})
    spec = ClassifierSpec(16, "tanh", 0.5, 0.1, 0.1, {"form": Embedding(5, False)})
    return Model.new(vocabularies, Vocabulary(["det", "root", "obj"]), slots, spec)


def test_a_saved_model_parses_as_before(model, sentences, tmp_path):
    model.save(tmp_path / "model")
    again = Model.load(tmp_path / "model")
    assert_same_trees(parse(again, sentences), parse(model, sentences))
    assert again.spec == model.spec
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == sorted([SETTINGS, VOCABULARIES, TENSORS])
    again.save(tmp_path / "again")
    for part in (SETTINGS, VOCABULARIES, TENSORS):
        assert (tmp_path / "again" / part).read_bytes() == (tmp_path / "model" / part).read_bytes()


def test_saving_replaces_an_older_model_and_leaves_nothing_behind(model, saved, tmp_path):
    (saved / "stale").touch()
    model.save(saved)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert not (saved / "stale").exists()


def test_the_result_is_a_valid_tree_with_one_root(model, sentences):
    parses = parse(model, sentences)
    root = model.relations.symbols.index("root")
    for start, end in zip(parses.offsets, parses.offsets[1:], strict=False):
        heads, relations = parses.heads[start + 1 : end], parses.relations[start + 1 : end]
        assert (heads == 0).sum() == 1
        np.testing.assert_array_equal(heads == 0, relations == root)


@pytest.mark.parametrize(
    ("part", "edit", "message"),
    [
        (SETTINGS, set_at("format", 99), r"format 99, .* 1 and 2"),
        (VOCABULARIES, lambda value: value["relations"].append("more"), "do not belong to the same model"),
    ],
)
def test_parts_of_other_models_are_refused(saved, part, edit, message):
    change(saved / part, edit)
    with pytest.raises(ModelError, match=message):
        Model.load(saved)


@pytest.mark.parametrize(
    ("name", "message"),
    [("", "this folder holds no model"), ("nowhere", "neither a folder nor a model"), ("in.conllu", "this is a file")],
)
def test_what_is_no_model_folder(tmp_path, name, message):
    (tmp_path / "in.conllu").touch()
    with pytest.raises(ModelError, match=message):
        Model.load(tmp_path / name)


@pytest.mark.parametrize(("beam", "lattice_beam"), [(None, None), (Beam(8, Merge.NONE, Scores.GLOBAL), None), (None, Beam(4))])
def test_a_model_remembers_its_beam(model, tmp_path, beam, lattice_beam):
    model.beam, model.lattice_beam = beam, lattice_beam
    model.save(tmp_path / "model")
    loaded = Model.load(tmp_path / "model")
    assert (loaded.beam, loaded.lattice_beam) == (beam, lattice_beam)
    assert loaded._description() == model._description()


@pytest.mark.parametrize("key", ["beam", "lattice_beam"])
@pytest.mark.parametrize("damage", [{"size": True}, {"size": 0}, {"size": 2, "merge": "all"}, {"width": 3}, 5])
def test_a_beam_that_cannot_be_is_refused(saved, key, damage):
    change(saved / SETTINGS, set_at(key, damage))
    with pytest.raises(ModelError, match=SETTINGS):
        Model.load(saved)


@pytest.mark.parametrize("device", ["gpu", "meta"])
def test_a_device_that_is_not_there_is_refused(saved, device):
    with pytest.raises(ModelError, match=rf"device={device}: .* available: cpu"):
        load(saved, device)
