"""A frozen BiLSTM on a CPU, which computes the vectors of tokens for parsing, without torch.

A token's input to the first layer depends only on its signature (precomputed_tokens.py), except parts that are read from whole
sentences. So the product of its parts' vectors (parts.py) with the layer's weights is computed once for each signature, for all
later sentences. The layers are FrozenLSTMs, in one of the arithmetics of arithmetic.py. BiLSTM.encode is the reference
implementation.

The vectors of a sentence do not depend on other sentences, nor the rows of a signature on other signatures. So it does not
matter which thread meets a signature first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

import numpy as np

from parser import batch_sizes
from parser.data.lemmas import RuleScores, affixes
from parser.data.sentences import NO_NODE, Sentences
from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import Vocabulary
from parser.inference.arithmetic import Int8, Matrix, SinglePrecision
from parser.inference.biaffine import SLOPE
from parser.inference.lstm import FrozenLSTM
from parser.inference.parts import SentenceReading, WordReading, frozen, softmax, tag_vectors
from parser.inference.precomputed_tokens import SignatureRows
from parser.inference.weights import SettleTags, under
from parser.network_spec import ClassifierSpec, LemmaSpec


class FrozenEncoder:
    """Computes token vectors; thread-safe.

    Args:
        spec: the spec of a classifier with this encoder.
        vocabularies: what the encoder reads and predicts.
        tensors: the weights, by their names in the encoder.
        readers: by name of a part, its reader of whole sentences.
        int8: whether vectors are stored and multiplied in 8 bits.

    Raises:
        Int8Error: 8-bit products are not available.
    """

    def __init__(
        self,
        spec: ClassifierSpec,
        vocabularies: Vocabularies,
        tensors: Mapping[str, np.ndarray],
        readers: Mapping[str, Any] | None = None,
        int8: bool = False,
    ) -> None:
        arithmetic = self.arithmetic = Int8() if int8 else SinglePrecision()
        encoder = spec.encoder
        assert encoder is not None, "the spec must have an encoder"
        layers = self._layers = [
            FrozenLSTM(under(f"forwards.{number}.", tensors), under(f"backwards.{number}.", tensors), arithmetic)
            for number in range(encoder.layers)
        ]
        first, *others = layers
        self._of_words: list[tuple[slice, WordReading]] = []
        self._of_sentences: list[tuple[slice, SentenceReading, Matrix]] = []
        self._n_rows = width = end = 0
        for part, rows in vocabularies.placed:
            reading = frozen(part, spec, tensors, (readers or {}).get(part.name))
            start, end = end, end + part.size(spec)
            if part.in_sentences:
                weights = np.ascontiguousarray(first.inputs[:, start:end])
                self._of_sentences.append((rows, reading, SinglePrecision().matrix(weights)))
            else:
                self._of_words.append((rows, reading))
                self._n_rows, width = rows.stop, end
        self._first = SinglePrecision().matrix(first.inputs[:, :width], first.bias)
        self._others = [arithmetic.matrix(layer.inputs[:, : 2 * layer.hidden], layer.bias) for layer in others]
        self._tagged_layer, tags = 0, vocabularies.tags
        if encoder.tagger is not None and tags:
            tagger, self._tagged_layer = under("tagger.", tensors), encoder.tagger.layer
            self._tag_scores = {
                task: arithmetic.matrix(tag_vectors(under(f"outputs.{task}.", tagger), values), tagger[f"biases.{task}"])
                for task, values in tags.items()
            }
            self._expected = _expected_vectors(tags if encoder.tagger.size else {}, tagger)
            self._of_expected = SinglePrecision().matrix(layers[self._tagged_layer].inputs[:, 2 * first.hidden :])
        self._lemmas = None
        if encoder.lemmas is not None and vocabularies.lemmas is not None:
            self._lemmas = _FrozenLemmas(encoder.lemmas, tags, vocabularies.lemmas.rules, under("lemmas.", tensors))
        self._of_signatures = SignatureRows(self._fill, self._n_rows, np.zeros((0, 8 * first.hidden), np.float32))

    def encode(self, sentences: Sentences) -> np.ndarray:
        """Return the stored vectors of all tokens; if the sentences have vectors already, return these."""
        return self._read(sentences)[0] if sentences.vectors is None else sentences.vectors

    def encode_with_tags(
        self, sentences: Sentences, settle: SettleTags | None = None
    ) -> tuple[np.ndarray, dict[str, np.ndarray], RuleScores | None]:
        """Return the vectors; by column, the highest-scoring tags, int32[tokens]; and the scores of rules for lemmas.

        The layers that read tags, and the rules, take fixed tags for certain.
        """
        read, scores, shares = self._read(sentences)
        if settle is not None and (settled := settle(scores)) is not scores:
            scores, shares = {**settled}, {}
        rules = None if self._lemmas is None else partial(self._lemmas.scores, scores, shares)
        return read, {task: values.argmax(axis=1).astype(np.int32) for task, values in scores.items()}, rules

    def _read(self, sentences: Sentences) -> tuple[np.ndarray, dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Return the stored vectors of all tokens, [tokens, 2 * hidden]; the scores of their tags; and the probabilities of
        tags, if layers read them."""
        signatures, inputs = self._of_signatures(sentences.values[: self._n_rows])
        tokens = np.arange(len(signatures), dtype=np.int32)
        for rows, reading, matrix in self._of_sentences:
            some = [sentences.span(*ends) for ends in sentences.spans(batch_sizes.TOKENS_PER_PRETRAINED_READ)]
            brought = [matrix(reading(part.values[rows], part.offsets)) for part in some]
            signatures, inputs = tokens, inputs[signatures] + np.concatenate([inputs[:0], *brought])
        read = self._layers[0](inputs, signatures, sentences.offsets)
        scores: dict[str, np.ndarray] = {}
        shares: dict[str, np.ndarray] = {}
        for number, (layer, matrix) in enumerate(zip(self._layers[1:], self._others, strict=True), 1):
            inputs = matrix(read)
            if number == self._tagged_layer:
                scores = {task: score(read) for task, score in self._tag_scores.items()}
                for task, numbers in (sentences.fixed_tags or {}).items():
                    places = np.flatnonzero(numbers != NO_NODE)
                    scores[task][places] = -np.inf
                    scores[task][places, numbers[places]] = 0.0
                with np.errstate(over="ignore", invalid="ignore"):  # weights of a forged model may be of any size
                    shares = {task: softmax(scores[task]) for task in self._expected}
                    if shares:
                        expected = [vectors(shares[task]) for task, vectors in self._expected.items()]
                        inputs += self._of_expected(np.concatenate(expected, axis=1))
            read = layer(inputs, tokens, sentences.offsets)
        return read, scores, shares

    def _fill(self, values: np.ndarray, rows: np.ndarray) -> None:
        """Fill in the first of ``rows``, for signatures with these values."""
        for start in range(0, values.shape[1], batch_sizes.SIGNATURES_PER_ENCODING):
            some = values[:, start : start + batch_sizes.SIGNATURES_PER_ENCODING]
            vectors = chain.from_iterable(read(some[part]) for part, read in self._of_words)
            rows[start : start + some.shape[1]] = self._first(np.concatenate([*vectors], axis=1))


