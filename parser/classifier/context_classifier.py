"""The classifier over vectors from a sentence encoder: each slot reads the vector of a token in its sentence.

Only the embedding of the attribute ``context`` differs from the classifier that it extends: its vectors are not stored but made
of the sentences at hand (``read``). Its reserved values keep vectors of their own, of which that of ABSENT is in use.
"""

from __future__ import annotations

import copy

import numpy as np
import torch
from torch import Tensor, nn

from parser.classifier.bilstm import SentenceEncoder
from parser.classifier.classifier import Classifier
from parser.classifier.context import CONTEXT, places_of
from parser.data.vocabulary import Sentences

# Tokens that the encoder reads at a time: enough to fill its matrix products, and few enough for sentences of like length.
_TOGETHER = 1000


class ContextClassifier(Classifier):
    """Scores actions from feature values, some of them places in the sentences that were read last.

    Args:
        words: the sentence encoder.
        arguments: those of Classifier, with ``context`` among the embedded attributes.
    """

    def __init__(self, words: SentenceEncoder, *arguments, **keywords) -> None:
        super().__init__(*arguments, **keywords)
        self.words = words
        self._of_tokens: Tensor | None = None

    def set_vectors(self, attribute: str, matrix: np.ndarray) -> None:
        """Fills in ready-made vectors of the encoder's: float32[values of the attribute, embedding size]."""
        with torch.no_grad():
            self.words.vectors[attribute].copy_(torch.from_numpy(matrix))

    def read(self, sentences: Sentences) -> ContextClassifier:
        """This classifier for the given sentences, whose places are what ``context`` means; no dropout, no gradients."""
        device = self.hidden_bias.device
        lengths = np.diff(sentences.offsets)
        order = np.argsort(lengths, kind="stable")
        batches = (np.cumsum(lengths[order]) - 1) // _TOGETHER
        with torch.no_grad():
            vectors = self.vectors[CONTEXT].new_empty(int(sentences.offsets[-1]), self.vectors[CONTEXT].shape[1])
            for numbers in np.split(order, np.flatnonzero(np.diff(batches)) + 1) if len(order) else []:
                places = places_of(sentences, numbers)
                values = torch.from_numpy(sentences.values[:-1, places].T.copy()).to(device)
                vectors[torch.from_numpy(places).to(device)] = self.words(values, lengths[numbers])
        return self.with_context(vectors)

    def with_context(self, vectors: Tensor) -> ContextClassifier:
        """This classifier, the same weights, with the given vectors of tokens: float32[tokens, size]."""
        other = copy.copy(self)
        other._of_tokens = vectors
        return other

    def matrix(self, attribute: str) -> Tensor:
        """float32[values, size]: the vectors of the values of an embedded attribute."""
        vectors = super().matrix(attribute)
        if attribute != CONTEXT:
            return vectors
        assert self._of_tokens is not None, "no sentences were read"
        return torch.cat([vectors, self._of_tokens])

    def forward(self, features: Tensor) -> Tensor:
        """float32[batch, actions] scores (logits) of int32[batch, slots] features.

        What a token adds to the hidden units at an address is computed once for all configurations in which it is there.
        Classifier.forward is the slow, obvious twin, but for dropout of the input, which here drops the same numbers of a
        token's vector wherever it is read.
        """
        rows, numbers = [self.one_hot.weight], [self.one_hot_rows(features)]
        filled, first = len(self.one_hot.weight), 0
        for name, columns in self.embedded_columns.items():
            matrix, n = self.input_dropout(self.matrix(name)), len(columns)
            if n == 0:
                continue
            assert self.embedded is not None
            weights = self.embedded.weight[:, first : first + n * matrix.shape[1]]
            by_slot = weights.reshape(len(weights), n, -1).permute(2, 1, 0).reshape(matrix.shape[1], -1)
            rows.append((matrix @ by_slot).reshape(-1, len(weights)))
            numbers.append(filled + features[:, columns] * n + torch.arange(n, device=features.device, dtype=features.dtype))
            filled, first = filled + len(rows[-1]), first + n * matrix.shape[1]
        total = nn.functional.embedding_bag(torch.cat(numbers, dim=1), torch.cat(rows), mode="sum") + self.hidden_bias
        return self.output(self.dropout(self.activation.apply(total)))
