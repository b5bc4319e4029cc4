"""The classifier of torch that a spec describes, and where torch computes."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from parser.data.vocabularies import SetVocabulary, Vocabularies, Vocabulary
from parser.network_spec import ClassifierSpec
from parser.networks.bilstm import BiLSTM
from parser.networks.classifier import Classifier
from parser.networks.representation import AttributeEmbeddings, Embeddings, TokenRepresentation
from parser.transitions.features import RELATION, Slot


def new_classifier(
    spec: ClassifierSpec, slots: Sequence[Slot], vocabularies: Vocabularies, relations: Vocabulary, n_outputs: int
) -> Classifier:
    """A classifier with fresh weights, drawn from torch's global generator."""
    n_values = {name: len(vocabulary) for name, vocabulary in vocabularies.by_attribute.items()} | {RELATION: len(relations)}
    tokens = _representation(spec, vocabularies, n_values, len(relations.symbols))
    layer = (spec.hidden, n_outputs, spec.activation, spec.dropout, spec.input_dropout, spec.slot_dropout)
    return Classifier(tokens, slots, n_values, *layer)


def _representation(
    spec: ClassifierSpec, vocabularies: Vocabularies, n_values: dict[str, int], n_relations: int
) -> TokenRepresentation:
    elements = {
        name: vocabulary.elements
        for name, vocabulary in vocabularies.by_attribute.items()
        if isinstance(vocabulary, SetVocabulary)
    }
    if spec.encoder is None:
        return AttributeEmbeddings(vocabularies.attributes, Embeddings(spec.embeddings, n_values, elements))
    inputs = Embeddings({name: spec.embeddings[name] for name in vocabularies.attributes}, n_values, elements)
    of_relations = {name: embedding for name, embedding in spec.embeddings.items() if name == RELATION}
    n_characters = 0 if vocabularies.characters is None else len(vocabularies.characters)
    return BiLSTM(inputs, Embeddings(of_relations, n_values), spec.encoder, n_characters, vocabularies.tags, n_relations)


def check_device(name: str) -> None:
    """Refuses a device that torch does not know or does not have here.

    Raises:
        ValueError: says so, and what there is.
    """
    if name != "cpu" and not (name.partition(":")[0] == "cuda" and torch.cuda.is_available()):
        known = "cpu and cuda" if torch.cuda.is_available() else "cpu only, since torch sees no GPU"
        raise ValueError(f"there is no device {name!r} here; available: {known}")
