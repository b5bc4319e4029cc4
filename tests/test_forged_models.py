"""Model folders from strangers: whatever is in them, they load or are refused as models, and what loads can be run."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from parser import transitions
from parser.decoding.parsers import parse
from parser.model.model import SETTINGS, TENSORS, VOCABULARIES, Model, ModelError
from tests.forgery import KINDS, RULES, change, set_at, small_model
from tests.toy import sentence

SENTENCES = [sentence([0] + [1] * (n - 1)) for n in (1, 2, 7)]


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> Path:
    """A model folder of each kind."""
    folder = tmp_path_factory.mktemp("models")
    for kind in KINDS:
        small_model(kind).save(folder / kind)
    return folder


@pytest.fixture(params=KINDS)
def forged(request, models, tmp_path) -> Path:
    return shutil.copytree(models / request.param, tmp_path / "model")


SETTINGS_EDITS = {
    "a huge embedding": set_at("classifier", "embeddings", "form", "size", 1_000_000),
    "an embedding beyond 64 bits": set_at("classifier", "embeddings", "form", "size", 10**30),
    "an embedding of nothing": set_at("classifier", "embeddings", "form", "size", 0),
    "a negative embedding": set_at("classifier", "embeddings", "form", "size", -1),
    "an embedding that is true": set_at("classifier", "embeddings", "form", "size", True),
    "an embedding of another attribute": set_at("classifier", "embeddings", {"xpos": {"size": 3, "trained": True}}),
    "an unknown field": set_at("classifier", "embeddings", "form", "more", 1),
    "embeddings that are a list": set_at("classifier", "embeddings", []),
    "a huge hidden layer": set_at("classifier", "hidden", 10**9),
    "no hidden layer": set_at("classifier", "hidden", 0),
    "a hidden layer of text": set_at("classifier", "hidden", "5"),
    "a hidden layer of a fraction": set_at("classifier", "hidden", 5.0),
    "dropout of all": set_at("classifier", "dropout", 1),
    "infinite dropout": set_at("classifier", "input_dropout", 1e999),
    "no number for dropout": set_at("classifier", "slot_dropout", float("nan")),
    "an activation that is a list": set_at("classifier", "activation", ["relu"]),
    "an unknown activation": set_at("classifier", "activation", "x" * 10**6),
    "layers that never end": set_at(
        "classifier", "encoder", {"layers": 10_000_000, "hidden": 3, "dropout": 0, "attribute_dropout": 0}
    ),
    "no layers": set_at("classifier", "encoder", {"layers": 0, "hidden": 3, "dropout": 0, "attribute_dropout": 0}),
    "an encoder of text": set_at("classifier", "encoder", "bilstm"),
    "no classifier": set_at("classifier", None),
    "no slots": set_at("slots", []),
    "slots of numbers": set_at("slots", [1, 2]),
    "the same slot twice": set_at("slots", ["s0:form", "s0:form"]),
    "a slot of an unknown attribute": set_at("slots", ["s0:nothing"]),
    "slots that are an object": set_at("slots", {"s0:form": 1}),
    "an unknown system": set_at("transition_system", "delphi"),
    "a system that is a number": set_at("transition_system", 1),
    "a degree beyond all": set_at("transition_options", {"degree": 10**30}),
    "a degree of text": set_at("transition_options", {"degree": "2"}),
    "options that are a list": set_at("transition_options", [1]),
    "a format of many": set_at("format", [2]),
    "a format as long as a book": set_at("format", "2" * 10**6),
}
VOCABULARY_EDITS = {
    "no relations": set_at("relations", []),
    "a relation twice": set_at("relations", ["det", "root", "det"]),
    "a relation with a tab": set_at("relations", ["det", "root", "o\tj"]),
    "a relation with a newline": set_at("relations", ["det", "root", "o\nj"]),
    "a relation that is half a character": set_at("relations", ["det", "root", "\ud800"]),
    "a relation that is a number": set_at("relations", ["det", "root", 1]),
    "relations that are text": set_at("relations", "abc"),
    "relations that are an object": set_at("relations", {"det": 1}),
    "a value twice": set_at("attributes", "form", ["a", "a"]),
    "a value that is a number": set_at("attributes", "form", ["a", 1]),
    "no sets": set_at("attributes", "feats_pairs", []),
    "more values": set_at("attributes", "form", ["a", "b", "c"]),
    "fewer values": set_at("attributes", "form", []),
    "an attribute less": set_at("attributes", {"form": ["a", "b"]}),
    "an unknown attribute": set_at("attributes", {"form": ["a", "b"], "feats_pairs": ["_", "A=b|C=d"], "nothing": []}),
    "attributes that are a list": set_at("attributes", []),
}


TEXT_EDITS = {
    "characters that are longer": set_at("classifier", "encoder", "characters", "longest", 10**9),
    "no characters": set_at("classifier", "encoder", "characters", None),
    "huge vectors of characters": set_at("classifier", "encoder", "characters", "embedding", 10**12),
    "an unknown field of characters": set_at("classifier", "encoder", "characters", "more", 1),
    "a tagger above all layers": set_at("classifier", "encoder", "tagger", "layer", 2),
    "a tagger below all layers": set_at("classifier", "encoder", "tagger", "layer", 0),
    "no tagger": set_at("classifier", "encoder", "tagger", None),
    "no heads": set_at("classifier", "encoder", "heads", None),
    "heads of text": set_at("classifier", "encoder", "heads", "heads"),
    "huge vectors of heads": set_at("classifier", "encoder", "heads", "size", 10**12),
    "all of the heads dropped": set_at("classifier", "encoder", "heads", "dropout", 1.0),
    "a tagger of text": set_at("classifier", "encoder", "tagger", "tags"),
    "a calibration of text": set_at("calibration", {"shares": ["1"]}),
    "a calibration that turns around": set_at("calibration", {"log_odds": [0.0, 1.0], "shares": [0.5, 0.4]}),
    "an older calibration that turns around": set_at("calibration", {"slope": -1.0, "intercept": 0.0}),
    "a calibration without log odds": set_at("calibration", {"shares": [0.5]}),
    "a calibration of infinite odds": set_at("calibration", {"log_odds": [1e999], "shares": [0.5]}),
    "a calibration above 1": set_at("calibration", {"certain": 1.5}),
    "a calibration of another kind": set_at("calibration", {"degree": 1.0}),
}
TEXT_VOCABULARY_EDITS = {
    "no characters": lambda value: value.pop("characters"),
    "more characters": set_at("characters", ["a", "b", "é", "c"]),
    "a character of two": set_at("characters", ["a", "b", "cd"]),
    "a character twice": set_at("characters", ["a", "b", "a"]),
    "no tags": lambda value: value.pop("tags"),
    "tags of an unknown column": set_at("tags", {"misc": ["_"]}),
    "a tag with a tab": set_at("tags", "upos", ["X", "Y\t"]),
    "a tag that is half a character": set_at("tags", "upos", ["X", "\ud800"]),
    "more tags": set_at("tags", "upos", ["X", "Y", "Z"]),
    "another set": set_at("tags", "feats", ["_", "A=b", "A=b|C=d|E=f"]),
    "tags that are a list": set_at("tags", ["X"]),
}


LEMMA_EDITS = {
    "more affixes": set_at("classifier", "encoder", "lemmas", "buckets", 51),
    "no lemmas": set_at("classifier", "encoder", "lemmas", None),
    "a huge hidden layer": set_at("classifier", "encoder", "lemmas", "size", 10**12),
    "lemmas of text": set_at("classifier", "encoder", "lemmas", "lemmas"),
}
LEMMA_VOCABULARY_EDITS = {
    "no lemmas": lambda value: value.pop("lemmas"),
    "lemmas that are a list": set_at("lemmas", []),
    "no rules": set_at("lemmas", "rules", []),
    "a rule less": set_at("lemmas", "rules", RULES[:-1]),
    "other parts": set_at("lemmas", "rules", [*RULES[:-1], "keep\t7\tq\t7\tq"]),
    "a rule twice": set_at("lemmas", "rules", [*RULES[:-1], RULES[0]]),
    "a rule that is none": set_at("lemmas", "rules", [*RULES[:-1], "keep"]),
    "a rule that is a number": set_at("lemmas", "rules", [*RULES[:-1], 1]),
    "a rule with a newline": set_at("lemmas", "rules", [*RULES[:-1], "keep\t0\t\n\t0\t"]),
    "a rule with half a character": set_at("lemmas", "rules", [*RULES[:-1], "keep\t0\t\ud800\t0\t"]),
    "a cut as long as a book": set_at("lemmas", "rules", [*RULES[:-1], f"keep\t{'1' * 5000}\t\t0\t"]),
    "a column that is not predicted": set_at("lemmas", "columns", ["upos", "xpos"]),
    "columns of numbers": set_at("lemmas", "columns", [1, 2]),
    "what was seen as a list": set_at("lemmas", "seen", []),
    "forms that are a list": set_at("lemmas", "seen", {"X\t_": ["a"]}),
    "a lemma that is a number": set_at("lemmas", "seen", {"X\t_": {"a": 1}}),
    "a lemma with a tab": set_at("lemmas", "seen", {"X\t_": {"a": "a\tb"}}),
    "a lemma of nothing": set_at("lemmas", "seen", {"X\t_": {"a": ""}}),
    "known lemmas that are a list": set_at("lemmas", "known", []),
    "known lemmas of no UPOS": set_at("lemmas", "known", "by_upos", ["a"]),
    "known lemmas in a dictionary": set_at("lemmas", "known", "by_upos", {"X": {"a": "a"}}),
    "a known lemma that is a number": set_at("lemmas", "known", "by_upos", {"X": [1]}),
    "a known lemma with a newline": set_at("lemmas", "known", "by_upos", {"X": ["a\nb"]}),
    "a known lemma that is half a character": set_at("lemmas", "known", "by_upos", {"X": ["\ud800"]}),
    "a spelling that is a list": set_at("lemmas", "known", "written_for", ["a"]),
    "a spelling of two characters": set_at("lemmas", "known", "written_for", {"ab": "a"}),
    "a spelling by two characters": set_at("lemmas", "known", "written_for", {"a": "bc"}),
    "odd rules that are one": set_at("lemmas", "odd", "keep"),
    "one casing": set_at("lemmas", "casings", {"X": ["keep"]}),
    "a casing that is none": set_at("lemmas", "casings", {"X": ["keep", "upper"]}),
    "casings that are a list": set_at("lemmas", "casings", ["keep", "keep"]),
    "a spelling by a number": set_at("lemmas", "known", "written_for", {"a": 1}),
    "a lemma that is half a character": set_at("lemmas", "seen", {"X\t_": {"a": "\ud800"}}),
}


# By kind of model: what is changed in its settings and in its vocabularies.
FORGED = {
    "static": (SETTINGS_EDITS, VOCABULARY_EDITS),
    "contextual": (SETTINGS_EDITS, VOCABULARY_EDITS),
    "attardi": ({}, VOCABULARY_EDITS),
    "text": (TEXT_EDITS | SETTINGS_EDITS, TEXT_VOCABULARY_EDITS | VOCABULARY_EDITS),
    "lemmas": (LEMMA_EDITS, LEMMA_VOCABULARY_EDITS),
}
EDITS = [
    (kind, part, name)
    for kind, parts in FORGED.items()
    for part, edits in zip((SETTINGS, VOCABULARIES), parts, strict=True)
    for name in edits
]


@pytest.mark.parametrize(("kind", "part", "name"), EDITS)
def test_what_cannot_be(models, tmp_path, kind, part, name):
    shutil.copytree(models / kind, tmp_path / "model")
    change(tmp_path / "model" / part, FORGED[kind][part == VOCABULARIES][name])
    refused(tmp_path / "model", "")


def test_rules_that_nothing_scores(tmp_path):
    small_model("text").save(tmp_path / "model")
    change(tmp_path / "model" / VOCABULARIES, set_at("lemmas", {"rules": RULES, "columns": [], "seen": {}}))
    assert "nothing to score them" in refused(tmp_path / "model", VOCABULARIES)


@pytest.mark.parametrize("kind", ["static", "contextual"])
def test_tags_without_a_tagger(tmp_path, kind):
    small_model(kind).save(tmp_path / "model")
    change(tmp_path / "model" / VOCABULARIES, set_at("tags", {"upos": ["X"]}))
    assert "there is no tagger" in refused(tmp_path / "model", VOCABULARIES)


def refused(folder: Path, part: str) -> str:
    with pytest.raises(ModelError) as raised:
        Model.load(folder)
    message = str(raised.value)
    assert message.startswith(str(folder / part))
    assert len(message) < 1000
    return message


@pytest.mark.parametrize("relations", [[], ["root"], ["a", "root"]])
def test_relations_with_tensors_to_match(forged, relations):
    """Without a relation for all words but the root, no transition of the parser was possible, and it wrote outside its
    arrays."""
    change(forged / VOCABULARIES, set_at("relations", relations))
    tensors = load_file(forged / TENSORS)
    outputs = 1 + 2 * len(relations) * (2 if len(tensors["output.bias"]) == 13 else 1)  # Attardi's has twice as many
    tensors["output.weight"], tensors["output.bias"] = torch.zeros(outputs, 5), torch.zeros(outputs)
    if "one_hot.weight" in tensors:
        tensors["one_hot.weight"] = torch.zeros(3 + len(relations), 5)
    if (scores := "tokens.heads.relation_product") + ".bias" in tensors:
        tensors[f"{scores}.weight"], tensors[f"{scores}.bias"] = torch.zeros(len(relations), 3, 3), torch.zeros(len(relations))
    save_file(tensors, forged / TENSORS)
    if relations == ["a", "root"]:
        parses = parse(Model.load(forged), SENTENCES)
        assert (parses.relations >= 0).sum() == sum(map(len, SENTENCES))
    else:
        assert "there is no relation for words" in refused(forged, SETTINGS)


def test_there_is_no_system_without_a_relation():
    for name in ("arc_standard", "attardi", "arc_hybrid", "swap"):
        for relations in ((0, None), (1, 0)):
            with pytest.raises(ValueError, match="add one, such as dep"):
                transitions.create(name, *relations)


@pytest.mark.parametrize(
    "edit",
    [
        lambda tensors: tensors.pop("hidden_bias"),
        lambda tensors: tensors.update(more=torch.zeros(1)),
        lambda tensors: tensors.update(hidden_bias=torch.zeros(6)),
        lambda tensors: tensors.update(hidden_bias=torch.zeros(5, 1)),
        lambda tensors: tensors.update(hidden_bias=torch.zeros(5, dtype=torch.float64)),
        lambda tensors: tensors.update(hidden_bias=torch.zeros(5, dtype=torch.int32)),
        lambda tensors: tensors.clear(),
    ],
)
def test_tensors_that_are_not_those_of_the_model(forged, edit):
    tensors = load_file(forged / TENSORS)
    edit(tensors)
    save_file(tensors, forged / TENSORS)
    refused(forged, "")


@pytest.mark.parametrize("number", [float("nan"), -float("inf")])
def test_numbers_that_are_none(forged, number):
    tensors = load_file(forged / TENSORS)
    tensors["output.weight"][0, 0] = number
    save_file(tensors, forged / TENSORS)
    assert "output.weight holds NaN or infinity" in refused(forged, TENSORS)


@pytest.mark.parametrize("part", [SETTINGS, VOCABULARIES])
@pytest.mark.parametrize(
    "content",
    [
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"9" * 5000,
        b'{"format": ' + b"9" * 5000 + b"}",
        b'{"format": NaN}',
        b"null",
        b"\xff",
        b"\0" * 100,
    ],
)
def test_json_that_cannot_be(models, tmp_path, part, content):
    folder = shutil.copytree(models / "static", tmp_path / "model")
    (folder / part).write_bytes(content)
    refused(folder, part)


@pytest.mark.parametrize("part", [SETTINGS, VOCABULARIES, TENSORS])
@pytest.mark.parametrize("make", [os.mkdir, lambda path: path.symlink_to(path), os.mkfifo], ids=["folder", "loop", "pipe"])
def test_what_is_no_file(models, tmp_path, part, make):
    folder = shutil.copytree(models / "static", tmp_path / "model")
    (folder / part).unlink()
    make(folder / part)
    assert "not a regular file" in refused(folder, part)


def test_a_folder_that_cannot_be(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    for folder in (tmp_path / "loop", tmp_path / ("x" * 5000)):
        with pytest.raises(ModelError):
            Model.load(folder)


def test_tensors_are_compared_before_there_is_memory_for_them(forged, monkeypatch):
    change(forged / SETTINGS, set_at("classifier", "embeddings", "form", "size", 60))
    monkeypatch.setattr("parser.networks.classifier.new_classifier", None)  # it would have memory for them
    assert "the settings expect" in refused(forged, TENSORS)


def test_a_run_folder_is_that_of_its_model(forged):
    assert Model.load(forged.parent)._description() == Model.load(forged)._description()
