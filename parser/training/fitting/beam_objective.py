"""Global training: searches through training sentences, with a beam of gold items (Andor et al. 2016, Huang et al. 2012).

A locally trained classifier knows what is best in a configuration, but not what a wrong transition costs in the end. Here
scores of whole computations compete: a beam searches with the weights of the moment, and the loss, at one step of the search,
is between its items and those that are gold (compiled/gold_beam.py says what is gold, which step, and the loss). The updates
need no derivative of the search: given its items, the loss is a function of sums of the classifier's scores.

The search is compiled and knows no gradients. The scores that the loss depends on are computed once more
by torch, with the same dropout: that of words, and of an encoder, is drawn when a batch is read, that of hidden units once for
a sentence. So the search and the gradient see the same classifier.
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
from parser.beam_settings import Beam, Merge, Scores
from parser.data.sentences import Sentences
from parser.decoding.beam.compiled import BeamParser, Scratch
from parser.decoding.beam.tree_stacks import TreeStacks
from parser.decoding.greedy.compiled import AttardiRules, Layers
from parser.inference.weights import ClassifierWeights
from parser.model.model import Model
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
from parser.training.fitting.sentence_batches import BatchEncoder, BatchReader, batches_of_like_lengths
from parser.training.fitting.trainer import BatchLoss
from parser.transitions.attardi import Attardi
from parser.transitions.features import FeatureTable
from parser.transitions.system import behaves_as


@dataclass(frozen=True)
class BeamTraining:
    """How to search in training.

    Attributes:
        beam: the beam; its items merge or not, but not by signature, and scores are global.
        gold_size: items of the second beam, that of gold items.
        update: the step that a linear model learns from.
    """

    beam: Beam
    gold_size: int
    update: UpdateStep = UpdateStep.max_violation


@dataclass(frozen=True)
class SearchResults:
    """Which scores of the classifier the loss of some sentences depends on, and how the searches through them went.

    Attributes:
        features: int32[rows, slots], of the configurations whose scores count.
        sentences: int64[rows], the sentence that each is from, as a number among those that were searched.
        rows, outputs: int64[transitions]: the scores that count, each the output of a row.
        slopes: float32[transitions]: the derivative of the loss of its sentence by the score.
        losses: float64[sentences], in nats.
        steps: float64[sentences], the step that was learned from, as a share of all.
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
    """The gold trees of the training sentences, and an exact oracle for any gold tree that is bound to them."""

    oracle: BoundContextRows
    gold: CompiledGold

    @classmethod
    def of(cls, data: TrainingSentences) -> GoldTrees:
        """Those of these sentences."""
        oracle = cast(BoundContextRows, oracles.create("context_rows", oracles.Strategy.ANY).bind(data.trees))
        return cls(oracle, CompiledGold(data.trees.heads, data.trees.offsets, data.relations, oracle.memory))


class _ScoreChanges(NamedTuple):
    """Memory for the scores that the loss of a sentence depends on; see gold_beam.collect_transitions()."""

    cells: np.ndarray
    fronts: np.ndarray
    rows: np.ndarray
    outputs: np.ndarray
    slopes: np.ndarray


class GoldBeamSearch(BeamParser):
    """Searches through training sentences with a classifier as it is now; made anew when the weights have changed.

    Args:
        weights, system, table: see BeamParser; the system is arc-standard.
        training: how to search.
        trees: the gold trees.
    """

    def __init__(
        self, weights: ClassifierWeights, system: Attardi, table: FeatureTable, training: BeamTraining, trees: GoldTrees
    ) -> None:
        if system.degree != 1 or training.beam.merge is Merge.SIGNATURE or training.beam.scores is not Scores.GLOBAL:
            raise ValueError(f"global training is for arc-standard, global scores and no signatures, not {training.beam}")
        super().__init__(weights, system, table, training.beam)
        self._training = training
        self._trees = trees

    def search(self, sentences: Sentences, numbers: np.ndarray, kept: np.ndarray | None = None) -> SearchResults:
        """Searches through some of the training sentences.

        Args:
            sentences: the sentences, with values that word dropout may have changed.
            numbers: int[m], which of the gold trees are theirs.
            kept: float32[m, units], what the hidden units are multiplied by: a dropout mask for each sentence; None: nothing.
        """
        words, values = self.words_of(sentences), self._table.values(sentences)
        tokens = int(np.diff(sentences.offsets).max(initial=1)) - 1
        workspace = _Workspace(tokens, self._layers, self._table, self._training)
        parts: list[tuple[np.ndarray, ...]] = []
        rows = 0
        losses, steps, lost = np.empty(len(sentences)), np.empty(len(sentences)), np.empty(len(sentences), np.bool_)
        for s, number in enumerate(numbers.tolist()):
            start, length = int(sentences.offsets[s]), int(sentences.lengths[s])
            layers = self._layers
            if kept is not None:
                layers = layers._replace(weights=layers.weights * kept[s][:, None])
            lost[s] = self._search_sentence(number, start, length, words, layers, workspace)
            chosen, losses[s], n_rows, n_transitions = workspace.learn(2 * length, self._training)
            steps[s] = chosen / max(1, 2 * length)
            found = workspace.found
            features = np.empty((n_rows, len(self._table.slots)), np.int32)
            at = found.cells[:n_rows], found.fronts[:n_rows], workspace.stacks, start, length, values
            read_features(*at, self._table.programs, self._table.columns, *workspace.reading, features)
            of_rows = np.full(n_rows, s, np.int64)
            parts.append((features, of_rows, found.rows[:n_transitions] + rows, *(a[:n_transitions].copy() for a in found[3:])))
            rows += n_rows
        features, of_rows, transition_rows, outputs, slopes = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return SearchResults(
            features=features,
            sentences=of_rows,
            rows=transition_rows.astype(np.int64),
            outputs=outputs.astype(np.int64),
            slopes=slopes.astype(np.float32),
            losses=losses,
            steps=steps,
            lost=lost,
        )

    def _search_sentence(self, number: int, start: int, length: int, words: Any, layers: Layers, workspace: _Workspace) -> bool:
        """Whether the beam had no gold item at some step."""
        # Without single_root, as in exploration.
        rules, merging = AttardiRules.of(self._system, single_root=False), _merges(self._training)
        model = self.model_on(words)._replace(layers=layers)
        search = number, start, length, model, rules, merging, self._trees.gold
        with self._trees.oracle.lock:
            lost = search_with_gold(*search, *workspace.of_search)
        assert lost >= 0, "a step of arc-standard makes a part of each kind at most"
        return lost > 0


