"""Models with a pretrained encoder: trained, tuned, saved, packed, loaded and parsed with, and without what they need."""

from __future__ import annotations

import json
import random
import shutil
import sys
import zipfile
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from parser import Parser
from parser.commands import get, pack
from parser.data.parts.pretrained import CONFIG, HELD, PretrainedError, sums_of
from parser.data.parts.subwords import TOKENIZER, WEIGHTS
from parser.decoding.parse_options import TagUse
from parser.model.model import Model
from parser.model_folder import MODEL, SETTINGS, TENSORS, VOCABULARIES, ModelError, read_header
from parser.network_spec import PretrainedSpec
from parser.networks.pretrained import TRANSFORMER
from parser.settings.groups import SettingsError
from parser.settings.plan import OptimizerPlan, Span
from parser.training.fitting.trainer import TorchOptimizer, Tuning
from parser.training.model_card import ModelCard
from parser.training.run import train
from parser.training.run_folder import Manifest
from tests.forgery import change, set_at
from tests.parsed_files import parse_file
from tests.pretrained import SIZE, transformers, write_transformer
from tests.toy import planned, sentence, write_conllu
from tests.training.small_runs import train_until_killed

SMALL = [
    "recipe=text", "encoder.layers=2", "encoder.hidden=6", "encoder.characters.hidden=4", "encoder.heads.size=4",
    "encoder.heads.relation_size=4", "encoder.lemmas=null", "classifier.hidden=8", "vectors.dimensions=4", "vectors.epochs=1",
    "first_pass.epochs=1", "second_pass.epochs=2",
]  # fmt: skip
TUNED = ["pretrained.tune=true", "pretrained.learning_rate=1e-3", "pretrained.warmup=3", "pretrained.cache=null"]
FROZEN, TUNING = "frozen", "tuned"


def planned_run(folder: Path, *more: str):
    toys = [sentence([2, 0, 2, 2], random.Random(seed)) for seed in range(30)]
    parts = {"train": toys[:20], "dev": toys[20:25], "test": toys[25:]}
    files = [f"treebank.{part}={write_conllu(folder / f'{part}.conllu', some)}" for part, some in parts.items()]
    own = [f"encoder.pretrained={folder / 'encoder'}", f"pretrained.cache={folder / 'cache'}"]
    return planned(*files, *own, *SMALL, *more)


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("pretrained")
    transformers()
    write_transformer(folder / "encoder")
    for name, more in {FROZEN: [], TUNING: TUNED}.items():
        train(planned_run(folder, *more), folder / name, [ModelCard("optimal-step train")])
    return folder


@pytest.fixture
def copied(runs, tmp_path) -> Path:
    return shutil.copytree(runs / FROZEN / MODEL, tmp_path / "model")


def parsed(model: Model, runs: Path, **options) -> bytes:
    written = BytesIO()
    parse_file(model, BytesIO((runs / "test.conllu").read_bytes()), written, **options)
    return written.getvalue()


extras = pytest.mark.extras


@extras
def test_a_frozen_encoder_is_named_by_its_sums_and_not_held(runs):
    model = runs / FROZEN / MODEL
    of_settings = json.loads((model / SETTINGS).read_text(encoding="utf-8"))
    assert of_settings["pretrained"] == {"name": str(runs / "encoder"), "sha256": sums_of(runs / "encoder")}
    assert of_settings["classifier"]["pretrained"] == {"width": SIZE, "layers": 3, "size": 256, "tuned": False}
    assert not (model / HELD).exists()
    header = read_header(model)
    assert header["tokens.pretrained.projection.weight"].shape == (256, SIZE)
    assert not any(name.startswith(TRANSFORMER) for name in header)


@extras
def test_its_weights_for_the_layers_are_learned(runs):
    tensors = load_file(runs / FROZEN / MODEL / TENSORS)
    assert len(set(tensors["tokens.pretrained.mix"].tolist())) == 3
    assert tensors["tokens.pretrained.scale"] != 1


