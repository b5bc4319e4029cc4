"""The classifier of torch that a shape describes."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from parser.classifier.bilstm import BiLSTM
from parser.classifier.classifier import Classifier
from parser.classifier.embeddings import Embeddings
from parser.classifier.representation import AttributeEmbeddings, TokenRepresentation
from parser.classifier.shape import ClassifierShape
from parser.data.set_vocabulary import Elements, SetVocabulary
from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import Vocabulary
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
        name: Elements.of(vocabulary)
        for name, vocabulary in vocabularies.by_attribute.items()
        if isinstance(vocabulary, SetVocabulary)
    }
    if shape.encoder is None:
        return AttributeEmbeddings(vocabularies.attributes, Embeddings(shape.embeddings, n_values, elements))
    inputs = Embeddings({name: shape.embeddings[name] for name in vocabularies.attributes}, n_values, elements)
    of_relations = {name: embedding for name, embedding in shape.embeddings.items() if name == RELATION}
    n_characters = 0 if vocabularies.characters is None else len(vocabularies.characters)
    return BiLSTM(inputs, Embeddings(of_relations, n_values), shape.encoder, n_characters, vocabularies.tags, n_relations)


def tensor_shapes(
    shape: ClassifierShape, slots: Sequence[Slot], vocabularies: Vocabularies, relations: Vocabulary, n_outputs: int
) -> dict[str, tuple[int, ...]]:
    """The names and shapes of the tensors of new_classifier(), without memory for them, however large they would be."""
    with torch.device("meta"), Undrawn():
        tensors = new_classifier(shape, slots, vocabularies, relations, n_outputs).state_dict()
    return {name: tuple(tensor.shape) for name, tensor in tensors.items()}


class Undrawn(TorchFunctionMode):
    """Draws no numbers: for tensors without memory torch would first load its compiler, which takes a second."""

    def __torch_function__(self, function, types, arguments=(), keywords=None):
        keywords = keywords or {}
        if function in (nn.init.normal_, nn.init.uniform_, nn.init.kaiming_uniform_):
            return keywords["tensor"]
        return function(*arguments, **keywords)
