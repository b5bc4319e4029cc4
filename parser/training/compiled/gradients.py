"""The loss of a classifier, and its gradients. An example may have several correct outputs, and
several rows of features.

Autograd computes the gradients on any device. On a CPU, with a static token representation,
explicit formulas in compiled loops compute them. Both give the same numbers (the tests compare
them), but the network is small, and autograd spends as much time on its bookkeeping as on the
matrix products.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from parser.data.sentences import NO_NODE
from parser.kernels import kernel
from parser.kernels.torch_products import product
from parser.networks.classifier import Classifier
from parser.networks.representation import SetSums
from parser.training.compiled.embedded_layer import ByValue, SideBySide
from parser.training.compiled.tables import Gradient, SetTable, Table, matrix_of
from parser.training.examples.examples import Examples


@dataclass(frozen=True)
class Groups:
    """The rows of each example in a batch; each row scores one block of outputs.

    Attributes:
        starts: int64[examples + 1], the rows of example e are ``starts[e]`` to
            ``starts[e + 1] - 1``.
        blocks: int64[rows, 2], the first output that a row scores, and the end of its block.
    """

    starts: Tensor
    blocks: Tensor

    @classmethod
    def of(cls, examples: Examples, device: torch.device) -> Groups | None:
        """Return the groups of all examples; None if each has one row, which scores all outputs."""
        if examples.starts is None or examples.blocks is None:
            return None
        return cls(
            *(
                torch.from_numpy(array).to(device, torch.int64)
                for array in (examples.starts, examples.blocks)
            )
        )


def set_loss(scores: Tensor, targets: Tensor, groups: Groups | None = None) -> Tensor:
    """Return the negative log probability of the set of correct outputs, averaged over the examples
    of a batch.

    Args:
        scores: float[rows, outputs].
        targets: int64[rows, targets], right outputs; NO_NODE fills up rows. With one target per
            row, the loss is the cross entropy.
        groups: which rows form an example: probabilities are over the outputs of all its rows.
            None: each row is an example.
    """
    if groups is not None:
        return _loss_of_groups(scores, targets, groups)
    if targets.shape[1] == 1:
        return nn.functional.cross_entropy(scores, targets[:, 0])
    right = scores.gather(1, targets.clamp(min=0)).masked_fill(targets == NO_NODE, -torch.inf)
    return (scores.logsumexp(1) - right.logsumexp(1)).mean()


def _loss_of_groups(scores: Tensor, targets: Tensor, groups: Groups) -> Tensor:
    outputs = torch.arange(scores.shape[1], device=scores.device)
    first, end = groups.blocks[:, :1], groups.blocks[:, 1:]
    totals = scores.masked_fill((outputs < first) | (outputs >= end), -torch.inf).logsumexp(
        1, keepdim=True
    )
    right = scores.gather(1, targets.clamp(min=0)).masked_fill(targets == NO_NODE, -torch.inf)
    return (
        _side_by_side(totals, groups).logsumexp(1) - _side_by_side(right, groups).logsumexp(1)
    ).mean()


def _side_by_side(values: Tensor, groups: Groups) -> Tensor:
    """Return float[rows, n] as float[examples, widest], the rows of an example side by side,
    padded with minus infinity.
    """
    counts = groups.starts.diff()
    examples = torch.arange(len(counts), device=values.device).repeat_interleave(counts)
    places = torch.arange(len(values), device=values.device) - groups.starts[examples]
    padded = values.new_full((len(counts), int(counts.max()), values.shape[1]), -torch.inf)
    return padded.index_put((examples, places), values).flatten(1)


class AutogradGradients:
    """Gradients by autograd, on any device: the reference implementation of CompiledGradients."""

    def __init__(self, classifier: Classifier) -> None:
        self._classifier = classifier

    def loss(self, features: Tensor, targets: Tensor, groups: Groups | None = None) -> Tensor:
        """Return the mean loss of a batch, in nats, with dropout; a tensor on the device,
        so that nothing waits for it.

        Args:
            features: int32[rows, slots].
            targets: int64[rows, targets], right outputs; NO_NODE fills up rows.
            groups: which rows form an example; None: each row is an example.
        """
        scores = self._classifier(features, dropping=True)
        loss = set_loss(scores, targets, groups)
        self._classifier.zero_grad()
        loss.backward()
        return loss.detach()


class CompiledGradients:
    """The gradients of a classifier in compiled loops;
    its parameters must keep their place in memory from now on.

    Args:
        classifier: a classifier on the CPU.

    Attributes:
        gradients: the gradients of parameters that training changes, by name of the parameter;
            loss() overwrites them.
        embedded: computes the hidden activations of embedded slots; None if there are none.
    """

    def __init__(self, classifier: Classifier) -> None:
        self._classifier = classifier
        # Detached once: autograd need not follow these parameters.
        self._bias = classifier.hidden_bias.detach()
        self._output = classifier.output.weight.detach()
        self._output_bias = classifier.output.bias.detach()
        self._activation = classifier.activation
        parameters = dict(classifier.named_parameters())
        trained = {
            name: parameter for name, parameter in parameters.items() if parameter.requires_grad
        }
        tables = {
            name: Gradient.like(parameter)
            for name, parameter in trained.items()
            if name != _EMBEDDED
        }
        self.embedded = _embedded_layer(classifier, parameters, tables)
        if self.embedded is None:
            for name, gradient in tables.items():  # vectors that no slot reads have no gradient
                gradient.used[:] = not name.startswith(_VECTORS)
        gradients = (
            tables if self.embedded is None else tables | {_EMBEDDED: self.embedded.gradient}
        )
        self.gradients = {name: gradients[name] for name in trained}
        columns, starts = classifier.one_hot_columns.tolist(), classifier.one_hot_starts.tolist()
        name = "one_hot.weight"
        self._one_hot = Table(
            matrix_of(parameters[name]), columns, starts, 0, 0, self.gradients[name]
        )
        self._allocate(0)

    def _allocate(self, batch: int) -> None:
        """Allocate arrays of the size of a batch, once: allocating them for every batch is slow."""
        # only its shape matters
        self._like_inputs = torch.empty(batch, self._classifier.layout.width)
        self._ones = np.ones(
            (batch, len(self._one_hot.columns) + self._classifier.n_embedded), np.float32
        )

    def loss(self, features: Tensor, targets: Tensor, groups: Groups | None = None) -> float:
        """Return the loss, as AutogradGradients.loss() does; the gradients go to ``gradients``."""
        values = features.numpy()
        if len(values) > len(self._ones):
            self._allocate(len(values))
        ones = self._ones[: len(values)]
        kept_inputs, kept_slots, kept = self._classifier.dropout_masks(
            self._like_inputs[: len(values)]
        )
        scale = ones if kept_slots is None else kept_slots.numpy()
        total = (
            self._bias.repeat(len(values), 1)
            if self.embedded is None
            else self.embedded.total(values, scale, kept_inputs)
        )
        self._one_hot.add(values, total.numpy())
        active = self._activation.apply(total)
        hidden = active if kept is None else active * kept
        loss, by_score = self._loss_of(
            product(hidden, self._output, self._output_bias), targets, groups
        )

        self.gradients["output.weight"].values = product(by_score.t(), hidden.t()).numpy()
        by_total = product(by_score, self._output.t())
        if kept is not None:
            by_total *= kept
        by_total *= self._activation.slope(total, active)
        column_sums(by_total.numpy(), self.gradients["hidden_bias"].values[0])
        self._one_hot.collect(by_total.numpy(), values, ones)
        if self.embedded is not None:
            self.embedded.collect(by_total, values, scale, kept_inputs)
        return loss

    def _loss_of(
        self, scores: Tensor, targets: Tensor, groups: Groups | None
    ) -> tuple[float, Tensor]:
        """Return the loss, and its derivatives with respect to the scores, float32[rows, outputs];
        their sums go to the bias's gradient.
        """
        by_bias = self.gradients["output.bias"].values[0]
        if groups is not None:
            by_score = torch.empty_like(scores)
            starts, blocks = groups.starts.numpy(), groups.blocks.numpy()
            arrays = scores.numpy(), targets.numpy(), starts, blocks, by_score.numpy(), by_bias
            return grouped_loss_and_gradient(*arrays), by_score
        log_probabilities = scores.log_softmax(1)
        by_score = log_probabilities.exp()
        return loss_and_gradient(
            log_probabilities.numpy(), targets.numpy(), by_score.numpy(), by_bias
        ), by_score


_EMBEDDED, _VECTORS = "embedded.weight", "tokens.embeddings.vectors."


def _embedded_layer(
    classifier: Classifier,
    parameters: Mapping[str, nn.Parameter],
    gradients: Mapping[str, Gradient],
) -> SideBySide | ByValue | None:
    """Return the layer of the embedded slots; None if there are none.
    The gradients of their tables go to ``gradients``.
    """
    if classifier.embedded is None:
        return None
    tables: list[Table] = []
    width = 0
    for attribute, columns in classifier.embedded_columns.items():
        name = f"{_VECTORS}{attribute}"
        matrix, gradient = matrix_of(parameters[name]), gradients.get(name)
        size = matrix.shape[1]
        if attribute in classifier.tokens.embeddings.set_sums:
            sets = cast(SetSums, classifier.tokens.embeddings.set_sums[attribute])
            tables.append(SetTable(matrix, sets, columns, width, gradient))
        else:
            tables.append(Table(matrix, columns, [0] * len(columns), width, size, gradient))
        width += len(columns) * size
    weights, bias = classifier.embedded.weight, classifier.hidden_bias.detach()
    kind = ByValue if ByValue.serves(weights, classifier.input_dropout, tables) else SideBySide
    return kind(weights, bias, tables)


@kernel()
def column_sums(matrix, sums):
    """Fill in ``sums`` (float32[columns]) of a matrix (float32[rows, columns])."""
    sums[:] = 0
    for r in range(len(matrix)):
        row = matrix[r]
        for j in range(len(sums)):
            sums[j] += row[j]


@kernel(error_model="numpy")
def loss_and_gradient(log_probabilities, targets, by_score, by_bias):
    """Return the mean loss, in nats, of a batch whose right outputs are ``targets``;
    see set_loss().

    Args:
        log_probabilities: float32[batch, outputs].
        targets: int[batch, targets]; negative numbers fill up rows.
        by_score: float32[batch, outputs]: the probabilities; overwritten with the derivatives of
            the mean loss with respect to the scores.
        by_bias: float32[outputs]: overwritten with the sums of these derivatives over the batch.
    """
    loss = 0.0
    batch = np.float32(len(targets))
    by_bias[:] = 0
    for r in range(len(targets)):
        logs, gradient = log_probabilities[r], by_score[r]
        highest = np.float32(-np.inf)
        for target in targets[r]:
            if target >= 0:
                highest = max(highest, logs[target])
        share = 0.0
        for target in targets[r]:
            if target >= 0:
                share += np.exp(np.float64(logs[target] - highest))
        loss -= highest + np.log(share)
        for target in targets[r]:
            if target >= 0:
                gradient[target] -= np.float32(np.exp(np.float64(logs[target] - highest)) / share)
        for a in range(len(gradient)):
            gradient[a] /= batch
            by_bias[a] += gradient[a]
    return loss / len(targets)


@kernel(error_model="numpy")
def grouped_loss_and_gradient(scores, targets, starts, blocks, by_score, by_bias):
    """Return the mean loss, as loss_and_gradient() does, for examples with several rows, each of
    which scores one block of outputs; see set_loss().

    Args:
        scores: float32[rows, outputs].
        targets, by_score, by_bias: see loss_and_gradient().
        starts, blocks: see Groups.
    """
    loss = 0.0
    examples = len(starts) - 1
    by_score[:] = 0
    by_bias[:] = 0
    for e in range(examples):
        highest = highest_right = np.float32(-np.inf)
        for r in range(starts[e], starts[e + 1]):
            for a in range(blocks[r, 0], blocks[r, 1]):
                highest = max(highest, scores[r, a])
            for target in targets[r]:
                if target >= 0:
                    highest_right = max(highest_right, scores[r, target])
        total = right = 0.0
        for r in range(starts[e], starts[e + 1]):
            for a in range(blocks[r, 0], blocks[r, 1]):
                share = np.exp(scores[r, a] - highest)
                by_score[r, a] = share
                total += share
            for target in targets[r]:
                if target >= 0:
                    right += np.exp(np.float64(scores[r, target] - highest_right))
        loss += highest + np.log(total) - highest_right - np.log(right)
        for r in range(starts[e], starts[e + 1]):
            for a in range(blocks[r, 0], blocks[r, 1]):
                by_score[r, a] /= np.float32(total * examples)
            for target in targets[r]:
                if target >= 0:
                    share = np.exp(np.float64(scores[r, target] - highest_right)) / right
                    by_score[r, target] -= np.float32(share / examples)
            for a in range(blocks[r, 0], blocks[r, 1]):
                by_bias[a] += by_score[r, a]
    return loss / examples
