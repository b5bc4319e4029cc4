"""A bidirectional LSTM over the words of a sentence (Kiperwasser and Goldberg 2016, Section 3): a vector for each token.

A token goes in as the vectors of its attributes, side by side; the artificial root is the first token of its sentence. Each
layer reads the outputs of the one below, in both directions. In training, whole attributes of tokens are dropped, and of what
goes from layer to layer the same numbers are dropped all through a sentence (Gal and Ghahramani 2016).

Sentences of a batch are padded at their ends, also for the direction that begins there: it reads each sentence turned around.
So no LSTM meets padding before it has read the sentence, and each is a plain one, for which torch has fast kernels; packed
sequences cost three times as much. In which batch a sentence is read changes its vectors by no more than rounding: the products
are the same, but the library that computes them may add up in another order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from parser.classifier.classifier import Embedding, SetValues
from parser.data.set_vocabulary import Elements


@dataclass(frozen=True)
class EncoderShape:
    """What is needed to build a SentenceEncoder again.

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


class SentenceEncoder(nn.Module):
    """From the attributes of tokens to vectors of tokens in their sentences.

    Args:
        sizes: by attribute, in the order of the columns of the input, how many values there are (reserved ones included).
        embeddings: by attribute, how it is embedded.
        shape: layers and dropout.
        elements: by attribute, the elements of its values, for those attributes whose values are sets.
    """

    def __init__(
        self,
        sizes: Mapping[str, int],
        embeddings: Mapping[str, Embedding],
        shape: EncoderShape,
        elements: Mapping[str, Elements],
    ) -> None:
        super().__init__()
        self.shape = shape
        self.set_values = nn.ModuleDict({name: SetValues(found, sizes[name]) for name, found in elements.items()})
        self.vectors = nn.ParameterDict()
        for name, size in sizes.items():
            rows = elements[name].n_elements if name in elements else size
            vectors = torch.empty(rows, embeddings[name].size).normal_(std=embeddings[name].size ** -0.5)
            self.vectors[name] = nn.Parameter(vectors, requires_grad=embeddings[name].trained)
        width = sum(embeddings[name].size for name in sizes)
        widths = [width, *[2 * shape.hidden] * (shape.layers - 1)]
        self.forwards = nn.ModuleList(nn.LSTM(width, shape.hidden) for width in widths)
        self.backwards = nn.ModuleList(nn.LSTM(width, shape.hidden) for width in widths)

    def forward(self, values: Tensor, lengths: np.ndarray, dropping: bool = False) -> Tensor:
        """float32[tokens, 2 hidden]: the vectors of the tokens.

        Args:
            values: int32[tokens, attributes], the tokens of all sentences, one sentence behind the other.
            lengths: int[sentences], tokens of each, the root counted; the more alike, the less is spent on padding.
            dropping: whether dropout is in force; an argument, for threads may read at the same time.
        """
        grid = _Grid.of(lengths, values.device)
        read = self._embed(values, dropping)[grid.tokens]
        for number, (forwards, backwards) in enumerate(zip(self.forwards, self.backwards, strict=True)):
            if number and dropping and self.shape.dropout:
                read = read * _mask(read[:1], self.shape.dropout)
            turned = backwards(grid.turn(read))[0]
            read = torch.cat([forwards(read)[0], grid.turn(turned)], dim=2)
        return read.flatten(0, 1)[grid.cells]

    def _embed(self, values: Tensor, dropping: bool) -> Tensor:
        """float32[tokens, width]: the vectors of the attributes, side by side."""
        parts = []
        for column, (name, vectors) in enumerate(self.vectors.items()):
            matrix = self.set_values[name](vectors) if name in self.set_values else vectors
            found = nn.functional.embedding(values[:, column], matrix)
            if dropping and self.shape.attribute_dropout:
                found = found * _mask(found.new_empty(len(found), 1), self.shape.attribute_dropout)
            parts.append(found)
        return torch.cat(parts, dim=1)


def _mask(like: Tensor, share: float) -> Tensor:
    """0 for the share that is dropped, and as much for the others as keeps the mean."""
    return torch.empty_like(like).bernoulli_(1 - share).div_(1 - share)


@dataclass(frozen=True)
class _Grid:
    """Where the tokens of a batch lie when every sentence is a column, padded at its end.

    Attributes:
        tokens: int64[longest, sentences], the token in each cell; of padding, any one.
        turned: int64[longest, sentences], the row to read instead of each, to turn the sentences around.
        cells: int64[tokens], the cell of each token.
    """

    tokens: Tensor
    turned: Tensor
    cells: Tensor

    @classmethod
    def of(cls, lengths: np.ndarray, device: torch.device) -> _Grid:
        lengths = lengths.astype(np.int64)
        rows, columns = np.arange(lengths.max())[:, None], np.arange(len(lengths))
        inside = rows < lengths
        starts = np.cumsum(lengths) - lengths
        tokens = np.where(inside, starts + rows, 0)
        turned = np.where(inside, lengths - 1 - rows, rows)
        cells = np.empty(lengths.sum(), np.int64)
        cells[tokens[inside]] = (rows * len(lengths) + columns)[inside]
        return cls(*(torch.from_numpy(array).to(device) for array in (tokens, turned, cells)))

    def turn(self, read: Tensor) -> Tensor:
        """float32[longest, sentences, width] with every sentence turned around, the padding left at its end."""
        return read[self.turned, torch.arange(self.turned.shape[1], device=read.device)]
