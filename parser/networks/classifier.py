"""The classifier: one hidden layer over what feature slots read, and a score for every output
(Nederhof 2019, Section 8).

A slot is an input of the hidden layer in one of two ways. *One-hot*: a (slot, value) pair has a row
of hidden activations in a table of weights; this is a linear layer over one-hot inputs, without the
zeros. *As a vector*: the token representation (representation.py) has a vector for the number that
the slot reads, and a linear layer takes the vectors of all such slots side by side. In both cases
the hidden layer is the sum of a bias and one vector of activations per slot.

batch_scorer() scores many configurations at a time,
with frozen weights and precomputed hidden activations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from oracles.errors import OptimalStepError, nearest, question
from parser.data.sentences import Sentences
from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import N_RESERVED, Vocabulary
from parser.inference.arithmetic import SinglePrecision
from parser.inference.precomputed import Scorer, hidden_layer, with_arcs
from parser.inference.weights import ClassifierWeights, SentenceEncoder, SlotLayout
from parser.network_spec import ClassifierSpec, MlpSpec
from parser.networks.bilstm import BiLSTM
from parser.networks.layers import ACTIVATIONS, dropout_mask
from parser.networks.representation import AttributeEmbeddings, Embeddings, TokenRepresentation
from parser.transitions.features import RELATION, TOKEN, FeatureTable, Slot


class Classifier(nn.Module):
    """Scores outputs from feature values.

    Args:
        slots: the columns of the input.
        n_values: how many values each one-hot attribute has, including reserved ones.
        spec: the spec of the hidden layer.
    """

    one_hot_columns: Tensor
    one_hot_starts: Tensor

    def __init__(
        self,
        tokens: TokenRepresentation,
        slots: Sequence[Slot],
        n_values: Mapping[str, int],
        spec: MlpSpec,
        n_outputs: int,
    ) -> None:
        super().__init__()
        self.activation_name, hidden = spec.activation, spec.hidden
        self.activation = ACTIVATIONS[spec.activation]
        self.dropout = spec.dropout
        self.input_dropout = spec.input_dropout
        self.slot_dropout = spec.slot_dropout
        self.tokens = tokens

        layout = self.layout = SlotLayout.of(slots, tokens.sizes, n_values)
        self.register_buffer(
            "one_hot_columns",
            torch.tensor(layout.one_hot_columns, dtype=torch.int64),
            persistent=False,
        )
        self.register_buffer(
            "one_hot_starts",
            torch.tensor(layout.one_hot_starts, dtype=torch.int32),
            persistent=False,
        )
        self.one_hot = nn.EmbeddingBag(layout.one_hot_rows, hidden, mode="sum")
        self.hidden_bias = nn.Parameter(torch.zeros(hidden))

        self.embedded_columns = layout.embedded_columns
        self.sizes_of_slots = layout.sizes_of_slots  # in their order in the input
        self.n_embedded, width = len(self.sizes_of_slots), layout.width
        self.embedded = nn.Linear(width, hidden, bias=False) if width else None

        self.output = nn.Linear(hidden, n_outputs)
        self._initialize(inputs=width + len(layout.one_hot_columns))

    def _initialize(self, inputs: int) -> None:
        """Draw Glorot's uniform weights; a one-hot slot, with one active input at a time,
        adds 1 to ``inputs``.
        """
        bound = (6.0 / (inputs + len(self.hidden_bias))) ** 0.5
        nn.init.uniform_(self.one_hot.weight, -bound, bound)
        if self.embedded is not None:
            nn.init.uniform_(self.embedded.weight, -bound, bound)
        nn.init.xavier_uniform_(self.output.weight)
        nn.init.zeros_(self.output.bias)
        self.tokens.initialize()

    def forward(
        self,
        features: Tensor,
        vectors: Mapping[str, Tensor] | None = None,
        *,
        dropping: bool = False,
    ) -> Tensor:
        """Return float32[batch, outputs], scores (logits).

        Args:
            features: int32[batch, slots], the values that the slots read.
            vectors: ``tokens.vectors_of`` the sentences of the features;
                a static representation does not need it.
            dropping: whether dropout is in force.
        """
        rows = self.one_hot_rows(features)
        inputs = self._embed(features, self.tokens.vectors_of() if vectors is None else vectors)
        kept_inputs, kept_slots, kept = (
            self.dropout_masks(inputs) if dropping else (None, None, None)
        )
        if kept_inputs is not None:
            inputs = inputs * kept_inputs
        if kept_slots is not None:
            sizes = torch.tensor(self.sizes_of_slots, dtype=torch.int64, device=inputs.device)
            inputs = inputs * kept_slots.repeat_interleave(sizes, dim=1)
        total = self.hidden_bias.expand(len(features), -1)
        if self.embedded is not None:
            total = torch.addmm(self.hidden_bias, inputs, self.embedded.weight.t())
        if rows.shape[1]:
            total = total + self.one_hot(rows)
        active = self.activation.apply(total)
        return self.output(active if kept is None else active * kept)

    def weights(self, int8: bool = False) -> ClassifierWeights:
        """Return the current weights as numpy arrays; on a CPU,
        some share their memory with the parameters.

        Args:
            int8: whether the encoder's vectors are stored and multiplied in 8 bits; only for a
                contextual representation.

        Raises:
            Int8Error: the device does not support 8-bit products.
        """
        encoder = self.tokens.frozen(int8)
        weights = self._weights(self.tokens.fixed_vectors(), encoder)
        return weights.rounded_by(encoder.arithmetic) if int8 and encoder is not None else weights

    def weights_with(self, vectors: Mapping[str, Tensor]) -> ClassifierWeights:
        """Return weights with given vectors, valid only for their sentences.

        Args:
            vectors: for each embedded attribute, float32[values, size]; see BiLSTM.with_tokens().
        """
        fixed = {
            name: matrix[:N_RESERVED] if name == TOKEN else matrix
            for name, matrix in vectors.items()
        }
        return self._weights(fixed, _GivenVectors(_array(vectors[TOKEN][N_RESERVED:])))

    def _weights(
        self, vectors: Mapping[str, Tensor], encoder: SentenceEncoder | None
    ) -> ClassifierWeights:
        return ClassifierWeights(
            self.activation_name,
            self.layout,
            _array(self.hidden_bias),
            _array(self.one_hot.weight),
            [] if self.embedded is None else self.layout.parts(_array(self.embedded.weight)),
            _arrays(vectors),
            _array(self.output.weight),
            _array(self.output.bias),
            encoder,
        )

    def scorer(self, sentences: Sentences | None = None) -> Scorer:
        """Return the classifier as a function from features to scores, as numpy arrays,
        without dropout.

        Args:
            sentences: the sentences of the features; needed for a contextual token representation.
        """
        with torch.no_grad():
            vectors = self.tokens.vectors_of(sentences)
        device = self.output.weight.device

        def score(features: np.ndarray) -> np.ndarray:
            with torch.no_grad():
                return self(torch.from_numpy(features).to(device), vectors).cpu().numpy()

        return score

    def dropout_masks(self, inputs: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """Return factors of inputs, float32[batch, width],
        of embedded slots and of hidden units; None: no dropout.

        Args:
            inputs: float32[batch, width], only its shape and device matter.
        """
        input_mask = dropout_mask(inputs, self.input_dropout)
        slot_mask = dropout_mask(inputs.new_empty(len(inputs), self.n_embedded), self.slot_dropout)
        unit_mask = dropout_mask(inputs.new_empty(len(inputs), len(self.hidden_bias)), self.dropout)
        return input_mask, slot_mask, unit_mask

    def one_hot_rows(self, features: Tensor) -> Tensor:
        """Return int32[batch, one-hot slots], the active rows of the one-hot table."""
        return features[:, self.one_hot_columns] + self.one_hot_starts

    def scores_by_value(
        self, features: Tensor, vectors: Mapping[str, Tensor], *, dropping: bool = False
    ) -> Tensor:
        """Return float32[batch, outputs], as forward() does, but faster if vectors are read often;
        for training by autograd.

        The contribution of a vector in each slot is computed once for the batch, and configurations
        add up rows. Dropout drops the same numbers of a vector wherever it is read, and no slots.

        Args:
            features: int32[batch, slots], the values that the slots read.
            vectors: for each embedded attribute, float32[values, size]; the work grows with the
                number of values.
            dropping: whether dropout is in force.
        """
        if dropping:
            vectors = {
                name: nn.functional.dropout(matrix, self.input_dropout)
                for name, matrix in vectors.items()
            }
        active = self.activation.apply(self.hidden_by_value(features, vectors))
        return self.output(nn.functional.dropout(active, self.dropout, dropping))

    def hidden_by_value(self, features: Tensor, vectors: Mapping[str, Tensor]) -> Tensor:
        """Return float32[batch, hidden], the input of the activation; see scores_by_value()."""
        rows, numbers = [self.one_hot.weight], [self.one_hot_rows(features)]
        filled = len(self.one_hot.weight)
        for name, column, weights in self.slot_weights():
            rows.append(nn.functional.linear(vectors[name], weights))
            numbers.append(filled + features[:, column : column + 1])
            filled += len(rows[-1])
        return (
            nn.functional.embedding_bag(torch.cat(numbers, dim=1), torch.cat(rows), mode="sum")
            + self.hidden_bias
        )

    def slot_weights(self) -> Iterator[tuple[str, int, Tensor]]:
        """Yield the attribute and the column of each slot that reads vectors, and its weights,
        float32[hidden, size].
        """
        slots = [
            (name, column) for name, columns in self.embedded_columns.items() for column in columns
        ]
        if self.embedded is not None:
            # With one split, the gradients of all slots are concatenated at once. One product for
            # all slots would need the weights transposed.
            parts = self.embedded.weight.split(self.sizes_of_slots, dim=1)
            yield from (
                (name, column, weights)
                for (name, column), weights in zip(slots, parts, strict=True)
            )

    def _embed(self, features: Tensor, vectors: Mapping[str, Tensor]) -> Tensor:
        """Return float32[batch, width], the vectors of the embedded slots, side by side."""
        parts = [
            nn.functional.embedding(features[:, columns], vectors[name]).flatten(1)
            for name, columns in self.embedded_columns.items()
        ]
        return torch.cat(parts, dim=1) if parts else self.hidden_bias.new_empty(len(features), 0)


class _GivenVectors:
    """A SentenceEncoder that returns the vectors (float32[tokens, size]) it was made with."""

    arithmetic = SinglePrecision()

    def __init__(self, vectors: np.ndarray) -> None:
        self._vectors = vectors

    def encode(self, sentences: Sentences) -> np.ndarray:
        assert len(self._vectors) == sentences.offsets[-1]
        return self._vectors


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().cpu().contiguous().numpy()


def _arrays(tensors: Mapping[str, Tensor]) -> dict[str, np.ndarray]:
    return {name: _array(tensor) for name, tensor in tensors.items()}


def new_classifier(
    spec: ClassifierSpec,
    slots: Sequence[Slot],
    vocabularies: Vocabularies,
    relations: Vocabulary,
    n_outputs: int,
    readers: Mapping[str, Any] | None = None,
) -> Classifier:
    """Return the classifier that a spec describes, with fresh weights,
    drawn from torch's global generator.

    ``readers`` are readers of whole sentences, by the names of their parts.
    """
    n_values = {name: len(vocabulary) for name, vocabulary in vocabularies.by_attribute.items()} | {
        RELATION: len(relations)
    }
    tokens: TokenRepresentation
    if spec.encoder is None:
        tokens = AttributeEmbeddings(
            vocabularies.attributes, Embeddings(spec.embeddings, n_values, vocabularies.elements)
        )
    else:
        embedded = {
            name: embedding for name, embedding in spec.embeddings.items() if name == RELATION
        }
        tokens = BiLSTM(spec, vocabularies, Embeddings(embedded, n_values), readers)
    return Classifier(tokens, slots, n_values, spec, n_outputs)


def check_device(name: str) -> None:
    """Refuse a device that torch does not know or that this machine does not have.

    Raises:
        OptimalStepError: the message lists the available devices.
    """
    if name != "cpu" and not (name.partition(":")[0] == "cuda" and torch.cuda.is_available()):
        available = ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",)
        devices = (
            " and ".join(available)
            if len(available) > 1
            else "cpu only, since torch sees no GPU (cuda)"
        )
        # what is probably meant, if it is here
        meant = [
            device
            for device in nearest(name, ("cpu", "cuda"), {"gpu": "cuda"})
            if device in available
        ]
        raise OptimalStepError(
            f"there is no device {name!r} here{question(meant)}; available: {devices}"
        )


def batch_scorer(weights: ClassifierWeights, table: FeatureTable, sentences: Sentences) -> Scorer:
    """Return a faster precomputed_scorer(), whose last digits depend on the configurations scored
    together.

    Args:
        sentences: the sentences of the features; only values that occur there can be scored.
    """
    hidden_of = hidden_layer(weights, table, sentences)
    activation = ACTIVATIONS[weights.activation]
    output_weights, bias = torch.from_numpy(weights.output), torch.from_numpy(weights.output_bias)

    def score(features: np.ndarray) -> np.ndarray:
        active = activation.apply(torch.from_numpy(hidden_of(features)))
        return torch.addmm(bias, active, output_weights.t()).numpy()

    return with_arcs(score, weights, sentences)


class ContextualScorer:
    """Scores like batch_scorer() for a contextual representation, some sentences at a time.

    Args:
        scorer: returns the scorer of some sentences.
        sentences: all sentences.
    """

    def __init__(
        self, scorer: Callable[[Sentences], Scorer], table: FeatureTable, sentences: Sentences
    ) -> None:
        self._scorer, self._sentences = scorer, sentences
        self._columns = np.flatnonzero([slot.attribute == TOKEN for slot in table.slots])
        self._numbers = np.zeros(N_RESERVED + int(sentences.offsets[-1]), np.int32)
        self._numbers[:N_RESERVED] = np.arange(N_RESERVED)
        self._score: Scorer

    def begin(self, numbers: np.ndarray) -> None:
        """Prepare for features of the sentences with these numbers (int[m])."""
        part = self._sentences.take(numbers)
        places = self._sentences.places(numbers)
        self._numbers[N_RESERVED + places] = N_RESERVED + np.arange(len(places))
        self._score = self._scorer(part)

    def __call__(self, features: np.ndarray) -> np.ndarray:
        """Return the scores; see Scorer."""
        renumbered = features.copy()
        renumbered[:, self._columns] = self._numbers[features[:, self._columns]]
        return self._score(renumbered)
