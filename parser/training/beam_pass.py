"""The third pass: global training with a beam, of the classifier that the two passes have trained."""

from __future__ import annotations

from omegaconf import OmegaConf

from parser.beam_settings import Beam
from parser.model import Model
from parser.settings import BeamTrainingSettings, OptimizerSettings, Settings, TrainingTrees
from parser.training.beam_fitter import BeamFitter
from parser.training.beam_objectives import Objective, UpdateStep, update_of
from parser.training.beam_updates import BeamTraining
from parser.training.build import word_dropout_of
from parser.training.corpus import Corpus
from parser.training.examples import TrainingSentences
from parser.training.fitter import Span


def beam_sentences(corpus: Corpus) -> TrainingSentences:
    """What the pass learns from: all sentences with their trees as they are, projective or not."""
    return corpus.training_sentences(TrainingTrees.ORIGINAL)


def beam_fitter_of(model: Model, corpus: Corpus, settings: Settings, beam: Beam, data: TrainingSentences) -> BeamFitter:
    """What fits the model's classifier in the pass.

    Args:
        model: the model.
        corpus: of the run.
        settings: of the run. The optimizer is Adam; its schedule and weight decay are those of the passes before.
        beam: what the parser will search with.
        data: see beam_sentences().
    """
    wanted = settings.beam.training
    assert wanted is not None, "see settings_check.py"
    training = BeamTraining(
        beam.for_training(),
        Objective(wanted.objective),
        UpdateStep(update_of(wanted)),
        wanted.gold_size,
        wanted.margin,
        wanted.continue_without_gold,
    )
    word_dropout = word_dropout_of(model, settings, corpus, corpus.vocabularies.attributes)
    return BeamFitter(model, data, training, _optimizer(settings, wanted), Span(0, wanted.epochs), word_dropout)


def _optimizer(settings: Settings, wanted: BeamTrainingSettings) -> OptimizerSettings:
    own = {"name": "adam", "learning_rate": wanted.learning_rate, "batch_size": wanted.batch_sentences, "momentum": 0.0}
    return OmegaConf.merge(settings.optimizer, own)  # type: ignore[return-value]