@extras
def test_a_tuned_encoder_is_held_with_its_new_weights(runs):
    model = runs / TUNING / MODEL
    before, after = load_file(runs / "encoder" / WEIGHTS), load_file(model / HELD / WEIGHTS)
    assert before.keys() == after.keys()
    assert not np.array_equal(before["encoder.layer.0.output.dense.weight"], after["encoder.layer.0.output.dense.weight"])
    assert json.loads((model / SETTINGS).read_text())["pretrained"]["sha256"] == sums_of(model / HELD)
    assert not any(name.startswith(TRANSFORMER) for name in read_header(model))


@extras
@pytest.mark.parametrize("name", [FROZEN, TUNING])
def test_the_same_seed_gives_the_same_bytes(runs, tmp_path, name):
    more = [] if name == FROZEN else TUNED
    train(planned_run(runs, f"pretrained.cache={tmp_path / 'cache'}", *more), tmp_path / "run")
    for file in (TENSORS, SETTINGS, VOCABULARIES, *([f"{HELD}/{WEIGHTS}"] if name == TUNING else [])):
        assert (tmp_path / "run" / MODEL / file).read_bytes() == (runs / name / MODEL / file).read_bytes()


@extras
@pytest.mark.parametrize("name", [FROZEN, TUNING])
@pytest.mark.parametrize("epochs", [1, 2])
def test_a_killed_run_is_resumed_to_the_same_end(runs, tmp_path, name, epochs):
    wanted = planned_run(runs, *([] if name == FROZEN else TUNED))
    train_until_killed(wanted, tmp_path, epochs)
    train(wanted, tmp_path)
    for file in (TENSORS, *([f"{HELD}/{WEIGHTS}"] if name == TUNING else [])):
        assert (tmp_path / MODEL / file).read_bytes() == (runs / name / MODEL / file).read_bytes()


@extras
def test_the_run_says_what_it_was_made_from(runs):
    sums = Manifest.of(planned_run(runs)).files
    assert {key for key in sums if key.startswith("encoder.pretrained/")} == {
        f"encoder.pretrained/{name}" for name in (CONFIG, TOKENIZER, WEIGHTS)
    }
    card = (runs / FROZEN / MODEL / "README.md").read_text(encoding="utf-8")
    assert sums[f"encoder.pretrained/{WEIGHTS}"] in card


@extras
@pytest.mark.parametrize("name", [FROZEN, TUNING])
def test_what_is_loaded_parses_as_what_was_trained(runs, name):
    model, trained = Model.load(runs / name), Model.load(runs / name)
    assert trained.classifier is not None  # torch's
    assert parsed(model, runs) == parsed(trained, runs)
    assert model._classifier is None
    assert len(Parser.load(runs / name).parse([["the", "w1", "☃", ""]])[0].heads) == 4


@extras
def test_files_parse_to_the_same_bytes_however_they_are_cut_and_with_any_number_of_threads(runs):
    model = Model.load(runs / FROZEN)
    expected = parsed(model, runs)
    assert parsed(model, runs, chunk_bytes=100, threads=3) == expected
    assert parsed(model, runs, tags=TagUse.OVERWRITE, threads=2) == parsed(model, runs, tags=TagUse.OVERWRITE)
    assert parsed(Model.load(runs / FROZEN, int8=True), runs)


@extras
@pytest.mark.parametrize("name", [FROZEN, TUNING])
def test_frozen_vectors_of_tokens_are_torchs(runs, name):
    model = Model.load(runs / name)
    words = sentence([0, 1, 1, 1])
    words.forms = ["the", "nevermet", "☃", "w" * 50]
    long = sentence([0] + [1] * 40)
    encoded = model.vocabularies.encode([words, sentence([0]), long])
    expected = model.classifier.tokens.encoded(encoded)
    found = torch.from_numpy(model.classifier.tokens.frozen().encode(encoded))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@extras