def _expected_vectors(tags: Mapping[str, Vocabulary], tensors: Mapping[str, np.ndarray]) -> dict[str, Matrix]:
    """Return, by task, a function from the probabilities of its values to expected vectors."""
    vectors = {task: tag_vectors(under(f"inputs.{task}.", tensors), values) for task, values in tags.items()}
    return {task: SinglePrecision().matrix(table.T) for task, table in vectors.items()}


class _FrozenLemmas:
    """Computes the scores of rules for lemmas."""

    def __init__(
        self, spec: LemmaSpec, tags: Mapping[str, Vocabulary], rules: Vocabulary, tensors: Mapping[str, np.ndarray]
    ) -> None:
        self._affixes, self._trigrams = tensors["affixes"], spec.trigrams
        self._inputs = _expected_vectors(tags, tensors)
        self._outputs = SinglePrecision().matrix(tag_vectors(under("outputs.", tensors), rules), tensors["bias"])

    def scores(
        self,
        tag_scores: Mapping[str, np.ndarray],
        shares: Mapping[str, np.ndarray],
        forms: Sequence[str],
        places: np.ndarray,
    ) -> np.ndarray:
        """Return the scores, float32[forms, rules].

        Args:
            tag_scores: by task, float32[tokens, values], the scores of all tokens' tags.
            shares: the tags' probabilities, if known.
            forms, places: see RuleScores.
        """
        with np.errstate(over="ignore", invalid="ignore"):  # weights of a forged model may be of any size
            hidden = self._affixes[affixes(forms, len(self._affixes), self._trigrams)].sum(axis=1)
            for task, expected in self._inputs.items():
                hidden += expected(shares[task][places] if task in shares else softmax(tag_scores[task][places]))
            return self._outputs(np.where(hidden > 0, hidden, np.float32(SLOPE) * hidden))
