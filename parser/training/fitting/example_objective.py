"""Training on examples. With a static token representation, a batch is random examples; their
gradients are computed in compiled loops on a CPU, elsewhere by autograd. With a contextual one, a
batch has some sentences and all of their examples.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from parser.data.vocabulary import N_RESERVED
from parser.networks.classifier import Classifier
from parser.networks.layers import to_device
from parser.settings.plan import OptimizerPlan
from parser.training.compiled.gradients import (
    AutogradGradients,
    CompiledGradients,
    Groups,
    set_loss,
)
from parser.training.compiled.optimizer import CompiledOptimizer
from parser.training.examples.examples import Examples, TrainingSentences
from parser.training.fitting.sentence_batches import (
    BatchEncoder,
    WordDropout,
    batches_of_like_lengths,
)
from parser.training.fitting.trainer import BatchLoss, Optimizer, TorchOptimizer
from parser.transitions.features import TOKEN


def gradients_and_optimizer(
    classifier: Classifier, plan: OptimizerPlan
) -> tuple[AutogradGradients | CompiledGradients, Optimizer]:
    """Return the fastest pair for the classifier's device.
    Each optimizer can be restored from another's state.
    """
    if not classifier.output.weight.is_cpu:
        return AutogradGradients(classifier), TorchOptimizer(classifier, plan)
    compiled = CompiledGradients(classifier)
    trained = {name: p for name, p in classifier.named_parameters() if p.requires_grad}
    return compiled, CompiledOptimizer(trained, compiled.gradients, plan)


class ExampleBatch(NamedTuple):
    """Some examples, as AutogradGradients.loss() takes them."""

    features: Tensor
    targets: Tensor
    groups: Groups | None

    @classmethod
    def of(cls, examples: Examples, device: torch.device) -> ExampleBatch:
        """Return a batch of all these examples."""
        features = to_device(examples.features, device)
        targets = to_device(examples.targets.astype(np.int64), device)
        return cls(features, targets, Groups.of(examples, device))


class ExampleObjective:
    """An Objective for examples, each with its correct outputs.

    Args:
        gradients: computes the classifier's gradients.
        batch_size: how many examples a batch has.
        word_dropout: replaces values of features by UNKNOWN; None: no dropout.

    Attributes:
        examples: the examples of the next epoch; set them before it begins.
    """

    examples: Examples

    def __init__(
        self,
        classifier: Classifier,
        gradients: AutogradGradients | CompiledGradients,
        batch_size: int,
        word_dropout: WordDropout | None = None,
    ) -> None:
        self._gradients = gradients
        self._batch_size = batch_size
        self._device = classifier.output.weight.device
        self._n_outputs = len(classifier.output.weight)
        self._word_dropout = word_dropout

    @property
    def uniform_loss(self) -> float:
        """Return the loss of an example, in nats, under a uniform distribution."""
        return math.log(self._n_outputs)

    def batches(self, generator: torch.Generator) -> tuple[int, Iterator[ExampleBatch]]:
        """Draw batches of examples; each example is in one batch."""
        order = torch.randperm(len(self.examples), generator=generator)
        batches = order.split(self._batch_size) if len(order) else ()
        return len(batches), (
            ExampleBatch.of(self.examples.take(batch.numpy()), self._device) for batch in batches
        )

    def backward(self, batch: ExampleBatch) -> BatchLoss:
        """Compute the loss of the examples, with word dropout, and its gradients."""
        features = (
            batch.features if self._word_dropout is None else self._word_dropout(batch.features)
        )
        n_examples = len(features) if batch.groups is None else len(batch.groups.starts) - 1
        return BatchLoss(self._gradients.loss(features, *batch[1:]), n_examples)


class SentenceBatch(NamedTuple):
    """The numbers of some sentences and of their examples."""

    sentences: np.ndarray
    examples: np.ndarray


class SentenceObjective:
    """An Objective for examples whose sentences an encoder reads: each sentence is encoded once for
    all of its examples.

    The loss is the mean over examples; the losses of the encoder's further tasks are added.

    Args:
        encoder: encodes batches of the examples' sentences.
        batch_size: a batch holds whole sentences with about this many examples.

    Attributes:
        examples: the examples of the next epoch; set them before it begins.
    """

    examples: Examples

    def __init__(self, classifier: Classifier, encoder: BatchEncoder, batch_size: int) -> None:
        self._classifier = classifier
        self._encoder = encoder
        self._offsets = encoder.sentences.offsets
        self._batch_size = batch_size
        self._columns = classifier.embedded_columns[TOKEN]
        self._n_outputs = len(classifier.output.bias)
        self._device = classifier.output.weight.device

    def vary(self, data: TrainingSentences) -> None:
        """Read the same sentences with other forms from now on; see BatchEncoder.vary()."""
        self._encoder.vary(data)

    @property
    def uniform_loss(self) -> float:
        """The loss of a transition, in nats, under a uniform distribution."""
        return math.log(self._n_outputs)

    def batches(self, generator: torch.Generator) -> tuple[int, Sequence[SentenceBatch]]:
        """Draw batches of whole sentences of about the same length."""
        by_sentence = np.argsort(self.examples.sentences, kind="stable")
        firsts = np.searchsorted(
            self.examples.sentences[by_sentence], np.arange(len(self._offsets))
        )
        sizes = self._encoder.sizes(np.diff(firsts))
        batches = batches_of_like_lengths(
            np.diff(self._offsets), sizes, self._batch_size, generator
        )
        sentence_batches = [
            SentenceBatch(
                some, np.concatenate([by_sentence[firsts[s] : firsts[s + 1]] for s in some])
            )
            for some in batches
        ]
        return len(sentence_batches), sentence_batches

    def backward(self, batch: SentenceBatch) -> BatchLoss:
        """Compute the mean loss of the examples and of the further tasks, and its gradients,
        by autograd.
        """
        loss, task_loss = self.losses(batch)
        self._classifier.zero_grad()
        (loss + task_loss).backward()
        return BatchLoss(loss.item() if loss.is_cpu else loss.detach(), len(batch.examples))

    def losses(self, batch: SentenceBatch, dropping: bool = True) -> tuple[Tensor, Tensor]:
        """Return the mean loss of the batch's examples,
        and the weighted sum of the further tasks' losses.
        """
        encoded = self._encoder.encode(batch.sentences, dropping)
        examples = self.examples.take(batch.examples)
        features = to_device(self._features(batch, encoded.lengths, examples), self._device)
        targets = to_device(examples.targets.astype(np.int64), self._device)
        scores = self._classifier.scores_by_value(features, encoded.vectors, dropping=dropping)
        return set_loss(
            scores, targets, Groups.of(examples, self._device)
        ), self._encoder.task_loss(encoded, dropping)

    def _features(
        self, batch: SentenceBatch, lengths: np.ndarray, examples: Examples
    ) -> np.ndarray:
        """Return int32[m, slots]: the features of the batch's examples,
        with tokens numbered within the batch.
        """
        features = examples.features.copy()
        shifts = np.zeros(len(self._offsets) - 1, np.int32)
        shifts[batch.sentences] = np.cumsum(lengths) - lengths - self._offsets[batch.sentences]
        token_numbers = features[:, self._columns]
        moved = token_numbers + shifts[examples.row_sentences][:, None]
        features[:, self._columns] = np.where(token_numbers < N_RESERVED, token_numbers, moved)
        return features
