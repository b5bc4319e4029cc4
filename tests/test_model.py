"""A model's folder: what is saved comes back the same, nothing is unpickled, and a damaged one is refused with the reason."""

from __future__ import annotations

import json
import random
import subprocess
import sys
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
from tests.toy import ROOT, sentence, write_conllu


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
    before, after = parse(model, sentences), parse(again, sentences)
    np.testing.assert_array_equal(before.heads, after.heads)
    np.testing.assert_array_equal(before.relations, after.relations)
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


@pytest.mark.parametrize("part", [SETTINGS, VOCABULARIES, TENSORS])
@pytest.mark.parametrize("damage", [None, b"", b"[]", b"{}", b"\x80\x04garbage"])
def test_a_missing_or_damaged_part_is_named(saved, part, damage):
    if damage is None:
        (saved / part).unlink()
    else:
        (saved / part).write_bytes(damage)
    with pytest.raises(ModelError, match=f"{part}.*missing" if damage is None else part):
        Model.load(saved)


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


def test_no_folder(tmp_path):
    with pytest.raises(ModelError, match="this folder holds no model; give the folder of a run"):
        Model.load(tmp_path)
    with pytest.raises(ModelError, match="neither a folder nor a model"):
        Model.load(tmp_path / "nowhere")
    (tmp_path / "in.conllu").touch()
    with pytest.raises(ModelError, match=r"in.conllu: this is a file; give the folder of a model, before the file"):
        Model.load(tmp_path / "in.conllu")


def test_parsing_needs_neither_gensim_nor_hydra(model, sentences, tmp_path):
    model.save(tmp_path / "model")
    source = write_conllu(tmp_path / "in.conllu", sentences)
    code = f"""
import runpy, sys
for name in ("gensim", "hydra", "tensorboard"):
    sys.modules[name] = None  # importing it fails
sys.argv = ["parse.py", {str(tmp_path / "model")!r}, {str(source)!r}, "-o", {str(tmp_path / "out.conllu")!r}]
try:
    runpy.run_path({str(ROOT / "scripts" / "parse.py")!r}, run_name="__main__")
finally:
    assert "torch._dynamo" not in sys.modules  # torch's compiler, a second to load
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
    assert Path(tmp_path / "out.conllu").read_text().count("\troot\t") == len(sentences)


def test_a_model_remembers_its_beam(model, tmp_path):
    model.save(tmp_path / "greedy")
    assert Model.load(tmp_path / "greedy").beam is None
    model.beam = Beam(8, Merge.NONE, Scores.GLOBAL)
    model.save(tmp_path / "model")
    model.beam = None
    model.lattice_beam = Beam(4)
    model.save(tmp_path / "lattices")
    assert (Model.load(tmp_path / "lattices").beam, Model.load(tmp_path / "lattices").lattice_beam) == (None, Beam(4))
    loaded = Model.load(tmp_path / "model")
    assert (loaded.beam, loaded.lattice_beam) == (Beam(8, Merge.NONE, Scores.GLOBAL), None)
    assert loaded._description() == model._description()
    path = tmp_path / "model" / SETTINGS
    settings = json.loads(path.read_text())
    for damage in ({"size": True}, {"size": 0}, {"size": 2, "merge": "all"}, {"width": 3}, 5):
        for key in ("beam", "lattice_beam"):
            path.write_text(json.dumps(settings | {key: damage}))
            with pytest.raises(ModelError, match=SETTINGS):
                Model.load(tmp_path / "model")


@pytest.mark.parametrize("device", ["gpu", "meta"])
def test_a_device_that_is_not_there_is_refused(saved, device):
    with pytest.raises(ModelError, match=rf"device={device}: .* available: cpu"):
        load(saved, device)
