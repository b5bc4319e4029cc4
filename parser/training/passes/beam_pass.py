"""The third pass: global training, with a beam or exact, of the classifier that the two passes have trained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import torch
from omegaconf import OmegaConf
from torch import Tensor

from parser.beam_settings import Exact, Search
from parser.model.model import Model
from parser.settings import BeamTrainingSettings, OptimizerSettings, Settings, TrainingTrees
from parser.training.build import task_weights_of, word_dropout_of
from parser.training.examples.corpus import Corpus
from parser.training.examples.examples import TrainingSentences
from parser.training.fitting.beam_fitter import BeamFitter, SearchReport
from parser.training.fitting.beam_updates import BeamTraining
from parser.training.fitting.exact_fitter import ExactFitter, ExactReport
from parser.training.fitting.fitter import OnUpdate, Span, unobserved


class GlobalFitter(Protocol):
    """Fits a classifier, in place, to whole computations over the epochs of a pass with one optimizer; see BeamFitter."""

    def fit_epoch(
        self, epoch: int, generator: torch.Generator, on_update: OnUpdate = unobserved
    ) -> tuple[float, SearchReport | ExactReport]:
        """Goes once over the sentences; the mean loss of a sentence, in nats, and how it went."""

    def state(self) -> dict[str, Tensor]:
        """What the next epoch depends on besides weights and random generators: named tensors on the CPU."""

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Puts back what state() of such a fitter gave."""


def beam_sentences(corpus: Corpus, search: Search) -> TrainingSentences:
    """What the pass learns from: all sentences with their trees as they are, or, for exact training, made projective."""
    return corpus.training_sentences(TrainingTrees.PROJECTIVIZED if isinstance(search, Exact) else TrainingTrees.ORIGINAL)


def beam_fitter_of(model: Model, corpus: Corpus, settings: Settings, beam: Search, data: TrainingSentences) -> GlobalFitter:
    """What fits the model's classifier in the pass.

    Args:
        model: the model.
        corpus: of the run.
        settings: of the run. The optimizer is Adam; its schedule and weight decay are those of the passes before.
        beam: how the parser will search.
        data: see beam_sentences().
    """
    wanted = settings.beam.training
    assert wanted is not None, "see beam_check.py"
    optimizer, span = _optimizer(settings, wanted), Span(0, wanted.epochs)
    word_dropout = word_dropout_of(model, settings, corpus, corpus.vocabularies.attributes)
    clipped = None if settings.encoder is None else settings.encoder.max_grad_norm
    weights = task_weights_of(settings, corpus)
    if isinstance(beam, Exact):
        assert clipped is not None, "see beam_check.py"
        return ExactFitter(model, data, optimizer, span, clipped, settings.single_root, word_dropout, weights)
    assert wanted.gold_size is not None, "see beam_check.py"
    training = BeamTraining(beam.for_training(), wanted.gold_size)
    return BeamFitter(model, data, training, optimizer, span, word_dropout, clipped, weights)


def _optimizer(settings: Settings, wanted: BeamTrainingSettings) -> OptimizerSettings:
    own = {"name": "adam", "learning_rate": wanted.learning_rate, "batch_size": wanted.batch_sentences, "momentum": 0.0}
    return OmegaConf.merge(settings.optimizer, own)  # type: ignore[return-value]
