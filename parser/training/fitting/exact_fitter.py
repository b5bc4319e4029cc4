"""Exact global training: of the probability of the gold tree among all trees (Andor et al. 2016, Section 2, without a beam).

The loss of a sentence is log Z minus the logarithm of the sum of exp(score) over the computations of its gold tree, which are
several: a conditional random field over computations. Z is that sum over all computations that parsing chooses from, which the
chart of exact search holds (Shi, Huang and Lee 2017, Section 4; compiled/inside_outside.py). Its derivative by the score of a
move in a state is how probable the move is, less how probable it is given the gold tree.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from parser.data.parses import NO_NODE
from parser.data.sentences import Sentences
from parser.decoding.exact.chart import ChartRules, n_states
from parser.decoding.exact.exact import LONGEST, features_of_states
from parser.model.model import Model
from parser.settings import OptimizerSettings
from parser.training.compiled.inside_outside import add_posteriors
from parser.training.examples.examples import TrainingSentences
from parser.training.fitting.by_value import scores_by_value
from parser.training.fitting.fitter import OnUpdate, Span, learning_rates, unobserved
from parser.training.fitting.sentence_encoding import SentenceEncoding, TaskWeights, batches_of_like_lengths
from parser.training.fitting.updates import TorchOptimizer
from parser.training.fitting.word_dropout import WordDropout

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ExactReport:
    """How probable the classifier found the gold trees of an epoch.

    Attributes:
        gold_percent: the probability of a gold tree, mean of the sentences.
        configurations: states that were scored, mean of a sentence.
    """

    gold_percent: float
    configurations: float


class ExactFitter:
    """Fits the classifier of a model, in place, over the epochs of a pass with one optimizer.

    Every state is scored with a dropout mask of its own, and the loss is of these scores. The gradient is that of the mean loss
    of a move, so that clipping and the weights of further tasks' losses mean what they do in the passes before. Sentences of
    more than LONGEST tokens are left out, and a warning says how many there are.

    Args:
        model: whose classifier is fitted; check_exact() lets it pass.
        data: the sentences, with projective gold trees, and their tags if there are any to predict.
        settings: optimizer, learning rate and its schedule; a batch has ``batch_size`` sentences.
        span: the epochs that the schedule spans.
        max_grad_norm: see SentenceFitter.
        single_root: whether Z is over trees with one root, which alone bears the root relation. Where the gold tree is none of
            them, Z is over all trees.
        word_dropout, weights: see SentenceFitter.
    """

    def __init__(
        self,
        model: Model,
        data: TrainingSentences,
        settings: OptimizerSettings,
        span: Span,
        max_grad_norm: float,
        single_root: bool = True,
        word_dropout: WordDropout | None = None,
        weights: TaskWeights | None = None,
    ) -> None:
        assert data.trees.projective.all(), "other trees have no computation"
        self._system, self._table, self._classifier = model.system, model.table, model.classifier
        self._data = data
        self._settings, self._span, self._max_grad_norm = settings, span, max_grad_norm
        self._single_root = single_root
        self._encoding = SentenceEncoding(model.classifier, data, word_dropout, weights)
        self._parameters = [p for p in model.classifier.parameters() if p.requires_grad]
        self._optimizer = TorchOptimizer(self._parameters, settings)
        if too_long := int((data.trees.lengths > LONGEST).sum()):
            log.warning("sentences of more than %d words are left out of exact training: %d", LONGEST, too_long)

    def fit_epoch(self, epoch: int, generator: torch.Generator, on_update: OnUpdate = unobserved) -> tuple[float, ExactReport]:
        """Goes once over the sentences in random order; the mean loss of a sentence, in nats, and what became of gold trees.

        Args:
            epoch: number of the epoch in the pass, from 0.
            generator: draws the order.
            on_update: called for each update; its examples are sentences.
        """
        lengths, sizes = self._data.trees.lengths, (self._data.trees.lengths <= LONGEST).astype(np.int64)
        batches = batches_of_like_lengths(lengths, sizes, self._settings.batch_size, generator)
        rates = learning_rates(self._settings, self._span, epoch, len(batches))
        total = gold = states = 0.0
        for numbers, rate in zip(batches, rates, strict=True):
            surrogate, losses = self.loss(numbers)
            self._classifier.zero_grad()
            surrogate.backward()
            nn.utils.clip_grad_norm_(self._parameters, self._max_grad_norm)
            self._optimizer.step(rate)
            total += losses.sum()
            gold += np.exp(-losses).sum()
            states += sum(n_states(n) for n in lengths[numbers].tolist())
            on_update(float(losses.mean()), len(numbers), rate)
        n = max(1, int(sizes.sum()))
        return float(total) / n, ExactReport(100 * float(gold) / n, states / n)

    def loss(self, numbers: np.ndarray, dropping: bool = True) -> tuple[Tensor, np.ndarray]:
        """What to learn from some of the sentences.

        Args:
            numbers: int[m], which of them.
            dropping: whether dropout is in force.

        Returns:
            A sum of scores that has the gradient of the mean loss of a move, those of further tasks added; and float64[m], the
            losses of the sentences, in nats.
        """
        batch = self._encoding.encode(numbers, dropping)
        offsets = np.concatenate([[0], np.cumsum(batch.lengths)])
        places = Sentences(np.empty((0, offsets[-1]), np.int32), offsets)
        features = np.concatenate([features_of_states(self._table, places, s) for s in range(len(numbers))])
        on_device = torch.from_numpy(features).to(self._classifier.output.weight.device)
        scores = scores_by_value(self._classifier, on_device, batch.vectors, dropping=dropping)
        losses, slopes = self._losses(numbers, scores.detach().cpu().numpy())
        moves = 2 * max(1, int((batch.lengths - 1).sum()))
        of_trees = (scores * torch.from_numpy(slopes).to(scores.device)).sum() / moves
        return of_trees + self._encoding.task_loss(batch, dropping), losses

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

    def state(self) -> dict[str, Tensor]:
        """What the next epoch depends on besides weights and random generators: named tensors on the CPU."""
        return self._optimizer.state()

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Puts back what state() of such a fitter gave."""
        self._optimizer.restore(tensors)
