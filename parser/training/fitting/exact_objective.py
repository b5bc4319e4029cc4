"""Exact global training: of the probability of the gold tree among all trees (Andor et al. 2016, Section 2, without a beam).

The loss of a sentence is log Z minus the logarithm of the sum of exp(score) over the computations of its gold tree, which are
several: a conditional random field over computations. Z is that sum over all computations that parsing chooses from, which the
chart of exact search holds (Shi, Huang and Lee 2017, Section 4; decoding/exact/chart.py). Its derivative by the score of a
transition in a state is how probable the transition is, less how probable it is given the gold tree.

The derivatives of log Z are the posteriors of the transitions, by the outside algorithm. They are taken backwards through the
sums of the inside algorithm, so that they are sums of probabilities, and no logarithm of a small difference is needed. O(n^3)
for a sentence of n tokens, both.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from parser.data.sentences import NO_NODE, Sentences
from parser.decoding.beam.scores import finite_number
from parser.decoding.exact.chart import ChartRules, can_be, fill_chart, makes, n_states, score_pop, score_shift
from parser.decoding.exact.exact import LONGEST, features_of_states
from parser.kernels import array_kernel
from parser.model.model import Model
from parser.training.examples.examples import TrainingSentences
from parser.training.fitting.by_value import scores_by_value
from parser.training.fitting.sentence_batches import BatchEncoder, batches_of_like_lengths
from parser.training.fitting.trainer import BatchLoss

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ExactReport:
    """The probabilities of the gold trees in an epoch.

    Attributes:
        gold_percent: the probability of a gold tree, mean of the sentences.
        configurations: states that were scored, mean of a sentence.
    """

    gold_percent: float
    configurations: float


class ExactObjective:
    """The Objective of gold trees among all trees.

    Every state is scored with a dropout mask of its own, and the loss is of these scores. The gradient is that of the mean loss
    of a transition, so that clipping and the weights of further tasks' losses mean what they do in the passes before. Sentences
    of more than LONGEST tokens are left out, and a warning says how many there are.

    Args:
        model: whose classifier is trained; check_exact() lets it pass.
        data: the sentences, with projective gold trees.
        encoder: encodes batches of them.
        batch_size: sentences of a batch.
        single_root: whether Z is over trees with one root, which alone bears the root relation. Where the gold tree is none of
            them, Z is over all trees.
    """

    def __init__(
        self, model: Model, data: TrainingSentences, encoder: BatchEncoder, batch_size: int, single_root: bool = True
    ) -> None:
        assert data.trees.projective.all(), "other trees have no computation"
        self._system, self._table, self._classifier = model.system, model.table, model.classifier
        self._data = data
        self._encoder = encoder
        self._batch_size = batch_size
        self._single_root = single_root
        self._sums = np.zeros(3)
        if too_long := int((data.trees.lengths > LONGEST).sum()):
            log.warning("sentences of more than %d words are left out of exact training: %d", LONGEST, too_long)

    @property
    def uniform_loss(self) -> float:
        """Of a sentence: that of all its transitions, 2 for a token."""
        return 2 * float(self._data.sentences.lengths.mean()) * math.log(self._system.n_outputs)

    def batches(self, generator: torch.Generator) -> tuple[int, Sequence[np.ndarray]]:
        """See Objective; sentences of about the same length are together."""
        lengths, sizes = self._data.trees.lengths, (self._data.trees.lengths <= LONGEST).astype(np.int64)
        found = batches_of_like_lengths(lengths, sizes, self._batch_size, generator)
        self._sums[:] = 0
        return len(found), found

    def backward(self, batch: np.ndarray) -> BatchLoss:
        """Leaves the gradients of log Z less the log-probability of the gold tree, and adds up what report() says."""
        surrogate, losses = self.loss(batch)
        self._classifier.zero_grad()
        surrogate.backward()
        states = sum(n_states(n) for n in self._data.trees.lengths[batch].tolist())
        self._sums += len(batch), np.exp(-losses).sum(), states
        return BatchLoss(float(losses.mean()), len(batch))

    def report(self) -> ExactReport:
        """What happened in the epoch so far."""
        sentences, gold, states = self._sums.tolist()
        n = max(1.0, sentences)
        return ExactReport(100 * gold / n, states / n)

    def loss(self, numbers: np.ndarray, dropping: bool = True) -> tuple[Tensor, np.ndarray]:
        """What to learn from some of the sentences.

        Args:
            numbers: int[m], which of them.
            dropping: whether dropout is in force.

        Returns:
            A sum of scores that has the gradient of the mean loss of a transition, those of further tasks added; and
            float64[m], the losses of the sentences, in nats.
        """
        batch = self._encoder.encode(numbers, dropping)
        offsets = np.concatenate([[0], np.cumsum(batch.lengths)])
        places = Sentences(np.empty((0, offsets[-1]), np.int32), offsets)
        features = np.concatenate([features_of_states(self._table, places, s) for s in range(len(numbers))])
        on_device = torch.from_numpy(features).to(self._classifier.output.weight.device)
        scores = scores_by_value(self._classifier, on_device, batch.vectors, dropping=dropping)
        losses, slopes = self._losses(numbers, scores.detach().cpu().numpy())
        transitions = 2 * max(1, int((batch.lengths - 1).sum()))
        of_trees = (scores * torch.from_numpy(slopes).to(scores.device)).sum() / transitions
        return of_trees + self._encoder.task_loss(batch, dropping), losses

    def _losses(self, numbers: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """float64[m], the losses of the sentences, and float32[states, outputs], their derivatives by the scores."""
        losses, slopes, first = np.empty(len(numbers)), np.zeros_like(scores), 0
        for s, number in enumerate(numbers.tolist()):
            tokens = slice(self._data.trees.offsets[number], self._data.trees.offsets[number + 1])
            heads, relations = self._data.trees.heads[tokens], self._data.relations[tokens]
            n = len(heads) - 1
            some = slice(first, first := first + n_states(n))
            rules = self._rules(heads, relations)
            free = np.full(n + 1, NO_NODE, np.int32)
            of_all = add_posteriors(scores[some], n, rules, free, free, 1.0, slopes[some])
            losses[s] = of_all - add_posteriors(scores[some], n, rules, heads, relations, -1.0, slopes[some])
        return losses, slopes

    def _rules(self, heads: np.ndarray, relations: np.ndarray) -> ChartRules:
        """The rules of the trees that Z is over, given the gold tree."""
        rules = ChartRules.of(self._system, self._single_root)
        to_root = heads[1:] == 0
        one_root = not self._single_root or to_root.sum() == 1
        labelled = rules.root_relation == NO_NODE or bool((to_root == (relations[1:] == rules.root_relation)).all())
        return rules if one_root and labelled else ChartRules.of(self._system, False)


@array_kernel()
def add_posteriors(scores, n, rules, heads, relations, factor, slopes):
    """The logarithm of the sum over computations; adds ``factor`` times its derivatives to ``slopes``.

    Args:
        scores: float32[states, outputs], of the classifier in the states of a sentence, by number.
        n: tokens.
        rules: see ChartRules.
        heads, relations: int32[n + 1], arcs that a computation must make to count; NO_NODE for a token whose arc is free.
        factor: what the derivatives are multiplied by.
        slopes: float32[states, outputs].

    Returns:
        The logarithm; minus infinity if no computation makes all the arcs, and then nothing is added.
    """
    shifts, pops = np.empty((2, len(scores))), np.empty((2, len(scores)))
    for j in range(1, n + 2):
        for i in range(j):
            row = j * (j - 1) // 2 + i
            for b in range(2):
                shifts[b, row] = score_shift(scores[row], i, j, n, b)
                pops[b, row], _ = score_pop(scores[row], i, j, n, b, rules, heads[i], relations[i], True)
    shifted, popped, items, _ = fill_chart(n, shifts, pops, heads, True)
    log_partition = items[0, n * (n + 1) // 2]
    if log_partition == -np.inf:
        return log_partition
    of_shifts, of_pops = _outside(n, shifted, popped, items)
    for j in range(1, n + 2):
        for i in range(j):
            row = j * (j - 1) // 2 + i
            slopes[row, 0] += factor * (of_shifts[0, i, j] + of_shifts[1, i, j])
            for b in range(2):
                if of_pops[b, row] == 0:
                    continue
                for o in range(1, scores.shape[1]):
                    if makes(o, i, j, n, b, rules, heads[i], relations[i]):
                        slopes[row, o] += (
                            factor * of_pops[b, row] * np.exp(np.float64(finite_number(scores[row, o])) - pops[b, row])
                        )
    return log_partition


@array_kernel()
def _outside(n, shifted, popped, items):
    """The posteriors of shifts, float64[2, n + 1, n + 2], and of pops, float64[2, states]."""
    of_shifts, of_pops = np.zeros(shifted.shape), np.zeros(popped.shape)
    for j in range(n + 1, 0, -1):
        column = j * (j - 1) // 2
        for k in range(j - 1):
            over_root = 1 if k == 0 else 0
            for b in range(2):
                if not can_be(b, k):
                    continue
                # An item goes on with a shift or with a pop of its top; both lead to larger items, which have been seen.
                of_item = of_shifts[b, k, j] + of_pops[b, column + k]
                if k == 0 and j == n + 1:
                    of_item = 1.0
                if of_item == 0:
                    continue
                for i in range(k + 1, j):
                    if shifted[b, k, i] > -np.inf:
                        share = of_item * np.exp(shifted[b, k, i] + popped[over_root, column + i] - items[b, column + k])
                        of_shifts[b, k, i] += share
                        of_pops[over_root, column + i] += share
    return of_shifts, of_pops
