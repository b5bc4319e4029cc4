"""A bidirectional LSTM over the words of a sentence (Kiperwasser and Goldberg 2016, Section 3): a vector for each token.

A token goes in as the vectors of its attributes, side by side; the artificial root is the first token of its sentence. Each
layer reads the outputs of the one below, in both directions. In training, whole attributes of tokens are dropped, and of what
goes from layer to layer the same numbers are dropped all through a sentence (Gal and Ghahramani 2016).

Sentences of a batch are padded at their ends, also for the direction that begins there: it reads each sentence reversed. So no
LSTM meets padding before it has read the sentence, and each is a plain one, for which torch has fast kernels; packed sequences
cost three times as much. In which batch a sentence is read changes its vectors by no more than rounding: the products are the
same, but the library that computes them may add up in another order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from parser.classifier.dropout import bernoulli_mask
from parser.classifier.embeddings import Embeddings
from parser.classifier.representation import ContextualRepresentation


@dataclass(frozen=True)
class BiLSTMShape:
    """What is needed to build a BiLSTM again.

    Attributes:
        layers: LSTMs, one above the other.
        hidden: units of each layer and direction; a token's vector has twice as many numbers.
        dropout: the share of numbers dropped between layers in training.
        attribute_dropout: the share of a token's attributes dropped in training.
    """

    layers: int
    hidden: int
    dropout: float
    attribute_dropout: float


class BiLSTM(ContextualRepresentation):
    """From the attributes of tokens to vectors of tokens in their sentences.

    Args:
        inputs: the embeddings of the attributes, in the order of ``Sentences.values``.
        embeddings: those of relations, if they are embedded.
        shape: layers and dropout.
    """

    def __init__(self, inputs: Embeddings, embeddings: Embeddings, shape: BiLSTMShape) -> None:
        super().__init__(embeddings, 2 * shape.hidden)
        self.shape = shape
        self.inputs = inputs
        self.inputs.initialize(self.inputs.sizes)
        widths = [sum(inputs.sizes.values()), *[2 * shape.hidden] * (shape.layers - 1)]
        self.forwards = nn.ModuleList(nn.LSTM(width, shape.hidden) for width in widths)
        self.backwards = nn.ModuleList(nn.LSTM(width, shape.hidden) for width in widths)

    def set_vectors(self, attribute: str, matrix: np.ndarray) -> None:
        """See TokenRepresentation."""
        self.inputs.set_vectors(attribute, matrix)

    def encode(self, values: Tensor, lengths: np.ndarray, dropping: bool = False) -> Tensor:
        """See ContextualRepresentation."""
        grid = _Grid.of(lengths, values.device)
        read = self._embed(values, dropping)[grid.tokens]
        for number, (forwards, backwards) in enumerate(zip(self.forwards, self.backwards, strict=True)):
            if number and dropping and self.shape.dropout:
                read = read * bernoulli_mask(read[:1], self.shape.dropout)
            from_end = backwards(grid.reverse(read))[0]
            read = torch.cat([forwards(read)[0], grid.reverse(from_end)], dim=2)
        return read.flatten(0, 1)[grid.cells]

    def _embed(self, values: Tensor, dropping: bool) -> Tensor:
        """float32[tokens, width]: the vectors of the attributes, side by side."""
        parts = []
        for column, matrix in enumerate(self.inputs.matrices().values()):
            found = nn.functional.embedding(values[:, column], matrix)
            if dropping and self.shape.attribute_dropout:
                found = found * bernoulli_mask(found.new_empty(len(found), 1), self.shape.attribute_dropout)
            parts.append(found)
        return torch.cat(parts, dim=1)


@dataclass(frozen=True)
class _Grid:
    """Where the tokens of a batch lie when every sentence is a column, padded at its end.

    Attributes:
        tokens: int64[longest, sentences], the token in each cell; of padding, any one.
        reversed: int64[longest, sentences], the row to read instead of each, to reverse the sentences.
        cells: int64[tokens], the cell of each token.
    """

    tokens: Tensor
    reversed: Tensor
    cells: Tensor

    @classmethod
    def of(cls, lengths: np.ndarray, device: torch.device) -> _Grid:
        lengths = lengths.astype(np.int64)
        rows, columns = np.arange(lengths.max())[:, None], np.arange(len(lengths))
        inside = rows < lengths
        starts = np.cumsum(lengths) - lengths
        tokens = np.where(inside, starts + rows, 0)
        from_end = np.where(inside, lengths - 1 - rows, rows)
        cells = np.empty(lengths.sum(), np.int64)
        cells[tokens[inside]] = (rows * len(lengths) + columns)[inside]
        return cls(*(torch.from_numpy(array).to(device) for array in (tokens, from_end, cells)))

    def reverse(self, read: Tensor) -> Tensor:
        """float32[longest, sentences, width] with every sentence reversed, the padding left at its end."""
        return read[self.reversed, torch.arange(self.reversed.shape[1], device=read.device)]
