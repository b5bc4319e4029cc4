"""The interface of tasks. A task is a prediction of an encoder about words,
besides the parser's transitions.

A task has gold data, shapes of parameters, and entries in a model's folder, and can be extended by
new values from further sentences. Two functions make its scorer: ``module_of_task``
(networks/tasks.py) in training, and ``frozen_task`` (inference/tasks.py) in parsing, without torch.
docs/adding_a_task.md shows how to add a task.

Tasks differ in what they score, and in when they are learned. A task with ``columns`` chooses among
values of each word, from the outputs of a ``layer``, and the layers above may read its choice. A
task without them scores something else: pairs of words, or rules. A task that is not ``in_passes``
is learned after the parser: it changes nothing else, and may be new to a model that is trained
further.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from oracles.trees import Trees
from parser.data.attributes import AttributeColumns
from parser.data.parts.part import Labels
from parser.data.vocabulary import ROOT, SetVocabulary, Vocabulary
from parser.model_folder import Contents
from parser.network_spec import ClassifierSpec, Shapes

FormScores = Callable[[Sequence[str], np.ndarray], np.ndarray]
"""Returns float32[m, outputs], such as scores of rules,
for m forms and the places of their tokens (int[m]).
"""


class TaskWishes(Protocol):
    """The settings of tasks in a plan; settings.plan.NetworkPlan."""

    @property
    def spec(self) -> ClassifierSpec:
        """The network."""

    @property
    def task_weights(self) -> Mapping[str, float]:
        """The weights of the losses learned in the passes, by their names; see Task.weights()."""

    @property
    def task_epochs(self) -> Mapping[str, int]:
        """The epochs of each wanted task that is learned after the parser, by its name."""


@dataclass(frozen=True)
class TaskSource:
    """The data that tasks are made from, or extended by.

    Attributes:
        wanted: the plan's settings of tasks.
        sentences: the training sentences that vocabularies are made from.
        tagged: the same sentences; columns without gold values have the predictions of the model
            that is trained further.
        relations: the parser's relations.
        language: the code of the sentences' language; None: unknown, or several.
        tasks: the tasks that come before in the list.
    """

    wanted: TaskWishes
    sentences: Sequence[AttributeColumns]
    tagged: Sequence[AttributeColumns]
    relations: Vocabulary
    language: str | None = None
    tasks: Sequence[Task] = ()


class Task(ABC):
    """A task of an encoder.

    Attributes:
        name: the name of the task, and of its module of torch: its parameters are called
            ``NAME.PARAMETER`` in the encoder.
        in_passes: whether it is learned in the passes, with the parser; otherwise it is learned
            afterwards.
    """

    name: ClassVar[str]
    in_passes: ClassVar[bool] = True

    @classmethod
    def new(cls, source: TaskSource) -> Self | None:
        """Return the task for a new model with an encoder; None if the plan does not want it."""
        return None

    def extended(self, source: TaskSource) -> Task | None:
        """Return the task extended by new values; None if the plan no longer wants it."""
        return self

    @classmethod
    def weights(cls, settings: Any) -> dict[str, float]:
        """Return the weights of the task's losses relative to the parser's, by the names that the
        losses have in TaskModule.losses().

        Args:
            settings: the settings ``encoder.NAME``; None if there are none.
        """
        return {} if settings is None else {cls.name: settings.weight}

    @classmethod
    def learned_with(cls, columns: Iterable[str]) -> dict[str, Any]:
        """Return values for the settings ``encoder.NAME.KEY`` that a model does not store, used
        where further training does not set them.

        ``columns``: the names of the model's columns of this task.
        """
        return {"weight": 1.0}

    @property
    def columns(self) -> Mapping[str, Vocabulary]:
        """The values of each column that the task chooses among, by the column's name, in the order
        of gold(). There are no scores for the reserved values.
        """
        return {}

    @property
    def predicted(self) -> list[str]:
        """The names of what the task predicts of words, as a Predictor returns them."""
        return [*self.columns]

    def values(self, sentence: AttributeColumns, column: str) -> Sequence[str]:
        """Return the gold values of a column; ``_`` if there is none."""
        values: Sequence[str] = getattr(sentence, column)
        return values

    def gold(
        self, sentences: Sequence[AttributeColumns], trees: Trees, relations: np.ndarray
    ) -> np.ndarray:
        """Return int32[rows, tokens], the targets of sentences, with a root before each.

        A column's row holds the numbers of its values, ROOT and UNKNOWN included.

        Args:
            sentences: the gold sentences.
            trees: the trees that the parser learns from.
            relations: int32[tokens], the parser's relations; negative if unknown.
        """
        return numbers_of_columns(
            {
                column: [self.values(sentence, column) for sentence in sentences]
                for column in self.columns
            },
            self.columns,
        )

    def is_taught(self, sentences: Iterable[AttributeColumns]) -> bool:
        """Return whether sentences have gold data of a task that is learned after the parser."""
        return False

    def scores(
        self, sentences: Sequence[AttributeColumns], predicted: Mapping[str, Sequence[str]]
    ) -> dict[str, float]:
        """Return the scores in metrics.json of a task that is learned after the parser; GoldSplit
        scores the columns of all other tasks.

        Args:
            sentences: gold sentences; without gold data there are no scores.
            predicted: what was predicted for their words, by name.
        """
        return {}

    def layer(self, spec: ClassifierSpec) -> int | None:
        """Return the layer of the encoder, from 1, whose outputs ``columns`` are chosen from;
        None: there are no columns.
        """
        return None

    def width(self, spec: ClassifierSpec) -> int:
        """Return the length of the vectors that the task adds to the input of the layer above
        ``layer``.
        """
        return 0

    @abstractmethod
    def shapes(self, spec: ClassifierSpec) -> Shapes:
        """Return the shapes of the task's parameters, by their names in its module."""

    def labels(self) -> dict[str, Labels]:
        """Return, for each parameter that has one row per value, the values of its rows, by the
        parameter's name. These rows are kept when new values extend the parameter.
        """
        return {}

    @property
    def symbols(self) -> dict[str, list[str]]:
        """The values that may be extended, by a name for log lines."""
        return {}

    def described(self) -> dict[str, Any]:
        """Return the task's entries in vocabularies.json."""
        return {}

    @classmethod
    @abstractmethod
    def read(cls, contents: Contents, relations: Vocabulary, tasks: Sequence[Task]) -> Self | None:
        """Return the task of a model's folder; None if the model does not have it.

        Args:
            contents: the folder, of a model with an encoder or without.
            relations: the parser's relations.
            tasks: the tasks that come before in the list.

        Raises:
            KeyError, TypeError, ValueError: something is missing or damaged.
        """


def numbers_of_columns(
    values: Mapping[str, Sequence[Sequence[str]]], known: Mapping[str, Vocabulary]
) -> np.ndarray:
    """Return int32[columns, tokens], the numbers of values; UNKNOWN if unknown.

    Args:
        values: by column and sentence, the values of the words; a ROOT is put before each sentence.
        known: by column, the known values.
    """
    rows = []
    for column, sentences in values.items():
        encoded = (known[column].encode_exactly(sentence_values) for sentence_values in sentences)
        rows.append([*chain.from_iterable((ROOT, *numbers) for numbers in encoded)])
    return np.array(rows, np.int32).reshape(len(rows), len(rows[0]) if rows else 0)


def labels_of_values(name: str, values: Vocabulary) -> dict[str, Labels]:
    """Return the labels of the parameters of ValueCounts.shapes whose names begin with ``name``."""
    labels: dict[str, Labels] = {f"{name}.whole": values.symbols}
    return labels | (
        {f"{name}.elements": values.vector_labels} if isinstance(values, SetVocabulary) else {}
    )
