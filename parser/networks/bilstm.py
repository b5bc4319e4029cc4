"""A bidirectional LSTM over the words of a sentence (Kiperwasser and Goldberg 2016, Section 3): a vector for each token.

A token goes in as the vectors of its attributes and of its characters, side by side; the artificial root is the first token of
its sentence. Each layer reads the outputs of the one below, in both directions. A tagger may read the outputs of one of the
layers; the next one reads the expected tags beside them (tagger.py). In training, whole attributes of tokens are dropped,
and of what goes from layer to layer the same numbers are dropped all through a sentence (Gal and Ghahramani 2016).

Sentences of a batch are padded at their ends, also for the direction that begins there: it reads each sentence reversed. So no
LSTM meets padding before it has read the sentence, and each is a plain one, for which torch has fast kernels; packed sequences
cost three times as much. In which batch a sentence is read changes its vectors by no more than rounding: the products are the
same, but the library that computes them may add up in another order.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn

from parser.data.vocabulary import Vocabulary
from parser.inference.encoder import RestingEncoder
from parser.inference.encoder_weights import EncoderWeights
from parser.inference.shape import BiLSTMShape
from parser.inference.weights import TaggingEncoder
from parser.networks.biaffine import HeadScorer
from parser.networks.character_encoder import CharacterEncoder
from parser.networks.dropout import bernoulli_mask
from parser.networks.embeddings import Embeddings
from parser.networks.padding import Grid
from parser.networks.representation import ContextualRepresentation, Encoded
from parser.networks.tagger import Tagger


class BiLSTM(ContextualRepresentation):
    """From the attributes of tokens to vectors of tokens in their sentences.

    Args:
        inputs: the embeddings of the attributes, in the order of ``Sentences.values``.
        embeddings: those of relations, if they are embedded.
        shape: layers and dropout.
        n_characters: characters that have a vector, where ``shape.characters`` says how they are read.
        tags: by task of the tagger, its values.
        n_relations: relations that ``shape.heads`` tells apart.
        input_dropout: the share of the numbers of what goes in that are dropped in training.
    """

    def __init__(
        self,
        inputs: Embeddings,
        embeddings: Embeddings,
        shape: BiLSTMShape,
        n_characters: int = 0,
        tags: Mapping[str, Vocabulary] | None = None,
        n_relations: int = 0,
        input_dropout: float = 0.0,
    ) -> None:
        super().__init__(embeddings, 2 * shape.hidden)
        self.shape = shape
        self.inputs = inputs
        self.input_dropout = input_dropout
        self.inputs.initialize(self.inputs.sizes)
        widths = [sum(inputs.sizes.values()), *[2 * shape.hidden] * (shape.layers - 1)]
        self.characters = None if shape.characters is None else CharacterEncoder(shape.characters, n_characters)
        if self.characters is not None:
            widths[0] += self.characters.size
        self.tagger = None
        if shape.tagger is not None and tags:
            self.tagger = Tagger(shape.tagger, 2 * shape.hidden, tags)
            widths[shape.tagger.layer] += self.tagger.size
        self.heads = None if shape.heads is None else HeadScorer(shape.heads, 2 * shape.hidden, n_relations)
        self.forwards = nn.ModuleList(nn.LSTM(width, shape.hidden) for width in widths)
        self.backwards = nn.ModuleList(nn.LSTM(width, shape.hidden) for width in widths)

    def set_vectors(self, attribute: str, matrix: np.ndarray) -> None:
        """See TokenRepresentation."""
        self.inputs.set_vectors(attribute, matrix)

    def at_rest(self, int8: bool = False) -> TaggingEncoder:
        """See TokenRepresentation; on a CPU, a faster way."""
        return RestingEncoder(self.encoder_weights(), int8) if self.reserved.is_cpu else super().at_rest(int8)

    def encoder_weights(self) -> EncoderWeights:
        """The weights as they are now, as numpy arrays, some of which share their memory with the parameters."""
        tagger = self.tagger
        return EncoderWeights(
            self.shape,
            [_array(matrix) for matrix in self.inputs.matrices().values()],
            {name: _array(tensor) for name, tensor in self.state_dict().items()},
            {} if tagger is None else {task: _array(values()) for task, values in tagger.outputs.items()},
            {} if tagger is None else {task: _array(values()) for task, values in tagger.inputs.items()},
        )

    def encode(self, values: Tensor, lengths: np.ndarray, dropping: bool = False) -> Encoded:
        """See ContextualRepresentation."""
        grid = Grid.of(lengths, values.device)
        read = self._embed(values, dropping)[grid.elements]
        tag_scores: dict[str, Tensor] = {}
        for layer in range(self.shape.layers):
            if layer and dropping and self.shape.dropout:
                read = read * bernoulli_mask(read[:1], self.shape.dropout)
            read = self._read(layer, read, grid)
            if self.tagger is not None and layer + 1 == self.tagger.shape.layer:
                tag_scores = self._tag(self.tagger, read, dropping)
                if self.tagger.size:
                    read = torch.cat([read, self.tagger.expected(tag_scores)], dim=2)
        by_token = {task: scores.flatten(0, 1)[grid.cells] for task, scores in tag_scores.items()}
        return Encoded(read.flatten(0, 1)[grid.cells], by_token)

    def tag_scores(self, values: Tensor, lengths: np.ndarray) -> dict[str, Tensor]:
        """See ContextualRepresentation; the layers above the tagger are not computed."""
        if self.tagger is None:
            return {}
        grid = Grid.of(lengths, values.device)
        read = self._embed(values, dropping=False)[grid.elements]
        for layer in range(self.tagger.shape.layer):
            read = self._read(layer, read, grid)
        return self.tagger.scores(read.flatten(0, 1)[grid.cells])

    def _read(self, layer: int, read: Tensor, grid: Grid) -> Tensor:
        """float32[longest, sentences, 2 * hidden]: what a layer makes of float32[longest, sentences, width]."""
        from_end = self.backwards[layer](grid.reverse(read))[0]
        return torch.cat([self.forwards[layer](read)[0], grid.reverse(from_end)], dim=2)

    def _tag(self, tagger: Tagger, read: Tensor, dropping: bool) -> dict[str, Tensor]:
        """By task, float32[longest, sentences, values]."""
        if dropping and tagger.shape.dropout:
            read = read * bernoulli_mask(read[:1], tagger.shape.dropout)
        return tagger.scores(read)

    def _embed(self, values: Tensor, dropping: bool) -> Tensor:
        """float32[tokens, width]: the vectors of the attributes and of the characters, side by side."""
        matrices = self.inputs.matrices().values()
        parts = [nn.functional.embedding(values[:, column], matrix) for column, matrix in enumerate(matrices)]
        if self.characters is not None:
            parts.append(self.characters(values[:, len(parts) :]))
        if dropping and self.shape.attribute_dropout:
            parts = [part * bernoulli_mask(part.new_empty(len(part), 1), self.shape.attribute_dropout) for part in parts]
        read = torch.cat(parts, dim=1)
        return read * bernoulli_mask(read, self.input_dropout) if dropping and self.input_dropout else read


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().contiguous().numpy()
