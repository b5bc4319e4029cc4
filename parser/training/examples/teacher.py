"""Distillation: a parser learns the distributions of other parsers, its teachers (Hinton, Vinyals and Dean 2015, Section 2).

A teacher is a finished run of model=bilstm, with the same transitions. While a parser without an encoder explores the training
sentences, the teacher scores the same configurations. Its distribution over all outputs says what it predicts, and how surely.
The loss of an example is the loss of its correct outputs, by the oracle, plus the cross entropy with the teacher's distribution
(compiled/gradients.py). Several teachers, such as runs with other seeds, teach the mean of their distributions (Kuncoro et al.
2016; Liu et al. 2018, Section 3.1), which is less sure where they disagree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from parser import batch_sizes
from parser.data.attributes import TREEBANK
from parser.data.sentences import Sentences
from parser.inference.precomputed import Scorer
from parser.inference.weights import ClassifierWeights
from parser.model.loading import for_treebank
from parser.model.trained_model import TrainedModel
from parser.networks.classifier import batch_scorer
from parser.settings import SettingsError
from parser.settings.plan import Plan
from parser.training.examples.corpus import choose_treebank
from parser.training.examples.examples import BatchedComputations
from parser.transitions.system import Transitions

# Bytes of memory for the teachers' vectors of the training sentences, 1,600 a word and teacher with model=bilstm. Computing
# them takes most of an exploration, and they never change; vectors that do not fit are computed in each epoch.
_KEPT = 4 * 2**30


class Teacher:
    """Gives the mean distributions of one or more models for configurations of some sentences.

    Args:
        models: at least one teacher; all have the same outputs.
        sentences: for each teacher, the training sentences encoded with its vocabularies.
    """

    def __init__(self, models: Sequence[TrainedModel], sentences: Sequence[Sentences]) -> None:
        self._models = models
        self._weights = [model.frozen().weights for model in models]
        self._sentences = _with_vectors(self._weights, sentences)
        self._batch: BatchedComputations | None = None
        self._parts: list[Sentences] = []
        self._scorers: list[Scorer] = []

    def __call__(self, batch: BatchedComputations, rows: np.ndarray, transitions: Transitions) -> np.ndarray:
        """Return float32[m, outputs], the distributions for the configurations of a step.

        Args:
            batch: the sentences, as they are now.
            rows: int[m], the configurations.
            transitions: their transitions.
        """
        if batch is not self._batch:  # the steps of a batch follow each other
            self._batch = batch
            self._parts = [sentences.take(batch.numbers) for sentences in self._sentences]
            self._scorers = [
                batch_scorer(weights, model.table, part)
                for weights, model, part in zip(self._weights, self._models, self._parts, strict=True)
            ]
        numbers, found = np.arange(len(batch.numbers)), []
        for model, part, scorer in zip(self._models, self._parts, self._scorers, strict=True):
            found.append(softmax(scorer(model.table.extract(batch.now, rows, part, numbers, transitions))))
        return found[0] if len(found) == 1 else np.mean(found, axis=0)


def softmax(scores: np.ndarray) -> np.ndarray:
    """Return the distributions that scores give; both are float32[examples, outputs]."""
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return (shares / shares.sum(axis=1, keepdims=True)).astype(np.float32)


def _with_vectors(weights: Sequence[ClassifierWeights], sentences: Sequence[Sentences]) -> list[Sentences]:
    """Return the sentences with the token vectors of the teachers' encoders, for as many teachers as fit into memory."""
    found, bytes_left = [], _KEPT
    for teacher, its in zip(weights, sentences, strict=True):
        encoder = teacher.encoder
        assert encoder is not None, "see load_teachers()"
        first = encoder.encode(its.span(0, min(1, len(its))))
        size = int(its.offsets[-1]) * first.shape[1] * first.itemsize
        if size <= bytes_left:
            bytes_left -= size
            vectors = np.empty((int(its.offsets[-1]), first.shape[1]), first.dtype)
            for start, end in its.spans(batch_sizes.TOKENS_PER_TEACHING):
                vectors[its.offsets[start] : its.offsets[end]] = encoder.encode(its.span(start, end))
            its = replace(its, vectors=vectors)
        found.append(its)
    return found


def load_teachers(plan: Plan, student: TrainedModel) -> list[TrainedModel]:
    """Return the teachers of a plan.

    Raises:
        ModelError: a folder has no finished run, or no model.
        SettingsError: a teacher has no encoder, or does not fit the student.
    """
    return [_load(folder, plan, student) for folder in plan.teachers]


def _load(folder: str, plan: Plan, student: TrainedModel) -> TrainedModel:
    named = f"distillation.teacher={folder}"
    teacher = TrainedModel.load(Path(folder), plan.device, int8=False)
    if teacher.spec.encoder is None:
        raise SettingsError(f"{named} is a model without an encoder; name the run folder of a training with model=bilstm")
    if (its := _system(teacher)) != (ours := _system(student)):
        fix = "name a teacher that was trained with the same system="
        raise SettingsError(f"{named} does not fit: its system is {its}, this run's is {ours}; {fix}")
    if teacher.relations.symbols != student.relations.symbols:
        fix = "name a teacher that was trained with the same treebank="
        raise SettingsError(f"{named} does not fit: its relations are not those of this run; {fix}")
    further = [name for name in teacher.vocabularies.attributes if name not in (*student.vocabularies.attributes, TREEBANK)]
    if further:
        raise SettingsError(
            f"{named} does not fit: it reads {', '.join(further)}, which this run does not; add them to features.*, or name a "
            "teacher that does not read them"
        )
    if teacher.vocabularies.treebanks:
        return for_treebank(teacher, choose_treebank(teacher, plan, named))
    return teacher


def _system(model: TrainedModel) -> str:
    options = "".join(f" {name}={value}" for name, value in model.system.options.items())
    return f"{model.system.name}{options}"
