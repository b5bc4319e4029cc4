"""The classifier of torch that a shape describes."""

from __future__ import annotations

from collections.abc import Sequence

from parser.data.set_vocabulary import SetVocabulary
from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import Vocabulary
from parser.inference.shape import ClassifierShape
from parser.networks.bilstm import BiLSTM
from parser.networks.classifier import Classifier
from parser.networks.embeddings import Embeddings
from parser.networks.representation import AttributeEmbeddings, TokenRepresentation
from parser.transitions.features import RELATION, Slot


def new_classifier(
    shape: ClassifierShape, slots: Sequence[Slot], vocabularies: Vocabularies, relations: Vocabulary, n_outputs: int
) -> Classifier:
    """A classifier with fresh weights, drawn from torch's global generator."""
    n_values = {name: len(vocabulary) for name, vocabulary in vocabularies.by_attribute.items()} | {RELATION: len(relations)}
    tokens = _representation(shape, vocabularies, n_values, len(relations.symbols))
    layer = (shape.hidden, n_outputs, shape.activation, shape.dropout, shape.input_dropout, shape.slot_dropout)
    return Classifier(tokens, slots, n_values, *layer)


def _representation(
    shape: ClassifierShape, vocabularies: Vocabularies, n_values: dict[str, int], n_relations: int
) -> TokenRepresentation:
    elements = {
        name: vocabulary.elements
        for name, vocabulary in vocabularies.by_attribute.items()
        if isinstance(vocabulary, SetVocabulary)
    }
    if shape.encoder is None:
        return AttributeEmbeddings(vocabularies.attributes, Embeddings(shape.embeddings, n_values, elements))
    inputs = Embeddings({name: shape.embeddings[name] for name in vocabularies.attributes}, n_values, elements)
    of_relations = {name: embedding for name, embedding in shape.embeddings.items() if name == RELATION}
    n_characters = 0 if vocabularies.characters is None else len(vocabularies.characters)
    return BiLSTM(inputs, Embeddings(of_relations, n_values), shape.encoder, n_characters, vocabularies.tags, n_relations)
