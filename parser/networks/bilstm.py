"""A bidirectional LSTM over the words of a sentence (Kiperwasser and Goldberg 2016, Section 3):
a vector for each token.

The input of a token is the vectors of its parts, side by side (parts.py); the artificial root is
the first token of its sentence. Each layer reads the outputs of the layer below, in both
directions. Tasks such as tags may read the outputs of a layer; the next layer then also reads the
expected vectors of the tasks (tasks.py). In training, whole vectors of parts are dropped. Between
layers, the same numbers are dropped at all tokens of a sentence (Gal and Ghahramani 2016).

Inside the layers, the tokens of a batch lie in the order of packed sequences (lstm.py); before and
after, sentence by sentence. The other sentences of a batch change a sentence's vectors only by
rounding: the library that computes the products may add up in another order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from parser import batch_sizes
from parser.data.sentences import Sentences
from parser.data.tasks.task import FormScores
from parser.data.vocabularies import Vocabularies
from parser.data.vocabulary import N_RESERVED
from parser.inference.arithmetic import SinglePrecision
from parser.inference.encoder import FrozenEncoder
from parser.inference.layouts import encoder_shapes
from parser.inference.weights import Int8Error, SettleTags, TaggingEncoder
from parser.network_spec import ClassifierSpec
from parser.networks.layers import bernoulli_mask, draw_vectors, lstm, to_device
from parser.networks.lstm import Packing, read_sequences
from parser.networks.parts import module_of
from parser.networks.representation import Embeddings, TokenRepresentation
from parser.networks.tasks import FormScorer, TaskModule, module_of_task
from parser.transitions.features import TOKEN


@dataclass(frozen=True)
class Encoded:
    """The output of an encoder for the tokens of some sentences.

    Attributes:
        tokens: float32[tokens, size], their vectors.
        tag_scores: for each predicted column, float32[tokens, values], scores (logits) of its
            values.
    """

    tokens: Tensor
    tag_scores: dict[str, Tensor]


class BiLSTM(TokenRepresentation):
    """Encodes tokens in their sentences.

    Args:
        spec: the spec of a classifier with this encoder.
        vocabularies: the vocabularies of all values that it reads or predicts.
        embeddings: the embeddings of relations, if they are embedded.
        readers: readers of whole sentences, by the names of their parts.
        input_dropout: the share of the input's numbers that is dropped in training.

    Attributes:
        reserved: float32[N_RESERVED, size], vectors of the reserved values of ``token``;
            only ABSENT's is used.
        tasks: the modules of its tasks, by name.
    """

    contextual = True

    def __init__(
        self,
        spec: ClassifierSpec,
        vocabularies: Vocabularies,
        embeddings: Embeddings,
        readers: Mapping[str, Any] | None = None,
        input_dropout: float = 0.0,
    ) -> None:
        encoder, readers = spec.encoder, readers or {}
        assert encoder is not None, "a spec with an encoder"
        super().__init__([TOKEN], embeddings)
        self.reserved = nn.Parameter(torch.empty(N_RESERVED, encoder.size))
        self.sizes[TOKEN] = encoder.size
        self.spec, self.input_dropout = encoder, input_dropout
        self._made_of = spec, vocabularies, readers
        tables = {name: spec.embeddings[name] for name in vocabularies.tables}
        self.inputs = Embeddings(tables, vocabularies.tables, vocabularies.elements)
        # Parameters draw random numbers when they are made: keep their order.
        sentence_parts = {
            part.name: module_of(part, spec, self.inputs, readers.get(part.name))
            for part in vocabularies.parts
            if part.in_sentences
        }
        self.inputs.initialize(self.inputs.sizes)
        word_parts = {
            part.name: module_of(part, spec, self.inputs, None)
            for part in vocabularies.parts
            if not part.in_sentences
        }
        self._add({name: module for name, (_, module) in word_parts.items()})
        self.tasks = {
            task.name: module_of_task(task, spec) for task in vocabularies.tasks if task.in_passes
        }
        self._add(self.tasks)
        shapes = encoder_shapes(spec, vocabularies)
        self.forwards = nn.ModuleList(
            lstm(shapes, f"forwards.{layer}") for layer in range(encoder.layers)
        )
        self.backwards = nn.ModuleList(
            lstm(shapes, f"backwards.{layer}") for layer in range(encoder.layers)
        )
        afterwards = {
            task.name: module_of_task(task, spec)
            for task in vocabularies.tasks
            if not task.in_passes
        }
        self._add(afterwards)
        self.tasks |= afterwards
        # By layer, from 1, the tasks that read its outputs,
        # and whether the layer above reads their expected vectors.
        self._read_by: dict[int, list[tuple[TaskModule, bool]]] = {}
        for task in vocabularies.tasks:
            if (layer := task.layer(spec)) is not None:
                self._read_by.setdefault(layer, []).append(
                    (self.tasks[task.name], task.width(spec) > 0)
                )
        self._add({name: module for name, (_, module) in sentence_parts.items()})
        readings = word_parts | sentence_parts
        self._parts = [(rows, readings[part.name]) for part, rows in vocabularies.placed]

    def _add(self, modules: Mapping[str, nn.Module | None]) -> None:
        """Register the modules of parts and tasks, so that they are trained."""
        for name, module in modules.items():
            if module is not None:
                self.add_module(name, module)

    def initialize(self) -> None:
        """Draw the vectors of reserved values and relations;
        all other parameters were drawn when they were made.
        """
        draw_vectors(self.reserved)
        super().initialize()

    def set_vectors(self, attribute: str, matrix: np.ndarray) -> None:
        self.inputs.set_vectors(attribute, matrix)

    def frozen(self, int8: bool = False) -> TaggingEncoder:
        """Return an encoder without torch that shares the parameters' memory on the CPU; if the
        parameters are on a GPU, return one that runs there.
        """
        if not self.reserved.is_cpu:
            if int8:
                raise Int8Error(
                    "8-bit products are supported only on the CPU; parse without --int8, "
                    "or on the CPU"
                )
            return _OnDevice(self)
        spec, vocabularies, readers = self._made_of
        tensors = {
            name: tensor.detach().contiguous().numpy() for name, tensor in self.state_dict().items()
        }
        frozen_readers = {name: reader.frozen(int8) for name, reader in readers.items()}
        return FrozenEncoder(spec, vocabularies, tensors, frozen_readers, int8)

    def encode(self, values: Tensor, lengths: np.ndarray, dropping: bool = False) -> Encoded:
        """Return the vectors of the tokens, and the scores of their tags and of everything else
        that tasks choose for each word.

        Args:
            values: int32[tokens, rows] on the CPU, sentence by sentence:
                the transpose of ``Sentences.values``.
            lengths: int[sentences], the tokens of each, including the root;
                similar lengths are read faster.
            dropping: whether dropout is in force; an argument,
                because threads may encode at the same time.
        """
        packing, outputs, scores = self._encoded(values, lengths, dropping, self.spec.layers)
        return Encoded(
            outputs[packing.rows],
            {column: column_scores[packing.rows] for column, column_scores in scores.items()},
        )

    def tag_scores(
        self, values: Tensor, lengths: np.ndarray, dropping: bool = False
    ) -> dict[str, Tensor]:
        """Return the scores of tags, as encode() does, without computing the layers above them."""
        if not self._read_by:
            return {}
        packing, _, scores = self._encoded(values, lengths, dropping, max(self._read_by))
        return {column: column_scores[packing.rows] for column, column_scores in scores.items()}

    def _encoded(
        self, values: Tensor, lengths: np.ndarray, dropping: bool, layers: int
    ) -> tuple[Packing, Tensor, dict[str, Tensor]]:
        """Return the outputs of layer ``layers`` (from 1), float32[rows, 2 * hidden], and the
        scores of the tasks that read this layer or a lower one.
        """
        packing = Packing.of(lengths, self.reserved.device)
        outputs = self._embed(values, lengths, dropping)[packing.elements]
        scores: dict[str, Tensor] = {}
        for layer in range(1, layers + 1):
            outputs = self._read(layer - 1, outputs, packing, dropping)
            expected = []
            for task, is_read in self._read_by.get(layer, ()):
                task_scores = self._scored(task, outputs, packing, dropping)
                scores |= task_scores
                if is_read and layer < layers:
                    expected.append(task.expected(task_scores))
            if expected:
                outputs = torch.cat([outputs, *expected], dim=1)
        return packing, outputs, scores

    def fixed_vectors(self) -> dict[str, Tensor]:
        """Return the embeddings, and for tokens the vectors of the reserved values."""
        return super().fixed_vectors() | {TOKEN: self.reserved}

    def with_tokens(self, encoded: Tensor) -> dict[str, Tensor]:
        """Return the result of vectors_of() for tokens with these vectors, from encode()."""
        return self.embeddings.matrices() | {TOKEN: torch.cat([self.reserved, encoded])}

    @torch.no_grad()
    def vectors_of(self, sentences: Sentences | None = None) -> dict[str, Tensor]:
        """Encode the sentences; no gradients flow.

        Raises:
            TypeError: no sentences are given.
        """
        if sentences is None:
            raise TypeError(
                "the vectors of a contextual representation depend on the sentences; pass them"
            )
        return self.with_tokens(self.encoded(sentences))

    @torch.no_grad()
    def encoded(self, sentences: Sentences) -> Tensor:
        """Return float32[tokens, size], the vectors of all tokens;
        sentences of similar lengths are encoded together.
        """
        vectors = self.reserved.new_empty(int(sentences.offsets[-1]), self.sizes[TOKEN])
        for places, values, lengths in self._batches(sentences):
            vectors[places] = self.encode(values, lengths).tokens
        return vectors

    @torch.no_grad()
    def tags_and_rules(
        self, sentences: Sentences, settle: SettleTags | None = None
    ) -> tuple[dict[str, np.ndarray], dict[str, FormScores]]:
        all_scores = self.all_tag_scores(sentences)
        if settle is not None:
            settled = settle(
                {column: scores.numpy(force=True) for column, scores in all_scores.items()}
            )
            all_scores = {
                column: to_device(scores, self.reserved.device)
                for column, scores in settled.items()
            }
        tags = {
            column: scores.argmax(1).numpy(force=True).astype(np.int32)
            for column, scores in all_scores.items()
        }

        @torch.no_grad()
        def scored(scorer: FormScorer, forms: Sequence[str], places: np.ndarray) -> np.ndarray:
            return scorer.scores(
                forms, {column: scores[places] for column, scores in all_scores.items()}
            ).numpy(force=True)

        scorers = {
            name: module for name, module in self.tasks.items() if isinstance(module, FormScorer)
        }
        return tags, {name: partial(scored, scorer) for name, scorer in scorers.items()}

    @torch.no_grad()
    def all_tag_scores(
        self, sentences: Sentences, dropping: bool = False, chosen: np.ndarray | None = None
    ) -> dict[str, Tensor]:
        """Return the scores of tag_scores(): by predicted column, float32[tokens, values].

        ``chosen``: int64[m], the places of the tokens, each once; None: all tokens.
        """
        total = int(sentences.offsets[-1])
        rows = np.arange(total)
        if chosen is not None:
            rows = np.full(total, -1)
            rows[chosen] = np.arange(len(chosen))
        by_token = torch.from_numpy(rows).to(self.reserved.device)
        scores_by_column: dict[str, Tensor] = {}
        for places, values, lengths in self._batches(sentences):
            batch_rows = by_token[places]
            wanted = batch_rows >= 0
            for column, scores in self.tag_scores(values, lengths, dropping).items():
                all_scores = scores_by_column.setdefault(
                    column,
                    scores.new_empty(total if chosen is None else len(chosen), scores.shape[1]),
                )
                all_scores[batch_rows[wanted]] = scores[wanted]
        return scores_by_column

    def _batches(self, sentences: Sentences) -> Iterator[tuple[Tensor, Tensor, np.ndarray]]:
        """Yield batches of sentences of similar lengths: the places of their tokens, and the
        arguments of encode().
        """
        lengths = np.diff(sentences.offsets)
        order = np.argsort(lengths, kind="stable")
        batches = (np.cumsum(lengths[order]) - 1) // batch_sizes.TOKENS_PER_ENCODING
        for numbers in np.split(order, np.flatnonzero(np.diff(batches)) + 1) if len(order) else []:
            places = sentences.places(numbers)
            values = torch.from_numpy(sentences.values[:, places].T.copy())
            yield torch.from_numpy(places).to(self.reserved.device), values, lengths[numbers]

    def _read(self, layer: int, inputs: Tensor, packing: Packing, dropping: bool) -> Tensor:
        """Return float32[rows, 2 * hidden], the output of a layer for float32[rows, width]."""
        if layer and dropping and self.spec.dropout:
            inputs = inputs * _sentence_mask(inputs, packing, self.spec.dropout)
        sides = self.forwards[layer], self.backwards[layer]
        return torch.cat(
            [read_sequences(side, inputs, packing, side is sides[1]) for side in sides], dim=1
        )

    def _scored(
        self, task: TaskModule, outputs: Tensor, packing: Packing, dropping: bool
    ) -> dict[str, Tensor]:
        """Return the scores of a task from the outputs of its layer, float32[rows, 2 * hidden]: by
        column, float32[rows, values].
        """
        if dropping and task.dropout:
            outputs = outputs * _sentence_mask(outputs, packing, task.dropout)
        return task.read(outputs)

    def _embed(self, values: Tensor, lengths: np.ndarray, dropping: bool) -> Tensor:
        """Return float32[tokens, width], the vectors of all parts side by side."""
        vectors = list(
            chain.from_iterable(
                read_part(values[:, rows], lengths, dropping)
                for rows, (read_part, _) in self._parts
            )
        )
        if dropping and self.spec.attribute_dropout:
            vectors = [
                array * bernoulli_mask(array.new_empty(len(array), 1), self.spec.attribute_dropout)
                for array in vectors
            ]
        inputs = torch.cat(vectors, dim=1)
        return (
            inputs * bernoulli_mask(inputs, self.input_dropout)
            if dropping and self.input_dropout
            else inputs
        )


class _OnDevice:
    """Encodes with a BiLSTM on its device."""

    arithmetic = SinglePrecision()

    def __init__(self, tokens: BiLSTM) -> None:
        self._tokens = tokens

    def encode(self, sentences: Sentences) -> np.ndarray:
        return (
            self._tokens.encoded(sentences).numpy(force=True)
            if sentences.vectors is None
            else sentences.vectors
        )

    def encode_with_tags(
        self, sentences: Sentences, settle: SettleTags | None = None
    ) -> tuple[np.ndarray, dict[str, np.ndarray], dict[str, FormScores]]:
        return self.encode(sentences), *self._tokens.tags_and_rules(sentences, settle)


def _sentence_mask(vectors: Tensor, packing: Packing, share: float) -> Tensor:
    """Return float32[rows, width], a mask that drops the same numbers at all tokens of a
    sentence.
    """
    masks = bernoulli_mask(vectors.new_empty(packing.sizes[0], vectors.shape[1]), share)
    return masks[packing.sequences]
