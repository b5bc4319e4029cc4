"""Embeddings of attributes: a vector for each value, or, where values are sets, for each element of a value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
import torch
from torch import Tensor, nn

from parser.data.set_vocabulary import Elements
from parser.inference.shape import Embedding


class Embeddings(nn.Module):
    """The vectors of the values of some attributes.

    Args:
        embeddings: by attribute, how it is embedded.
        n_values: by attribute, how many values there are (reserved ones included); other attributes may be there too.
        elements: by attribute, the elements of its values, for those attributes whose values are sets (set_vocabulary.py).

    Attributes:
        vectors: by attribute, float32[values, size], or float32[elements, size] where the values are sets.
        sizes: by attribute in the given order, the length of a vector.
    """

    def __init__(
        self, embeddings: Mapping[str, Embedding], n_values: Mapping[str, int], elements: Mapping[str, Elements] | None = None
    ) -> None:
        super().__init__()
        self.sizes = {name: embedding.size for name, embedding in embeddings.items()}
        sets = {name: found for name, found in (elements or {}).items() if name in embeddings}
        self.set_sums = nn.ModuleDict({name: SetSums(found, n_values[name]) for name, found in sets.items()})
        self.vectors = nn.ParameterDict()
        for name, embedding in embeddings.items():
            n_vectors = sets[name].n_elements if name in sets else n_values[name]
            self.vectors[name] = nn.Parameter(torch.empty(n_vectors, embedding.size), requires_grad=embedding.trained)

    def initialize(self, order: Iterable[str]) -> None:
        """Draws the vectors of the attributes, in this order; see draw_vectors."""
        for attribute in order:
            draw_vectors(self.vectors[attribute])

    def set_vectors(self, attribute: str, matrix: np.ndarray) -> None:
        """Fills in pre-trained vectors: float32[values of the attribute, size]."""
        with torch.no_grad():
            self.vectors[attribute].copy_(torch.from_numpy(matrix))

    def matrix(self, attribute: str) -> Tensor:
        """float32[values, size]: the vectors of the values of an attribute."""
        vectors = self.vectors[attribute]
        return self.set_sums[attribute](vectors) if attribute in self.set_sums else vectors

    def matrices(self) -> dict[str, Tensor]:
        """matrix() of every attribute."""
        return {name: self.matrix(name) for name in self.sizes}


def draw_vectors(vectors: Tensor) -> None:
    """Draws float32[n, size] in place, so that the expected square of a vector's length is 1."""
    nn.init.normal_(vectors, std=vectors.shape[1] ** -0.5)


class SetSums(nn.Module):
    """From vectors of elements to vectors of values, each the sum of those of its elements."""

    values: Tensor
    elements: Tensor

    def __init__(self, elements: Elements, n_values: int) -> None:
        super().__init__()
        self.n_values = n_values
        self.register_buffer("values", torch.from_numpy(elements.values), persistent=False)
        self.register_buffer("elements", torch.from_numpy(elements.elements), persistent=False)

    def forward(self, vectors: Tensor) -> Tensor:
        """float32[values, size] from float32[elements, size]."""
        return vectors.new_zeros(self.n_values, vectors.shape[1]).index_add(0, self.values, vectors[self.elements])
