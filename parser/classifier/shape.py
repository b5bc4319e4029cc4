"""What a model folder says of its classifier, and the classifier built from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from parser.classifier.bilstm import BiLSTM, BiLSTMShape
from parser.classifier.classifier import Classifier
from parser.classifier.embeddings import Embedding, Embeddings
from parser.classifier.representation import AttributeEmbeddings, TokenRepresentation
from parser.data.set_vocabulary import Elements, SetVocabulary
from parser.data.vocabulary import Vocabularies, Vocabulary
from parser.transitions.features import RELATION, Slot


@dataclass(frozen=True)
class ClassifierShape:
    """What is needed to build a classifier again; see Classifier for the meanings.

    Attributes:
        embeddings: by attribute, how it is embedded; with an encoder, as the encoder's input, but for the relation.
        encoder: that of a contextual token representation; None for a static one.
    """

    hidden: int
    activation: str
    dropout: float
    input_dropout: float
    slot_dropout: float
    embeddings: dict[str, Embedding]
    encoder: BiLSTMShape | None = None

    @classmethod
    def of_fields(cls, fields: dict[str, Any]) -> ClassifierShape:
        """From plain values, as dataclasses.asdict gives them; KeyError or TypeError if some are missing or too many."""
        embeddings = {name: Embedding(**embedding) for name, embedding in fields["embeddings"].items()}
        encoder = fields.get("encoder")
        encoder = encoder if encoder is None else BiLSTMShape.of_fields(encoder)
        return cls(**(fields | {"embeddings": embeddings, "encoder": encoder}))


def new_classifier(
    shape: ClassifierShape, slots: Sequence[Slot], vocabularies: Vocabularies, relations: Vocabulary, n_outputs: int
) -> Classifier:
    """A classifier with fresh weights, drawn from torch's global generator."""
    n_values = {name: len(vocabulary) for name, vocabulary in vocabularies.by_attribute.items()} | {RELATION: len(relations)}
    tokens = _representation(shape, vocabularies, n_values)
    layer = (shape.hidden, n_outputs, shape.activation, shape.dropout, shape.input_dropout, shape.slot_dropout)
    return Classifier(tokens, slots, n_values, *layer)


def _representation(shape: ClassifierShape, vocabularies: Vocabularies, n_values: dict[str, int]) -> TokenRepresentation:
    elements = {
        name: Elements.of(vocabulary)
        for name, vocabulary in vocabularies.by_attribute.items()
        if isinstance(vocabulary, SetVocabulary)
    }
    if shape.encoder is None:
        return AttributeEmbeddings(vocabularies.attributes, Embeddings(shape.embeddings, n_values, elements))
    inputs = Embeddings({name: shape.embeddings[name] for name in vocabularies.attributes}, n_values, elements)
    of_relations = {name: embedding for name, embedding in shape.embeddings.items() if name == RELATION}
    n_characters = 0 if vocabularies.characters is None else len(vocabularies.characters)
    return BiLSTM(inputs, Embeddings(of_relations, n_values), shape.encoder, n_characters, vocabularies.tags)
