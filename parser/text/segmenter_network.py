"""The network of a segmenter, for training; segmenter.py reads with what it has learned."""

from __future__ import annotations

import numpy as np
from torch import Tensor, nn

from parser.inference.shape import Embedding
from parser.networks.bilstm import BiLSTM
from parser.networks.embeddings import Embeddings
from parser.text.segmenter import SegmenterShape


class SegmenterNetwork(nn.Module):
    """From the attributes of tokens to the scores of sentence ends.

    Args:
        shape: its sizes.
        n_values: by attribute, how many values there are, reserved ones included.
    """

    def __init__(self, shape: SegmenterShape, n_values: dict[str, int]) -> None:
        super().__init__()
        sizes = {name: Embedding(shape.size_of(name), True) for name in n_values}
        self.encoder = BiLSTM(Embeddings(sizes, n_values), Embeddings({}, {}), shape.lstms, input_dropout=shape.dropout)
        self.encoder.initialize()
        for vectors in self.encoder.inputs.vectors.values():  # longer than a parser's, with which it learns less on got
            nn.init.normal_(vectors)
        self.dropout = nn.Dropout(shape.dropout)
        self.output = nn.Linear(2 * shape.hidden, 1)

    def forward(self, values: Tensor, lengths: np.ndarray) -> Tensor:
        """float32[tokens], scores (logits), for training.

        Args:
            values: int32[tokens, attributes], the tokens of all windows.
            lengths: int[windows], tokens of each.
        """
        return self.output(self.dropout(self.encoder.encode(values, lengths, dropping=True).tokens))[:, 0]

    def tensors(self) -> dict[str, np.ndarray]:
        """The weights as they are now, for a Segmenter."""
        return {name: tensor.numpy(force=True).copy() for name, tensor in self.state_dict().items()}
