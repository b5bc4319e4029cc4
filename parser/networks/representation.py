"""Token representations: the vectors of tokens that feature slots read.

A slot (transitions/features.py) reads a number at a node, and a representation has a vector for the
number. There are two kinds. *Static*: slots read the values of attributes, and a value has the same
vector in every sentence (AttributeEmbeddings). *Contextual*: slots read the token itself (the
attribute ``token``), and its vector depends on its whole sentence (bilstm.py). Both embed the
relations that the parser gives to nodes in the same way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from parser.data.sentences import Sentences
from parser.data.tasks.task import FormScores
from parser.data.vocabulary import Elements
from parser.inference.weights import SentenceEncoder, SettleTags
from parser.network_spec import Embedding
from parser.networks.layers import draw_vectors


class Embeddings(nn.Module):
    """The vectors of the values of some attributes: one for each value or, if values are sets,
    for each element.

    Args:
        embeddings: how each attribute is embedded.
        n_values: how many values each attribute has, including reserved ones; may have further
            attributes.
        elements: the elements of the values of each attribute whose values are sets
            (SetVocabulary).

    Attributes:
        vectors: for each attribute, float32[values, size], or float32[elements, size] if the values
            are sets.
        sizes: the length of a vector of each attribute, in the order of ``embeddings``.
    """

    def __init__(
        self,
        embeddings: Mapping[str, Embedding],
        n_values: Mapping[str, int],
        elements: Mapping[str, Elements] | None = None,
    ) -> None:
        super().__init__()
        self.sizes = {name: embedding.size for name, embedding in embeddings.items()}
        sets = {
            name: set_elements
            for name, set_elements in (elements or {}).items()
            if name in embeddings
        }
        self.set_sums = nn.ModuleDict(
            {name: SetSums(set_elements, n_values[name]) for name, set_elements in sets.items()}
        )
        self.vectors = nn.ParameterDict()
        for name, embedding in embeddings.items():
            n_vectors = sets[name].n_elements if name in sets else n_values[name]
            self.vectors[name] = nn.Parameter(
                torch.empty(n_vectors, embedding.size), requires_grad=embedding.trained
            )

    def initialize(self, order: Iterable[str]) -> None:
        """Draw the vectors of the attributes, in this order; see draw_vectors()."""
        for attribute in order:
            draw_vectors(self.vectors[attribute])

    def set_vectors(self, attribute: str, matrix: np.ndarray) -> None:
        """Fill in pretrained vectors: float32[values of the attribute, size]."""
        with torch.no_grad():
            self.vectors[attribute].copy_(torch.from_numpy(matrix))

    def matrix(self, attribute: str) -> Tensor:
        """Return float32[values, size], the vectors of the values of an attribute."""
        vectors = self.vectors[attribute]
        return self.set_sums[attribute](vectors) if attribute in self.set_sums else vectors

    def matrices(self) -> dict[str, Tensor]:
        """Return matrix() of every attribute."""
        return {name: self.matrix(name) for name in self.sizes}


class SetSums(nn.Module):
    """Sums the vectors of elements into vectors of values, which are sets of elements."""

    values: Tensor
    elements: Tensor

    def __init__(self, elements: Elements, n_values: int) -> None:
        super().__init__()
        self.n_values = n_values
        self.register_buffer("values", torch.from_numpy(elements.values), persistent=False)
        self.register_buffer("elements", torch.from_numpy(elements.elements), persistent=False)

    def forward(self, vectors: Tensor) -> Tensor:
        """Return float32[values, size] for float32[elements, size]."""
        return vectors.new_zeros(self.n_values, vectors.shape[1]).index_add(
            0, self.values, vectors[self.elements]
        )


class TokenRepresentation(nn.Module, ABC):
    """The vectors that slots read.

    Args:
        attributes: the attributes of a token that slots can read, for FeatureTable.
        embeddings: the vectors that are the same in every sentence,
            including those of embedded relations.

    Attributes:
        contextual: whether the vector of a token depends on its sentence.
        sizes: the length of the vectors of each attribute that slots read as a vector.
            Other attributes are one-hot.
    """

    contextual: ClassVar[bool]

    def __init__(self, attributes: Sequence[str], embeddings: Embeddings) -> None:
        super().__init__()
        self.attributes = list(attributes)
        self.embeddings = embeddings
        self.sizes = dict(embeddings.sizes)

    def initialize(self) -> None:
        """Draw new vectors, from torch's global generator."""
        self.embeddings.initialize(sorted(self.embeddings.sizes))

    @abstractmethod
    def vectors_of(self, sentences: Sentences | None = None) -> dict[str, Tensor]:
        """Return the vectors of the numbers that slots read, without dropout:
        by attribute, float32[values, size].

        Args:
            sentences: the sentences in which slots are read;
                only a contextual representation needs them.
        """

    def fixed_vectors(self) -> dict[str, Tensor]:
        """Return the first rows of vectors_of(): the vectors that do not depend on sentences."""
        return self.embeddings.matrices()

    def frozen(self, int8: bool = False) -> SentenceEncoder | None:
        """Return an encoder of tokens with the current weights; None for a static representation.

        Args:
            int8: whether vectors are stored and multiplied in 8 bits.

        Raises:
            Int8Error: the device does not support 8-bit products.
        """
        return None

    def tags_and_rules(
        self, sentences: Sentences, settle: SettleTags | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, FormScores]]:
        """Return the most probable tags, and by task that is learned after the parser,
        a function that scores forms.

        Tags are, by predicted column, int32[total], roots included; number i is ``symbols[i]`` of
        the column's vocabulary. ``settle`` changes their scores.
        """
        return {}, {}

    @abstractmethod
    def set_vectors(self, attribute: str, matrix: np.ndarray) -> None:
        """Fill in pretrained vectors: float32[values of the attribute, size]."""


class AttributeEmbeddings(TokenRepresentation):
    """A vector for each value of each embedded attribute, the same in every sentence (Chen and
    Manning 2014, Section 3).
    """

    contextual = False

    def vectors_of(self, sentences: Sentences | None = None) -> dict[str, Tensor]:
        """Return the embeddings, to which gradients flow."""
        return self.fixed_vectors()

    def set_vectors(self, attribute: str, matrix: np.ndarray) -> None:
        self.embeddings.set_vectors(attribute, matrix)
