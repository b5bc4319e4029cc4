"""Fitting a classifier together with its sentence encoder: a batch is some sentences and all of their examples."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from parser.classifier.context import CONTEXT, places_of
from parser.classifier.context_classifier import ContextClassifier
from parser.data.vocabulary import N_RESERVED, Sentences
from parser.settings import OptimizerSettings
from parser.training.examples import Examples
from parser.training.fitter import OnUpdate, Span, learning_rates, unobserved
from parser.training.loss import set_loss
from parser.training.updates import TorchOptimizer
from parser.training.word_dropout import WordDropout
from parser.transitions.features import Slot

# How far sentences stray from the order of their lengths, as a share of the length.
_NOISE = 0.1


@dataclass(frozen=True)
class _Batch:
    """Some sentences: their places (int64[tokens]), their lengths with the root, and the numbers of their examples."""

    places: np.ndarray
    lengths: np.ndarray
    examples: np.ndarray


class SentenceFitter:
    """Fits a classifier and its encoder over a number of epochs with one optimizer.

    Args:
        classifier: what is fitted, in place.
        slots: its slots; s0 must be among those that read ``context``, for it says which sentence an example is of.
        sentences: those of the examples to come.
        settings: optimizer, learning rate and its schedule; a batch holds whole sentences with about ``batch_size`` examples.
        longest_gradient: the norm that gradients are cut down to.
        span: the epochs that the schedule spans.
        word_dropout: of the attributes of the sentences, but for ``context``; None for none.

    Attributes:
        updates: the optimizer.
    """

    def __init__(
        self,
        classifier: ContextClassifier,
        slots: list[Slot],
        sentences: Sentences,
        settings: OptimizerSettings,
        longest_gradient: float,
        span: Span,
        word_dropout: WordDropout | None,
    ) -> None:
        self.classifier = classifier
        self.sentences = sentences
        self.settings = settings
        self.longest_gradient = longest_gradient
        self.span = span
        self.word_dropout = word_dropout
        self.columns = [i for i, slot in enumerate(slots) if slot.attribute == CONTEXT]
        self.parameters = [p for p in classifier.parameters() if p.requires_grad]
        self.updates = TorchOptimizer(self.parameters, settings)

    def fit_epoch(self, examples: Examples, epoch: int, generator: torch.Generator, on_update: OnUpdate = unobserved) -> float:
        """Goes once over the sentences in random order; returns the mean loss of an example, in nats.

        Args:
            examples: the examples.
            epoch: number of the epoch in the pass, from 0.
            generator: draws the order.
            on_update: told of each update.
        """
        batches = list(self._batches(examples, generator))
        rates = learning_rates(self.settings, self.span, epoch, len(batches))
        self.classifier.train()
        total = 0.0
        for batch, rate in zip(batches, rates, strict=True):
            loss = self._loss(batch, examples)
            self.classifier.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.parameters, self.longest_gradient)
            self.updates.step(rate)
            total += (value := loss.item()) * len(batch.examples)
            on_update(value, len(batch.examples), rate)
        return total / len(examples)

    def _loss(self, batch: _Batch, examples: Examples) -> torch.Tensor:
        """The mean loss of the batch's examples."""
        device = self.classifier.hidden_bias.device
        values = torch.from_numpy(self.sentences.values[:-1, batch.places].T.copy()).to(device)
        if self.word_dropout is not None:
            values = self.word_dropout(values)
        vectors = self.classifier.words(values, batch.lengths, dropping=self.classifier.training)
        # Among the vectors of the batch, tokens have other places than among all sentences.
        features = examples.features[batch.examples]
        order = np.argsort(batch.places)
        read = features[:, self.columns]
        here = N_RESERVED + order[np.searchsorted(batch.places, read - N_RESERVED, sorter=order).clip(max=len(order) - 1)]
        features[:, self.columns] = np.where(read < N_RESERVED, read, here)
        targets = torch.from_numpy(examples.targets[batch.examples]).to(device, torch.int64)
        return set_loss(self.classifier.with_context(vectors)(torch.from_numpy(features).to(device)), targets)

    def _batches(self, examples: Examples, generator: torch.Generator) -> Iterator[_Batch]:
        """The sentences in random order, cut up."""
        offsets = self.sentences.offsets
        # A node is always there at s0, so the highest value of an example's slots is the place of one of its tokens.
        places = examples.features[:, self.columns].max(axis=1) - N_RESERVED
        owners = np.searchsorted(offsets, places, side="right") - 1
        by_sentence = np.argsort(owners, kind="stable")
        firsts = np.searchsorted(owners[by_sentence], np.arange(len(self.sentences) + 1))
        # Sentences of about the same length belong together, which saves padding; the noise makes other batches every epoch.
        noise = 1 + _NOISE * (2 * torch.rand(len(self.sentences), generator=generator).numpy() - 1)
        order = np.argsort(np.diff(offsets) * noise)
        order = order[np.diff(firsts)[order] > 0]
        ends = np.cumsum(np.diff(firsts)[order])
        numbers = (ends - 1) // self.settings.batch_size  # of the batch that a sentence is in
        batches = np.split(order, np.flatnonzero(np.diff(numbers)) + 1)
        for i in torch.randperm(len(batches), generator=generator).tolist():
            some = batches[i]
            yield _Batch(
                places_of(self.sentences, some),
                np.diff(offsets)[some],
                np.concatenate([by_sentence[firsts[s] : firsts[s + 1]] for s in some]),
            )
