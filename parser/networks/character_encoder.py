"""A vector for a form from its characters: a bidirectional LSTM over them (Ling et al. 2015, Section 3).

What both directions have read at their ends, side by side. A form is read once in a batch, however often it occurs there.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from parser.data.vocabulary import ABSENT
from parser.inference.shape import CharacterShape
from parser.networks.embeddings import draw_vectors
from parser.networks.padding import Grid


class CharacterEncoder(nn.Module):
    """From characters to vectors of forms.

    Args:
        shape: its layers.
        n_characters: characters that have a vector, reserved ones included.
    """

    def __init__(self, shape: CharacterShape, n_characters: int) -> None:
        super().__init__()
        self.shape = shape
        self.vectors = nn.Parameter(torch.empty(n_characters, shape.embedding))
        draw_vectors(self.vectors)
        self.forwards = nn.LSTM(shape.embedding, shape.hidden)
        self.backwards = nn.LSTM(shape.embedding, shape.hidden)

    @property
    def size(self) -> int:
        """The length of a form's vector."""
        return 2 * self.forwards.hidden_size

    def forward(self, characters: Tensor) -> Tensor:
        """float32[tokens, size] from int32[tokens, longest], as Characters.encode gives them, but for their order of axes."""
        forms, numbers = np.unique(characters.numpy(force=True), axis=0, return_inverse=True)
        lengths = (forms != ABSENT).sum(axis=1)
        grid = Grid.of(lengths, characters.device)
        flat = torch.from_numpy(forms[forms != ABSENT]).to(characters.device)
        read = nn.functional.embedding(flat, self.vectors)[grid.elements]
        ends = grid.cells[torch.from_numpy(np.cumsum(lengths) - 1).to(characters.device)]
        sides = [self.forwards(read)[0], self.backwards(grid.reverse(read))[0]]
        of_forms = torch.cat([side.flatten(0, 1)[ends] for side in sides], dim=1)
        return of_forms[torch.from_numpy(numbers.reshape(-1)).to(characters.device)]
