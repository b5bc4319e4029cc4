"""Global training: searches through training sentences, with a beam of gold items (Andor et al.
2016, Huang et al. 2012).

A locally trained classifier knows what is best in a configuration, but not what a wrong transition
costs in the end. Here scores of whole computations compete. A beam searches with the current
weights. At one step of the search, the loss compares the beam's items with gold items:
compiled/gold_beam.py says which items are gold, which step counts, and what the loss is. Updates
need no derivative of the search: given its items, the loss is a function of sums of the
classifier's scores.

The search is compiled and computes no gradients. torch then recomputes the scores that the loss
depends on, with the same dropout: dropout of words and of an encoder is drawn when a batch is read,
dropout of hidden units once for a sentence. So the search and the gradient use the same classifier.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn

import oracles
from oracles.arc_standard.context_rows import BoundContextRows
from oracles.errors import OptimalStepError
from parser.beam_settings import Beam, Merge, Scores
from parser.data.sentences import Sentences
from parser.decoding.beam.compiled import BeamParser, Scratch
from parser.decoding.beam.tree_stacks import TreeStacks
from parser.decoding.greedy.compiled import AttardiRules, Layers
from parser.inference.weights import ClassifierWeights
from parser.model.trained_model import TrainedModel
from parser.networks.layers import dropout_mask
from parser.settings.groups import UpdateStep
from parser.training.compiled.gold_beam import (
    CompiledGold,
    CompiledSide,
    OracleQueries,
    choose_step,
    collect_transitions,
    read_features,
    search_with_gold,
)
from parser.training.examples.examples import TrainingSentences
from parser.training.fitting.sentence_batches import (
    BatchEncoder,
    BatchReader,
    batches_of_like_lengths,
)
from parser.training.fitting.trainer import BatchLoss
from parser.transitions.attardi import Attardi
from parser.transitions.features import FeatureTable
from parser.transitions.system import behaves_as


@dataclass(frozen=True)
class BeamTraining:
    """How to search in training.

    Attributes:
        beam: the beam; scores are global, and its items do not merge by signature.
        gold_size: the size of the second beam, which has gold items only.
        update: the step that a linear model learns from.
    """

    beam: Beam
    gold_size: int
    update: UpdateStep = UpdateStep.max_violation


@dataclass(frozen=True)
class SearchResults:
    """The scores of the classifier that the loss of some sentences depends on,
    and statistics of the searches.

    Attributes:
        features: int32[rows, slots], the features of the configurations whose scores count.
        sentences: int64[rows], the sentence of each configuration,
            as a number among the searched ones.
        rows, outputs: int64[transitions]: the scores that count, each the output of a row.
        slopes: float32[transitions]: the derivatives of the sentences' losses with respect to these
            scores.
        losses: float64[sentences], in nats.
        steps: float64[sentences], the step that was learned from, as a share of all steps.
        lost: bool[sentences], whether the beam had no gold item at some step.
    """

    features: np.ndarray
    sentences: np.ndarray
    rows: np.ndarray
    outputs: np.ndarray
    slopes: np.ndarray
    losses: np.ndarray
    steps: np.ndarray
    lost: np.ndarray


class GoldTrees(NamedTuple):
    """The gold trees of the training sentences,
    and an oracle bound to them that is exact for any gold tree.
    """

    oracle: BoundContextRows
    gold: CompiledGold

    @classmethod
    def of(cls, data: TrainingSentences) -> GoldTrees:
        """Return the gold trees of these sentences."""
        oracle = cast(
            BoundContextRows, oracles.create("context_rows", oracles.Strategy.ANY).bind(data.trees)
        )
        return cls(
            oracle,
            CompiledGold(data.trees.heads, data.trees.offsets, data.relations, oracle.memory),
        )


class _ScoreChanges(NamedTuple):
    """Memory for the scores that the loss of a sentence depends on; see
    gold_beam.collect_transitions().
    """

    cells: np.ndarray
    fronts: np.ndarray
    rows: np.ndarray
    outputs: np.ndarray
    slopes: np.ndarray


class GoldBeamSearch(BeamParser):
    """A search of training sentences with a classifier's current weights;
    create a new one when the weights have changed.

    Args:
        weights, system, table: see BeamParser; the system is arc-standard.
        training: how to search.
    """

    def __init__(
        self,
        weights: ClassifierWeights,
        system: Attardi,
        table: FeatureTable,
        training: BeamTraining,
        trees: GoldTrees,
    ) -> None:
        if (
            system.degree != 1
            or training.beam.merge is Merge.SIGNATURE
            or training.beam.scores is not Scores.GLOBAL
        ):
            raise OptimalStepError(
                "global training is for arc-standard, global scores and no signatures, "
                f"not {training.beam}"
            )
        super().__init__(weights, system, table, training.beam)
        self._training = training
        self._trees = trees

    def search(
        self, sentences: Sentences, numbers: np.ndarray, kept: np.ndarray | None = None
    ) -> SearchResults:
        """Search some of the training sentences.

        Args:
            sentences: the sentences, with values that word dropout may have changed.
            numbers: int[m], the numbers of their gold trees.
            kept: float32[m, units], dropout masks of the hidden units, one for each sentence;
                None: no dropout.
        """
        words, values = self.words_of(sentences), self._table.values(sentences)
        tokens = int(np.diff(sentences.offsets).max(initial=1)) - 1
        workspace = _Workspace(tokens, self._layers, self._table, self._training)
        parts: list[tuple[np.ndarray, ...]] = []
        rows = 0
        losses = np.empty(len(sentences))
        steps = np.empty(len(sentences))
        lost = np.empty(len(sentences), np.bool_)
        for s, number in enumerate(numbers.tolist()):
            start, length = int(sentences.offsets[s]), int(sentences.lengths[s])
            layers = self._layers
            if kept is not None:
                layers = layers._replace(weights=layers.weights * kept[s][:, None])
            lost[s] = self._search_sentence(number, start, length, words, layers, workspace)
            chosen, losses[s], n_rows, n_transitions = workspace.learn(2 * length, self._training)
            steps[s] = chosen / max(1, 2 * length)
            changes = workspace.changes
            features = np.empty((n_rows, len(self._table.slots)), np.int32)
            at = (
                changes.cells[:n_rows],
                changes.fronts[:n_rows],
                workspace.stacks,
                start,
                length,
                values,
            )
            read_features(
                *at, self._table.programs, self._table.columns, *workspace.reading, features
            )
            sentence_numbers = np.full(n_rows, s, np.int64)
            parts.append(
                (
                    features,
                    sentence_numbers,
                    changes.rows[:n_transitions] + rows,
                    *(a[:n_transitions].copy() for a in changes[3:]),
                )
            )
            rows += n_rows
        features, row_sentences, transition_rows, outputs, slopes = (
            np.concatenate(some) for some in zip(*parts, strict=True)
        )
        return SearchResults(
            features=features,
            sentences=row_sentences,
            rows=transition_rows.astype(np.int64),
            outputs=outputs.astype(np.int64),
            slopes=slopes.astype(np.float32),
            losses=losses,
            steps=steps,
            lost=lost,
        )

    def _search_sentence(
        self,
        number: int,
        start: int,
        length: int,
        words: Any,
        layers: Layers,
        workspace: _Workspace,
    ) -> bool:
        """Return whether the beam had no gold item at some step."""
        # Exploration does not use single_root either.
        rules, merging = AttardiRules.of(self._system, single_root=False), _merges(self._training)
        model = self.model_on(words)._replace(layers=layers)
        search = number, start, length, model, rules, merging, self._trees.gold
        with self._trees.oracle.lock:
            lost = search_with_gold(*search, *workspace.search_arguments)
        # A step of arc-standard makes at most one cell and one node.
        assert lost >= 0, "the stacks are large enough"
        return lost > 0


class _Workspace:
    """Memory for searching sentences of at most this many tokens."""

    def __init__(
        self, tokens: int, layers: Layers, table: FeatureTable, training: BeamTraining
    ) -> None:
        sizes = training.beam.size, training.gold_size
        self.beam, self.gold_beam = (
            CompiledSide.allocate(tokens, size, layers, table) for size in sizes
        )
        self.queries = OracleQueries.allocate(tokens, max(sizes))
        self.scratch = Scratch.allocate(tokens, layers, table)
        self.stacks = TreeStacks.allocate(tokens, 2 * tokens * sum(sizes))
        self.search_arguments = self.stacks, self.beam, self.gold_beam, self.queries, self.scratch
        most = 2 * tokens * sum(sizes)
        cells, fronts, rows, outputs = np.empty((4, most), np.int32)
        self.changes = _ScoreChanges(cells, fronts, rows, outputs, np.empty(most, np.float64))
        tops = np.empty(table.stack_elements, np.int32)
        nodes = np.empty((2, len(table.programs)), np.int32)
        self.reading = tops, self.scratch.ahead, nodes
        self._by_item = tuple(np.empty((2 * tokens + 1, size)) for size in sizes)
        n = sum(sizes)
        self._step = (
            np.empty(n, np.int32),
            np.empty(n, np.int32),
            np.empty(n),
            np.empty(n, np.int32),
        )

    def learn(self, steps: int, training: BeamTraining) -> tuple[int, float, int, int]:
        """Return the step that is learned from, its loss,
        and the numbers of configurations and transitions found.
        """
        beam, gold_beam, (by_beam, by_gold) = self.beam, self.gold_beam, self._by_item
        chosen, loss = choose_step(steps, _merges(training), beam, gold_beam, by_beam, by_gold)
        counts = collect_transitions(
            chosen, beam, gold_beam, by_beam, by_gold, self._step, self.changes
        )
        return chosen, loss, *counts


def _merges(training: BeamTraining) -> bool:
    return training.beam.merge is Merge.CONFIGURATION


@dataclass(frozen=True)
class SearchReport:
    """Statistics of the searches of an epoch.

    Attributes:
        updated_percent: the share of sentences whose loss has a gradient.
        step_percent: the mean position of the step that was learned from, as a share of all steps
            of its sentence.
        lost_percent: the share of sentences in which the beam lost all gold items.
        configurations: the mean number of configurations, per sentence, whose scores the loss
            depends on.
    """

    updated_percent: float
    step_percent: float
    lost_percent: float
    configurations: float


@dataclass(frozen=True)
class SearchedBatch:
    """The results of searching some sentences with the current classifier.

    Attributes:
        vectors: for each attribute whose vectors slots read, these vectors, after dropout.
        searched: the results of the searches.
        kept: float32[m, units], dropout masks of the hidden units; None without dropout.
        scale: the divisor that turns a sum over the sentences into the loss.
        task_loss: the weighted sum of the losses of the encoder's further tasks;
            None if there are none.
    """

    vectors: Mapping[str, Tensor]
    searched: SearchResults
    kept: Tensor | None
    scale: int
    task_loss: Tensor | None


class BeamObjective:
    """An Objective: gold computations are to score higher than other computations in a beam.

    Args:
        model: the model whose classifier is trained; its system is arc-standard.
        data: the sentences, with gold trees of any kind, projective or not.
        reader: reads batches of sentences; a BatchEncoder for a contextual token representation.
        batch_size: how many sentences a batch has.
        training: how to search.
    """

    def __init__(
        self,
        model: TrainedModel,
        data: TrainingSentences,
        reader: BatchReader | BatchEncoder,
        batch_size: int,
        training: BeamTraining,
    ) -> None:
        assert behaves_as(model.system, Attardi), "plan() has checked this"
        self._system = model.system
        self._table = model.table
        self._classifier = model.classifier
        self._lengths = np.diff(data.sentences.offsets)  # including the root
        self._reader = reader
        self._batch_size = batch_size
        self._training = training
        self._trees = GoldTrees.of(data)
        # in an epoch: the number of sentences, and the sums for SearchReport's means
        self._sums = np.zeros(5)

    def vary(self, data: TrainingSentences) -> None:
        """Read the same sentences with other forms from now on; see BatchEncoder.vary()."""
        assert isinstance(self._reader, BatchEncoder), (
            "only sentences that an encoder reads are changed"
        )
        self._reader.vary(data)

    @property
    def uniform_loss(self) -> float:
        """The loss of a sentence, in nats, under a uniform distribution:
        a token takes 2 transitions.
        """
        return 2 * float((self._lengths - 1).mean()) * math.log(self._system.n_outputs)

    def batches(self, generator: torch.Generator) -> tuple[int, Sequence[np.ndarray]]:
        """Draw batches of sentences; with an encoder,
        a batch has sentences of about the same length.
        """
        n, size = len(self._lengths), self._batch_size
        if isinstance(self._reader, BatchEncoder):
            batches = batches_of_like_lengths(
                self._lengths, self._reader.sizes(np.ones(n, np.int64)), size, generator
            )
        else:
            batches = [
                numbers.numpy() for numbers in torch.randperm(n, generator=generator).split(size)
            ]
        self._sums[:] = 0
        return len(batches), batches

    def backward(self, batch: np.ndarray) -> BatchLoss:
        """Search the sentences, and compute the gradients of the loss over their items."""
        results = self.search(batch)
        searched, task_loss = results.searched, results.task_loss
        if has_gradient := len(searched.rows) > 0 or task_loss is not None:
            surrogate = self.surrogate(results)
            self._classifier.zero_grad()
            (surrogate if task_loss is None else surrogate + task_loss).backward()
        updated = len(np.unique(searched.sentences))
        self._sums += (
            len(batch),
            updated,
            searched.steps.sum(),
            searched.lost.sum(),
            len(searched.features),
        )
        return BatchLoss(float(searched.losses.sum()) / len(batch), len(batch), has_gradient)

    def report(self) -> SearchReport:
        """Return statistics of the searches in the epoch so far."""
        sentences, *sums = self._sums.tolist()
        updated, steps, lost, configurations = (total / max(1.0, sentences) for total in sums)
        return SearchReport(100 * updated, 100 * steps, 100 * lost, configurations)

    def search(self, numbers: np.ndarray, dropping: bool = True) -> SearchedBatch:
        """Search some of the sentences (int[m]); ``dropping`` says whether dropout is in force.

        With a static token representation only words and hidden units are dropped, and the loss is
        a mean over sentences. With an encoder, its dropout is in force as well, and the loss is a
        mean over transitions. So clipping, and the weights of the further tasks' losses, have the
        same effect as in earlier passes.
        """
        classifier, reader, task_loss = self._classifier, self._reader, None
        vectors: Mapping[str, Tensor]
        if isinstance(reader, BatchReader):
            _, lengths, values = reader.read(numbers, dropping)
            sentences = Sentences(np.ascontiguousarray(values.numpy().T), _offsets(lengths))
            weights = classifier.weights()
            vectors = classifier.tokens.fixed_vectors()
            scale = len(lengths)
        else:
            batch = reader.encode(numbers, dropping)
            rate = classifier.input_dropout if dropping else 0.0
            vectors = {
                name: nn.functional.dropout(matrix, rate) for name, matrix in batch.vectors.items()
            }
            task_loss = reader.task_loss(batch, dropping) if reader.has_tasks else None
            offsets = _offsets(batch.lengths)
            # slots read tokens, not their attributes
            sentences = Sentences(np.empty((0, offsets[-1]), np.int32), offsets)
            weights = classifier.weights_with(vectors)
            scale = 2 * max(1, int((batch.lengths - 1).sum()))
        kept = (
            dropout_mask(torch.empty(len(numbers), len(classifier.hidden_bias)), classifier.dropout)
            if dropping
            else None
        )
        search = GoldBeamSearch(weights, self._system, self._table, self._training, self._trees)
        searched = search.search(sentences, numbers, None if kept is None else kept.numpy())
        return SearchedBatch(vectors, searched, kept, scale, task_loss)

    def surrogate(self, batch: SearchedBatch) -> Tensor:
        """Return a sum of scores with the same gradient as the loss of a batch from search()."""
        classifier, searched, vectors = self._classifier, batch.searched, batch.vectors
        device = classifier.output.weight.device
        features = torch.from_numpy(searched.features).to(device, torch.int64)
        # compute hidden activations only for values that occur
        if not classifier.tokens.contextual:
            vectors = dict(vectors)
            for name, columns in classifier.embedded_columns.items():
                used, features[:, columns] = features[:, columns].unique(return_inverse=True)
                vectors[name] = vectors[name][used]
        hidden = classifier.activation.apply(classifier.hidden_by_value(features, vectors))
        if batch.kept is not None:
            hidden = hidden * batch.kept[torch.from_numpy(searched.sentences)].to(device)
        scores = classifier.output(hidden)
        rows = torch.from_numpy(searched.rows).to(device)
        chosen = scores[rows, torch.from_numpy(searched.outputs).to(device)]
        return (chosen * torch.from_numpy(searched.slopes).to(device)).sum() / batch.scale


def _offsets(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)])
