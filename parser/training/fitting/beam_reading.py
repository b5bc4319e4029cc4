"""Batches of sentences as global training reads them: weights that a beam searches with, and the way back for its gradient.

The search is compiled and knows no gradients (beam_updates.py). What it asks of the classifier is computed once more by torch,
with the same dropout: that of words, and of an encoder, is drawn when a batch is read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from parser.data.sentences import Sentences
from parser.inference.weights import ClassifierWeights
from parser.networks.classifier import Classifier
from parser.training.examples.examples import TrainingSentences
from parser.training.fitting.by_value import hidden_by_value
from parser.training.fitting.sentence_encoding import SentenceEncoding, TaskWeights, batches_of_like_lengths
from parser.training.fitting.word_dropout import WordDropout


class ReadBatch(ABC):
    """Some sentences with a classifier as it is now.

    Attributes:
        sentences: the sentences, one after the other.
        weights: what the search scores with.
        scale: what a sum over the sentences is divided by to make the loss.
    """

    sentences: Sentences
    weights: ClassifierWeights
    scale: int

    @abstractmethod
    def hidden(self, features: np.ndarray) -> Tensor:
        """float32[m, units], what goes into the activation for int32[m, slots] features of configurations of the sentences."""

    def task_loss(self) -> Tensor | None:
        """The weighted sum of the losses of the encoder's further tasks; None if there are none."""
        return None


class Reading(Protocol):
    """Reads batches of the training sentences."""

    def batches(self, size: int, generator: torch.Generator) -> Sequence[np.ndarray]:
        """All sentences (their numbers, int[m]) in random order, this many together."""

    def read(self, numbers: np.ndarray, dropping: bool) -> ReadBatch:
        """Some of the sentences; ``dropping``: whether dropout is in force."""


class StaticReading:
    """With a static token representation; dropout is of words only. The loss is the mean of the sentences.

    Args:
        classifier: whose token representation it is.
        data: the sentences.
        word_dropout: of their attributes; None for none.
    """

    def __init__(self, classifier: Classifier, data: TrainingSentences, word_dropout: WordDropout | None) -> None:
        self._classifier, self._sentences, self._word_dropout = classifier, data.sentences, word_dropout

    def batches(self, size: int, generator: torch.Generator) -> Sequence[np.ndarray]:
        """See Reading."""
        return [numbers.numpy() for numbers in torch.randperm(len(self._sentences), generator=generator).split(size)]

    def read(self, numbers: np.ndarray, dropping: bool) -> ReadBatch:
        """See Reading."""
        values = torch.from_numpy(self._sentences.values[:, self._sentences.places(numbers)].T.copy())
        if dropping and self._word_dropout is not None:
            values = self._word_dropout(values.to(self._word_dropout.columns.device)).cpu()
        offsets = _offsets(np.diff(self._sentences.offsets)[numbers])
        return _StaticBatch(self._classifier, Sentences(np.ascontiguousarray(values.numpy().T), offsets))


class EncoderReading:
    """With a contextual token representation, whose dropout is in force, as is that of the classifier's inputs.

    Sentences of like lengths are together. The loss is the mean of the moves, so that clipping and the weights of further
    tasks' losses mean what they do in the passes before.

    Args:
        classifier: whose token representation it is.
        data: the sentences, with their tags if there are any to predict.
        word_dropout, weights: see SentenceEncoding.
    """

    def __init__(
        self,
        classifier: Classifier,
        data: TrainingSentences,
        word_dropout: WordDropout | None,
        weights: TaskWeights | None,
    ) -> None:
        self._classifier = classifier
        self._lengths = np.diff(data.sentences.offsets)
        self._encoding = SentenceEncoding(classifier, data, word_dropout, weights)

    def batches(self, size: int, generator: torch.Generator) -> Sequence[np.ndarray]:
        """See Reading."""
        return batches_of_like_lengths(self._lengths, np.ones_like(self._lengths), size, generator)

    def read(self, numbers: np.ndarray, dropping: bool) -> ReadBatch:
        """See Reading."""
        batch = self._encoding.encode(numbers, dropping)
        rate = self._classifier.input_dropout if dropping else 0.0
        vectors = {name: nn.functional.dropout(matrix, rate) for name, matrix in batch.vectors.items()}
        task_loss = self._encoding.task_loss(batch, dropping) if self._encoding.has_tasks else None
        return _EncodedBatch(self._classifier, batch.lengths, vectors, task_loss)


class _StaticBatch(ReadBatch):
    def __init__(self, classifier: Classifier, sentences: Sentences) -> None:
        self._classifier = classifier
        self.sentences, self.weights, self.scale = sentences, classifier.weights(), len(sentences)

    def hidden(self, features: np.ndarray) -> Tensor:
        classifier = self._classifier
        rows = torch.from_numpy(features).to(classifier.hidden_bias.device, torch.int64)
        matrices, vectors = classifier.tokens.fixed_vectors(), {}
        for name, columns in classifier.embedded_columns.items():
            # Contributions are computed only of the values that occur.
            used, numbers = rows[:, columns].unique(return_inverse=True)
            vectors[name] = matrices[name][used]
            rows[:, columns] = numbers
        return hidden_by_value(classifier, rows, vectors)


class _EncodedBatch(ReadBatch):
    def __init__(
        self, classifier: Classifier, lengths: np.ndarray, vectors: Mapping[str, Tensor], task_loss: Tensor | None
    ) -> None:
        self._classifier, self._vectors, self._task_loss = classifier, vectors, task_loss
        offsets = _offsets(lengths)
        self.sentences = Sentences(np.empty((0, offsets[-1]), np.int32), offsets)  # slots read tokens, not their attributes
        self.weights = classifier.weights_with(vectors)
        self.scale = 2 * max(1, int((lengths - 1).sum()))

    def hidden(self, features: np.ndarray) -> Tensor:
        rows = torch.from_numpy(features).to(self._classifier.hidden_bias.device, torch.int64)
        return hidden_by_value(self._classifier, rows, self._vectors)

    def task_loss(self) -> Tensor | None:
        return self._task_loss


def _offsets(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)])
