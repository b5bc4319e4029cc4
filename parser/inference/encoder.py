"""A BiLSTM whose weights stay as they are, on a CPU: the vectors of tokens for parsing, without torch.

What goes into the first layer depends only on the word type (type_rows.py), so its embeddings, its characters and their
product with the layer's weights are worked out once for each type, for all sentences to come. The layers themselves are those
of resting_lstm.py, in one of the arithmetics of resting_matrices.py. BiLSTM.encode is the reference implementation.

The vectors of a sentence depend on nothing else that is encoded along, nor do the rows of a word type, so that it does not
matter which thread meets a type first.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from parser.data.sentences import Sentences
from parser.data.vocabulary import ABSENT
from parser.inference.arithmetic import Arithmetic, Int8, Matrix, SinglePrecision
from parser.inference.lstm import RestingLSTM
from parser.inference.type_rows import TypeRows
from parser.inference.weights import EncoderWeights

# Word types that are computed together.
_TYPES_TOGETHER = 256


class RestingEncoder:
    """Makes the vectors of tokens; threads may ask at the same time.

    Args:
        weights: those of the encoder as they are now.
        int8: whether vectors are stored and multiplied in 8 bits.

    Raises:
        Int8Error: they cannot be.
    """

    def __init__(self, weights: EncoderWeights, int8: bool = False) -> None:
        arithmetic = self.arithmetic = Int8() if int8 else SinglePrecision()
        spec = weights.spec
        layers = self._layers = [RestingLSTM(*weights.layer(number), arithmetic) for number in range(spec.layers)]
        first, *others = layers
        self._embeddings = weights.inputs
        self._characters = None if spec.characters is None else _RestingCharacters(weights)
        self._first = SinglePrecision().matrix(first.inputs, first.bias)
        self._others = [arithmetic.matrix(layer.inputs[:, : 2 * layer.hidden], layer.bias) for layer in others]
        self._tagger = None
        if spec.tagger is not None and weights.tag_outputs:
            above = layers[spec.tagger.layer]
            self._tagger = _RestingTagger(weights, spec.tagger.layer, above.inputs[:, 2 * first.hidden :], arithmetic)
        n_rows = len(self._embeddings) + (0 if spec.characters is None else spec.characters.longest)
        self._of_types = TypeRows(self._fill, n_rows, np.zeros((0, 8 * first.hidden), np.float32))

    def encode(self, sentences: Sentences) -> np.ndarray:
        """See SentenceEncoder."""
        return self._read(sentences)[0] if sentences.vectors is None else sentences.vectors

    def encode_with_tags(self, sentences: Sentences) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """See TaggingEncoder."""
        read, scores = self._read(sentences)
        return read, {task: of_task.argmax(axis=1).astype(np.int32) for task, of_task in scores.items()}

    def _read(self, sentences: Sentences) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """What the layers make of all tokens, as it is stored: [tokens, 2 * hidden]; and the scores of their tags."""
        types, inputs = self._of_types(sentences.values)
        read = self._layers[0](inputs, types, sentences.offsets)
        tokens = np.arange(len(types), dtype=np.int32)
        scores: dict[str, np.ndarray] = {}
        for number, (layer, matrix) in enumerate(zip(self._layers[1:], self._others, strict=True), 1):
            inputs = matrix(read)
            if self._tagger is not None and number == self._tagger.layer:
                scores = self._tagger.scores(read)
                if self._tagger.is_read:
                    with np.errstate(over="ignore", invalid="ignore"):  # weights of a forged model may be of any size
                        inputs += self._tagger.inputs_of(scores)
            read = layer(inputs, tokens, sentences.offsets)
        return read, scores

    def floats(self, vectors: np.ndarray) -> np.ndarray:
        """float32[tokens, size], of vectors that encode() has made."""
        return self.arithmetic.floats(vectors)

    def matrix(self, weights: np.ndarray, bias: np.ndarray) -> Matrix:
        """What multiplies vectors that encode() has made by float32[outputs, size], and adds float32[outputs]."""
        return self.arithmetic.matrix(weights, bias)

    def rounded(self, weights: np.ndarray) -> np.ndarray:
        """float32[outputs, size], what matrix() multiplies by."""
        return self.arithmetic.rounded(weights)

    def _fill(self, values: np.ndarray, rows: np.ndarray) -> None:
        """Fills in the first of ``rows``, for word types of these values."""
        for start in range(0, values.shape[1], _TYPES_TOGETHER):
            some = values[:, start : start + _TYPES_TOGETHER]
            parts = [matrix[of_attribute] for matrix, of_attribute in zip(self._embeddings, some, strict=False)]
            if self._characters is not None:
                parts.append(self._characters(some[len(parts) :].T))
            rows[start : start + some.shape[1]] = self._first(np.concatenate(parts, axis=1))


class _RestingCharacters:
    """A character encoder at rest: what a character brings is one of the rows of a table."""

    def __init__(self, weights: EncoderWeights) -> None:
        self._layer = RestingLSTM(*weights.characters(), SinglePrecision())
        self._inputs = SinglePrecision().matrix(self._layer.inputs, self._layer.bias)(weights.tensors["characters.vectors"])

    def __call__(self, characters: np.ndarray) -> np.ndarray:
        """float32[forms, size] from int32[forms, longest]; ABSENT is after the last character."""
        offsets = np.concatenate([[0], np.cumsum((characters != ABSENT).sum(axis=1))])
        read = self._layer(self._inputs, characters[characters != ABSENT], offsets)
        hidden = self._layer.hidden
        return np.concatenate([read[offsets[1:] - 1, :hidden], read[offsets[:-1], hidden:]], axis=1)


class _RestingTagger:
    """The scores of tags, and what their expected vectors bring to the inputs of a layer.

    Args:
        encoder: the weights of the encoder.
        layer: the first layer above the tagger.
        weights: float32[8 * hidden, tasks * size], what the layer multiplies the tags' expected vectors by.
        arithmetic: how the encoder's vectors are stored and multiplied.

    Attributes:
        layer: as above.
    """

    def __init__(self, encoder: EncoderWeights, layer: int, weights: np.ndarray, arithmetic: Arithmetic) -> None:
        single = SinglePrecision()
        self.layer = layer
        self._outputs = {
            task: arithmetic.matrix(values, encoder.tensors[f"tagger.biases.{task}"])
            for task, values in encoder.tag_outputs.items()
        }
        self._expected = {task: single.matrix(values.T) for task, values in encoder.tag_inputs.items()}
        self._inputs = single.matrix(weights)

    @property
    def is_read(self) -> bool:
        """Whether the layer above reads the tags."""
        return bool(self._expected)

    def scores(self, read: np.ndarray) -> dict[str, np.ndarray]:
        """By task, float32[tokens, values], from stored[tokens, 2 * hidden]."""
        return {task: matrix(read) for task, matrix in self._outputs.items()}

    def inputs_of(self, scores: Mapping[str, np.ndarray]) -> np.ndarray:
        """float32[tokens, 8 * hidden], from the scores."""
        shares = {task: _softmax(scores[task]) for task in self._expected}
        return self._inputs(np.concatenate([expected(shares[task]) for task, expected in self._expected.items()], axis=1))


def _softmax(scores: np.ndarray) -> np.ndarray:
    """float32[n, values], rows that sum to 1."""
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-np.inf))
    return np.asarray(exponentials / exponentials.sum(axis=1, keepdims=True))
