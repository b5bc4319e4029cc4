"""Token representations: what a token is to the classifier, as vectors that feature slots read at a position.

A slot (transitions/features.py) reads a number at a node, and a representation says which vector the number stands for. There
are two kinds. *Static*: slots read the values of attributes, and a value has the same vector in every sentence
(AttributeEmbeddings, below). *Contextual*: slots read the token itself (the attribute ``token``), and its vector depends on its
whole sentence (bilstm.py). The relations that the parser gives to nodes are embedded the same way in both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from parser.data.lemmas import RuleScores
from parser.data.sentences import Sentences
from parser.data.vocabulary import Elements
from parser.inference.weights import SentenceEncoder
from parser.network_spec import Embedding
from parser.networks.layers import draw_vectors


class Embeddings(nn.Module):
    """The vectors of the values of some attributes: one for each value, or, where values are sets, for each element of one.

    Args:
        embeddings: by attribute, how it is embedded.
        n_values: by attribute, how many values there are (reserved ones included); other attributes may be there too.
        elements: by attribute, the elements of its values, for those attributes whose values are sets (SetVocabulary).

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


class TokenRepresentation(nn.Module, ABC):
    """The vectors that slots read.

    Args:
        attributes: what slots can read of a token, as FeatureTable needs it.
        embeddings: the vectors that are the same in every sentence, those of relations too where they are embedded.

    Attributes:
        contextual: whether the vector of a token depends on its sentence.
        sizes: by attribute that slots read as a vector, its length. Other attributes are one-hot.
    """

    contextual: ClassVar[bool]

    def __init__(self, attributes: Sequence[str], embeddings: Embeddings) -> None:
        super().__init__()
        self.attributes = list(attributes)
        self.embeddings = embeddings
        self.sizes = dict(embeddings.sizes)

    def initialize(self) -> None:
        """Draws new vectors, from torch's global generator."""
        self.embeddings.initialize(sorted(self.embeddings.sizes))

    @abstractmethod
    def vectors_of(self, sentences: Sentences | None = None) -> dict[str, Tensor]:
        """By attribute in ``sizes``, float32[values, size]: the vectors of the numbers that slots read, without dropout.

        Args:
            sentences: those that the slots are read in; only a contextual representation needs them.
        """

    def fixed_vectors(self) -> dict[str, Tensor]:
        """By attribute in ``sizes``, the first of the same vectors: those that do not depend on sentences."""
        return self.embeddings.matrices()

    def frozen(self, int8: bool = False) -> SentenceEncoder | None:
        """What makes the vectors of tokens with the weights as they are now; None for a static representation.

        Args:
            int8: whether they are stored and multiplied in 8 bits.

        Raises:
            Int8Error: they cannot be.
        """
        return None

    def tags_and_rules(self, sentences: Sentences) -> tuple[dict[str, np.ndarray], RuleScores | None]:
        """By column that is predicted, int32[total]: the number of each token's most probable value, of roots too.

        The value with number i is ``symbols[i]`` of its vocabulary. Besides, what scores the rules for the lemmas of the
        tokens; None where they are not predicted.
        """
        return {}, None

    @abstractmethod
    def set_vectors(self, attribute: str, matrix: np.ndarray) -> None:
        """Fills in pre-trained vectors: float32[values of the attribute, size]."""


class AttributeEmbeddings(TokenRepresentation):
    """A vector for each value of each embedded attribute, the same in every sentence (Chen and Manning 2014, Section 3)."""

    contextual = False

    def vectors_of(self, sentences: Sentences | None = None) -> dict[str, Tensor]:
        """Return the embeddings, to which gradients flow."""
        return self.fixed_vectors()

    def set_vectors(self, attribute: str, matrix: np.ndarray) -> None:
        self.embeddings.set_vectors(attribute, matrix)
