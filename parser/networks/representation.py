"""Token representations: what a token is to the classifier, as vectors that feature slots read at a position.

A slot (transitions/features.py) reads a number at a node, and a representation says which vector the number stands for. There
are two kinds. *Static*: slots read the values of attributes, and a value has the same vector in every sentence
(AttributeEmbeddings, below). *Contextual*: slots read the token itself (the attribute ``token``), and its vector depends on its
whole sentence (bilstm.py). The relations that the parser gives to nodes are embedded the same way in both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from parser import batch_sizes
from parser.data.lemmas import RuleScores
from parser.data.sentences import Sentences
from parser.data.vocabulary import N_RESERVED, Elements
from parser.inference.arithmetic import Matrix, SinglePrecision
from parser.inference.weights import Int8Error, SentenceEncoder, TaggingEncoder
from parser.network_spec import Embedding
from parser.networks.layers import draw_vectors
from parser.transitions.features import TOKEN


@dataclass(frozen=True)
class Encoded:
    """What an encoder makes of the tokens of some sentences.

    Attributes:
        tokens: float32[tokens, size], their vectors.
        tag_scores: by column that is predicted, float32[tokens, values], scores (logits) of its values.
    """

    tokens: Tensor
    tag_scores: dict[str, Tensor]


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
        if int8:
            raise Int8Error("8-bit products are supported only for models with an encoder (model=bilstm); parse without --int8")
        return None

    def tags_of(self, sentences: Sentences) -> dict[str, np.ndarray]:
        """By column that is predicted, int32[total]: the number of each token's most probable value, of roots too.

        The value with number i is ``symbols[i]`` of its vocabulary.
        """
        return self.tags_and_rules(sentences)[0]

    def tags_and_rules(self, sentences: Sentences) -> tuple[dict[str, np.ndarray], RuleScores | None]:
        """The same, and what scores the rules for the lemmas of the tokens; None where they are not predicted."""
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


class ContextualRepresentation(TokenRepresentation):
    """A representation that encodes whole sentences.

    Args:
        embeddings: those of relations, if they are embedded.
        size: the length of a token's vector.

    Attributes:
        reserved: float32[N_RESERVED, size], vectors of the reserved values of ``token``; only that of ABSENT is in use.
    """

    contextual = True

    def __init__(self, embeddings: Embeddings, size: int) -> None:
        super().__init__([TOKEN], embeddings)
        self.reserved = nn.Parameter(torch.empty(N_RESERVED, size))
        self.sizes[TOKEN] = size

    def initialize(self) -> None:
        """Draw the vectors of reserved values and relations; what encode() needs is drawn when it is made."""
        draw_vectors(self.reserved)
        super().initialize()

    @abstractmethod
    def encode(self, values: Tensor, lengths: np.ndarray, dropping: bool = False) -> Encoded:
        """The vectors of the tokens, and the scores of their tags where they are predicted.

        Args:
            values: int32[tokens, rows], the tokens of all sentences, one sentence after the other; as ``Sentences.values``.
            lengths: int[sentences], tokens of each, the root counted; the more alike, the less is spent on padding.
            dropping: whether dropout is in force; an argument, because threads may encode at the same time.
        """

    def frozen(self, int8: bool = False) -> TaggingEncoder:
        """Return what runs encode() on the device of the weights."""
        if int8:
            raise Int8Error("8-bit products are supported only on the CPU; parse without --int8, or on the CPU")
        return _OnDevice(self)

    def tag_scores(self, values: Tensor, lengths: np.ndarray, dropping: bool = False) -> dict[str, Tensor]:
        """Only the scores of tags, as in encode()."""
        return self.encode(values, lengths, dropping).tag_scores

    def rule_scores(self, forms: Sequence[str], tag_scores: Mapping[str, Tensor]) -> Tensor | None:
        """float32[forms, rules], the scores of rules for lemmas, from those of tags; None where they are not predicted."""
        return None

    def fixed_vectors(self) -> dict[str, Tensor]:
        """Return the embeddings, and of tokens the vectors of the reserved values."""
        return super().fixed_vectors() | {TOKEN: self.reserved}

    def with_tokens(self, encoded: Tensor) -> dict[str, Tensor]:
        """As vectors_of(), given what encode() made of the tokens."""
        return self.embeddings.matrices() | {TOKEN: torch.cat([self.reserved, encoded])}

    @torch.no_grad()
    def vectors_of(self, sentences: Sentences | None = None) -> dict[str, Tensor]:
        """Encode the sentences; no gradients flow.

        Raises:
            ValueError: no sentences are given.
        """
        if sentences is None:
            raise ValueError("the vectors of a contextual representation depend on the sentences; say which ones")
        return self.with_tokens(self.encoded(sentences))

    @torch.no_grad()
    def encoded(self, sentences: Sentences) -> Tensor:
        """float32[tokens, size]: what encode() makes of all tokens, sentences of like lengths together."""
        found = self.reserved.new_empty(int(sentences.offsets[-1]), self.sizes[TOKEN])
        for places, values, lengths in self._batches(sentences):
            found[places] = self.encode(values, lengths).tokens
        return found

    @torch.no_grad()
    def tags_and_rules(self, sentences: Sentences) -> tuple[dict[str, np.ndarray], RuleScores | None]:
        found = self.all_tag_scores(sentences)

        @torch.no_grad()
        def rules(forms: Sequence[str], places: np.ndarray) -> np.ndarray:
            scores = self.rule_scores(forms, {column: of_all[places] for column, of_all in found.items()})
            assert scores is not None, "rules are predicted"
            return scores.numpy(force=True)

        tags = {column: scores.argmax(1).numpy(force=True).astype(np.int32) for column, scores in found.items()}
        return tags, None if self.rule_scores([], {column: of_all[:0] for column, of_all in found.items()}) is None else rules

    @torch.no_grad()
    def all_tag_scores(self, sentences: Sentences, dropping: bool = False) -> dict[str, Tensor]:
        """By column that is predicted, float32[tokens, values], the scores of tag_scores(), of all tokens."""
        found: dict[str, Tensor] = {}
        for places, values, lengths in self._batches(sentences):
            for column, scores in self.tag_scores(values, lengths, dropping).items():
                of_all = found.setdefault(column, scores.new_empty(int(sentences.offsets[-1]), scores.shape[1]))
                of_all[places] = scores
        return found

    def _batches(self, sentences: Sentences) -> Iterator[tuple[Tensor, Tensor, np.ndarray]]:
        """Sentences of like lengths together: the places of their tokens, and what encode() takes."""
        device = self.reserved.device
        lengths = np.diff(sentences.offsets)
        order = np.argsort(lengths, kind="stable")
        batches = (np.cumsum(lengths[order]) - 1) // batch_sizes.TOKENS_PER_ENCODING
        for numbers in np.split(order, np.flatnonzero(np.diff(batches)) + 1) if len(order) else []:
            places = sentences.places(numbers)
            values = torch.from_numpy(sentences.values[:, places].T.copy()).to(device)
            yield torch.from_numpy(places).to(device), values, lengths[numbers]


class _OnDevice:
    """A contextual representation as it is."""

    def __init__(self, tokens: ContextualRepresentation) -> None:
        self._tokens = tokens

    def encode(self, sentences: Sentences) -> np.ndarray:
        return self._tokens.encoded(sentences).numpy(force=True) if sentences.vectors is None else sentences.vectors

    def encode_with_tags(self, sentences: Sentences) -> tuple[np.ndarray, dict[str, np.ndarray], RuleScores | None]:
        return self.encode(sentences), *self._tokens.tags_and_rules(sentences)

    def floats(self, vectors: np.ndarray) -> np.ndarray:
        return vectors

    def matrix(self, weights: np.ndarray, bias: np.ndarray) -> Matrix:
        return SinglePrecision().matrix(weights, bias)

    def rounded(self, weights: np.ndarray) -> np.ndarray:
        return weights
