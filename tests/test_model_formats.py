"""Model folders of before: those of format 1, written here by hand, parse as ever;
what needs code that left is refused.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from parser.decoding.search import parse
from parser.linear.model import LinearModel
from parser.model import loading
from parser.model.model import FrozenModel
from parser.model.trained_model import TrainedModel
from parser.model_folder import FORMAT, SETTINGS, TENSORS, VOCABULARIES, ModelError
from tests.forgery import change, set_at, small_linear_model, small_model
from tests.random_models import random_bilstm_model, random_lemma_model, random_static_model
from tests.toy import assert_same_trees, drawn_sentences


@pytest.fixture(scope="module")
def sentences():
    return drawn_sentences(0, 20, 12)


def write_format_1(folder: Path, model: TrainedModel) -> None:
    """Write the model's folder as the versions before format 2 wrote it."""
    classifier, spec = model.classifier, model.spec
    tokens: Any = classifier.tokens
    assert classifier.embedded is not None
    tensors = {
        "hidden_bias": classifier.hidden_bias,
        "one_hot.weight": classifier.one_hot.weight,
        "embedded.weight": classifier.embedded.weight,
        "output.weight": classifier.output.weight,
        "output.bias": classifier.output.bias,
    }
    tensors |= {f"vectors.{name}": vectors for name, vectors in tokens.embeddings.vectors.items()}
    encoder = None
    if spec.encoder is not None:
        encoder = {
            "layers": 2,
            "hidden": spec.encoder.hidden,
            "dropout": 0.3,
            "attribute_dropout": 0.2,
        }
        tensors["vectors.context"] = tokens.reserved
        tensors |= {
            f"words.vectors.{name}": vectors for name, vectors in tokens.inputs.vectors.items()
        }
        for direction in ("forwards", "backwards"):
            for layer, lstm in enumerate(getattr(tokens, direction)):
                tensors |= {
                    f"words.{direction}.{layer}.{name}": weights
                    for name, weights in lstm.named_parameters()
                }
    folder.mkdir()
    save_file(
        {name: tensor.detach().contiguous() for name, tensor in tensors.items()}, folder / TENSORS
    )
    settings = {
        "format": 1,
        "transition_system": "arc_standard",
        "slots": [
            f"{slot.position}:{'context' if slot.attribute == 'token' else slot.attribute}"
            for slot in model.slots
        ],
        "classifier": {
            "hidden": spec.hidden,
            "activation": spec.activation,
            "dropout": spec.dropout,
            "input_dropout": spec.input_dropout,
            "slot_dropout": spec.slot_dropout,
            "embeddings": {
                name: {"size": e.size, "trained": e.trained} for name, e in spec.embeddings.items()
            },
            "encoder": encoder,
        },
        "versions": {"python": "3.11"},
    }
    attributes = {
        name: vocabulary.symbols for name, vocabulary in model.vocabularies.by_attribute.items()
    }
    (folder / SETTINGS).write_text(json.dumps(settings))
    (folder / VOCABULARIES).write_text(
        json.dumps({"attributes": attributes, "relations": model.relations.symbols})
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda sentences: random_static_model(sentences, {"form": 5, "deprel": 3}),
        lambda sentences: random_bilstm_model(sentences),
        lambda sentences: random_bilstm_model(sentences, deprel=3),
    ],
    ids=["mlp", "bilstm", "bilstm-deprel"],
)
def test_a_folder_of_format_1_is_loaded_as_the_same_model(sentences, tmp_path, make):
    model = make(sentences)
    write_format_1(tmp_path / "old", model)
    loaded = FrozenModel.load(tmp_path / "old")
    assert loaded.described() == model.described()
    assert_same_trees(parse(loaded, sentences), parse(model, sentences))
    TrainedModel.load(tmp_path / "old").save(tmp_path / "new")
    assert json.loads((tmp_path / "new" / SETTINGS).read_text())["format"] == FORMAT
    tensors = load_file(tmp_path / "new" / TENSORS)
    assert all(
        torch.equal(tensors[name], weights)
        for name, weights in model.classifier.state_dict().items()
    )


def test_a_model_that_scored_lemmas_from_a_layer_parses_as_before(sentences, tmp_path, caplog):
    model = random_lemma_model()
    model.save(tmp_path / "old")
    from_a_layer = {"layer": 1, "size": 4, "dropout": 0.33}
    change(tmp_path / "old" / SETTINGS, set_at("classifier", "encoder", "lemmas", from_a_layer))
    tensors = {
        name: of
        for name, of in load_file(tmp_path / "old" / TENSORS).items()
        if not name.startswith("tokens.lemmas.")
    }
    save_file(
        tensors | {"tokens.lemmas.hidden.weight": torch.zeros(4, 3)}, tmp_path / "old" / TENSORS
    )
    loaded = FrozenModel.load(tmp_path / "old")
    assert "start=" in caplog.text
    assert loaded.vocabularies.predicted == [*model.vocabularies.tags]
    assert_same_trees(parse(loaded, sentences), parse(model, sentences))
    TrainedModel.load(tmp_path / "old").save(tmp_path / "new")
    assert FrozenModel.load(tmp_path / "new").described() == loaded.described()


# By the setting that a model was trained with, what its settings.json holds.
GONE = {
    "beam=exact": set_at("beam", {"search": "exact", "scores": "global"}),
    "system=two_planar": set_at("transition_system", "two_planar"),
    "system=arc_eager_unshift": set_at("transition_system", "arc_eager_unshift"),
}


@pytest.mark.parametrize("name", GONE)
@pytest.mark.parametrize(
    ("make", "kind"),
    [(lambda: small_model("contextual"), FrozenModel), (small_linear_model, LinearModel)],
)
def test_a_model_that_needs_what_has_left_is_refused_with_the_version_that_reads_it(
    tmp_path, name, make, kind
):
    make().save(tmp_path / "old")
    change(tmp_path / "old" / SETTINGS, GONE[name])
    for load in (loading.load, kind.load):
        with pytest.raises(
            ModelError, match=f"{SETTINGS}: .* {name}, which was removed; .* f3f2ff4a reads it"
        ):
            load(tmp_path / "old")
