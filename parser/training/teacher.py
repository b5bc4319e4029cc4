"""Distillation: a parser learns from the distributions of another one, its teacher (Hinton, Vinyals and Dean 2015, Section 2).

The teacher is a finished run of model=bilstm. While a parser without an encoder explores the training sentences, the teacher
scores the same configurations, for it has the same moves. Its distribution over the optimal steps says which of them it
prefers, which the oracle leaves open; that over all steps says besides how sure it is, and of what. Either is learned beside
the oracle's steps: of an example the loss is that of its right outputs (loss.py) and ``distillation.weight`` times the cross
entropy with the teacher's distribution. A teacher is nearly sure of sentences that it has learned; divided by
``distillation.temperature``, the scores of both show what else it finds likely.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

import numpy as np

from parser.classifier.batch_scorer import batch_scorer
from parser.classifier.scorer import Scorer
from parser.data.sentences import Sentences
from parser.model import Model
from parser.settings import Settings, SettingsError, TrainingTrees
from parser.training.corpus import Corpus
from parser.training.examples import Batch
from parser.training.soft_targets import SoftTargets
from parser.transitions.system import Moves


class Over(StrEnum):
    """What the teacher's distribution is over: the right outputs of optimal moves, or all outputs."""

    OPTIMAL = "optimal"
    ALL = "all"


class Teacher:
    """Gives the distributions of a model for configurations of some sentences.

    Args:
        model: the teacher.
        sentences: those of the batches to come, encoded with the teacher's vocabularies.
        over: what the distributions are over.
        temperature: by which the scores are divided.
    """

    def __init__(self, model: Model, sentences: Sentences, over: Over, temperature: float = 1.0) -> None:
        self._model = model
        self._sentences = sentences
        self._over = over
        self._temperature = np.float32(temperature)
        self._weights = model.weights()
        self._batch: Batch | None = None
        self._part: Sentences
        self._scorer: Scorer

    def __call__(self, batch: Batch, rows: np.ndarray, moves: Moves, outputs: np.ndarray) -> SoftTargets:
        """The distributions for the configurations of a step.

        Args:
            batch: the sentences, as they are now.
            rows: int[m], the configurations.
            moves: their moves.
            outputs: int32[m, width], the right output of each optimal move, NO_NODE for the others.
        """
        if batch is not self._batch:  # all steps of a batch come one after the other
            self._batch = batch
            self._part = self._sentences.take(batch.numbers)
            self._scorer = batch_scorer(self._weights, self._model.table, self._part)
        scores = self._scorer(self._model.table.extract(batch.now, rows, self._part, np.arange(len(batch.numbers)), moves))
        return SoftTargets.of_scores(scores / self._temperature, outputs if self._over is Over.OPTIMAL else None)


def load_teacher(settings: Settings, student: Model) -> Model | None:
    """The teacher that the settings name; None if they name none.

    Raises:
        ModelError: there is no finished run, or no model, in the folder.
        SettingsError: the teacher has no encoder, or does not fit the model that it is to teach.
    """
    if (folder := settings.distillation.teacher) is None:
        return None
    named = f"distillation.teacher={folder}"
    teacher = Model.load(Path(folder), settings.device)
    if teacher.shape.encoder is None:
        raise SettingsError(f"{named} is a model without an encoder; name the run folder of a training with model=bilstm")
    for what, its, ours in (
        ("system", _system(teacher), _system(student)),
        ("relations", teacher.relations.symbols, student.relations.symbols),
    ):
        if its != ours:
            told = (
                f"its system is {its}, this run's is {ours}"
                if isinstance(its, str)
                else f"its {what} are not those of this run"
            )
            raise SettingsError(
                f"{named} does not fit: {told}; name a teacher that was trained with the same "
                f"{'system=' if what == 'system' else 'treebank='}"
            )
    further = [name for name in teacher.vocabularies.attributes if name not in student.vocabularies.attributes]
    if further:
        raise SettingsError(
            f"{named} does not fit: it reads {', '.join(further)}, which this run does not; add them to features.*, or name a "
            "teacher that reads no more"
        )
    return teacher


def teacher_of(model: Model, corpus: Corpus, settings: Settings) -> Teacher:
    """What teaches on the sentences of the second pass."""
    sentences = corpus.sentences(TrainingTrees(str(settings.second_pass.trees)))
    return Teacher(
        model, model.vocabularies.encode(sentences), Over(settings.distillation.over), settings.distillation.temperature
    )


def _system(model: Model) -> str:
    options = "".join(f" {name}={value}" for name, value in model.system.options.items())
    return f"{model.system.name}{options}"
