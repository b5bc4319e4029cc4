"""The tasks of an encoder in parsing, without torch; networks/tasks.py has the torch modules.

``frozen_task`` has a function for each kind of task, added with ``frozen_task.register``. The
function for heads does nothing: reranking and pointer parsing score heads themselves (heads.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatch

import numpy as np

from parser.data.lemmas import affixes
from parser.data.tasks.heads import HeadTask
from parser.data.tasks.lemmas import LemmaTask
from parser.data.tasks.tags import TagTask
from parser.data.tasks.task import Task
from parser.data.vocabulary import N_RESERVED, SetVocabulary, Vocabulary
from parser.inference.arithmetic import Matrix, SinglePrecision
from parser.inference.heads import SLOPE
from parser.inference.parts import Tensors, softmax, sums_of_elements
from parser.inference.weights import under
from parser.network_spec import ClassifierSpec

FormScoring = Callable[
    [Mapping[str, np.ndarray], Mapping[str, np.ndarray], Sequence[str], np.ndarray], np.ndarray
]
"""Returns float32[forms, outputs]. Takes, by column, float32[tokens, values], the scores of all
tokens' values, and their probabilities if known; the forms; and int[forms], the places of their
tokens.
"""


@dataclass(frozen=True)
class FrozenTask:
    """The frozen form of a task; thread-safe.

    Attributes:
        scores: for each column, a function from stored outputs of the task's layer to scores,
            float32[tokens, values].
        expected: for each column that the layer above reads, a function from probabilities of
            values to expected vectors, which are concatenated in its input.
        of_forms: a function that scores forms, for a task that is learned after the parser.
    """

    scores: Mapping[str, Matrix] = field(default_factory=dict)
    expected: Mapping[str, Matrix] = field(default_factory=dict)
    of_forms: FormScoring | None = None


@singledispatch
def frozen_task(
    task: Task, spec: ClassifierSpec, tensors: Tensors, arithmetic: SinglePrecision
) -> FrozenTask:
    """Return the frozen form of a task.

    Args:
        tensors: the weights, by their names in the task's module.
        arithmetic: how the layers' outputs are stored and multiplied.
    """
    raise TypeError(
        f"nothing scores {task.name}; register a function with "
        "parser.inference.tasks.frozen_task.register"
    )


@frozen_task.register
def _(
    task: TagTask, spec: ClassifierSpec, tensors: Tensors, arithmetic: SinglePrecision
) -> FrozenTask:
    scores = {
        column: arithmetic.matrix(
            _vectors(tensors, f"outputs.{column}.", values), tensors[f"biases.{column}"]
        )
        for column, values in task.columns.items()
    }
    return FrozenTask(scores, _expected(tensors, task.columns) if task.width(spec) else {})


@frozen_task.register
def _(
    task: HeadTask, spec: ClassifierSpec, tensors: Tensors, arithmetic: SinglePrecision
) -> FrozenTask:
    return FrozenTask()


@frozen_task.register
def _(
    task: LemmaTask, spec: ClassifierSpec, tensors: Tensors, arithmetic: SinglePrecision
) -> FrozenTask:
    assert spec.encoder is not None, "an encoder predicts lemmas"
    assert spec.encoder.lemmas is not None, "it scores rules"
    vectors = tensors["affixes"]
    trigrams = spec.encoder.lemmas.trigrams
    inputs = _expected(tensors, task.tags)
    outputs = SinglePrecision().matrix(
        _vectors(tensors, "outputs.", task.lemmas.rules), tensors["bias"]
    )

    @np.errstate(over="ignore", invalid="ignore")  # weights of a forged model may be huge
    def scores(
        tag_scores: Mapping[str, np.ndarray],
        shares: Mapping[str, np.ndarray],
        forms: Sequence[str],
        places: np.ndarray,
    ) -> np.ndarray:
        hidden = vectors[affixes(forms, len(vectors), trigrams)].sum(axis=1)
        for column, expected in inputs.items():
            hidden += expected(
                shares[column][places] if column in shares else softmax(tag_scores[column][places])
            )
        return outputs(np.where(hidden > 0, hidden, np.float32(SLOPE) * hidden))

    return FrozenTask(of_forms=scores)


def _expected(tensors: Tensors, columns: Mapping[str, Vocabulary]) -> dict[str, Matrix]:
    """Return, by column, a function from the probabilities of its values to expected vectors."""
    vectors = {
        column: _vectors(tensors, f"inputs.{column}.", values) for column, values in columns.items()
    }
    return {column: SinglePrecision().matrix(table.T) for column, table in vectors.items()}


@np.errstate(over="ignore", invalid="ignore")  # weights of a forged model may be huge
def _vectors(tensors: Tensors, prefix: str, values: Vocabulary) -> np.ndarray:
    """Return float32[values, size], the vectors of values, or of rules,
    whose tensors have a prefix (networks/tasks.py).
    """
    tables = under(prefix, tensors)
    if not isinstance(values, SetVocabulary):
        return tables["whole"]
    return np.asarray(
        tables["whole"]
        + sums_of_elements(values.elements, len(values), tables["elements"])[N_RESERVED:]
    )
