"""Batches of training sentences: how they are drawn, their values with word dropout,
and their encoding.

All objectives whose batches are sentences read them here,
so that word dropout and auxiliary tasks are the same for all.

Word dropout replaces values by UNKNOWN at random, so that the vector of UNKNOWN is trained. A value
seen n times is dropped with probability w / (w + n) (Kiperwasser and Goldberg 2016, Section 4, with
w = 0.25). They drop words; here values of all counted attributes are dropped, UPOS and FEATS as
well. BatchReader draws once for each token. ExampleObjective draws for each slot, so that a word
may be known at s0 and unknown at s1. The segmenter has its own rate (training/text/segmenter.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import torch
from torch import Tensor

from parser.data.sentences import Sentences
from parser.data.vocabulary import N_RESERVED, UNKNOWN
from parser.networks.bilstm import BiLSTM
from parser.networks.classifier import Classifier
from parser.networks.tasks import EncodedTokens
from parser.training.examples.examples import TrainingSentences
from parser.transitions.features import TOKEN

# Sentences are ordered by their length plus random noise, which is at most this share of the
# length.
_NOISE = 0.1


def unknown_rates(counts: np.ndarray, weight: float) -> np.ndarray:
    """Return float32[values]: the probability that a value with this count is replaced by UNKNOWN;
    0 for reserved values.
    """
    rates = weight / np.maximum(weight + counts, 1e-9)
    rates[:N_RESERVED] = 0.0
    return rates.astype(np.float32)


class WordDropout:
    """Word dropout for the values of a batch of examples or tokens.

    Args:
        rates: for each column, float32[values] from unknown_rates(); empty for columns without
            dropout.
        device: where the values will be.
    """

    def __init__(self, rates: Sequence[np.ndarray], device: torch.device | str) -> None:
        columns = [i for i, column_rates in enumerate(rates) if len(column_rates)]
        self.columns = torch.tensor(columns, dtype=torch.int64, device=device)
        sizes = [len(rates[i]) for i in columns]
        self._starts = torch.tensor(np.cumsum([0, *sizes[:-1]]), dtype=torch.int32, device=device)
        self._rates = torch.from_numpy(np.concatenate([np.zeros(0, np.float32), *rates])).to(device)

    def __call__(self, values: Tensor) -> Tensor:
        """Return int32[batch, columns]: the values, some replaced by UNKNOWN;
        drawn from torch's global generator.
        """
        numbers = values[:, self.columns]
        rates = self._rates[numbers + self._starts]
        dropped = torch.where(torch.rand_like(rates) < rates, UNKNOWN, numbers)
        return values.index_copy(1, self.columns, dropped)


@dataclass(frozen=True)
class EncodedBatch:
    """Some encoded sentences, one after the other.

    Attributes:
        places: int64[tokens], the places of the tokens among the tokens of all sentences.
        lengths: int64[sentences], how many tokens each has, including the root.
        vectors: for each embedded attribute, float32[values, size]; see BiLSTM.with_tokens().
        tag_scores: see Encoded.
    """

    places: np.ndarray
    lengths: np.ndarray
    vectors: dict[str, Tensor]
    tag_scores: dict[str, Tensor]


class BatchReader:
    """A reader of the values of training sentences, with word dropout.

    ``word_dropout`` drops values of their attributes, on the CPU; None: no dropout.
    """

    def __init__(self, sentences: Sentences, word_dropout: WordDropout | None) -> None:
        self.sentences = sentences
        self._word_dropout = word_dropout

    def read(
        self, numbers: np.ndarray, dropping: bool = True
    ) -> tuple[np.ndarray, np.ndarray, Tensor]:
        """Return some of the sentences, one after the other.

        Args:
            numbers: int[m], their numbers.
            dropping: whether dropout is in force.

        Returns:
            places: int64[tokens], the places of the tokens among the tokens of all sentences.
            lengths: int64[m], how many tokens each sentence has, including the root.
            values: int32[tokens, attributes], on the CPU.
        """
        places = self.sentences.places(numbers)
        values = torch.from_numpy(self.sentences.values[:, places].T.copy())
        if dropping and self._word_dropout is not None:
            values = self._word_dropout(values)
        return places, np.diff(self.sentences.offsets)[numbers], values


class BatchEncoder:
    """An encoder of training sentences with the current weights.

    Args:
        classifier: a classifier whose token representation is an encoder.
        data: the sentences, with the gold data of the encoder's tasks that are to be learned.
        word_dropout: drops values of the sentences' attributes; None: no dropout.
        task_weights: by the name of a loss (see Task.weights), its weight relative to the parser's
            loss; each loss is a mean over words.
    """

    def __init__(
        self,
        classifier: Classifier,
        data: TrainingSentences,
        word_dropout: WordDropout | None = None,
        task_weights: Mapping[str, float] = MappingProxyType({}),
    ) -> None:
        self.sentences = data.sentences
        self._weights = task_weights
        assert isinstance(classifier.tokens, BiLSTM), "an encoder of sentences"
        self._tokens = classifier.tokens
        self._tasks = [(self._tokens.tasks[name], gold) for name, gold in data.gold.items()]
        self._bias = classifier.output.bias
        self._reader = BatchReader(data.sentences, word_dropout)
        self._active = data.active

    def vary(self, data: TrainingSentences) -> None:
        """From now on, read the same sentences with other forms, and draw only sentences that are
        active in ``data``.
        """
        self._reader.sentences, self._active = data.sentences, data.active

    def sizes(self, sizes: np.ndarray) -> np.ndarray:
        """Return the sizes of the sentences in batches (int[sentences]):
        0 for sentences that are not active.
        """
        return sizes if self._active is None else np.where(self._active, sizes, 0)

    def encode(self, numbers: np.ndarray, dropping: bool = True) -> EncodedBatch:
        """Encode some of the sentences (int[m]); ``dropping`` says whether dropout is in force."""
        places, lengths, values = self._reader.read(numbers, dropping)
        encoded = self._tokens.encode(values, lengths, dropping)
        return EncodedBatch(
            places, lengths, self._tokens.with_tokens(encoded.tokens), encoded.tag_scores
        )

    @property
    def has_tasks(self) -> bool:
        """Whether the encoder has further tasks."""
        return bool(self._tasks)

    def task_loss(self, batch: EncodedBatch, dropping: bool = True) -> Tensor:
        """Return the weighted sum of the losses of further tasks; 0 if there are none."""
        total = self._bias.new_zeros(())
        encoded = EncodedTokens(batch.vectors[TOKEN][N_RESERVED:], batch.tag_scores, batch.lengths)
        for task, gold in self._tasks:
            for learned, loss in task.losses(encoded, gold[:, batch.places], dropping):
                total = total + self._weights[learned] * loss
        return total


def batches_of_like_lengths(
    lengths: np.ndarray, sizes: np.ndarray, batch_size: int, generator: torch.Generator
) -> list[np.ndarray]:
    """Return batches of sentences of about the same length, which saves padding;
    the batches are in random order.

    Args:
        lengths: int[sentences], the number of tokens of each sentence.
        sizes: int[sentences], the size that each sentence adds to a batch; a sentence of size 0 is
            in no batch.
        batch_size: the approximate total size of a batch.
        generator: draws the order, and the noise that makes different batches every time.
    """
    noise = 1 + _NOISE * (2 * torch.rand(len(lengths), generator=generator).numpy() - 1)
    order = np.argsort(lengths * noise)
    order = order[sizes[order] > 0]
    ends = np.cumsum(sizes[order])
    batches = np.split(order, np.flatnonzero(np.diff((ends - 1) // batch_size)) + 1)
    return [batches[i] for i in torch.randperm(len(batches), generator=generator).tolist()]