class _Workspace:
    """For a search through sentences of at most this many tokens."""

    def __init__(self, tokens: int, layers: Layers, table: FeatureTable, training: BeamTraining) -> None:
        sizes = training.beam.size, training.gold_size
        self.beam, self.gold_beam = (CompiledSide.allocate(tokens, size, layers, table) for size in sizes)
        self.queries = OracleQueries.allocate(tokens, max(sizes))
        self.scratch = Scratch.allocate(tokens, layers, table)
        self.stacks = TreeStacks.allocate(tokens, 2 * tokens * sum(sizes))
        self.of_search = self.stacks, self.beam, self.gold_beam, self.queries, self.scratch
        most = 2 * tokens * sum(sizes)
        cells, fronts, rows, outputs = np.empty((4, most), np.int32)
        self.found = _ScoreChanges(cells, fronts, rows, outputs, np.empty(most, np.float64))
        tops, nodes = np.empty(table.stack_elements, np.int32), np.empty((2, len(table.programs)), np.int32)
        self.reading = tops, self.scratch.ahead, nodes
        self._by_item = tuple(np.empty((2 * tokens + 1, size)) for size in sizes)
        n = sum(sizes)
        self._step = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n), np.empty(n, np.int32)

    def learn(self, steps: int, training: BeamTraining) -> tuple[int, float, int, int]:
        """The step that is learned from, its loss, and how many configurations and transitions are found."""
        beam, gold_beam, (by_beam, by_gold) = self.beam, self.gold_beam, self._by_item
        chosen, loss = choose_step(steps, _merges(training), beam, gold_beam, by_beam, by_gold)
        found = collect_transitions(chosen, beam, gold_beam, by_beam, by_gold, self._step, self.found)
        return chosen, loss, *found


def _merges(training: BeamTraining) -> bool:
    return training.beam.merge is Merge.CONFIGURATION


@dataclass(frozen=True)
class SearchReport:
    """How the searches of an epoch went.

    Attributes:
        updated_percent: share of the sentences whose loss has a gradient.
        step_percent: how far into the sentence the step was that was learned from, mean.
        lost_percent: share of the sentences where the beam lost all gold items on the way.
        configurations: those whose scores the loss depends on, mean of a sentence.
    """

    updated_percent: float
    step_percent: float
    lost_percent: float
    configurations: float


@dataclass(frozen=True)
class SearchedBatch:
    """Some sentences with a classifier as it is now, and what the searches through them found.

    Attributes:
        vectors: by attribute that slots read as a vector, its vectors, with the dropout that is in force.
        searched: what the searches found.
        kept: float32[m, units], masks of hidden units; None if none is dropped.
        scale: what a sum over the sentences is divided by to make the loss.
        task_loss: the weighted sum of the losses of the encoder's further tasks; None if there are none.
    """

    vectors: Mapping[str, Tensor]
    searched: SearchResults
    kept: Tensor | None
    scale: int
    task_loss: Tensor | None


