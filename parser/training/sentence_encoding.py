"""Batches of sentences for a contextual token representation: each is encoded once, with the dropout of training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn

from parser.classifier.classifier import Classifier
from parser.classifier.representation import ContextualRepresentation
from parser.data.vocabulary import N_RESERVED
from parser.training.examples import TrainingSentences
from parser.training.word_dropout import WordDropout

# How far the order of sentences departs from that of their lengths, as a share of the length.
_NOISE = 0.1


@dataclass(frozen=True)
class EncodedBatch:
    """Some sentences, one after the other.

    Attributes:
        places: int64[tokens], where the tokens are among those of all sentences.
        lengths: int64[sentences], tokens of each, the root counted.
        vectors: by attribute that slots read as a vector, its vectors; see ContextualRepresentation.with_tokens().
        tag_scores: see Encoded.
    """

    places: np.ndarray
    lengths: np.ndarray
    vectors: dict[str, Tensor]
    tag_scores: dict[str, Tensor]


class SentenceEncoding:
    """Encodes training sentences with the weights of the moment.

    Args:
        classifier: whose token representation it is.
        data: the sentences, with their tags if there are any to predict.
        word_dropout: of the sentences' attributes; None for none.
        tag_weights: by column that is predicted, in the order of ``data.tags``, the weight of its loss.
    """

    def __init__(
        self,
        classifier: Classifier,
        data: TrainingSentences,
        word_dropout: WordDropout | None = None,
        tag_weights: Mapping[str, float] | None = None,
    ) -> None:
        self.sentences = data.sentences
        self._tags = data.tags
        self._tag_weights = tag_weights or {}
        self._word_dropout = word_dropout
        self._tokens = cast(ContextualRepresentation, classifier.tokens)
        self._nothing = classifier.output.bias

    def encode(self, numbers: np.ndarray, dropping: bool = True) -> EncodedBatch:
        """Encodes some of the sentences (int[m]); ``dropping``: whether dropout is in force."""
        places = self.sentences.places(numbers)
        lengths = np.diff(self.sentences.offsets)[numbers]
        values = torch.from_numpy(self.sentences.values[:, places].T.copy()).to(self._nothing.device)
        if dropping and self._word_dropout is not None:
            values = self._word_dropout(values)
        encoded = self._tokens.encode(values, lengths, dropping)
        return EncodedBatch(places, lengths, self._tokens.with_tokens(encoded.tokens), encoded.tag_scores)

    def tag_loss(self, batch: EncodedBatch) -> Tensor:
        """The weighted sum of the mean losses of the columns that are predicted."""
        total = self._nothing.new_zeros(())
        if self._tags is None:
            return total
        for (column, weight), numbers in zip(self._tag_weights.items(), self._tags[:, batch.places], strict=True):
            gold = torch.from_numpy(numbers).to(total.device, torch.int64) - N_RESERVED  # negative where nothing is to learn
            if (known := gold >= 0).any():
                total = total + weight * nn.functional.cross_entropy(batch.tag_scores[column][known], gold[known])
        return total


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
