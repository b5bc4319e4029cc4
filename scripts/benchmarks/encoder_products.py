"""The matrix products of an epoch's updates of a classifier with an encoder, forward and backward.

A batch holds whole sentences, like those of a SentenceFitter, of similar lengths. In each layer and direction, inputs are
multiplied by their weights for all tokens at once, states step by step; backward there are the derivatives with respect to
inputs and weights. Characters and tags are not counted, so that they appear as overhead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

import numpy as np
from torch import nn

from parser.networks.bilstm import BiLSTM
from parser.networks.classifier import Classifier
from parser.transitions.features import TOKEN

Shape = tuple[int, int, int]
"""Of a product: float32[m, k] times float32[k, n]."""


def batches_of(lengths: np.ndarray, examples: int, batch_size: int) -> Iterator[tuple[np.ndarray, int]]:
    """Batches as in SentenceFitter, without its noise: the tokens of their sentences, roots counted, and their examples.

    Args:
        lengths: int[sentences], words of the sentences of an epoch.
        examples: of an epoch; each word has as many.
        batch_size: examples that a batch has about.
    """
    ordered = np.sort(lengths)
    ends = np.cumsum(ordered) * (examples / ordered.sum())
    numbers = (np.ceil(ends).astype(np.int64) - 1) // batch_size
    for of_batch in np.split(ordered, np.flatnonzero(np.diff(numbers)) + 1):
        yield of_batch + 1, round(float(of_batch.sum()) * examples / ordered.sum())


def products_of(classifier: Classifier, lengths: np.ndarray, examples: int) -> Iterator[Shape]:
    """Those of a batch.

    Args:
        classifier: with an encoder.
        lengths: int[sentences], tokens of each sentence, the root counted.
        examples: of all of them.
    """
    tokens = classifier.tokens
    assert isinstance(tokens, BiLSTM)
    steps, sentences = int(lengths.max()), len(lengths)
    for layer in cast(Iterable[nn.LSTM], tokens.forwards):
        width, hidden = layer.input_size, layer.hidden_size
        for _ in range(2):  # directions
            yield from _both_ways(steps * sentences, width, 4 * hidden)
            yield from [(sentences, hidden, 4 * hidden), (sentences, 4 * hidden, hidden)] * steps
            yield 4 * hidden, steps * sentences, hidden
    output = classifier.output.weight
    for name, columns, weights in classifier.slot_weights():
        values = int(lengths.sum()) if name == TOKEN else len(tokens.embeddings.vectors[name])
        yield from _both_ways(values, len(weights), len(columns) * output.shape[1])
    yield from _both_ways(examples, output.shape[1], output.shape[0])


def _both_ways(m: int, k: int, n: int) -> Iterable[Shape]:
    """A product, and what its derivatives take."""
    return (m, k, n), (m, n, k), (n, m, k)