def test_saved_with_the_model_it_needs_nothing_else_and_is_packed(runs, tmp_path, monkeypatch):
    moved = tmp_path / "training"
    moved.mkdir()
    shutil.copytree(runs / "encoder", moved / "encoder")
    train(planned_run(moved, "pretrained.save=true"), tmp_path / "run", [ModelCard("optimal-step train")])
    shutil.rmtree(moved / "encoder")
    (tmp_path / "run" / MODEL / HELD / "1_Pooling").mkdir()  # as some have it
    (tmp_path / "run" / MODEL / HELD / "pytorch_model.bin").write_bytes(b"never read")
    assert sums_of(tmp_path / "run" / MODEL / HELD) == sums_of(runs / "encoder")
    words = [["w1", "w2", "the"]]
    trees = [tree.heads for tree in Parser.load(tmp_path / "run").parse(words)]
    assert trees == [tree.heads for tree in Parser.load(runs / FROZEN).parse(words)]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    dev = ["--dev", str(runs / "dev.conllu")]
    monkeypatch.setattr(sys, "argv", ["pack", str(tmp_path / "run"), "-o", str(tmp_path / "toy.zip"), *dev])
    pack.main()
    monkeypatch.setattr(sys, "argv", ["get", "toy", "--from", str(tmp_path)])
    get.main()
    assert not any("bin" in name for name in zipfile.ZipFile(tmp_path / "toy.zip").namelist())
    assert [tree.heads for tree in Parser.load("toy").parse(words)] == trees
    monkeypatch.setattr(sys, "argv", ["pack", str(runs / FROZEN), "-o", str(tmp_path / "other.zip"), *dev])
    with pytest.raises(ValueError, match=r"does not hold the pretrained encoder .* pretrained\.save=true"):
        pack.main()


@extras
def test_an_encoder_that_has_changed_during_training_is_not_saved_as_what_it_was(runs, tmp_path):
    model = Model.load(runs / FROZEN)
    folder = shutil.copytree(runs / "encoder", tmp_path / "encoder")
    pieces = model.vocabularies.parts[-1]
    pieces.folder, pieces.held = folder, True
    (folder / CONFIG).write_text((folder / CONFIG).read_text() + " ")
    with pytest.raises(PretrainedError, match=rf"{CONFIG} is not what it was when training began"):
        model.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


@extras
def test_where_vectors_are_kept_says_nothing_of_the_outcome(runs, tmp_path):
    cache = [f"pretrained.cache={tmp_path / name}" for name in ("one", "other")]
    assert Manifest.of(planned_run(runs, cache[0])) == Manifest.of(planned_run(runs, cache[1]))


@extras
def test_it_is_found_beside_the_model_where_it_was_moved(copied, runs, tmp_path):
    change(copied / SETTINGS, set_at("pretrained", "name", str(tmp_path / "gone")))
    with pytest.raises(PretrainedError, match=rf"gone.*copy its folder, or make a link to it, as .*{HELD}"):
        Model.load(copied)
    shutil.copytree(runs / "encoder", copied / HELD)
    assert parsed(Model.load(copied), runs) == parsed(Model.load(runs / FROZEN), runs)


EDITS = {
    "another sum": (("pretrained", "sha256", {CONFIG: "0"}), PretrainedError, "SHA-256 sum"),
    "a name that is none": (("pretrained", "name", 3), ModelError, SETTINGS),
    "sums that are none": (("pretrained", "sha256", []), ModelError, SETTINGS),
    "nothing said of it": (("pretrained", None), ModelError, SETTINGS),
    "other layers": (("classifier", "pretrained", "layers", 2), ModelError, TENSORS),
    "no layers": (("classifier", "pretrained", "layers", 0), ModelError, SETTINGS),
    "another length": (("classifier", "pretrained", "size", 4), ModelError, TENSORS),
}


@extras
@pytest.mark.parametrize("edit", EDITS)
def test_parts_that_do_not_belong_together(copied, edit):
    keys, error, message = EDITS[edit]
    change(copied / SETTINGS, set_at(*keys))
    with pytest.raises(error, match=message):
        Model.load(copied)


