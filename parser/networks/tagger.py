"""Tags predicted from the vectors of tokens, as a second task of the encoder (Hashimoto et al. 2017, Section 2.2).

A task is a column of gold data: upos, xpos, feats. Its distribution over the values is a softmax over the products of the
token's vector with a vector for each value. What the layers above read is the tag's expected vector, under the distribution, of
a second table. Where values are sets, as those of feats are, the vectors of both tables have a part that is the sum of vectors
of the elements, so that what is learned of ``Case=Nom`` serves every value that has it.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from parser.data.set_vocabulary import SetVocabulary
from parser.data.vocabulary import N_RESERVED, Vocabulary
from parser.inference.shape import TaggerShape
from parser.networks.embeddings import SetSums, draw_vectors


class Tagger(nn.Module):
    """Distributions over tags, and expected vectors.

    Args:
        shape: its sizes.
        width: the length of the vectors of tokens.
        tags: by task, its values.
    """

    def __init__(self, shape: TaggerShape, width: int, tags: Mapping[str, Vocabulary]) -> None:
        super().__init__()
        self.shape = shape
        self.outputs = nn.ModuleDict({task: _ValueVectors(width, values) for task, values in tags.items()})
        self.biases = nn.ParameterDict({task: nn.Parameter(torch.zeros(len(values.symbols))) for task, values in tags.items()})
        read = tags if shape.size else {}
        self.inputs = nn.ModuleDict({task: _ValueVectors(shape.size, values) for task, values in read.items()})

    @property
    def size(self) -> int:
        """The length of the expected vectors of all tasks, side by side."""
        return self.shape.size * len(self.inputs)

    def scores(self, tokens: Tensor) -> dict[str, Tensor]:
        """By task, float32[..., values]: scores (logits) of the values, from float32[..., width]."""
        return {task: tokens @ output().t() + self.biases[task] for task, output in self.outputs.items()}

    def expected(self, scores: Mapping[str, Tensor]) -> Tensor:
        """float32[..., size]: the expected vectors under the distributions with these scores."""
        return torch.cat([scores[task].softmax(-1) @ vectors() for task, vectors in self.inputs.items()], dim=-1)


class _ValueVectors(nn.Module):
    """float32[values, size]: a vector for each value of a vocabulary; of sets, their elements' vectors are added."""

    def __init__(self, size: int, values: Vocabulary) -> None:
        super().__init__()
        self.whole = nn.Parameter(torch.empty(len(values.symbols), size))
        draw_vectors(self.whole)
        self.sums: SetSums | None = None
        if isinstance(values, SetVocabulary):
            elements = values.elements
            self.sums = SetSums(elements, len(values))
            self.elements = nn.Parameter(torch.empty(elements.n_elements, size))
            draw_vectors(self.elements)

    def forward(self) -> Tensor:
        return self.whole if self.sums is None else self.whole + self.sums(self.elements)[N_RESERVED:]
