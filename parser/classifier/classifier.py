"""The classifier: one hidden layer over feature slots, a score for every action (Nederhof 2019, Section 8).

An attribute is represented in one of two ways. *One-hot*: the weights of a (slot, value) pair are a row of a table, and the
hidden layer sums the rows; the same function as a linear layer over one-hot inputs, without the zeros. *Embedded*: the value
is looked up in a matrix of vectors, shared by the slots of the attribute, and a linear layer takes the vectors of all slots.
Where the values are sets (value_sets.py), a row of that matrix is the sum of the vectors of its elements.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from parser.data.set_vocabulary import Elements
from parser.transitions.features import Slot


@dataclass(frozen=True)
class Activation:
    """A function of the hidden units, and its derivative given what goes in and what comes out of it."""

    apply: Callable[[Tensor], Tensor]
    slope: Callable[[Tensor, Tensor], Tensor]


ACTIVATIONS = {
    "relu": Activation(torch.relu, lambda _, out: out.sign()),
    "tanh": Activation(torch.tanh, lambda _, out: 1 - out * out),
    "sigmoid": Activation(torch.sigmoid, lambda _, out: out * (1 - out)),
    "cube": Activation(lambda x: x * x * x, lambda x, _: 3 * x * x),  # Chen and Manning 2014
}


@dataclass(frozen=True)
class Embedding:
    """How an attribute is embedded: ``size`` of the vectors, and whether training changes them."""

    size: int
    trained: bool


class Classifier(nn.Module):
    """Scores actions from feature values.

    Args:
        slots: the columns of the input.
        sizes: by attribute, how many values there are (reserved ones included).
        embeddings: by attribute, how it is embedded; attributes that are not there are one-hot.
        hidden: units of the hidden layer.
        n_actions: number of outputs.
        activation: relu, tanh, sigmoid or cube.
        dropout: the share of hidden units dropped in training.
        input_dropout: the share of numbers of the embedded input dropped in training.
        slot_dropout: the share of embedded slots whose whole vectors are dropped in training.
        elements: by attribute, the elements of its values, for those embedded attributes whose values are sets.
    """

    one_hot_columns: Tensor
    one_hot_starts: Tensor
    slot_of_input: Tensor

    def __init__(
        self,
        slots: Sequence[Slot],
        sizes: dict[str, int],
        embeddings: dict[str, Embedding],
        hidden: int,
        n_actions: int,
        activation: str = "relu",
        dropout: float = 0.0,
        input_dropout: float = 0.0,
        slot_dropout: float = 0.0,
        elements: Mapping[str, Elements] | None = None,
    ) -> None:
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(f"unknown activation {activation!r}; known: {', '.join(ACTIVATIONS)}")
        one_hot = [i for i, slot in enumerate(slots) if slot.attribute not in embeddings]
        rows = [sizes[slots[i].attribute] for i in one_hot]
        starts = np.cumsum([0, *rows[:-1]]) if rows else np.zeros(0)
        self.register_buffer("one_hot_columns", torch.tensor(one_hot, dtype=torch.int64), persistent=False)
        self.register_buffer("one_hot_starts", torch.tensor(starts, dtype=torch.int32), persistent=False)

        self.embedded_columns = {name: [i for i, slot in enumerate(slots) if slot.attribute == name] for name in embeddings}
        self.n_values = {name: sizes[name] for name in embeddings}
        self.set_values = nn.ModuleDict({name: SetValues(found, sizes[name]) for name, found in (elements or {}).items()})
        rows_of = {name: elements[name].n_elements if elements and name in elements else sizes[name] for name in embeddings}
        self.vectors = nn.ParameterDict(
            {
                name: nn.Parameter(torch.empty(rows_of[name], embedding.size), requires_grad=embedding.trained)
                for name, embedding in embeddings.items()
            }
        )
        width = sum(len(self.embedded_columns[name]) * embedding.size for name, embedding in embeddings.items())

        sizes_of_slots = [embeddings[name].size for name, columns in self.embedded_columns.items() for _ in columns]
        self.n_embedded = len(sizes_of_slots)
        slot_of_input = torch.arange(self.n_embedded).repeat_interleave(torch.tensor(sizes_of_slots, dtype=torch.int64))
        self.register_buffer("slot_of_input", slot_of_input, persistent=False)
        self.slot_dropout = slot_dropout

        self.one_hot = nn.EmbeddingBag(max(1, sum(rows)), hidden, mode="sum")
        self.hidden_bias = nn.Parameter(torch.zeros(hidden))
        self.embedded = nn.Linear(width, hidden, bias=False) if width else None
        self.activation = ACTIVATIONS[activation]
        self.dropout = nn.Dropout(dropout)
        self.input_dropout = nn.Dropout(input_dropout)
        self.output = nn.Linear(hidden, n_actions)
        self._initialize(inputs=width + len(one_hot))

    def _initialize(self, inputs: int) -> None:
        """Glorot's uniform weights; ``inputs`` counts a one-hot slot once, for one of its inputs is on at a time."""
        bound = (6.0 / (inputs + len(self.hidden_bias))) ** 0.5
        nn.init.uniform_(self.one_hot.weight, -bound, bound)
        if self.embedded is not None:
            nn.init.uniform_(self.embedded.weight, -bound, bound)
        nn.init.xavier_uniform_(self.output.weight)
        nn.init.zeros_(self.output.bias)
        for matrix in self.vectors.values():
            nn.init.normal_(matrix, std=matrix.shape[1] ** -0.5)

    def set_vectors(self, attribute: str, matrix: np.ndarray) -> None:
        """Fills in ready-made vectors: float32[values of the attribute, embedding size]."""
        with torch.no_grad():
            self.vectors[attribute].copy_(torch.from_numpy(matrix))

    def matrix(self, attribute: str) -> Tensor:
        """float32[values, size]: the vectors of the values of an embedded attribute."""
        vectors = self.vectors[attribute]
        return self.set_values[attribute](vectors) if attribute in self.set_values else vectors

    def vector_gradient(self, attribute: str, by_value: Tensor) -> Tensor:
        """The gradient of ``vectors[attribute]``, given that of ``matrix(attribute)``."""
        if attribute not in self.set_values:
            return by_value
        sets = cast(SetValues, self.set_values[attribute])
        return torch.zeros_like(self.vectors[attribute]).index_add_(0, sets.elements, by_value[sets.values])

    def one_hot_rows(self, features: Tensor) -> Tensor:
        """int32[batch, one-hot slots]: the rows of the one-hot table that are on."""
        return features[:, self.one_hot_columns] + self.one_hot_starts

    def embed(self, features: Tensor) -> Tensor:
        """float32[batch, width]: the vectors of the embedded slots, side by side."""
        parts = [
            nn.functional.embedding(features[:, columns], self.matrix(name)).flatten(1)
            for name, columns in self.embedded_columns.items()
        ]
        return torch.cat(parts, dim=1)

    def hidden_input(self, rows: Tensor, vectors: Tensor | None) -> Tensor:
        """float32[batch, hidden]: what goes into the activation, from one_hot_rows() and embed()."""
        total = self.hidden_bias.expand(len(rows), -1)
        if vectors is not None and self.embedded is not None:
            total = torch.addmm(self.hidden_bias, vectors, self.embedded.weight.t())
        return total + self.one_hot(rows) if rows.shape[1] else total

    def forward(self, features: Tensor) -> Tensor:
        """float32[batch, actions] scores (logits) of int32[batch, slots] features."""
        vectors = None if self.embedded is None else self.input_dropout(self.embed(features))
        total = self.hidden_input(self.one_hot_rows(features), vectors)
        return self.output(self.dropout(self.activation.apply(total)))


class SetValues(nn.Module):
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