@extras
def test_a_changed_encoder_is_refused(copied, runs):
    write_transformer(copied / HELD, seed=1)
    with pytest.raises(PretrainedError, match=rf"is not the pretrained encoder .* SHA-256 sum of {WEIGHTS} differs"):
        Model.load(copied)


@extras
def test_parsing_without_the_package_says_how_to_install_it(runs, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(PretrainedError, match="pip install transformers"):
        Parser.load(runs / FROZEN)


@extras
@pytest.mark.parametrize("name", [FROZEN, TUNING])
def test_a_model_that_goes_on_keeps_its_encoder(runs, tmp_path, name):
    files = [f"treebank.{part}={runs / part}.conllu" for part in ("train", "dev", "test")]
    start = [f"start={runs / name}", f"pretrained.cache={tmp_path / 'cache'}"]
    train(planned(*files, *SMALL, *start), tmp_path / "run")
    before, after = (json.loads((run / MODEL / SETTINGS).read_text()) for run in (runs / name, tmp_path / "run"))
    assert before["classifier"] == after["classifier"]
    assert (before["pretrained"] == after["pretrained"]) is (name == FROZEN)
    assert (tmp_path / "run" / MODEL / HELD).exists() is (name == TUNING)
    with pytest.raises(SettingsError, match=r"leave out encoder\.pretrained"):
        train(planned_run(runs, f"start={runs / name}"), tmp_path / "other")


@extras
def test_pipelines_of_spacy_hold_it(runs):
    spacy = pytest.importorskip("spacy", reason="spaCy is not installed (extra spacy)")
    nlp = spacy.blank("hu")
    nlp.add_pipe("optimal_step", config={"model": str(runs / TUNING), "allow_missing_columns": True})
    doc = nlp("the w1 nost")
    again = spacy.blank("hu")
    again.add_pipe("optimal_step")
    assert [word.head.i for word in again.from_bytes(nlp.to_bytes())("the w1 nost")] == [word.head.i for word in doc]


@extras
def test_another_device_trains_and_parses_with_it(runs, tmp_path):
    from tests.device.fake_device import NAME, fake_device

    with fake_device():
        for name, more in {FROZEN: [], TUNING: TUNED}.items():
            cache = f"pretrained.cache={tmp_path / 'cache'}"
            train(planned_run(runs, f"device={NAME}", cache, *more), tmp_path / name)
            on_device = parsed(Model.load(tmp_path / name, NAME), runs)
            assert on_device.count(b"\n") == parsed(Model.load(tmp_path / name), runs).count(b"\n")


def test_the_rate_of_what_is_tuned_rises_and_is_its_own():
    module = torch.nn.ModuleDict({"a": torch.nn.Linear(2, 2), "tuned": torch.nn.Linear(2, 2)})
    plan = OptimizerPlan("sgd", 1.0, "constant", Span(0, 1), 1)
    optimizer = TorchOptimizer(module, plan, tuning=Tuning("tuned.", 0.1, 4))
    steps = []
    for _ in range(6):
        before = {name: p.detach().clone() for name, p in module.named_parameters()}
        for parameter in module.parameters():
            parameter.grad = torch.ones_like(parameter)
        optimizer.step(1.0)
        steps.append({name: float((before[name] - p.detach()).max()) for name, p in module.named_parameters()})
    assert [step["a.weight"] for step in steps] == pytest.approx([1.0] * 6)
    assert [step["tuned.weight"] for step in steps] == pytest.approx([0.025, 0.05, 0.075, 0.1, 0.1, 0.1], abs=1e-5)
    again = TorchOptimizer(module, plan, tuning=Tuning("tuned.", 0.1, 4))
    again.restore(optimizer.state())
    assert again.state().keys() == optimizer.state().keys()
    assert int(again.state()["steps"]) == 6


def test_shapes_of_what_reads_it():
    shapes = PretrainedSpec(width=7, layers=3, size=5, tuned=False).shapes()
    assert shapes == {"mix": (3,), "scale": (1,), "projection.weight": (5, 7), "projection.bias": (5,)}
