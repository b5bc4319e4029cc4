"""Batches of training sentences: which are together, their values with word dropout, and what an encoder makes of them.

Every objective whose batches are sentences reads them here, so that words are dropped, and auxiliary tasks learned, in one way.

Word dropout replaces values by UNKNOWN at random, so that its vector is trained. A value seen n times is dropped with
probability w / (w + n) (Kiperwasser and Goldberg 2016, Section 4, with w = 0.25). They drop words; here the values of every
attribute that is counted are dropped, UPOS and FEATS among them. BatchReader draws once for each token; ExampleObjective draws
for each slot, so that a word may be known at s0 and unknown at s1. The segmenter has a rate of its own
(text/segmenter_training.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import torch
from torch import Tensor, nn

from parser.data.sentences import Sentences
from parser.data.vocabulary import N_RESERVED, UNKNOWN
from parser.networks.bilstm import BiLSTM
from parser.networks.classifier import Classifier
from parser.networks.layers import Grid
from parser.training.examples.examples import TrainingSentences
from parser.transitions.features import TOKEN

# How far the order of sentences departs from that of their lengths, as a share of the length.
_NOISE = 0.1


def unknown_rates(counts: np.ndarray, weight: float) -> np.ndarray:
    """float32[values]: the probability that a value is replaced by UNKNOWN, given its count; 0 for reserved values."""
    rates = weight / np.maximum(weight + counts, 1e-9)
    rates[:N_RESERVED] = 0.0
    return rates.astype(np.float32)


class WordDropout:
    """Drops values of a batch of examples or of tokens.

    Args:
        rates: by column, float32[values], as from unknown_rates(); an empty one for columns that nothing is dropped from.
        device: where the values will be.
    """

    def __init__(self, rates: Sequence[np.ndarray], device: torch.device) -> None:
        self.columns = torch.tensor(
            [i for i, of_column in enumerate(rates) if len(of_column)], dtype=torch.int64, device=device
        )
        sizes = [len(of_column) for of_column in rates if len(of_column)]
        self._starts = torch.tensor(np.cumsum([0, *sizes[:-1]]), dtype=torch.int32, device=device)
        self._rates = torch.from_numpy(np.concatenate([np.zeros(0, np.float32), *rates])).to(device)

    def __call__(self, values: Tensor) -> Tensor:
        """int32[batch, columns]: the values, some of them UNKNOWN; drawn from torch's global generator."""
        read = values[:, self.columns]
        rates = self._rates[read + self._starts]
        dropped = torch.where(torch.rand_like(rates) < rates, UNKNOWN, read)
        return values.index_copy(1, self.columns, dropped)


@dataclass(frozen=True)
class EncodedBatch:
    """Some sentences, one after the other.

    Attributes:
        places: int64[tokens], where the tokens are among those of all sentences.
        lengths: int64[sentences], tokens of each, the root counted.
        vectors: by attribute that slots read as a vector, its vectors; see BiLSTM.with_tokens().
        tag_scores: see Encoded.
    """

    places: np.ndarray
    lengths: np.ndarray
    vectors: dict[str, Tensor]
    tag_scores: dict[str, Tensor]


class BatchReader:
    """Reads the values of training sentences, some of them dropped.

    Args:
        sentences: the sentences.
        word_dropout: of their attributes; None for none.
        device: where the values will be.
    """

    def __init__(self, sentences: Sentences, word_dropout: WordDropout | None, device: torch.device) -> None:
        self.sentences = sentences
        self._word_dropout = word_dropout
        self._device = device

    def read(self, numbers: np.ndarray, dropping: bool = True) -> tuple[np.ndarray, np.ndarray, Tensor]:
        """Some of the sentences (int[m]), one after the other.

        Args:
            numbers: which of them.
            dropping: whether dropout is in force.

        Returns:
            places: int64[tokens], where the tokens are among those of all sentences.
            lengths: int64[m], tokens of each, the root counted.
            values: int32[tokens, attributes].
        """
        places = self.sentences.places(numbers)
        values = torch.from_numpy(self.sentences.values[:, places].T.copy()).to(self._device)
        if dropping and self._word_dropout is not None:
            values = self._word_dropout(values)
        return places, np.diff(self.sentences.offsets)[numbers], values


