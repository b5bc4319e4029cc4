"""Folders of linear models from strangers: they load, or are refused as models."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from parser.linear.model import WEIGHTS
from parser.linear.weights import MOST_OUTPUTS, HashedWeights
from parser.model import loading as models
from parser.model_folder import SETTINGS, VOCABULARIES, ModelError
from tests.forgery import change, set_at, small_linear_model


@pytest.fixture
def forged(tmp_path) -> Path:
    small_linear_model().save(tmp_path / "model")
    return tmp_path / "model"


SETTINGS_EDITS = {
    "an unknown kind": set_at("model", "quadratic"),
    "a kind that is a list": set_at("model", ["linear"]),
    "another format": set_at("format", 3),
    "a format of text": set_at("format", "1"),
    "no template": set_at("templates", []),
    "templates of text": set_at("templates", "X:p"),
    "templates of numbers": set_at("templates", [1]),
    "an unknown template": set_at("templates", ["X:q"]),
    "an unknown node": set_at("templates", ["Z:p"]),
    "too many parts": set_at("templates", ["+".join(["X:p"] * 5)]),
    "too many templates": set_at("templates", ["X:p"] * 2000),
    "an unknown system": set_at("transition_system", "chart"),
    "a system of a list": set_at("transition_system", []),
    "an option that it does not have": set_at("transition_options", {"degree": 2}),
    "a beam of a list": set_at("beam", [4]),
    "a beam of no size": set_at("beam", {"size": 0}),
    "no templates at all": lambda value: value.pop("templates"),
}


@pytest.mark.parametrize("case", SETTINGS_EDITS)
def test_settings(forged, case):
    change(forged / SETTINGS, SETTINGS_EDITS[case])
    with pytest.raises(ModelError, match=SETTINGS):
        models.load(forged)


def edit(name, change_of):
    """Return an edit of one tensor."""
    return lambda tensors: tensors.update({name: change_of(tensors[name])})


def first(value):
    return lambda tensor: np.array([value, *tensor[1:]], tensor.dtype)


WEIGHTS_EDITS = {
    "a key of 0": edit("keys", first(0)),
    "keys that repeat": edit("keys", lambda keys: np.repeat(keys[:1], len(keys))),
    "keys that descend": edit("keys", lambda keys: keys[::-1].copy()),
    "fewer keys": edit("keys", lambda keys: keys[1:].copy()),
    "keys of another type": edit("keys", lambda keys: keys.astype(np.int64)),
    "an output that there is not": edit("outputs", first(5)),
    "a negative output": edit("outputs", first(-1)),
    "starts that begin late": edit("starts", first(1)),
    "starts that go back": edit(
        "starts", lambda starts: np.concatenate([starts[:1], starts[1:][::-1]])
    ),
    "starts beyond the end": edit("starts", lambda starts: starts * 2),
    "starts far below": edit("starts", first(-(2**40))),
    "a weight that is not a number": edit("values", first(float("nan"))),
    "an infinite weight": edit("values", first(float("inf"))),
    "a table": edit("values", lambda values: values[:, None].copy()),
    "no weights": lambda tensors: tensors.pop("values"),
    "a tensor too many": lambda tensors: tensors.update(more=np.zeros(2)),
    "all entries for one feature": edit("starts", lambda starts: np.array([0] + [20] * 20)),
}


@pytest.mark.parametrize("case", WEIGHTS_EDITS)
def test_weights(forged, case):
    tensors = load_file(forged / WEIGHTS)
    WEIGHTS_EDITS[case](tensors)
    save_file(tensors, forged / WEIGHTS)
    with pytest.raises(ModelError, match=WEIGHTS):
        models.load(forged)


def test_a_damaged_file_a_missing_one_and_tags_without_a_tagger(forged):
    whole = (forged / WEIGHTS).read_bytes()
    (forged / WEIGHTS).write_bytes(whole[:-9])
    with pytest.raises(ModelError, match=WEIGHTS):
        models.load(forged)
    (forged / WEIGHTS).unlink()
    with pytest.raises(ModelError, match="missing"):
        models.load(forged)
    (forged / WEIGHTS).write_bytes(whole)
    change(forged / VOCABULARIES, set_at("tags", {"upos": ["X"]}))
    with pytest.raises(ModelError, match="tagger"):
        models.load(forged)


def test_more_outputs_than_a_feature_can_have_entries():
    # How many entries a feature has must fit into 24 bits, or they would be looked for elsewhere.
    with pytest.raises(ValueError, match="at most"):
        HashedWeights(
            np.ones(1, np.uint64),
            np.zeros(2, np.int64),
            *np.zeros((2, 0), np.int32),
            MOST_OUTPUTS + 1,
        )
