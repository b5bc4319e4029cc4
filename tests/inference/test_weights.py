"""The weights as numpy arrays: the same from a model folder, where no torch is needed,
as from the classifier.
"""

import random
from functools import cache
from typing import Any

import numpy as np
import pytest

from parser import network_spec
from parser.inference.weights import ClassifierWeights
from parser.kernels import active_units
from parser.model.model import FrozenModel
from parser.model.trained_model import TrainedModel
from parser.networks.layers import ACTIVATIONS
from tests.forgery import small_model
from tests.forked import new_python
from tests.random_models import (
    STATIC_EMBEDDINGS,
    STATIC_SLOTS,
    random_lemma_model,
    random_static_model,
    random_text_model,
)
from tests.toy import sentence, write_conllu

SENTENCES = [sentence([0] * 9, random.Random(seed)) for seed in range(20)]


def static_model(embeddings) -> TrainedModel:
    slots = STATIC_SLOTS | (
        {"feats_pairs": ["s0", "b0", "s1"]} if "feats_pairs" in embeddings else {}
    )
    return random_static_model(SENTENCES, embeddings, "tanh", slots)


@cache
def models() -> list[TrainedModel]:
    """Return static models, and contextual ones: without and with characters and tags, with tags
    that are not read, and with lemmas.
    """
    contextual = (
        small_model("contextual"),
        random_text_model(),
        small_model("text", tag_size=0),
        random_lemma_model(),
    )
    return [*map(static_model, STATIC_EMBEDDINGS), *contextual]


def fields(weights: ClassifierWeights) -> dict[str, Any]:
    """Return what can be compared as it is; the encoder and the scorer of arcs cannot."""
    own = {
        "embedded": [vars(one) for one in weights.embedded],
        "encoder": weights.contextual,
        "arcs": weights.arcs is None,
    }
    return vars(weights) | own


@pytest.mark.parametrize("number", range(len(STATIC_EMBEDDINGS) + 4))
def test_weights_of_a_folder_are_those_of_the_classifier_to_the_last_bit(number, tmp_path):
    model = models()[number]
    model.save(tmp_path / "model")
    loaded = FrozenModel.load(tmp_path / "model")
    found, expected = loaded.weights, model.classifier.weights()
    assert loaded.described() == model.described()
    assert sorted(path.suffix for path in (tmp_path / "model").iterdir()) == [
        ".json",
        ".json",
        ".safetensors",
    ]
    np.testing.assert_equal(fields(found), fields(expected))
    assert list(found.vectors) == list(expected.vectors)
    if found.encoder is not None:
        encoded = model.vocabularies.encode(SENTENCES)
        (*read, rules), (*expected_read, expected_rules) = (
            w.encoder.encode_with_tags(encoded) for w in (found, expected)
        )
        np.testing.assert_equal(read, expected_read)
        assert (
            [*rules]
            == [*expected_rules]
            == ([] if model.vocabularies.lemmas is None else ["lemmas"])
        )
        for name, scores in rules.items():
            np.testing.assert_array_equal(
                scores(["w"] * 9, np.arange(9)), expected_rules[name](["w"] * 9, np.arange(9))
            )
    heads, expected_heads = loaded.head_scorer, model.frozen().head_scorer
    assert (
        (heads is None)
        == (expected_heads is None)
        == (model.spec.encoder is None or model.spec.encoder.heads is None)
    )
    if heads is not None:
        arcs = (
            read[0][:3],
            np.array([0, 3]),
            np.array([1, 2, 1]),
            np.array([0, 1, 2]),
            np.array([0, 1, 1]),
        )
        np.testing.assert_array_equal(
            heads.log_probabilities(*arcs), expected_heads.log_probabilities(*arcs)
        )
    trained = TrainedModel.load(tmp_path / "model").classifier.weights()
    np.testing.assert_array_equal(trained.output, expected.output)


def test_both_know_the_same_activations():
    assert list(network_spec.ACTIVATIONS) == list(ACTIVATIONS)
    with pytest.raises(ValueError, match="known: relu, tanh"):
        active_units.activation_number("swish")


def test_files_are_parsed_without_torch(tmp_path):
    """It is torch above all that takes time to import;
    tests/systems/test_parse_only.py parses with models of all kinds.
    """
    small_model("lemmas").save(tmp_path / "model")
    file = write_conllu(tmp_path / "in.conllu", SENTENCES[:2])
    command = """
import sys
from parser.commands.parse import main
assert main() == 0
print(*{name.partition(".")[0] for name in sys.modules})
"""
    said = new_python(
        command, tmp_path / "model", file, "-o", tmp_path / "out.conllu", "--allow-missing-columns"
    )
    assert not {"torch", "gensim", "tensorboard", "hydra", "omegaconf"} & {*said.split()}
