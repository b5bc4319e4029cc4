"""Training on examples with a contextual token representation: a batch is some sentences and all of their examples."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from parser.data.vocabularies import N_RESERVED
from parser.networks.classifier import Classifier
from parser.training.examples.examples import Examples
from parser.training.fitting.by_value import scores_by_value
from parser.training.fitting.loss import Groups, set_loss
from parser.training.fitting.sentence_batches import BatchEncoder, batches_of_like_lengths
from parser.training.fitting.trainer import BatchLoss
from parser.transitions.features import TOKEN


class SentenceBatch(NamedTuple):
    """Some sentences: their numbers, and those of their examples."""

    sentences: np.ndarray
    examples: np.ndarray


class SentenceObjective:
    """The Objective of examples whose sentences an encoder reads: each is encoded once for all of its examples.

    The loss is the mean over examples; the losses of the encoder's further tasks are added.

    Args:
        classifier: what is trained.
        encoder: encodes batches of the sentences that the examples are from.
        batch_size: a batch holds whole sentences with about so many examples.

    Attributes:
        examples: what the next epoch learns from; to be set before.
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

    @property
    def uniform_loss(self) -> float:
        """That of a transition, in nats."""
        return math.log(self._n_outputs)

    def batches(self, generator: torch.Generator) -> tuple[int, Sequence[SentenceBatch]]:
        """See Objective; sentences of about the same length are together."""
        by_sentence = np.argsort(self.examples.sentences, kind="stable")
        firsts = np.searchsorted(self.examples.sentences[by_sentence], np.arange(len(self._offsets)))
        batches = batches_of_like_lengths(np.diff(self._offsets), np.diff(firsts), self._batch_size, generator)
        found = [
            SentenceBatch(some, np.concatenate([by_sentence[firsts[s] : firsts[s + 1]] for s in some])) for some in batches
        ]
        return len(found), found

    def backward(self, batch: SentenceBatch) -> BatchLoss:
        """Leaves the gradients of the mean loss of the examples, and of the further tasks, by autograd."""
        loss, of_tasks = self.losses(batch)
        self._classifier.zero_grad()
        (loss + of_tasks).backward()
        return BatchLoss(loss.item(), len(batch.examples))

    def losses(self, batch: SentenceBatch, dropping: bool = True) -> tuple[Tensor, Tensor]:
        """The mean loss of the batch's examples, and the weighted sum of the further tasks' losses."""
        encoded = self._encoder.encode(batch.sentences, dropping)
        examples = self.examples.take(batch.examples)
        features = torch.from_numpy(self._features(batch, encoded.lengths, examples)).to(self._device)
        targets = torch.from_numpy(examples.targets).to(self._device, torch.int64)
        scores = scores_by_value(self._classifier, features, encoded.vectors, dropping=dropping)
        return set_loss(scores, targets, Groups.of(examples, self._device)), self._encoder.task_loss(encoded, dropping)

    def _features(self, batch: SentenceBatch, lengths: np.ndarray, examples: Examples) -> np.ndarray:
        """int32[m, slots]: the features of the batch's examples, with the places that their tokens have in the batch."""
        features = examples.features.copy()
        shifts = np.zeros(len(self._offsets) - 1, np.int32)
        shifts[batch.sentences] = np.cumsum(lengths) - lengths - self._offsets[batch.sentences]
        read = features[:, self._columns]
        moved = read + shifts[examples.row_sentences][:, None]
        features[:, self._columns] = np.where(read < N_RESERVED, read, moved)
        return features
