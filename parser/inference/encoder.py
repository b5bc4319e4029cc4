"""A frozen BiLSTM on a CPU, which computes the vectors of tokens for parsing, without torch.

A token's input to the first layer depends only on its type (precomputed_tokens.py), except parts
that are read from whole sentences. So the product of its parts' vectors (parts.py) with the layer's
weights is computed once for each type, for all later sentences. The layers are FrozenLSTMs, in one
of the arithmetics of arithmetic.py. BiLSTM.encode is the reference implementation.

The vectors of a sentence do not depend on other sentences, nor the rows of a type on other types.
So it does not matter which thread meets a type first.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from parser import batch_sizes
from parser.data.sentences import NO_NODE, Sentences
from parser.data.tasks.task import FormScores
from parser.data.vocabularies import Vocabularies
from parser.inference.arithmetic import Int8, Matrix, SinglePrecision
from parser.inference.lstm import FrozenLSTM
from parser.inference.parts import SentenceReading, WordReading, frozen, softmax
from parser.inference.precomputed_tokens import TypeRows
from parser.inference.tasks import FormScoring, FrozenTask, frozen_task
from parser.inference.weights import SettleTags, under
from parser.network_spec import ClassifierSpec


class _TaskOfLayer(NamedTuple):
    """A task that reads the outputs of a layer.

    Attributes:
        product: multiplies its expected vectors by weights of the layer above;
            None if that layer does not read them.
    """

    task: FrozenTask
    product: Matrix | None


class FrozenEncoder:
    """Computes token vectors; thread-safe.

    Args:
        spec: the spec of a classifier with this encoder.
        vocabularies: the vocabularies of all values that the encoder reads or predicts.
        tensors: the weights, by their names in the encoder.
        readers: readers of whole sentences, by the names of their parts.
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
            FrozenLSTM(
                under(f"forwards.{number}.", tensors),
                under(f"backwards.{number}.", tensors),
                arithmetic,
            )
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
        self._others = [
            arithmetic.matrix(layer.inputs[:, : 2 * layer.hidden], layer.bias) for layer in others
        ]
        # By layer, from 1, the tasks that read its outputs; by name, those that score forms.
        self._tasks: dict[int, list[_TaskOfLayer]] = {}
        self._of_forms: dict[str, FormScoring] = {}
        # by layer, where the next task begins in the input of the layer above
        ends: dict[int, int] = {}
        for task in vocabularies.tasks:
            frozen_form = frozen_task(task, spec, under(f"{task.name}.", tensors), arithmetic)
            if frozen_form.of_forms is not None:
                self._of_forms[task.name] = frozen_form.of_forms
            if (number := task.layer(spec)) is not None:
                start = ends.get(number, 2 * first.hidden)
                ends[number] = start + task.width(spec)
                inputs = (
                    layers[number].inputs[:, start : ends[number]] if frozen_form.expected else None
                )
                product = None if inputs is None else SinglePrecision().matrix(inputs)
                self._tasks.setdefault(number, []).append(_TaskOfLayer(frozen_form, product))
        self._of_types = TypeRows(
            self._fill, self._n_rows, np.zeros((0, 8 * first.hidden), np.float32)
        )

    def encode(self, sentences: Sentences) -> np.ndarray:
        """Return the stored vectors of all tokens; if the sentences have vectors already,
        return these.
        """
        return self._read(sentences)[0] if sentences.vectors is None else sentences.vectors

    def encode_with_tags(
        self, sentences: Sentences, settle: SettleTags | None = None
    ) -> tuple[np.ndarray, dict[str, np.ndarray], dict[str, FormScores]]:
        """Return the vectors; by column, the highest-scoring tags, int32[tokens]; and by task,
        functions that score forms.

        The layers that read tags, and the rules for lemmas, treat fixed tags as certain.
        """
        vectors, scores, shares = self._read(sentences)
        if settle is not None and (settled := settle(scores)) is not scores:
            scores, shares = {**settled}, {}
        of_forms: dict[str, FormScores] = {
            name: partial(score, scores, shares) for name, score in self._of_forms.items()
        }
        return (
            vectors,
            {column: values.argmax(axis=1).astype(np.int32) for column, values in scores.items()},
            of_forms,
        )

    def _read(
        self, sentences: Sentences
    ) -> tuple[np.ndarray, dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Return the stored vectors of all tokens, [tokens, 2 * hidden]; the scores of their tags;
        and the probabilities of tags, if layers read them.
        """
        types, inputs = self._of_types(sentences.values[: self._n_rows])
        tokens = np.arange(len(types), dtype=np.int32)
        for rows, reading, matrix in self._of_sentences:
            some = [
                sentences.span(*ends)
                for ends in sentences.spans(batch_sizes.TOKENS_PER_PRETRAINED_READ)
            ]
            brought = [matrix(reading(part.values[rows], part.offsets)) for part in some]
            types, inputs = tokens, inputs[types] + np.concatenate([inputs[:0], *brought])
        outputs = self._layers[0](inputs, types, sentences.offsets)
        scores: dict[str, np.ndarray] = {}
        shares: dict[str, np.ndarray] = {}
        for number, (layer, matrix) in enumerate(
            zip(self._layers[1:], self._others, strict=True), 1
        ):
            inputs = matrix(outputs)
            for task, product in self._tasks.get(number, ()):
                of_task = self._score(task, outputs, sentences)
                scores |= of_task
                if product is not None:
                    # weights of a forged model may be arbitrarily large
                    with np.errstate(over="ignore", invalid="ignore"):
                        shares |= {column: softmax(of_task[column]) for column in task.expected}
                        expected = [
                            vectors(shares[column]) for column, vectors in task.expected.items()
                        ]
                        inputs += product(np.concatenate(expected, axis=1))
            outputs = layer(inputs, tokens, sentences.offsets)
        for task, _ in self._tasks.get(len(self._layers), ()):
            scores |= self._score(task, outputs, sentences)
        return outputs, scores, shares

    def _score(
        self, task: FrozenTask, outputs: np.ndarray, sentences: Sentences
    ) -> dict[str, np.ndarray]:
        """Return the scores of a task: by column, float32[tokens, values];
        fixed values are certain.
        """
        scores = {column: score(outputs) for column, score in task.scores.items()}
        for column, numbers in (sentences.fixed_tags or {}).items():
            if column in scores:
                places = np.flatnonzero(numbers != NO_NODE)
                scores[column][places] = -np.inf
                scores[column][places, numbers[places]] = 0.0
        return scores

    def _fill(self, values: np.ndarray, rows: np.ndarray) -> None:
        """Fill in the first of ``rows``, for types with these values."""
        for start in range(0, values.shape[1], batch_sizes.TYPES_PER_ENCODING):
            some = values[:, start : start + batch_sizes.TYPES_PER_ENCODING]
            vectors = chain.from_iterable(reading(some[part]) for part, reading in self._of_words)
            rows[start : start + some.shape[1]] = self._first(np.concatenate([*vectors], axis=1))
