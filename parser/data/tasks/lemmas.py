"""Lemmas of words, by rules that are chosen from forms and predicted tags;
they are learned after the parser.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from oracles.errors import OptimalStepError
from parser.conllu.checks import EMPTY
from parser.data.attributes import AttributeColumns
from parser.data.irregular_forms import irregular_lists
from parser.data.lemmas import Lemmas
from parser.data.parts.part import Labels
from parser.data.tasks.tags import TagTask
from parser.data.tasks.task import Task, TaskSource, labels_of_values
from parser.data.vocabulary import Vocabulary
from parser.model_folder import Contents
from parser.network_spec import ClassifierSpec, Shapes


class LemmaTask(Task):
    """Lemmas.

    Args:
        lemmas: the known lemmas and rules.
        tags: for each column, the values of the tags whose probabilities are read.
    """

    name = "lemmas"
    in_passes = False

    def __init__(self, lemmas: Lemmas, tags: Mapping[str, Vocabulary]) -> None:
        self.lemmas, self.tags = lemmas, tags

    @property
    def predicted(self) -> list[str]:
        return ["lemma"]

    @classmethod
    def new(cls, source: TaskSource) -> LemmaTask | None:
        return _extended(None, source)

    def extended(self, source: TaskSource) -> LemmaTask | None:
        return _extended(self.lemmas, source)

    @classmethod
    def weights(cls, settings: Any) -> dict[str, float]:
        return {}

    @classmethod
    def learned_with(cls, columns: Iterable[str]) -> dict[str, Any]:
        return {"epochs": 8}

    def is_taught(self, sentences: Iterable[AttributeColumns]) -> bool:
        return any(lemma != EMPTY for sentence in sentences for lemma in sentence.lemmas)

    def scores(
        self, sentences: Sequence[AttributeColumns], predicted: Mapping[str, Sequence[str]]
    ) -> dict[str, float]:
        """Return the percentage of right lemmas; without a gold lemma, any is right,
        as in the official evaluation.
        """
        if not self.is_taught(sentences):
            return {}
        gold = [lemma for sentence in sentences for lemma in sentence.lemmas]
        right = [
            predicted_lemma == lemma or lemma == EMPTY
            for predicted_lemma, lemma in zip(predicted["lemma"], gold, strict=True)
        ]
        return {"lemma": 100 * float(np.mean(right))}

    def shapes(self, spec: ClassifierSpec) -> Shapes:
        assert spec.encoder is not None, "an encoder predicts lemmas"
        assert spec.encoder.lemmas is not None, "it scores rules"
        tags = {column: values.counts for column, values in self.tags.items()}
        return spec.encoder.lemmas.shapes(tags, self.lemmas.rules.counts)

    def labels(self) -> dict[str, Labels]:
        labels: dict[str, Labels] = {
            "bias": self.lemmas.rules.symbols,
            **labels_of_values("outputs", self.lemmas.rules),
        }
        for column, values in self.tags.items():
            labels |= labels_of_values(f"inputs.{column}", values)
        return labels

    def described(self) -> dict[str, Any]:
        return {self.name: self.lemmas.described()}

    @classmethod
    def read(
        cls, contents: Contents, relations: Vocabulary, tasks: Sequence[Task]
    ) -> LemmaTask | None:
        content = contents.vocabularies
        if cls.name not in content or contents.without_lemmas:
            return None
        tags = _tags(tasks)
        lemmas = Lemmas.read(content[cls.name], tags)
        if (
            contents.spec is None
            or contents.spec.encoder is None
            or contents.spec.encoder.lemmas is None
        ):
            raise OptimalStepError("there are rules for lemmas, but there is nothing to score them")
        return cls(lemmas, tags)


def _extended(old_lemmas: Lemmas | None, source: TaskSource) -> LemmaTask | None:
    """Return the task with the known lemmas, extended by lemmas of the sentences; None if there are
    none or none are wanted.
    """
    if LemmaTask.name not in source.wanted.task_epochs:
        return None
    tags = _tags(source.tasks)
    told_by_tags = () if old_lemmas is None else old_lemmas.told_by_tags
    irregular = source.language if source.language in irregular_lists() else None
    new_lemmas = Lemmas.of(source.tagged, list(tags), told_by_tags, irregular)
    if old_lemmas is not None and new_lemmas is not None:
        return LemmaTask(old_lemmas.extended(new_lemmas), tags)
    lemmas = new_lemmas if old_lemmas is None else old_lemmas
    return None if lemmas is None else LemmaTask(lemmas, tags)


def _tags(tasks: Sequence[Task]) -> Mapping[str, Vocabulary]:
    return next((task.columns for task in tasks if isinstance(task, TagTask)), {})
