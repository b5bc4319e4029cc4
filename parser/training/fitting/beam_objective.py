"""Training for whole computations: batches of sentences, each searched with the weights of the moment.

The search is compiled and knows no gradients (gold_beam_search.py). The scores that the loss depends on are computed once more
by torch, with the same dropout: that of words, and of an encoder, is drawn when a batch is read, that of hidden units once for
a sentence. So the search and the gradient see the same classifier.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from parser.data.sentences import Sentences
from parser.inference.weights import ClassifierWeights
from parser.model.model import Model
from parser.networks.classifier import Classifier
from parser.networks.layers import dropout_mask
from parser.training.examples.examples import TrainingSentences
from parser.training.fitting.by_value import hidden_by_value
from parser.training.fitting.gold_beam_search import BeamTraining, GoldBeamSearch, GoldTrees, SearchResults
from parser.training.fitting.sentence_batches import BatchEncoder, BatchReader, batches_of_like_lengths
from parser.training.fitting.trainer import BatchLoss
from parser.transitions.attardi import Attardi
from parser.transitions.system import behaves_as


@dataclass(frozen=True)
class SearchReport:
    """How the searches of an epoch went.

    Attributes:
        updated_percent: share of the sentences whose loss has a gradient.
        step_percent: how far into the sentence the step was that was learned from, mean.
        lost_percent: share of the sentences where the beam lost all gold items on the way.
        configurations: those whose scores the loss depends on, mean of a sentence.
    """

    updated_percent: float
    step_percent: float
    lost_percent: float
    configurations: float


class BatchForSearch(ABC):
    """Some sentences with a classifier as it is now.

    Attributes:
        sentences: the sentences, one after the other.
        weights: what the search scores with.
        scale: what a sum over the sentences is divided by to make the loss.
        task_loss: the weighted sum of the losses of the encoder's further tasks; None if there are none.
    """

    sentences: Sentences
    weights: ClassifierWeights
    scale: int
    task_loss: Tensor | None = None

    @abstractmethod
    def hidden(self, features: np.ndarray) -> Tensor:
        """float32[m, units], what goes into the activation for int32[m, slots] features of configurations of the sentences."""


@dataclass(frozen=True)
class SearchedBatch:
    """A batch, what the searches through it found, and float32[m, units], masks of hidden units; None if none is dropped."""

    batch: BatchForSearch
    searched: SearchResults
    kept: Tensor | None


class BeamObjective:
    """The Objective of gold computations against those that a beam finds.

    Args:
        model: whose classifier is trained; for arc-standard.
        data: the sentences, with any gold trees.
        reader: reads batches of them; a BatchEncoder for a contextual token representation.
        batch_size: sentences of a batch.
        training: how to search.
    """

    def __init__(
        self,
        model: Model,
        data: TrainingSentences,
        reader: BatchReader | BatchEncoder,
        batch_size: int,
        training: BeamTraining,
    ) -> None:
        assert behaves_as(model.system, Attardi), "plan() has seen to it"
        self._system = model.system
        self._table = model.table
        self._classifier = model.classifier
        self._lengths = np.diff(data.sentences.offsets)  # the root counted
        self._reader = reader
        self._batch_size = batch_size
        self._training = training
        self._trees = GoldTrees(data)
        self._sums = np.zeros(5)  # over the sentences of an epoch: one, and what SearchReport has the mean of

    @property
    def uniform_loss(self) -> float:
        """Of a sentence: that of all its transitions, 2 for a token."""
        return 2 * float((self._lengths - 1).mean()) * math.log(self._system.n_outputs)

    def batches(self, generator: torch.Generator) -> tuple[int, Sequence[np.ndarray]]:
        """Draw batches of sentences; with an encoder, those of about the same length are together."""
        n, size = len(self._lengths), self._batch_size
        if isinstance(self._reader, BatchEncoder):
            found = batches_of_like_lengths(self._lengths, np.ones(n, np.int64), size, generator)
        else:
            found = [numbers.numpy() for numbers in torch.randperm(n, generator=generator).split(size)]
        self._sums[:] = 0
        return len(found), found

    def backward(self, batch: np.ndarray) -> BatchLoss:
        """Searches the sentences, and leaves the gradients of the loss of their items."""
        found = self.search(batch)
        searched, of_tasks = found.searched, found.batch.task_loss
        if has_gradient := len(searched.rows) > 0 or of_tasks is not None:
            surrogate = self.surrogate(found)
            self._classifier.zero_grad()
            (surrogate if of_tasks is None else surrogate + of_tasks).backward()
        updated = len(np.unique(searched.sentences))
        self._sums += len(batch), updated, searched.steps.sum(), searched.lost.sum(), len(searched.features)
        return BatchLoss(float(searched.losses.sum()) / len(batch), len(batch), has_gradient)

    def report(self) -> SearchReport:
        """How the searches of the epoch went so far."""
        sentences, *sums = self._sums.tolist()
        updated, steps, lost, configurations = (total / max(1.0, sentences) for total in sums)
        return SearchReport(100 * updated, 100 * steps, 100 * lost, configurations)

    def search(self, numbers: np.ndarray, dropping: bool = True) -> SearchedBatch:
        """Searches through some of the sentences (int[m]); ``dropping``: whether dropout is in force."""
        classifier, batch = self._classifier, self._read(numbers, dropping)
        kept = dropout_mask(torch.empty(len(numbers), len(classifier.hidden_bias)), classifier.dropout) if dropping else None
        search = GoldBeamSearch(batch.weights, self._system, self._table, self._training, self._trees)
        return SearchedBatch(batch, search.search(batch.sentences, numbers, None if kept is None else kept.numpy()), kept)

    def surrogate(self, found: SearchedBatch) -> Tensor:
        """A sum of scores that has the gradient of the loss of the sentences that search() has gone through."""
        classifier, searched = self._classifier, found.searched
        device = classifier.output.weight.device
        hidden = classifier.activation.apply(found.batch.hidden(searched.features))
        if found.kept is not None:
            hidden = hidden * found.kept[torch.from_numpy(searched.sentences)].to(device)
        scores = classifier.output(hidden)
        chosen = scores[torch.from_numpy(searched.rows).to(device), torch.from_numpy(searched.outputs).to(device)]
        return (chosen * torch.from_numpy(searched.slopes).to(device)).sum() / found.batch.scale

    def _read(self, numbers: np.ndarray, dropping: bool) -> BatchForSearch:
        if isinstance(self._reader, BatchReader):
            return _StaticBatch(self._classifier, *self._reader.read(numbers, dropping)[1:])
        return _EncodedBatch(self._classifier, self._reader, numbers, dropping)


class _StaticBatch(BatchForSearch):
    """With a static token representation; dropout is of words only. The loss is the mean of the sentences."""

    def __init__(self, classifier: Classifier, lengths: np.ndarray, values: Tensor) -> None:
        self._classifier = classifier
        self.sentences = Sentences(np.ascontiguousarray(values.cpu().numpy().T), _offsets(lengths))
        self.weights, self.scale = classifier.weights(), len(lengths)

    def hidden(self, features: np.ndarray) -> Tensor:
        classifier = self._classifier
        rows = torch.from_numpy(features).to(classifier.hidden_bias.device, torch.int64)
        matrices, vectors = classifier.tokens.fixed_vectors(), {}
        for name, columns in classifier.embedded_columns.items():
            # Hidden activations are computed only for the values that occur.
            used, numbers = rows[:, columns].unique(return_inverse=True)
            vectors[name] = matrices[name][used]
            rows[:, columns] = numbers
        return hidden_by_value(classifier, rows, vectors)


class _EncodedBatch(BatchForSearch):
    """With a contextual token representation, whose dropout is in force, as is that of the classifier's inputs.

    The loss is the mean of the transitions, so that clipping and the weights of further tasks' losses mean what they do in the
    passes before.
    """

    def __init__(self, classifier: Classifier, encoder: BatchEncoder, numbers: np.ndarray, dropping: bool) -> None:
        self._classifier = classifier
        batch = encoder.encode(numbers, dropping)
        rate = classifier.input_dropout if dropping else 0.0
        self._vectors: Mapping[str, Tensor] = {name: nn.functional.dropout(m, rate) for name, m in batch.vectors.items()}
        self.task_loss = encoder.task_loss(batch, dropping) if encoder.has_tasks else None
        offsets = _offsets(batch.lengths)
        self.sentences = Sentences(np.empty((0, offsets[-1]), np.int32), offsets)  # slots read tokens, not their attributes
        self.weights = classifier.weights_with(self._vectors)
        self.scale = 2 * max(1, int((batch.lengths - 1).sum()))

    def hidden(self, features: np.ndarray) -> Tensor:
        rows = torch.from_numpy(features).to(self._classifier.hidden_bias.device, torch.int64)
        return hidden_by_value(self._classifier, rows, self._vectors)


def _offsets(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)])
