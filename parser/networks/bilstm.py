"""A bidirectional LSTM over the words of a sentence (Kiperwasser and Goldberg 2016, Section 3): a vector for each token.

A token goes in as the vectors of its parts, side by side (parts.py); the artificial root is the first token of its sentence.
Each layer reads the outputs of the one below, in both directions. A tagger may read the outputs of one of the layers; the next
one reads the expected tags beside them (tasks.py). In training, whole vectors of parts are dropped, and of what goes from layer
to layer the same numbers are dropped all through a sentence (Gal and Ghahramani 2016).

The tokens of a batch lie in the order in which LSTMs read them (lstm.py), and in that of their sentences before and after. In
which batch a sentence is read changes its vectors by no more than rounding: the products are the same, but the library that
computes them may add up in another order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from parser.data.vocabularies import Vocabularies
from parser.inference.encoder import FrozenEncoder
from parser.inference.layouts import encoder_shapes
from parser.inference.weights import TaggingEncoder
from parser.network_spec import ClassifierSpec
from parser.networks.layers import bernoulli_mask, lstm
from parser.networks.lstm import Packing, read_sequences
from parser.networks.parts import PartReading, module_of
from parser.networks.representation import ContextualRepresentation, Embeddings, Encoded
from parser.networks.tasks import BiaffineScorer, LemmaScorer, Tagger


class BiLSTM(ContextualRepresentation):
    """From what is read of tokens to vectors of tokens in their sentences.

    Args:
        spec: of a classifier with this encoder.
        vocabularies: what it reads and predicts.
        embeddings: those of relations, if they are embedded.
        relations: those that ``spec.encoder.heads`` tells apart.
        readers: by name of a part, what reads whole sentences for it.
        input_dropout: the share of the numbers of what goes in that are dropped in training.
    """

    def __init__(
        self,
        spec: ClassifierSpec,
        vocabularies: Vocabularies,
        embeddings: Embeddings,
        relations: Sequence[str] = (),
        readers: Mapping[str, Any] | None = None,
        input_dropout: float = 0.0,
    ) -> None:
        encoder, tags, readers = spec.encoder, vocabularies.tags, readers or {}
        assert encoder is not None, "it has an encoder"
        super().__init__(embeddings, encoder.size)
        self.spec, self.input_dropout = encoder, input_dropout
        self._made_of = spec, vocabularies, readers
        tables = {name: spec.embeddings[name] for name in vocabularies.tables}
        self.inputs = Embeddings(tables, vocabularies.tables, vocabularies.elements)
        # The order in which parameters are made decides what random numbers they are drawn from.
        of_sentences = {
            part.name: module_of(part, spec, self.inputs, readers.get(part.name))
            for part in vocabularies.parts
            if part.in_sentences
        }
        self.inputs.initialize(self.inputs.sizes)
        of_words = {part.name: module_of(part, spec, self.inputs, None) for part in vocabularies.parts if not part.in_sentences}
        self._add(of_words)
        self.tagger = Tagger(encoder.tagger, encoder.size, tags) if encoder.tagger is not None and tags else None
        self.heads = None if encoder.heads is None else BiaffineScorer(encoder.heads, encoder.size, relations)
        shapes = encoder_shapes(spec, vocabularies, len(relations))
        self.forwards = nn.ModuleList(lstm(shapes, f"forwards.{layer}") for layer in range(encoder.layers))
        self.backwards = nn.ModuleList(lstm(shapes, f"backwards.{layer}") for layer in range(encoder.layers))
        self.lemmas = None
        if encoder.lemmas is not None and vocabularies.lemmas is not None:
            self.lemmas = LemmaScorer(encoder.lemmas, tags, vocabularies.lemmas.rules)
        self._add(of_sentences)
        readings = of_words | of_sentences
        self._parts = [(rows, readings[part.name]) for part, rows in vocabularies.placed]

    def _add(self, readings: Mapping[str, PartReading]) -> None:
        """Makes the modules of parts ours, so that they are trained."""
        for name, (_, module) in readings.items():
            if module is not None:
                self.add_module(name, module)

    def set_vectors(self, attribute: str, matrix: np.ndarray) -> None:
        self.inputs.set_vectors(attribute, matrix)

    def frozen(self, int8: bool = False) -> TaggingEncoder:
        """Return the encoder without torch on a CPU, sharing memory with parameters, and elsewhere what runs on the device."""
        if not self.reserved.is_cpu:
            return super().frozen(int8)
        spec, vocabularies, readers = self._made_of
        tensors = {name: tensor.detach().contiguous().numpy() for name, tensor in self.state_dict().items()}
        return FrozenEncoder(spec, vocabularies, tensors, readers, int8)

    def encode(self, values: Tensor, lengths: np.ndarray, dropping: bool = False) -> Encoded:
        packing = Packing.of(lengths, values.device)
        read = self._embed(values, dropping, lengths)[packing.elements]
        tag_scores: dict[str, Tensor] = {}
        for layer in range(self.spec.layers):
            read = self._read(layer, read, packing, dropping)
            if self.tagger is not None and layer + 1 == self.tagger.spec.layer:
                tag_scores = self._tag(self.tagger, read, packing, dropping)
                if self.tagger.size:
                    read = torch.cat([read, self.tagger.expected(tag_scores)], dim=1)
        return Encoded(read[packing.rows], {task: scores[packing.rows] for task, scores in tag_scores.items()})

    def tag_scores(self, values: Tensor, lengths: np.ndarray, dropping: bool = False) -> dict[str, Tensor]:
        """Return the scores of tags; the layers above the tagger are not computed."""
        if self.tagger is None:
            return {}
        packing = Packing.of(lengths, values.device)
        read = self._embed(values, dropping, lengths)[packing.elements]
        for layer in range(self.tagger.spec.layer):
            read = self._read(layer, read, packing, dropping)
        return {task: scores[packing.rows] for task, scores in self._tag(self.tagger, read, packing, dropping).items()}

    def rule_scores(self, forms: Sequence[str], tag_scores: Mapping[str, Tensor]) -> Tensor | None:
        return None if self.lemmas is None else self.lemmas.scores(forms, tag_scores)

    def _read(self, layer: int, read: Tensor, packing: Packing, dropping: bool) -> Tensor:
        """float32[rows, 2 * hidden]: what a layer makes of float32[rows, width]."""
        if layer and dropping and self.spec.dropout:
            read = read * _sentence_mask(read, packing, self.spec.dropout)
        sides = self.forwards[layer], self.backwards[layer]
        return torch.cat([read_sequences(side, read, packing, side is sides[1]) for side in sides], dim=1)

    def _tag(self, tagger: Tagger, read: Tensor, packing: Packing, dropping: bool) -> dict[str, Tensor]:
        """By task, float32[rows, values]."""
        if dropping and tagger.spec.dropout:
            read = read * _sentence_mask(read, packing, tagger.spec.dropout)
        return tagger.scores(read)

    def _embed(self, values: Tensor, dropping: bool, lengths: np.ndarray | None = None) -> Tensor:
        """float32[tokens, width]: the vectors of all parts.

        ``lengths``: of the sentences; None: there is one.
        """
        of_sentences = np.array([len(values)]) if lengths is None else lengths
        vectors = list(chain.from_iterable(read(values[:, rows], of_sentences, dropping) for rows, (read, _) in self._parts))
        if dropping and self.spec.attribute_dropout:
            vectors = [one * bernoulli_mask(one.new_empty(len(one), 1), self.spec.attribute_dropout) for one in vectors]
        read = torch.cat(vectors, dim=1)
        return read * bernoulli_mask(read, self.input_dropout) if dropping and self.input_dropout else read


def _sentence_mask(read: Tensor, packing: Packing, share: float) -> Tensor:
    """float32[rows, width]: a mask that drops the same numbers all through a sentence."""
    return bernoulli_mask(read.new_empty(packing.sizes[0], read.shape[1]), share)[packing.sequences]
