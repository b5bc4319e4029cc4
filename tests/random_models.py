"""Models of several kinds with random weights, of the size of trained ones."""

import torch

from parser.data.treebank import Sentence
from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import Vocabulary, vocabulary_for
from parser.model.trained_model import TrainedModel
from parser.network_spec import BiLSTMSpec, ClassifierSpec, Embedding
from parser.transitions.features import TOKEN, slots_of
from tests.forgery import small_model


def with_random_weights(model: TrainedModel, std: float = 0.7) -> TrainedModel:
    """Draw all weights of the model anew, and return it;
    by default they are of the size of trained ones, of either sign.
    """
    with torch.no_grad():
        for parameter in model.classifier.parameters():
            parameter.normal_(std=std)
    return model


STATIC_SLOTS = {
    "form": ["s0", "b0", "s1.l1"],
    "upos": ["s0", "s1", "b0", "b1"],
    "deprel": ["s0.l1", "s0.r1", "s1.r2"],
}
STATIC_EMBEDDINGS = [
    {},
    {"form": 5},
    {"form": 5, "deprel": 3},
    {"form": 5, "upos": 2, "deprel": 3},
    {"feats_pairs": 4, "form": 5},
]


def random_static_model(
    sentences, embeddings, activation="relu", slots=STATIC_SLOTS
) -> TrainedModel:
    """Return a classifier of embeddings, for a treebank of whose forms and tags half are known."""
    torch.manual_seed(1)
    known = sentences[: len(sentences) // 2]  # so that some forms are unknown
    vocabularies = Vocabularies(
        {
            "form": Vocabulary.of(form for s in known for form in s.forms),
            "upos": Vocabulary.of(tag for s in known for tag in s.upos),
            "feats_pairs": vocabulary_for(
                "feats_pairs", ["_", "Case=Nom|Number=Sing", "Case=Acc|Number=Plur", "Number=Sing"]
            ),
        }
    )
    spec = ClassifierSpec(
        37,
        activation,
        0.5,
        0.1,
        0.1,
        {name: Embedding(size, True) for name, size in embeddings.items()},
    )
    model = TrainedModel.new(
        vocabularies, Vocabulary(["det", "root", "obj", "nsubj"]), slots_of(slots), spec
    )
    return with_random_weights(model)


BILSTM_SLOTS = {TOKEN: ["s0", "s1", "b0", "s0.l1"], "deprel": ["s0.l1", "s1.r1"]}
BILSTM_EMBEDDINGS = {"form": 6, "upos": 3, "feats_pairs": 4}


def random_bilstm_model(
    sentences, *, deprel: int | None = None, dropping: bool = True
) -> TrainedModel:
    """Two layers of a BiLSTM below a classifier of its tokens.

    ``deprel`` is the length of the relations' vectors, None for one-hot; ``dropping``:
    whether there is any dropout.
    """
    torch.manual_seed(1)
    vocabularies = Vocabularies(
        {
            "form": Vocabulary.of(form for s in sentences[:10] for form in s.forms),
            "upos": Vocabulary.of(tag for s in sentences for tag in s.upos),
            "feats_pairs": vocabulary_for(
                "feats_pairs", ["_", "Case=Nom|Number=Sing", "Number=Sing"]
            ),
        }
    )
    embeddings = {name: Embedding(size, True) for name, size in BILSTM_EMBEDDINGS.items()}
    if deprel is not None:
        embeddings["deprel"] = Embedding(deprel, True)
    of_units, of_inputs, of_layers, of_attributes = (0.5, 0.1, 0.3, 0.2) if dropping else (0.0,) * 4
    encoder = BiLSTMSpec(2, 5, of_layers, of_attributes)
    spec = ClassifierSpec(37, "relu", of_units, of_inputs, 0.0, embeddings, encoder)
    model = TrainedModel.new(
        vocabularies, Vocabulary(["det", "root", "obj", "nsubj"]), slots_of(BILSTM_SLOTS), spec
    )
    return with_random_weights(model)


def random_text_model() -> TrainedModel:
    """Characters and tags below a BiLSTM, biaffine heads above it."""
    return with_random_weights(small_model("text"))


def random_lemma_model() -> TrainedModel:
    """Return the same with lemmas."""
    return with_random_weights(small_model("lemmas"))


def small_bilstm_model(
    sentences: list[Sentence], slots: dict[str, list[str]] | None = None, system: str = "arc_hybrid"
) -> TrainedModel:
    """Return a BiLSTM with random weights,
    over the top of the stack and the front of the buffer.
    """
    vocabularies = Vocabularies(
        {"form": Vocabulary.of(form for s in sentences for form in s.forms)}
    )
    embeddings = {"form": Embedding(6, True), "deprel": Embedding(3, True)}
    spec = ClassifierSpec(12, "tanh", 0.0, 0.0, 0.0, embeddings, BiLSTMSpec(1, 5, 0.0, 0.0))
    torch.manual_seed(0)
    table = slots_of(slots or {"token": ["s0", "b0", "b1"]})
    model = TrainedModel.new(vocabularies, Vocabulary(["nsubj", "root"]), table, spec, system)
    with torch.no_grad():
        model.classifier.output.weight *= 8  # so that trees differ
        model.classifier.output.bias.normal_()
    return model
