"""Loss and gradients of a classifier with a static token representation, on a CPU: explicit formulas in compiled loops.

Autograd gives the same numbers (the tests compare them), but spends as much time on its bookkeeping as on the matrix products:
the network is small.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from torch import Tensor

from parser.classifier.classifier import Classifier
from parser.classifier.embeddings import SetSums
from parser.classifier.matrix_products import product
from parser.training.compiled import kernels, losses
from parser.training.loss import Groups, Taught


@dataclass
class Gradient:
    """The gradient of a parameter, with rows that were not used left out.

    Attributes:
        values: float32[rows, width]; a vector is one row.
        used: bool[rows]: the rows that hold numbers; the others are zero, whatever stands there.
    """

    values: np.ndarray
    used: np.ndarray

    @classmethod
    def like(cls, matrix: np.ndarray) -> Gradient:
        """Room for the gradient of a matrix, all rows of it in use."""
        return cls(np.empty_like(matrix), np.ones(len(matrix), np.bool_))

    def dense(self) -> np.ndarray:
        """float32[rows, width], zeros included."""
        return np.where(self.used[:, None], self.values, np.float32(0))


def matrix_of(parameter: Tensor) -> np.ndarray:
    """float32[rows, width]: the parameter itself, in the same memory."""
    array = parameter.detach().numpy()
    return array.reshape(1, -1) if array.ndim == 1 else array


class _Table:
    """Rows that slots look up.

    Args:
        matrix: float32[rows, width], the parameter.
        columns: which slots.
        starts: the row that each of them begins at.
        first: the column of the inputs that the row of the first slot goes into.
        stride: how far from there that of the next slot goes: the width if they lie side by side, 0 if they are added up.
        gradient: of the parameter; None if training does not change it.
    """

    def __init__(
        self, matrix: np.ndarray, columns: list[int], starts: list[int], first: int, stride: int, gradient: Gradient | None
    ) -> None:
        self.matrix = matrix
        self.columns, self.starts = np.array(columns, np.int64), np.array(starts, np.int64)
        self.first, self.stride = first, stride
        self.gradient = gradient

    def copy(self, features: np.ndarray, scale: np.ndarray, inputs: np.ndarray) -> None:
        """Puts the rows side by side into the inputs, each times its scale."""
        kernels.copy_rows(self.matrix, features, self.columns, scale, self.first, inputs)

    def add(self, features: np.ndarray, total: np.ndarray) -> None:
        """Adds the rows up."""
        kernels.add_rows(self.matrix, features, self.columns, self.starts, total)

    def collect(self, by_input: np.ndarray, features: np.ndarray, scale: np.ndarray) -> None:
        """Fills in the gradient, given the derivatives by what the rows went into."""
        if self.gradient is not None:
            self._collect(by_input, features, scale, self.gradient)

    def _collect(self, by_input: np.ndarray, features: np.ndarray, scale: np.ndarray, to: Gradient) -> None:
        kernels.collect_rows(by_input, features, self.columns, self.starts, scale, self.first, self.stride, to.values, to.used)


class _SetTable(_Table):
    """Rows that are sums of the rows of a parameter.

    Args:
        matrix: float32[elements, width], the parameter.
        sets: which elements each set has.
        columns, first, gradient: see _Table.
    """

    def __init__(self, matrix: np.ndarray, sets: SetSums, columns: list[int], first: int, gradient: Gradient | None) -> None:
        sums = np.empty((sets.n_values, matrix.shape[1]), np.float32)
        super().__init__(sums, columns, [0] * len(columns), first, matrix.shape[1], gradient)
        self._vectors = matrix
        order = sets.values.argsort(stable=True)
        self._elements = sets.elements[order].numpy()
        self._set_starts = np.searchsorted(sets.values[order].numpy(), np.arange(sets.n_values + 1))
        self._by_sum = Gradient.like(sums)
        self._used = np.empty(len(sums), np.bool_)

    def copy(self, features: np.ndarray, scale: np.ndarray, inputs: np.ndarray) -> None:
        """See _Table."""
        kernels.sum_elements(self._vectors, features, self.columns, self._set_starts, self._elements, self.matrix, self._used)
        super().copy(features, scale, inputs)

    def _collect(self, by_input: np.ndarray, features: np.ndarray, scale: np.ndarray, to: Gradient) -> None:
        super()._collect(by_input, features, scale, self._by_sum)
        kernels.collect_elements(self._by_sum.values, self._by_sum.used, self._set_starts, self._elements, to.values, to.used)


class CompiledGradients:
    """Computes the gradients of a classifier whose parameters stay where they are in memory.

    Args:
        classifier: the classifier, on the CPU.

    Attributes:
        gradients: by name of the parameter, for those that training changes; what loss() found last.
    """

    def __init__(self, classifier: Classifier) -> None:
        self._classifier = classifier
        # Looked up once, and without what autograd does about parameters.
        self._weights = None if classifier.embedded is None else classifier.embedded.weight.detach()
        self._bias = classifier.hidden_bias.detach()
        self._output, self._output_bias = classifier.output.weight.detach(), classifier.output.bias.detach()
        self._activation = classifier.activation
        parameters = dict(classifier.named_parameters())
        self.gradients = {name: Gradient.like(matrix_of(p)) for name, p in parameters.items() if p.requires_grad}
        columns, starts = classifier.one_hot_columns.tolist(), classifier.one_hot_starts.tolist()
        name = "one_hot.weight"
        self._one_hot = _Table(matrix_of(parameters[name]), columns, starts, 0, 0, self.gradients[name])
        self._embedded: list[_Table] = []
        self._width = 0
        for attribute, columns in classifier.embedded_columns.items():
            name = f"tokens.embeddings.vectors.{attribute}"
            matrix, gradient = matrix_of(parameters[name]), self.gradients.get(name)
            size = matrix.shape[1]
            if attribute in classifier.tokens.embeddings.set_sums:
                sets = cast(SetSums, classifier.tokens.embeddings.set_sums[attribute])
                self._embedded.append(_SetTable(matrix, sets, columns, self._width, gradient))
            else:
                self._embedded.append(_Table(matrix, columns, [0] * len(columns), self._width, size, gradient))
            self._width += len(columns) * size
        self._trains_vectors = any(table.gradient is not None for table in self._embedded)
        self._make_room(0)

    def _make_room(self, batch: int) -> None:
        """For what is of the size of the inputs: asking for new memory in every batch is slow."""
        self._inputs = torch.empty(batch, self._width)
        self._ones = np.ones((batch, len(self._one_hot.columns) + self._classifier.n_embedded), np.float32)

    def loss(self, features: Tensor, targets: Tensor, groups: Groups | None = None, taught: Taught | None = None) -> float:
        """As set_loss(classifier(features, dropping=True), targets, groups); its gradients go to ``gradients``.

        With ``taught``, distillation_loss() of the same scores is added.

        Args:
            features: int32[rows, slots].
            targets: int64[rows, targets].
            groups: which rows are one example; None: each is one.
            taught: for examples of one row each; None: there is no teacher.
        """
        values = features.numpy()
        if len(values) > len(self._inputs):
            self._make_room(len(values))
        inputs, ones = self._inputs[: len(values)], self._ones[: len(values)]
        kept_inputs, kept_slots, kept = self._classifier.dropout_masks(inputs)
        scale = ones if kept_slots is None else kept_slots.numpy()
        if self._weights is None:
            total = self._bias.repeat(len(values), 1)
        else:
            self._embed(values, scale, inputs)
            if kept_inputs is not None:
                inputs *= kept_inputs
            total = product(inputs, self._weights, self._bias)
        self._one_hot.add(values, total.numpy())
        active = self._activation.apply(total)
        hidden = active if kept is None else active * kept
        loss, by_score = self._loss_of(product(hidden, self._output, self._output_bias), targets, groups, taught)

        self._set("output.weight", product(by_score.t(), hidden.t()))
        by_total = product(by_score, self._output.t())
        if kept is not None:
            by_total *= kept
        by_total *= self._activation.slope(total, active)
        kernels.column_sums(by_total.numpy(), self.gradients["hidden_bias"].values[0])
        self._one_hot.collect(by_total.numpy(), values, ones)
        if self._weights is not None:
            self._set("embedded.weight", product(by_total.t(), inputs.t()))
            if self._trains_vectors:
                by_input = product(by_total, self._weights.t())
                if kept_inputs is not None:
                    by_input *= kept_inputs
                for table, its_scale in self._with_scale(scale):
                    table.collect(by_input.numpy(), values, its_scale)
        return loss

    def _loss_of(self, scores: Tensor, targets: Tensor, groups: Groups | None, taught: Taught | None) -> tuple[float, Tensor]:
        """The loss, and float32[rows, outputs]: its derivatives by the scores, whose sums go to the bias's gradient."""
        by_bias = self.gradients["output.bias"].values[0]
        if groups is not None:
            by_score = torch.empty_like(scores)
            starts, blocks = groups.starts.numpy(), groups.blocks.numpy()
            arrays = scores.numpy(), targets.numpy(), starts, blocks, by_score.numpy(), by_bias
            return losses.grouped_loss_and_gradient(*arrays), by_score
        log_probabilities = scores.log_softmax(1)
        by_score = log_probabilities.exp()
        loss = losses.loss_and_gradient(log_probabilities.numpy(), targets.numpy(), by_score.numpy(), by_bias)
        if taught is not None:
            if taught.temperature != 1:
                log_probabilities = (scores / taught.temperature).log_softmax(1)
            wanted, temperature = taught.probabilities.numpy(), np.float32(taught.temperature)
            loss += losses.add_distillation(log_probabilities.numpy(), wanted, temperature, by_score.numpy(), by_bias)
        return loss, by_score

    def _embed(self, features: np.ndarray, scale: np.ndarray, inputs: Tensor) -> None:
        """Fills in the inputs, float32[batch, width]: the vectors of the embedded slots side by side, each times its scale."""
        for table, its_scale in self._with_scale(scale):
            table.copy(features, its_scale, inputs.numpy())

    def _with_scale(self, scale: np.ndarray) -> Iterator[tuple[_Table, np.ndarray]]:
        """Each embedded table, and its slots' part of float32[batch, embedded slots]."""
        first = 0
        for table in self._embedded:
            yield table, scale[:, first : first + len(table.columns)]
            first += len(table.columns)

    def _set(self, name: str, gradient: Tensor) -> None:
        self.gradients[name].values = gradient.numpy()