class BeamObjective:
    """The Objective of gold computations against those that a beam finds.

    Args:
        model: whose classifier is trained; for arc-standard.
        data: the sentences, with any gold trees.
        reader: reads batches of them; a BatchEncoder for a contextual token representation.
        batch_size: sentences of a batch.
        training: how to search.
    """

    def __init__(
        self,
        model: Model,
        data: TrainingSentences,
        reader: BatchReader | BatchEncoder,
        batch_size: int,
        training: BeamTraining,
    ) -> None:
        assert behaves_as(model.system, Attardi), "plan() has seen to it"
        self._system = model.system
        self._table = model.table
        self._classifier = model.classifier
        self._lengths = np.diff(data.sentences.offsets)  # the root counted
        self._reader = reader
        self._batch_size = batch_size
        self._training = training
        self._trees = GoldTrees.of(data)
        self._sums = np.zeros(5)  # over the sentences of an epoch: one, and what SearchReport has the mean of

    @property
    def uniform_loss(self) -> float:
        """Of a sentence: that of all its transitions, 2 for a token."""
        return 2 * float((self._lengths - 1).mean()) * math.log(self._system.n_outputs)

    def batches(self, generator: torch.Generator) -> tuple[int, Sequence[np.ndarray]]:
        """Draw batches of sentences; with an encoder, those of about the same length are together."""
        n, size = len(self._lengths), self._batch_size
        if isinstance(self._reader, BatchEncoder):
            found = batches_of_like_lengths(self._lengths, np.ones(n, np.int64), size, generator)
        else:
            found = [numbers.numpy() for numbers in torch.randperm(n, generator=generator).split(size)]
        self._sums[:] = 0
        return len(found), found

    def backward(self, batch: np.ndarray) -> BatchLoss:
        """Searches the sentences, and leaves the gradients of the loss of their items."""
        found = self.search(batch)
        searched, of_tasks = found.searched, found.task_loss
        if has_gradient := len(searched.rows) > 0 or of_tasks is not None:
            surrogate = self.surrogate(found)
            self._classifier.zero_grad()
            (surrogate if of_tasks is None else surrogate + of_tasks).backward()
        updated = len(np.unique(searched.sentences))
        self._sums += len(batch), updated, searched.steps.sum(), searched.lost.sum(), len(searched.features)
        return BatchLoss(float(searched.losses.sum()) / len(batch), len(batch), has_gradient)

    def report(self) -> SearchReport:
        """How the searches of the epoch went so far."""
        sentences, *sums = self._sums.tolist()
        updated, steps, lost, configurations = (total / max(1.0, sentences) for total in sums)
        return SearchReport(100 * updated, 100 * steps, 100 * lost, configurations)

    def search(self, numbers: np.ndarray, dropping: bool = True) -> SearchedBatch:
        """Searches through some of the sentences (int[m]); ``dropping``: whether dropout is in force.

        With a static token representation dropout is of words and hidden units only, and the loss is the mean of the sentences.
        With an encoder, the dropout of both is in force, and the loss is the mean of the transitions, so that clipping and the
        weights of further tasks' losses mean what they do in the passes before.
        """
        classifier, reader, task_loss = self._classifier, self._reader, None
        vectors: Mapping[str, Tensor]
        if isinstance(reader, BatchReader):
            _, lengths, values = reader.read(numbers, dropping)
            sentences = Sentences(np.ascontiguousarray(values.cpu().numpy().T), _offsets(lengths))
            weights, vectors, scale = classifier.weights(), classifier.tokens.fixed_vectors(), len(lengths)
        else:
            batch = reader.encode(numbers, dropping)
            rate = classifier.input_dropout if dropping else 0.0
            vectors = {name: nn.functional.dropout(matrix, rate) for name, matrix in batch.vectors.items()}
            task_loss = reader.task_loss(batch, dropping) if reader.has_tasks else None
            offsets = _offsets(batch.lengths)
            sentences = Sentences(np.empty((0, offsets[-1]), np.int32), offsets)  # slots read tokens, not their attributes
            weights, scale = classifier.weights_with(vectors), 2 * max(1, int((batch.lengths - 1).sum()))
        kept = dropout_mask(torch.empty(len(numbers), len(classifier.hidden_bias)), classifier.dropout) if dropping else None
        search = GoldBeamSearch(weights, self._system, self._table, self._training, self._trees)
        searched = search.search(sentences, numbers, None if kept is None else kept.numpy())
        return SearchedBatch(vectors, searched, kept, scale, task_loss)

    def surrogate(self, found: SearchedBatch) -> Tensor:
        """A sum of scores that has the gradient of the loss of the sentences that search() has gone through."""
        classifier, searched, vectors = self._classifier, found.searched, found.vectors
        device = classifier.output.weight.device
        features = torch.from_numpy(searched.features).to(device, torch.int64)
        if not classifier.tokens.contextual:  # hidden activations are computed only for the values that occur
            vectors = dict(vectors)
            for name, columns in classifier.embedded_columns.items():
                used, features[:, columns] = features[:, columns].unique(return_inverse=True)
                vectors[name] = vectors[name][used]
        hidden = classifier.activation.apply(classifier.hidden_by_value(features, vectors))
        if found.kept is not None:
            hidden = hidden * found.kept[torch.from_numpy(searched.sentences)].to(device)
        scores = classifier.output(hidden)
        chosen = scores[torch.from_numpy(searched.rows).to(device), torch.from_numpy(searched.outputs).to(device)]
        return (chosen * torch.from_numpy(searched.slopes).to(device)).sum() / found.scale


def _offsets(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)])
