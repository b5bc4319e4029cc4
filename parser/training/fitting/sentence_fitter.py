"""Fitting a classifier with a contextual token representation: a batch is some sentences and all of their examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from parser.data.vocabulary import N_RESERVED
from parser.networks.classifier import Classifier
from parser.settings import OptimizerSettings
from parser.training.examples.examples import Examples, TrainingSentences
from parser.training.fitting.by_value import scores_by_value
from parser.training.fitting.fitter import OnUpdate, Span, learning_rates, unobserved
from parser.training.fitting.loss import Groups, set_loss
from parser.training.fitting.sentence_encoding import SentenceEncoding, TaskWeights, batches_of_like_lengths
from parser.training.fitting.updates import TorchOptimizer
from parser.training.fitting.word_dropout import WordDropout
from parser.transitions.features import TOKEN


@dataclass(frozen=True)
class _Batch:
    """Some sentences: their numbers, and those of their examples."""

    sentences: np.ndarray
    examples: np.ndarray


class SentenceFitter:
    """A Fitter that draws batches of sentences: each is encoded once for all of its examples.

    Args:
        classifier: what is fitted, in place.
        data: the sentences of the examples to come, with their tags if there are any to predict.
        settings: optimizer, learning rate and its schedule; a batch holds whole sentences with about ``batch_size`` examples.
        span: the epochs that the schedule spans.
        max_grad_norm: gradient clipping: the norm that longer gradients are scaled down to.
        word_dropout: of the sentences' attributes; None for none.
        weights: of the losses of the encoder's further tasks; that of the parser is the mean over examples.
    """

    def __init__(
        self,
        classifier: Classifier,
        data: TrainingSentences,
        settings: OptimizerSettings,
        span: Span,
        max_grad_norm: float,
        word_dropout: WordDropout | None = None,
        weights: TaskWeights | None = None,
    ) -> None:
        self.classifier = classifier
        self.sentences = data.sentences
        self.settings = settings
        self.span = span
        self.max_grad_norm = max_grad_norm
        self._encoding = SentenceEncoding(classifier, data, word_dropout, weights)
        self._columns = classifier.embedded_columns[TOKEN]
        self._device = classifier.output.weight.device
        self._parameters = [p for p in classifier.parameters() if p.requires_grad]
        self._optimizer = TorchOptimizer(self._parameters, settings)

    def fit_epoch(self, examples: Examples, epoch: int, generator: torch.Generator, on_update: OnUpdate = unobserved) -> float:
        """See Fitter."""
        batches = list(self._batches(examples, generator))
        rates = learning_rates(self.settings, self.span, epoch, len(batches))
        total = 0.0
        for batch, rate in zip(batches, rates, strict=True):
            loss, of_tasks = self._losses(batch, examples)
            self.classifier.zero_grad()
            (loss + of_tasks).backward()
            nn.utils.clip_grad_norm_(self._parameters, self.max_grad_norm)
            self._optimizer.step(rate)
            total += (value := loss.item()) * len(batch.examples)
            on_update(value, len(batch.examples), rate)
        return total / len(examples)

    def state(self) -> dict[str, Tensor]:
        """See Fitter."""
        return self._optimizer.state()

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """See Fitter."""
        self._optimizer.restore(tensors)

    def _losses(self, batch: _Batch, examples: Examples, dropping: bool = True) -> tuple[Tensor, Tensor]:
        """The mean loss of the batch's examples, and the weighted sum of the further tasks' losses."""
        encoded = self._encoding.encode(batch.sentences, dropping)
        taken = examples.take(batch.examples)
        features = torch.from_numpy(self._features(batch, encoded.lengths, taken)).to(self._device)
        targets = torch.from_numpy(taken.targets).to(self._device, torch.int64)
        scores = scores_by_value(self.classifier, features, encoded.vectors, dropping=dropping)
        return set_loss(scores, targets, Groups.of(taken, self._device)), self._encoding.task_loss(encoded, dropping)

    def _features(self, batch: _Batch, lengths: np.ndarray, taken: Examples) -> np.ndarray:
        """int32[m, slots]: the features of the batch's examples, with the places that their tokens have in the batch."""
        features = taken.features.copy()
        shifts = np.zeros(len(self.sentences), np.int32)
        shifts[batch.sentences] = np.cumsum(lengths) - lengths - self.sentences.offsets[batch.sentences]
        read = features[:, self._columns]
        moved = read + shifts[taken.row_sentences][:, None]
        features[:, self._columns] = np.where(read < N_RESERVED, read, moved)
        return features

    def _batches(self, examples: Examples, generator: torch.Generator) -> Iterator[_Batch]:
        """The sentences in random order, in batches."""
        by_sentence = np.argsort(examples.sentences, kind="stable")
        firsts = np.searchsorted(examples.sentences[by_sentence], np.arange(len(self.sentences) + 1))
        lengths, sizes = np.diff(self.sentences.offsets), np.diff(firsts)
        for some in batches_of_like_lengths(lengths, sizes, self.settings.batch_size, generator):
            yield _Batch(some, np.concatenate([by_sentence[firsts[s] : firsts[s + 1]] for s in some]))