class BatchEncoder:
    """Encodes training sentences with the weights of the moment.

    Args:
        classifier: whose token representation it is.
        data: the sentences, with their tags if there are any to predict.
        word_dropout: of the sentences' attributes; None for none.
        tag_weights: by column that is predicted, in the order of ``data.tags``, the weight of its loss relative to the
            parser's; each loss is a mean over words.
        heads_weight: that of the heads and relations, if the encoder predicts them.
    """

    def __init__(
        self,
        classifier: Classifier,
        data: TrainingSentences,
        word_dropout: WordDropout | None = None,
        tag_weights: Mapping[str, float] = MappingProxyType({}),
        heads_weight: float = 0.0,
    ) -> None:
        self.sentences = data.sentences
        self._data = data
        self._tag_weights, self._heads_weight = tag_weights, heads_weight
        assert isinstance(classifier.tokens, BiLSTM), "it encodes sentences"
        self._tokens, self._heads = classifier.tokens, classifier.tokens.heads
        self._nothing = classifier.output.bias
        self._reader = BatchReader(data.sentences, word_dropout, self._nothing.device)

    def encode(self, numbers: np.ndarray, dropping: bool = True) -> EncodedBatch:
        """Encodes some of the sentences (int[m]); ``dropping``: whether dropout is in force."""
        places, lengths, values = self._reader.read(numbers, dropping)
        encoded = self._tokens.encode(values, lengths, dropping)
        return EncodedBatch(places, lengths, self._tokens.with_tokens(encoded.tokens), encoded.tag_scores)

    @property
    def has_tasks(self) -> bool:
        """Whether the encoder has further tasks."""
        return bool(self._tag_weights) or self._heads is not None

    def task_loss(self, batch: EncodedBatch, dropping: bool = True) -> Tensor:
        """The weighted sum of the losses of further tasks; 0 if there are none."""
        total = self._nothing.new_zeros(())
        if self._tag_weights:
            assert self._data.tags is not None, "the tags to predict"
            for (column, weight), numbers in zip(self._tag_weights.items(), self._data.tags[:, batch.places], strict=True):
                gold = self._on_device(numbers) - N_RESERVED  # negative where nothing is to learn
                if (known := gold >= 0).any():
                    total = total + weight * nn.functional.cross_entropy(batch.tag_scores[column][known], gold[known])
        if self._heads is not None:
            heads = self._on_device(self._data.trees.heads[batch.places])
            relations = self._on_device(self._data.relations[batch.places])
            tokens, grid = batch.vectors[TOKEN][N_RESERVED:], Grid.of(batch.lengths, total.device)
            total = total + self._heads_weight * self._heads.loss(tokens, grid, heads, relations, dropping)
        return total

    def _on_device(self, numbers: np.ndarray) -> Tensor:
        return torch.from_numpy(numbers).to(self._nothing.device, torch.int64)


def batches_of_like_lengths(
    lengths: np.ndarray, sizes: np.ndarray, batch_size: int, generator: torch.Generator
) -> list[np.ndarray]:
    """Sentences in batches, the batches in random order: sentences of about the same length together, which saves padding.

    Args:
        lengths: int[sentences], their tokens.
        sizes: int[sentences], what a batch is filled with; a sentence of size 0 is in none.
        batch_size: about how much of it fills a batch.
        generator: draws the order, and a noise that makes other batches every time.
    """
    noise = 1 + _NOISE * (2 * torch.rand(len(lengths), generator=generator).numpy() - 1)
    order = np.argsort(lengths * noise)
    order = order[sizes[order] > 0]
    ends = np.cumsum(sizes[order])
    batches = np.split(order, np.flatnonzero(np.diff((ends - 1) // batch_size)) + 1)
    return [batches[i] for i in torch.randperm(len(batches), generator=generator).tolist()]
