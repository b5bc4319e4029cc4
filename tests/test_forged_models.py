"""Model folders from strangers: whatever is in them, they load or are refused as models,
and what loads can be run.
"""

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from parser.decoding.search import parse
from parser.model.model import FrozenModel
from parser.model_folder import SETTINGS, TENSORS, VOCABULARIES, ModelError
from tests.forgery import KINDS, RULES, change, set_at, small_model
from tests.toy import sentence

SENTENCES = [sentence([0] + [1] * (n - 1)) for n in (1, 2, 7)]


@pytest.fixture(scope="module")
def models(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    for kind in KINDS:
        small_model(kind).save(folder / kind)
    return folder


@pytest.fixture(params=KINDS)
def forged(request, models, tmp_path) -> Path:
    return shutil.copytree(models / request.param, tmp_path / "model")


GONE = object()  # in place of a value: the field is left out
BILSTM = {"layers": 1, "hidden": 3, "dropout": 0, "attribute_dropout": 0}
MANY = "2" * 10**6
HALF = "\ud800"  # of a character

# By the place of a field, the values that it cannot have.
Fields = dict[str, list[Any]]
BAD_SETTINGS: Fields = {
    "format": [[2], MANY],
    "classifier": [None],
    "classifier hidden": [10**9, 0, "5", 5.0],
    "classifier dropout": [1],
    "classifier input_dropout": [1e999],
    "classifier slot_dropout": [float("nan")],
    "classifier activation": [["relu"], MANY],
    "classifier embeddings": [{"xpos": {"size": 3, "trained": True}}, []],
    "classifier embeddings form more": [1],
    "classifier embeddings form size": [1_000_000, 10**30, 0, -1, True],
    "classifier encoder": [BILSTM | {"layers": 10_000_000}, BILSTM | {"layers": 0}, "bilstm"],
    "slots": [[], [1, 2], ["s0:form", "s0:form"], ["s0:nothing"], {"s0:form": 1}],
    "transition_system": ["delphi", 1],
    "transition_options": [{"degree": 10**30}, {"degree": "2"}, [1]],
}
BAD_VOCABULARIES: Fields = {
    "relations": [
        [],
        "abc",
        {"det": 1},
        *(["det", "root", one] for one in ("det", "o\tj", "o\nj", HALF, 1)),
    ],
    "attributes": [
        [],
        {"form": ["a", "b"]},
        {"form": ["a", "b"], "feats_pairs": ["_", "A=b|C=d"], "nothing": []},
    ],
    "attributes form": [["a", "a"], ["a", 1], ["a", "b", "c"], []],
    "attributes feats_pairs": [[]],
}
BAD_TEXT_SETTINGS: Fields = {
    "classifier encoder characters": [None],
    "classifier encoder characters longest": [10**9],
    "classifier encoder characters embedding": [10**12],
    "classifier encoder characters more": [1],
    "classifier encoder tagger": [None, "tags"],
    "classifier encoder tagger layer": [0, 2],
    "classifier encoder heads": [None, "heads"],
    "classifier encoder heads size": [10**12],
    "classifier encoder heads dropout": [1.0],
    "calibration": [
        {"shares": ["1"]},
        {"shares": [0.5]},
        {"log_odds": [0.0, 1.0], "shares": [0.5, 0.4]},
        {"log_odds": [1e999], "shares": [0.5]},
        {"slope": -1.0, "intercept": 0.0},
        {"certain": 1.5},
        {"degree": 1.0},
    ],
}
BAD_TEXT_VOCABULARIES: Fields = {
    "characters": [GONE, ["a", "b", "é", "c"], ["a", "b", "cd"], ["a", "b", "a"]],
    "tags": [GONE, {"misc": ["_"]}, ["X"]],
    "tags upos": [["X", "Y\t"], ["X", HALF], ["X", "Y", "Z"]],
    "tags feats": [["_", "A=b", "A=b|C=d|E=f"]],
}
BAD_LEMMA_SETTINGS: Fields = {
    "classifier encoder lemmas": [None, "lemmas"],
    "classifier encoder lemmas buckets": [51],
    "classifier encoder lemmas size": [10**12],
}
BAD_RULES = [
    "keep\t7\tq\t7\tq",
    RULES[0],
    "keep",
    1,
    "keep\t0\t\n\t0\t",
    f"keep\t0\t{HALF}\t0\t",
    f"keep\t{MANY}\t\t0\t",
]
NO_FORMS: object = {"rules": {"X": [0]}, "absent": {"X": [1]}}
BAD_LEMMA_VOCABULARIES: Fields = {
    "lemmas": [GONE, []],
    "lemmas rules": [[], RULES[:-1], *([*RULES[:-1], rule] for rule in BAD_RULES)],
    "lemmas columns": [["upos", "xpos"], [1, 2]],
    "lemmas seen": [
        [],
        {"X\t_": ["a"]},
        *({"X\t_": {"a": lemma}} for lemma in (1, "a\tb", "", HALF)),
    ],
    "lemmas known": [[]],
    "lemmas known by_upos": [["a"], {"X": {"a": "a"}}, {"X": [1]}, {"X": ["a\nb"]}, {"X": [HALF]}],
    "lemmas known written_for": [["a"], {"ab": "a"}, {"a": "bc"}, {"a": 1}],
    "lemmas odd": ["keep"],
    "tag_sets": [{"X": [0]}, [0], [[0]], [[0, 3]], [[-1, 0]], [["X", 0]], [[True, 0]]],
    "lemmas use": [
        [],
        {"rules": {}},
        *({"rules": {"X": numbers}, "absent": {}} for numbers in (0, [99], [-1], ["a"])),
        NO_FORMS,
    ],
    "lemmas casings": [{"X": ["keep"]}, {"X": ["keep", "upper"]}, ["keep", "keep"]],
}

BEAMS = [{"size": True}, {"size": 0}, {"size": 2, "merge": "all"}, {"width": 3}, 5]

# By kind of model: what its settings and its vocabularies cannot be.
BAD: dict[str, tuple[Fields, Fields]] = {
    "static": (BAD_SETTINGS | {"beam": BEAMS, "lattice_beam": BEAMS}, BAD_VOCABULARIES),
    "contextual": (BAD_SETTINGS, BAD_VOCABULARIES),
    "attardi": ({}, BAD_VOCABULARIES),
    "text": (BAD_TEXT_SETTINGS | BAD_SETTINGS, BAD_TEXT_VOCABULARIES | BAD_VOCABULARIES),
    "lemmas": (BAD_LEMMA_SETTINGS, BAD_LEMMA_VOCABULARIES),
}


@pytest.mark.parametrize(
    ("kind", "part", "place", "value"),
    [
        pytest.param(kind, part, place, value, id=f"{kind}, {place}, {number}")
        for kind, parts in BAD.items()
        for part, places in zip((SETTINGS, VOCABULARIES), parts, strict=True)
        for place, values in places.items()
        for number, value in enumerate(values)
    ],
)
def test_a_field_that_cannot_be_is_refused(models, tmp_path, kind, part, place, value):
    shutil.copytree(models / kind, tmp_path / "model")
    edit = (
        set_at(*place.split(), value) if value is not GONE else lambda content: content.pop(place)
    )
    change(tmp_path / "model" / part, edit)
    refused(tmp_path / "model", "")


@pytest.mark.parametrize(
    ("kind", "place", "value", "message"),
    [
        ("text", "lemmas", {"rules": RULES, "columns": [], "seen": {}}, "nothing to score them"),
        ("static", "tags", {"upos": ["X"]}, "there is no tagger"),
        ("contextual", "tags", {"upos": ["X"]}, "there is no tagger"),
    ],
)
def test_what_nothing_predicts(models, tmp_path, kind, place, value, message):
    shutil.copytree(models / kind, tmp_path / "model")
    change(tmp_path / "model" / VOCABULARIES, set_at(place, value))
    assert message in refused(tmp_path / "model", VOCABULARIES)


def refused(folder: Path, part: str) -> str:
    with pytest.raises(ModelError) as raised:
        FrozenModel.load(folder)
    message = str(raised.value)
    assert message.startswith(str(folder / part))
    assert len(message) < 1000
    return message


@pytest.mark.parametrize("relations", [[], ["root"], ["a", "root"]])
def test_relations_with_tensors_to_match(forged, relations):
    """Without a relation for all words but the root, no transition of the parser was possible, and
    it wrote outside its arrays.
    """
    change(forged / VOCABULARIES, set_at("relations", relations))
    tensors = load_file(forged / TENSORS)
    # Attardi's has twice as many
    outputs = 1 + 2 * len(relations) * (2 if len(tensors["output.bias"]) == 13 else 1)
    tensors["output.weight"], tensors["output.bias"] = torch.zeros(outputs, 5), torch.zeros(outputs)
    if "one_hot.weight" in tensors:
        tensors["one_hot.weight"] = torch.zeros(3 + len(relations), 5)
    if (scores := "tokens.heads.relation_product") + ".bias" in tensors:
        tensors[f"{scores}.weight"], tensors[f"{scores}.bias"] = (
            torch.zeros(len(relations), 3, 3),
            torch.zeros(len(relations)),
        )
    save_file(tensors, forged / TENSORS)
    if relations == ["a", "root"]:
        parses = parse(FrozenModel.load(forged), SENTENCES)
        assert (parses.relations >= 0).sum() == sum(map(len, SENTENCES))
    else:
        assert "there is no relation for words" in refused(forged, SETTINGS)


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


@pytest.mark.parametrize("part", [SETTINGS, VOCABULARIES, TENSORS])
@pytest.mark.parametrize(
    "content",
    [
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"9" * 5000,
        b'{"format": ' + b"9" * 5000 + b"}",
        b'{"format": NaN}',
        *(b"null", b"", b"[]", b"{}", b"\xff", b"\0" * 100, b"\x80\x04garbage"),
    ],
    ids=range(12),
)
def test_a_part_that_cannot_be_read_is_named(models, tmp_path, part, content):
    folder = shutil.copytree(models / "static", tmp_path / "model")
    (folder / part).write_bytes(content)
    refused(folder, part)


@pytest.mark.parametrize("part", [SETTINGS, VOCABULARIES, TENSORS])
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (os.mkdir, "not a regular file"),
        (lambda path: path.symlink_to(path), "not a regular file"),
        (os.mkfifo, "not a regular file"),
        (lambda path: None, "missing"),
    ],
    ids=["folder", "loop", "pipe", "nothing"],
)
def test_what_is_no_file(models, tmp_path, part, make, message):
    folder = shutil.copytree(models / "static", tmp_path / "model")
    (folder / part).unlink()
    make(folder / part)
    assert message in refused(folder, part)


def test_a_folder_that_cannot_be(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    for folder in (tmp_path / "loop", tmp_path / ("x" * 5000)):
        with pytest.raises(ModelError):
            FrozenModel.load(folder)


def test_tensors_are_compared_before_there_is_memory_for_them(forged, monkeypatch):
    change(forged / SETTINGS, set_at("classifier", "embeddings", "form", "size", 60))
    # it would have memory for them
    monkeypatch.setattr("parser.networks.classifier.new_classifier", None)
    assert "the settings expect" in refused(forged, TENSORS)


def test_a_run_folder_is_that_of_its_model(forged):
    assert FrozenModel.load(forged.parent).described() == FrozenModel.load(forged).described()
